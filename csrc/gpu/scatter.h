#pragma once
/* scatter.h -- the kernels of scatters: elements are set or updated at indices. */
#include "gpu/kernel.h"

/* The pass of a scatter.  If several values may go to one element, there are two passes, and
 * `winners` has a number for each element, or for each row of elements that the indices select,
 * zero at first.  The first pass stores which value is the last, and the second one writes that
 * value. */
enum mx_scatter_pass { MX_SCATTER_UPDATES, MX_SCATTER_FINDS_LAST, MX_SCATTER_WRITES_LAST };
void mx_scatter_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                      enum mx_scatter_pass pass, struct mx_buffer *winners);

/* Returns how many numbers `winners` needs. */
int64_t mx_scatter_winners(const struct mx_kernel *kernel);

/* Whether there are so many updates of each element, which have to wait for each other, that
 * the processor is faster. */
bool mx_scatter_waits(const struct mx_kernel *kernel);
