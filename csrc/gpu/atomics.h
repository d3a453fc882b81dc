#pragma once
/* atomics.h -- which updates a GPU makes in one atomic operation. */
#include <stdbool.h>

bool mx_atomics_is_sum(int op); /* or a difference */

/* Returns the name of the atomic operation that makes an update, or NULL.  A difference is a
 * sum with the negative value. */
const char *mx_atomics_name(int op, int dtype);

/* Whether the GPU updates elements of a dtype by an operation in any order. */
bool mx_atomics_support(int op, int dtype);
