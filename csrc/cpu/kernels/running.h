#pragma once
/* running.h -- kernels for running sums and products of floats along lines.
 *
 * NumPy's loop reads each result from memory to compute the next.  These kernels keep it in a
 * register.  As each addition waits for the one before, they go along several lines at the same
 * time.  The order of the operations is NumPy's.
 */
#include <stdint.h>

#define MX_RUNNING_LINES 4 /* at the same time */

/* The first elements of a line in the input and in the output. */
struct mx_line {
    const char *from;
    char *to;
};

/* Computes the running results of n_lines <= MX_RUNNING_LINES lines of n > 0 elements, which
 * are `step` bytes apart in the input and `out_step` bytes in the output. */
typedef void mx_running_kernel(const struct mx_line *lines, int n_lines, intptr_t n,
                               intptr_t step, intptr_t out_step);

/* Returns the kernel for running results of an operation on elements of a dtype, or NULL. */
mx_running_kernel *mx_running_find(int op, int dtype);
