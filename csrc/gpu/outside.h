#pragma once
/* outside.h -- memory outside the pool that kernels of a device with its own memory use.
 *
 * From the first kernel that uses a range of bytes until the next wait, the range is a buffer,
 * so it is copied to the device once.  What kernels have written is copied back at the wait.
 * The processor uses no such memory before.
 */
#include "scheduler/fuse.h"

/* Whether the views of a group outside the pool can be bound.  Ranges that overlap in part are
 * different buffers, so none of them may be written. */
bool mx_outside_can_bind(const struct mx_group *group);

/* Returns the buffer of a range, without a reference for the caller; `find` returns NULL if
 * there is none.  `get` makes it then, or returns NULL after mx_fail. */
struct mx_buffer *mx_outside_find(const char *data, size_t size);
struct mx_buffer *mx_outside_get(const char *data, size_t size, bool is_written);

/* Whether a range can be a buffer: addresses on the device are aligned as those of the range.
 */
bool mx_outside_is_aligned(const char *data, size_t size);

/* Copies back what kernels have written, and forgets all ranges.  Returns a status. */
int mx_outside_end(void);
