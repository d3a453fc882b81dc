#pragma once
/* stream.h -- the queue: recorded instructions that have not run yet, in program order.
 *
 * An instruction holds a reference to each of its buffers from the moment it is recorded until
 * its group has run.  A flush enters the stream, prepares, runs, takes the instructions back
 * and leaves. Between enter and leave the thread holds the stream, while other threads go on
 * recording.
 *
 * A result whose owner may be about to drop it can be elided: it is not written to memory. Most
 * often it is an argument of the call that flushes, to which nothing else refers.  The
 * instructions that compute it are rematerializable.  They wait at the front of the queue, as
 * if they had been recorded again, and they run again if the result is needed after all.  They
 * are dropped when the owner has dropped the result.  Until then the memory that they read must
 * not be written.
 *
 * A failed check is found when its group has run.  Instructions that its thread recorded after
 * it do not run, nor do those that need their results.  Memory that existed before the check is
 * unchanged.
 */
#include "scheduler/backend.h"

/* Sets the backends, before the first flush.  Groups that the device declines run on the
 * processor, and all groups do if the device is NULL. */
void mx_stream_set_backends(const struct mx_backend *device,
                            const struct mx_backend *processor);

void mx_stream_set_fuse(bool fuse); /* whether instructions are fused into groups */

/* Sets whether costs are written onto the instructions, from the next group on. */
void mx_stream_set_measured(bool is_measured);

/* Appends a copy of an instruction, which is legal, and retains its buffers.  *sequence
 * receives its sequence number.  Returns a status; after a failure nothing was recorded. */
int mx_stream_append(const struct mx_instruction *in, int64_t *sequence);

uintptr_t mx_stream_thread(void); /* a number that no other thread ever has */

int64_t mx_stream_recorded(void); /* sequence number of the last instruction */
int64_t mx_stream_done(void);     /* all instructions up to this number have run */
size_t mx_stream_size(void);      /* instructions that wait */

void mx_stream_enter(void);     /* waits for the thread that holds the stream */
bool mx_stream_try_enter(void); /* returns false if another thread holds the stream */
void mx_stream_leave(void);

/* The functions from here to mx_stream_elision_owner are called by the thread that holds the
 * stream. */

/* Takes the recorded instructions, unless some that were taken before have still to run.  Plans
 * them, and allocates the buffers that arrays own.  No array may be attached to a buffer or
 * dropped meanwhile.  *n_taken receives the number of instructions.  Returns a status; after a
 * failure all of them wait for the next call. */
int mx_stream_prepare(size_t *n_taken);

/* Runs the prepared instructions.  Returns a status; unless it is MX_OK, the rest must be
 * prepared again and waits for the next call. */
int mx_stream_run(bool (*interrupted)(void));

/* Returns the instructions after all have run.  The caller frees the array.  Call sites of
 * rematerializable instructions stay in use. */
struct mx_instruction *mx_stream_take_back(size_t *count);

/* Releases the buffers of an instruction that was taken back.  Only those that failed still
 * have buffers. */
void mx_stream_release(struct mx_instruction *in);

/* Returns the device's message for its last failure. */
const char *mx_stream_device_message(void);

/* Returns the owner of the result that is elided in the prepared plan, or NULL. */
void *mx_stream_elision_owner(void);

size_t mx_stream_rematerializable(void); /* the number of rematerializable instructions */

/* Returns whether a rematerializable instruction may still use the buffer, or runs now. */
bool mx_stream_may_reread(const struct mx_buffer *buffer);

/* Drops the rematerializable instructions if nothing else holds their results.  Returns them
 * for the caller to free, or NULL if they stay. */
struct mx_instruction *mx_stream_drop_rematerializable(size_t *count);

/* Called around fork.  The thread that forks holds the stream, and leaves it in both processes.
 */
void mx_stream_before_fork(void);
void mx_stream_after_fork(bool in_child);
