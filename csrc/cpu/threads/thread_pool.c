/* thread_pool.c -- the threads that share a job's chunks.
 *
 * All of a run's hand-out is in one word: the chunks that are left and the threads that may
 * take one.  A thread takes a chunk by exchanging the word for one with a chunk less, and
 * reads what the run is only after that: from then on the run cannot end before the thread
 * says that it is done.  So a worker that comes late, or never, finds no chunk and costs
 * nothing, and a stale word does no harm, as it holds all that the exchange rests on.
 *
 * Who waits spins for a while and then goes to bed, which is a bit in the word of those
 * asleep and a condition to wait on.  Whoever makes something to do looks at that word after
 * it, who goes to bed looks for something to do after setting its bit: both in the one order
 * of sequentially consistent operations, so one of the two sees the other.
 */
#include "cpu/threads/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cpu/threads/cores.h"

#define CACHE_LINE 128 /* two of 64 bytes are fetched together; Apple's have 128 */

#define MEMBERS_SHIFT 56 /* of the hand-out: members << 56 | chunks left */
#define CHUNKS_LEFT   (((uint64_t)1 << MEMBERS_SHIFT) - 1)

#define SPIN_NS       50000             /* see docs/design/06-threads.md */
#define STACK_SIZE    ((size_t)1 << 20) /* less than a huge page */
#define WAKE_AT_ONCE  2                 /* so that n sleepers are up after log n steps */
#define RUNS_TO_RETRY 100               /* before a start that failed is tried again */

struct bed {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t woken;
};

static struct {
    _Alignas(CACHE_LINE) _Atomic uint64_t hand_out;
    _Alignas(CACHE_LINE) _Atomic uint64_t unfinished; /* chunks of the run */
    _Alignas(CACHE_LINE) _Atomic uint64_t asleep;     /* a bit for each thread */

    /* Written by the caller, between runs only. */
    _Alignas(CACHE_LINE) mx_chunk_function function;
    void *job;
    size_t n;
    int members;
    int n_workers;     /* started */
    int runs_to_retry; /* 0: start what is missing */

    _Atomic int size; /* 0: not known yet */
    struct bed beds[MX_MAX_THREADS];
} pool;

/* -- Waiting ----------------------------------------------------------------------- */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* yield does nothing on most of them */
#endif
}

static uint64_t bit(int thread) { return (uint64_t)1 << thread; }

static bool may_take(uint64_t hand_out, int thread)
{
    return (hand_out & CHUNKS_LEFT) > 0 && (uint64_t)thread < hand_out >> MEMBERS_SHIFT;
}

/* What a thread waits for: workers for a chunk, the caller for the end. */
static bool is_finished(int thread)
{
    return thread == 0 ? atomic_load(&pool.unfinished) == 0
                       : may_take(atomic_load(&pool.hand_out), thread);
}

static bool spin(int thread)
{
    int64_t end = mx_now() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (is_finished(thread))
                return true;
            relax();
        }
    } while (mx_now() < end);
    return false;
}

/* May end early. */
static void await(int thread)
{
    if (spin(thread))
        return;
    struct bed *bed = &pool.beds[thread];
    pthread_mutex_lock(&bed->lock);
    atomic_fetch_or(&pool.asleep, bit(thread));
    if (is_finished(thread))
        atomic_fetch_and(&pool.asleep, ~bit(thread));
    while (atomic_load(&pool.asleep) & bit(thread))
        pthread_cond_wait(&bed->woken, &bed->lock);
    pthread_mutex_unlock(&bed->lock);
}

