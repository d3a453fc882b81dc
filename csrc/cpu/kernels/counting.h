#pragma once
/* counting.h -- sorts long rows of narrow integers by counting how often each value occurs. */
#include "base/base.h"

/* Returns whether counting is the fastest way to sort n elements of a dtype. */
bool mx_counting_suits(int dtype, intptr_t n);

/* Sorts n elements in place, on all threads.  Returns a status. */
int mx_counting_sort(void *elements, int dtype, intptr_t n);
