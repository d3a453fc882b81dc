#pragma once
/* stream.h -- the recorded instructions that have not run yet, in program order.
 *
 * An instruction holds a count of each buffer it names from the moment it is recorded
 * until it has run.  Any thread may call; one at a time records or flushes.
 */
#include "backend.h"

/* Before the first flush; the backend is static. */
void mx_stream_set_backend(const struct mx_backend *backend);

/* Status; when it fails, nothing was recorded. */
int mx_stream_append(const struct mx_loop *loop, const struct mx_operand *operands, intptr_t n);

/* Runs and empties the stream; it is empty also after a failure, which is the backend's. */
int mx_stream_flush(int *floating_status);

size_t mx_stream_size(void);

/* Around fork: no other thread is inside the stream at that moment. */
void mx_stream_before_fork(void);
void mx_stream_after_fork(bool in_child);
