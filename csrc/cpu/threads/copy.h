#pragma once
/* copy.h -- copies large blocks of memory on several threads. */
#include <stddef.h>

/* The caller holds the stream, because the thread pool runs one job at a time. */
void mx_copy_in_parts(void *to, const void *from, size_t nbytes);
