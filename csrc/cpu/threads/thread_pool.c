/* thread_pool.c -- the threads that run the chunks of a job.
 *
 * One atomic word, the ticket, holds the chunks that are left and the number of threads that
 * may take one.  A thread takes a chunk by a compare-and-swap of the ticket for one with one
 * chunk less.  Only then does it read the other fields of the run, which cannot
 * end before the thread has finished its chunk.  A worker that wakes late, or never, finds no
 * chunk and costs nothing.  A stale ticket does no harm, as the exchange depends on nothing
 * else.
 *
 * A thread that waits spins for a while and then sleeps: it sets its bit in the word `asleep`
 * and waits on a condition variable.  A thread that provides work reads `asleep` afterwards,
 * and a thread that goes to sleep looks for work after it has set its bit.  These operations
 * are sequentially consistent, so at least one of the two threads sees the other.
 */
#include "cpu/threads/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "cpu/threads/cores.h"

#define CACHE_LINE 128 /* two lines of 64 bytes are fetched together, and Apple's have 128 */

/* A ticket is members << 56 | first << 28 | end, for the chunks that are left.  The first chunk
 * of a run has the number 0. */
#define MEMBERS_SHIFT 56
#define FIRST_SHIFT   28
#define MOST_CHUNKS   (((uint64_t)1 << FIRST_SHIFT) - 1) /* of a run */

#define SPIN_NS       50000             /* see docs/design/06-threads.md */
#define LONG_SPIN_NS  300000            /* if the next run usually begins within that time */
#define MOST_BUSY     8                 /* runs that are remembered */
#define STACK_SIZE    ((size_t)1 << 20) /* less than a huge page */
#define WAKE_AT_ONCE  2   /* each wakes two, so n threads are awake after log n steps */
#define RUNS_TO_RETRY 100 /* runs after which a failed start is tried again */

/* Where a thread sleeps. */
struct sleeper {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t woken;
};

static struct {
    _Alignas(CACHE_LINE) _Atomic uint64_t ticket;
    _Alignas(CACHE_LINE) _Atomic uint64_t unfinished; /* chunks of the run */
    _Alignas(CACHE_LINE) _Atomic uint64_t asleep;     /* a bit for each thread */

    /* The calling thread writes these, between runs only. */
    _Alignas(CACHE_LINE) mx_chunk_function function;
    void *job;
    size_t first; /* chunk of the run */
    int members;
    int n_workers;     /* started */
    int runs_to_retry; /* runs until missing workers are started */
    int64_t ended;     /* when the last run with workers did */

    /* How many more runs began soon after the one before than late, of the last few. */
    _Atomic int busy;

    _Atomic int size; /* 0 before it is determined */
    struct sleeper sleepers[MX_MAX_THREADS];
} pool;

/* -- Waiting ----------------------------------------------------------------------- */

static uint64_t bit(int thread) { return (uint64_t)1 << thread; }

static uint64_t first_of(uint64_t ticket) { return ticket >> FIRST_SHIFT & MOST_CHUNKS; }

static uint64_t end_of(uint64_t ticket) { return ticket & MOST_CHUNKS; }

static bool may_take(uint64_t ticket, int thread)
{
    return first_of(ticket) < end_of(ticket) && (uint64_t)thread < ticket >> MEMBERS_SHIFT;
}

/* Returns whether what a thread waits for has happened: a chunk for workers, the end of the run
 * for the calling thread. */
static bool is_finished(int thread)
{
    return thread == 0 ? atomic_load(&pool.unfinished) == 0
                       : may_take(atomic_load(&pool.ticket), thread);
}

static bool spin(int thread)
{
    bool is_busy = atomic_load_explicit(&pool.busy, memory_order_relaxed) > 0;
    int64_t end = mx_now() + (is_busy ? LONG_SPIN_NS : SPIN_NS);
    do {
        for (int i = 0; i < 32; i++) {
            if (is_finished(thread))
                return true;
            mx_relax();
        }
    } while (mx_now() < end);
    return false;
}

/* Waits until is_finished(thread) may be true. */
static void thread_pool_await(int thread)
{
    if (spin(thread))
        return;
    struct sleeper *sleeper = &pool.sleepers[thread];
    pthread_mutex_lock(&sleeper->lock);
    atomic_fetch_or(&pool.asleep, bit(thread));
    if (is_finished(thread))
        atomic_fetch_and(&pool.asleep, ~bit(thread));
    while (atomic_load(&pool.asleep) & bit(thread))
        pthread_cond_wait(&sleeper->woken, &sleeper->lock);
    pthread_mutex_unlock(&sleeper->lock);
}

