#pragma once
/* work.h -- how much work a kernel is, and how its grid is divided among dispatches.
 *
 * A GPU with a display stops kernels that run for seconds, and draws nothing meanwhile.  So
 * each kernel has an estimate of its work, and a dispatch has at most the work that the limits
 * of the device allow.  A kernel with more is cut: several dispatches have a part of its grid
 * each.  Three of its arguments are the origin of the part.  The kernel adds them to the
 * position of the thread or of the threadgroup.
 *
 * The unit is a multiplication of a GPU that makes 2^40 of them in a second, as the first M1
 * does.  Its memory moves 2^36 bytes meanwhile.
 */
#include "gpu/kernel.h"

#define MX_WORK_BYTE   16                  /* of memory that is read or written */
#define MX_WORK_ACCESS (64 * MX_WORK_BYTE) /* to an element without neighbours: a line */
#define MX_WORK_ATOMIC ((int64_t)1 << 11)  /* an addition to a word that all threads change */
#define MX_WORK_UPDATE ((int64_t)1 << 20)  /* one that waits for the one before it */

/* Sets the work of a kernel: that of its elements, times their number.  If the kernel has to be
 * cut, adds the arguments for the origin.  It precedes the head of the kernel. */
void mx_work_estimate(struct mx_kernel *kernel, int64_t of_element);

/* The work of the steps of a group for one element, and of moving the element. */
int64_t mx_work_of_element(const struct mx_kernel *kernel);

/* The work of one update by a scatter, which may be contended. */
int64_t mx_work_of_update(const struct mx_kernel *kernel);

/* Sets how many items along each axis of the grid a dispatch has, so that it has at most the
 * work that the limit allows.  An item is a thread or a threadgroup. */
void mx_work_cut(const struct mx_dispatch *dispatch, size_t *part);

/* The share of the limit that some work is. */
double mx_work_share(int64_t work);

/* Sets the most work of one dispatch, or with 0 that of the device's limits.  Returns the
 * previous limit. */
int64_t mx_work_set_limit(int64_t limit);
