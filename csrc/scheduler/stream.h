#pragma once
/* stream.h -- the recorded instructions that have not run yet, in program order.
 *
 * An instruction holds a count of each buffer it names from the moment it is recorded until
 * its group has run.  To flush is to enter, to prepare, to run and to leave; whoever is
 * inside has the stream for itself, while others go on recording.  What was recorded is
 * given back when all of it has run.
 *
 * A result whose owner has lent it is not written to memory: most often it is an argument
 * that nothing else refers to, gone as soon as the call is over.  What computes it is kept,
 * as if it had been recorded once more, and dropped when the owner is gone.  Until then
 * memory that it reads must not be written.
 *
 * A check that fails is found when its group has run.  What its thread recorded after it and
 * what needs results of that does not run, and memory that was there before is as it was.
 */
#include "scheduler/backend.h"

/* Before the first flush; the backends are static.  What the device declines, or all if there
 * is none, runs on the processor. */
void mx_stream_set_backends(const struct mx_backend *device,
                            const struct mx_backend *processor);

void mx_stream_set_fuse(bool fuse);

/* Whether instructions are told what they took, from the next group on. */
void mx_stream_set_measured(bool is_measured);

/* Appends a copy and numbers it; *sequence gets the number.  Status; when it fails, nothing
 * was recorded. */
int mx_stream_append(const struct mx_instruction *in, int64_t *sequence);

uintptr_t mx_stream_thread(void); /* a number that only the calling thread ever has */

int64_t mx_stream_recorded(void); /* sequence of the last instruction recorded */
int64_t mx_stream_done(void);     /* all up to this have run */
size_t mx_stream_size(void);      /* instructions waiting */

void mx_stream_enter(void); /* waits for whoever is inside */
bool mx_stream_try_enter(void);
void mx_stream_leave(void);

/* Takes what is recorded, unless something taken before has still to run, plans it and
 * places what is shown.  Nobody may show or drop a buffer meanwhile.  Status; when it
 * fails, all of it waits for the next try.  *n_taken gets the instructions to be run. */
int mx_stream_prepare(size_t *n_taken);

/* Runs what was prepared.  A status; unless it is MX_OK the rest waits for the next try, and
 * must be prepared again. */
int mx_stream_run(bool (*interrupted)(void));

/* After it has run: the instructions, for the caller to read and to free.  The places of
 * those that are kept go on being used. */
struct mx_instruction *mx_stream_take_back(size_t *count);

/* Lets go of the buffers of an instruction that was taken back; only those that failed have
 * them still. */
void mx_stream_release(struct mx_instruction *in);

/* What the device said when it failed last; it is whoever's who is inside. */
const char *mx_stream_device_message(void);

/* Who has lent what was prepared; NULL: nobody. */
void *mx_stream_elision_owner(void);

size_t mx_stream_rematerializable(void); /* instructions that are kept */

/* Whether something kept may use the buffer, or runs. */
bool mx_stream_may_reread(const struct mx_buffer *buffer);

/* Drops the kept instructions if nobody holds their results any more; gives them to the
 * caller to free.  NULL: they stay. */
struct mx_instruction *mx_stream_drop_rematerializable(size_t *count);

/* Around fork.  Whoever forks has entered before, and leaves in both processes. */
void mx_stream_before_fork(void);
void mx_stream_after_fork(bool in_child);