static void wake(int thread)
{
    if (!(atomic_fetch_and(&pool.asleep, ~bit(thread)) & bit(thread)))
        return; /* another thread woke it */
    struct sleeper *sleeper = &pool.sleepers[thread];
    pthread_mutex_lock(&sleeper->lock);
    pthread_cond_signal(&sleeper->woken);
    pthread_mutex_unlock(&sleeper->lock);
}

static void wake_workers(int members)
{
    uint64_t workers = ((uint64_t)2 << (members - 1)) - 2;
    for (int i = 0; i < WAKE_AT_ONCE; i++) {
        uint64_t asleep = atomic_load(&pool.asleep) & workers;
        if (!asleep)
            return;
        wake(__builtin_ctzll(asleep));
    }
}

/* -- Chunks ------------------------------------------------------------------------ */

/* Takes one chunk: the first one, or the last one if the number of the thread is odd.  Sets its
 * number in the run.  Returns how many were left including this one, or 0 if this thread may
 * take none. */
static uint64_t thread_pool_take(int thread, uint64_t *chunk)
{
    uint64_t ticket = atomic_load_explicit(&pool.ticket, memory_order_relaxed), next;
    bool is_last = thread % 2 == 1;
    do {
        if (!may_take(ticket, thread))
            return 0;
        next = is_last ? ticket - 1 : ticket + ((uint64_t)1 << FIRST_SHIFT);
    } while (!atomic_compare_exchange_weak_explicit(
        &pool.ticket, &ticket, next, memory_order_acquire, memory_order_relaxed));
    *chunk = is_last ? end_of(ticket) - 1 : first_of(ticket);
    return end_of(ticket) - first_of(ticket);
}

static void run_chunk(int thread, uint64_t chunk, uint64_t left)
{
    if (left > 1)
        wake_workers(pool.members);
    pool.function(pool.job, pool.first + (size_t)chunk, thread);
}

/* Closes the run, and returns the chunks that no thread took, by their numbers in the run. */
static struct mx_chunks close_ticket(void)
{
    uint64_t ticket = atomic_exchange(&pool.ticket, 0);
    return (struct mx_chunks){first_of(ticket), end_of(ticket)};
}

/* Counts finished chunks.  Returns true for the thread that finishes the run; after that, only
 * the calling thread reads the fields of the run. */
static bool thread_pool_finish(uint64_t chunks)
{
    if (chunks == 0)
        return false;
    uint64_t before = atomic_fetch_sub(&pool.unfinished, chunks);
    MX_ASSERT(before >= chunks);
    return before == chunks;
}

/* -- Workers ----------------------------------------------------------------------- */

static void *work(void *start)
{
    int thread = *(int *)start;
    mx_free(start);
    for (;;) {
        uint64_t chunk, left, done = 0;
        for (; (left = thread_pool_take(thread, &chunk)) > 0; done++)
            run_chunk(thread, chunk, left);
        if (thread_pool_finish(done) && atomic_load(&pool.asleep) & bit(0))
            wake(0);
        thread_pool_await(thread);
    }
    return NULL;
}

static void init_sleeper(int thread)
{
    pthread_mutex_init(&pool.sleepers[thread].lock, NULL);
    pthread_cond_init(&pool.sleepers[thread].woken, NULL);
}

static bool start_worker(void)
{
    int *start = mx_alloc(sizeof *start);
    if (!start)
        return false;
    *start = pool.n_workers + 1;
    init_sleeper(*start);
    if (pool.n_workers == 0)
        init_sleeper(0);
    if (!mx_thread_start(work, start, STACK_SIZE)) {
        mx_free(start);
        return false;
    }
    pool.n_workers++;
    return true;
}

/* Starts missing workers.  Returns how many threads share the run. */
static int start_workers(size_t chunks, int threads)
{
    int size = mx_thread_pool_size();
    threads = threads < size ? threads : size;
    threads = chunks < (size_t)threads ? (int)chunks : threads;
    if (pool.n_workers + 1 < threads && pool.runs_to_retry > 0)
        pool.runs_to_retry--;
    else
        while (pool.n_workers + 1 < threads)
            if (!start_worker()) {
                pool.runs_to_retry = RUNS_TO_RETRY;
                break;
            }
    return threads < pool.n_workers + 1 ? threads : pool.n_workers + 1;
}

