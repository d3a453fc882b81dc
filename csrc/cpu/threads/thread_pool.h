#pragma once
/* thread_pool.h -- the threads that share a job's chunks.
 *
 * One run at a time, and no run during mx_thread_pool_after_fork: the caller's lock sees to it.
 * The other functions may be called at any time from any thread.
 */
#include "base/base.h"

#define MX_MAX_THREADS 64

/* thread: 0 is the caller; less than the threads of the run. */
typedef void (*mx_chunk_function)(void *job, size_t chunk, int thread);

/* Runs function for the chunks first..n-1, on the caller and on at most threads - 1 workers,
 * each chunk exactly once, handed out in rising order, and returns when every chunk that was
 * handed out is done.  A worker that has not taken a chunk is never waited for.
 *
 * interrupted (NULL: never) is asked by the caller between its chunks; once it says yes, no
 * more are handed out.  Returns the first chunk that was not handed out: n if all were. */
size_t mx_thread_pool_run(mx_chunk_function function, void *job, size_t first, size_t n,
                          int threads, bool (*interrupted)(void *job));

int mx_thread_pool_size(void); /* threads in all, with the caller: 1 to MX_MAX_THREADS */
void mx_thread_pool_set_size(int size); /* brought into that range; from the next run on */

/* MXNP_NUM_THREADS if that is a number from 1 on, else OMP_NUM_THREADS likewise, else the cores
 * this process may use. */
int mx_thread_pool_default_size(void);

/* A child has no workers until a run of its own starts them. */
void mx_thread_pool_after_fork(bool in_child);
