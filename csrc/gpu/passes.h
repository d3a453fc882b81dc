#pragma once
/* passes.h -- the kernels: passes over elements, and parts of others. */
#include "gpu/kernel.h"

void mx_passes_print_map(struct mx_kernel *kernel, const struct mx_status_words *words);

/* -- Parts of kernels that combine elements ---------------------------------------------- */

/* The type in which a reduction accumulates its result. */
const char *mx_passes_partial_type(const struct mx_instruction *in, int *itemsize);

int64_t mx_passes_product(const struct mx_kernel *kernel, unsigned axes); /* of the lengths */
unsigned mx_passes_kept_axes(const struct mx_kernel *kernel);             /* not reduced */

/* The smallest power of two that is not less than n, or `most` if that is less. */
int mx_passes_power_of_two(int64_t n, int most);

/* Threads of one of n lines of elements: some lanes of a SIMD-group, or a threadgroup.  Each
 * thread has `share` elements or more.  If there are many lines, a SIMD-group suffices for
 * longer ones. */
int mx_passes_threads_of_line(int64_t n, int64_t length, int share);