static void wake(int thread)
{
    if (!(atomic_fetch_and(&pool.asleep, ~bit(thread)) & bit(thread)))
        return; /* somebody else did */
    struct bed *bed = &pool.beds[thread];
    pthread_mutex_lock(&bed->lock);
    pthread_cond_signal(&bed->woken);
    pthread_mutex_unlock(&bed->lock);
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

/* Takes one chunk; gives how many were left with it, 0 if this thread may take none. */
static uint64_t take(int thread)
{
    uint64_t hand_out = atomic_load_explicit(&pool.hand_out, memory_order_relaxed);
    do {
        if (!may_take(hand_out, thread))
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(
        &pool.hand_out, &hand_out, hand_out - 1, memory_order_acquire, memory_order_relaxed));
    return hand_out & CHUNKS_LEFT;
}

static void run_chunk(int thread, uint64_t left)
{
    if (left > 1)
        wake_workers(pool.members);
    pool.function(pool.job, pool.n - (size_t)left, thread);
}

/* Takes back what was not handed out. */
static uint64_t close_hand_out(void)
{
    return atomic_fetch_and(&pool.hand_out, ~CHUNKS_LEFT) & CHUNKS_LEFT;
}

/* True for the thread that finishes the run; after it, only the caller reads the run. */
static bool finish(uint64_t chunks)
{
    return chunks > 0 && atomic_fetch_sub(&pool.unfinished, chunks) == chunks;
}

/* -- Workers ----------------------------------------------------------------------- */

static void *work(void *start)
{
    int thread = *(int *)start;
    mx_free(start);
    for (;;) {
        uint64_t left, done = 0;
        for (; (left = take(thread)) > 0; done++)
            run_chunk(thread, left);
        if (finish(done) && atomic_load(&pool.asleep) & bit(0))
            wake(0);
        await(thread);
    }
    return NULL;
}

/* Signals are for the threads of the program, but those that a fault raises come to the thread
 * that is at fault. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static int start_thread(void *start)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    block_signals(&before); /* inherited, so that it holds from the first instruction on */
    error = pthread_create(&thread, &attributes, work, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void make_bed(int thread)
{
    pthread_mutex_init(&pool.beds[thread].lock, NULL);
    pthread_cond_init(&pool.beds[thread].woken, NULL);
}

static bool start_worker(void)
{
    int *start = mx_alloc(sizeof *start);
    if (!start)
        return false;
    *start = pool.n_workers + 1;
    make_bed(*start);
    if (pool.n_workers == 0)
        make_bed(0);
    if (start_thread(start) != 0) {
        mx_free(start);
        return false;
    }
    pool.n_workers++;
    return true;
}

/* Gives how many threads share the run. */
static int gather(size_t chunks, int threads)
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

static size_t run_alone(mx_chunk_function function, void *job, size_t first, size_t n,
                        bool (*interrupted)(void *job))
{
    while (first < n) {
        function(job, first++, 0);
        if (interrupted && first < n && interrupted(job))
            break;
    }
    return first;
}

size_t mx_thread_pool_run(mx_chunk_function function, void *job, size_t first, size_t n,
                          int threads, bool (*interrupted)(void *job))
{
    size_t chunks = first < n ? n - first : 0;
    int members = threads > 1 && chunks > 1 ? gather(chunks, threads) : 1;
    if (members == 1)
        return run_alone(function, job, first, n, interrupted);

    pool.function = function;
    pool.job = job;
    pool.n = n;
    pool.members = members;
    atomic_store_explicit(&pool.unfinished, chunks, memory_order_relaxed);
    atomic_store(&pool.hand_out, (uint64_t)members << MEMBERS_SHIFT | chunks);

    uint64_t left, done = 0;
    while ((left = take(0)) > 0) {
        run_chunk(0, left);
        done++;
        if (interrupted && left > 1 && interrupted(job)) {
            left = close_hand_out();
            break;
        }
    }
    if (!finish(done + left))
        while (atomic_load(&pool.unfinished) > 0)
            await(0);
    return n - (size_t)left;
}

/* -- Size -------------------------------------------------------------------------- */

static int clamp(long size)
{
    return size < 1 ? 1 : size < MX_MAX_THREADS ? (int)size : MX_MAX_THREADS;
}

/* The number that a text begins with, if it ends there or at the separator; else 0. */
static int read_size(const char *text, char separator)
{
    char *end = NULL;
    long size = text ? strtol(text, &end, 10) : 0;
    return size > 0 && (*end == '\0' || *end == separator) ? clamp(size) : 0;
}

/* OpenMP's variable may have a number for each level of nested threads: the first counts. */
int mx_thread_pool_default_size(void)
{
    int size = read_size(getenv("MXNP_NUM_THREADS"), '\0');
    if (size == 0)
        size = read_size(getenv("OMP_NUM_THREADS"), ',');
    return size ? size : clamp(mx_cores_count());
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