/* -- The caller -------------------------------------------------------------------- */

static struct mx_chunks run_alone(mx_chunk_function function, void *job,
                                  struct mx_chunks chunks, bool (*interrupted)(void *job))
{
    while (chunks.first < chunks.end) {
        function(job, chunks.first++, 0);
        if (interrupted && chunks.first < chunks.end && interrupted(job))
            break;
    }
    return chunks;
}

/* Notes whether a run begins so soon after the one before that workers should spin for it. */
static void note_gap(int64_t gap)
{
    int busy = atomic_load_explicit(&pool.busy, memory_order_relaxed);
    busy = gap > LONG_SPIN_NS ? busy / 2 : busy < MOST_BUSY ? busy + 1 : MOST_BUSY;
    atomic_store_explicit(&pool.busy, busy, memory_order_relaxed);
}

/* Runs chunks, at most MOST_CHUNKS, with workers. */
static struct mx_chunks run_together(mx_chunk_function function, void *job,
                                     struct mx_chunks chunks, int members,
                                     bool (*interrupted)(void *job))
{
    uint64_t n = chunks.end - chunks.first, chunk, left, done = 0;
    struct mx_chunks untaken = {0, 0};
    MX_ASSERT(n <= MOST_CHUNKS && members <= MX_MAX_THREADS);
    MX_ASSERT(atomic_load(&pool.unfinished) == 0);
    note_gap(mx_now() - pool.ended);
    pool.function = function;
    pool.job = job;
    pool.first = chunks.first;
    pool.members = members;
    atomic_store_explicit(&pool.unfinished, n, memory_order_relaxed);
    atomic_store(&pool.ticket, (uint64_t)members << MEMBERS_SHIFT | n);

    while ((left = thread_pool_take(0, &chunk)) > 0) {
        run_chunk(0, chunk, left);
        done++;
        if (interrupted && left > 1 && interrupted(job)) {
            untaken = close_ticket();
            break;
        }
    }
    if (!thread_pool_finish(done + untaken.end - untaken.first))
        while (atomic_load(&pool.unfinished) > 0)
            thread_pool_await(0);
    pool.ended = mx_now();
    return (struct mx_chunks){chunks.first + untaken.first, chunks.first + untaken.end};
}

struct mx_chunks mx_thread_pool_run(mx_chunk_function function, void *job,
                                    struct mx_chunks chunks, int threads,
                                    bool (*interrupted)(void *job))
{
    size_t n = chunks.first < chunks.end ? chunks.end - chunks.first : 0;
    bool is_shared = threads > 1 && n > 1 && n <= MOST_CHUNKS; /* more would be terabytes */
    int members = is_shared ? start_workers(n, threads) : 1;
    return members > 1 ? run_together(function, job, chunks, members, interrupted)
                       : run_alone(function, job, chunks, interrupted);
}

void mx_thread_pool_share(mx_chunk_function function, void *job, size_t n_chunks, size_t least)
{
    if (n_chunks < least)
        for (size_t chunk = 0; chunk < n_chunks; chunk++)
            function(job, chunk, 0);
    else
        mx_thread_pool_run(function, job, (struct mx_chunks){0, n_chunks},
                           mx_thread_pool_size(), NULL);
}

bool mx_thread_pool_is_awake(void) { return pool.n_workers > 0 && !atomic_load(&pool.asleep); }

/* -- Size -------------------------------------------------------------------------- */

static int clamp(long size)
{
    return size < 1 ? 1 : size < MX_MAX_THREADS ? (int)size : MX_MAX_THREADS;
}

int mx_thread_pool_default_size(void)
{
    return clamp(mx_settings.n_threads > 0 ? mx_settings.n_threads : mx_cores_count(""));
}

int mx_thread_pool_size(void)
{
    int size = atomic_load(&pool.size);
    if (size == 0) {
        int found = mx_thread_pool_default_size();
        if (atomic_compare_exchange_strong(&pool.size, &size, found))
            size = found;
    }
    return size;
}

void mx_thread_pool_set_size(int size) { atomic_store(&pool.size, clamp(size)); }

/* -- Fork -------------------------------------------------------------------------- */

void mx_thread_pool_after_fork(bool in_child)
{
    if (!in_child)
        return;
    pool.n_workers = 0;
    pool.runs_to_retry = 0;
    atomic_store(&pool.asleep, 0);
}
