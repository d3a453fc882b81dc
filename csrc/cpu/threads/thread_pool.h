#pragma once
/* thread_pool.h -- the threads that run the chunks of a job.
 *
 * The callers' lock ensures that there is one run at a time, and none during
 * mx_thread_pool_after_fork.  The other functions may be called at any time from any thread.
 */
#include "base/base.h"

#define MX_MAX_THREADS 64

/* `thread` is 0 for the calling thread, and less than the number of threads of the run. */
typedef void (*mx_chunk_function)(void *job, size_t chunk, int thread);

/* The chunks first..end-1. */
struct mx_chunks {
    size_t first, end;
};

/* Runs function once for each of the chunks, on the calling thread and on at most threads - 1
 * workers.  Threads with an even number take the first chunk that is left, the others the last
 * one.  So the same thread computes about the same part of an array in one run after the other,
 * and finds it in the cache of its core.  The function returns when every chunk that a thread
 * took has finished, and does not wait for workers that took none.
 *
 * The calling thread calls `interrupted`, unless it is NULL, between its chunks.  If that
 * returns true, no more chunks are taken.  Returns the chunks that were not taken. */
struct mx_chunks mx_thread_pool_run(mx_chunk_function function, void *job,
                                    struct mx_chunks chunks, int threads,
                                    bool (*interrupted)(void *job));

/* The same for the chunks 0..n_chunks-1 and all threads, or for the calling thread alone if
 * there are fewer than `least` chunks.  Then the callers' lock is not needed. */
void mx_thread_pool_share(mx_chunk_function function, void *job, size_t n_chunks, size_t least);

/* Returns whether there are workers, and none of them sleeps. */
bool mx_thread_pool_is_awake(void);

int mx_thread_pool_size(void); /* threads, including the caller: 1 to MX_MAX_THREADS */

/* Sets the size, clipped to that range, from the next run on. */
void mx_thread_pool_set_size(int size);

/* Returns the number of threads in the settings, or else the number of cores (cores.h). */
int mx_thread_pool_default_size(void);

/* Called after fork.  A child has no workers until its first run starts them. */
void mx_thread_pool_after_fork(bool in_child);
