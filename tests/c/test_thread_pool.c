/* test_thread_pool.c -- each chunk runs once, even if workers are late, missing or interrupted.
 *
 * It includes the tested files to see which threads sleep, and to replace pthread_create. */
#include <pthread.h>

static int start_or_refuse(pthread_t *thread, const pthread_attr_t *attributes,
                           void *(*function)(void *), void *argument);

#define pthread_create start_or_refuse
#include "../../csrc/base/thread.c"
#include "../../csrc/cpu/threads/thread_pool.c"
#undef pthread_create

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* -- Each chunk once ----------------------------------------------------------------- */

enum { MANY = 5000 };

struct job {
    size_t first, n;
    int threads;
    int runs[MANY]; /* of each chunk; not atomic, as only one thread may write it */
    size_t newest[MX_MAX_THREADS]; /* chunk of each thread, + 1 */
    size_t total[MX_MAX_THREADS];  /* chunks of each thread */
    size_t asked;                  /* calls of interrupt_later */
    size_t stop;                   /* calls after which it interrupts */
};

static struct job job;

static void count(void *argument, size_t chunk, int thread)
{
    struct job *of = argument;
    CHECK(of == &job);
    CHECK(chunk >= job.first && chunk < job.n);
    CHECK(thread >= 0 && thread < job.threads && thread < mx_thread_pool_size());
    if (job.newest[thread] != 0 && thread % 2 == 0)
        CHECK(chunk + 1 > job.newest[thread]); /* rising */
    if (job.newest[thread] != 0 && thread % 2 == 1)
        CHECK(chunk + 1 < job.newest[thread]); /* falling */
    job.newest[thread] = chunk + 1;
    job.total[thread]++;
    job.runs[chunk]++;
}

static bool interrupt_later(void *argument)
{
    CHECK(argument == &job);
    return ++job.asked > job.stop;
}

/* Runs chunks without interruption.  Returns whether all were run. */
static bool run(mx_chunk_function function, void *argument, size_t first, size_t n, int threads)
{
    struct mx_chunks left =
        mx_thread_pool_run(function, argument, (struct mx_chunks){first, n}, threads, NULL);
    return left.first >= left.end;
}

static void prepare(size_t first, size_t n, int threads)
{
    memset(&job, 0, sizeof job);
    job.first = first;
    job.n = n;
    job.threads = threads > 1 ? threads : 1;
}

static void check_runs(size_t from, size_t to, int expected)
{
    for (size_t i = from; i < to; i++)
        CHECK(job.runs[i] == expected);
}

static void test_each_once(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 1000, MANY};
    static const int threads[] = {-1, 0, 1, 2, 3, 4, 8, 63, 64, 65, 1000};
    mx_thread_pool_set_size(MX_MAX_THREADS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            for (size_t first = 0; first < sizes[i] + 2; first += 1 + sizes[i] / 3) {
                size_t n = sizes[i];
                prepare(first, n, threads[t]);
                CHECK(run(count, &job, first, n, threads[t]));
                check_runs(0, first < n ? first : n, 0);
                check_runs(first, n, 1);
            }
}

static void test_interruption(void)
{
    mx_thread_pool_set_size(8);
    for (int threads = 1; threads <= 8; threads++)
        for (size_t stop = 0; stop < 40; stop += 3) {
            prepare(0, 300, threads);
            struct mx_chunks left = {0, 300};
            size_t interruptions = 0;
            while (left.first < left.end) {
                job.asked = 0;
                job.stop = stop;
                job.first = left.first;
                job.n = left.end;
                memset(job.newest, 0, sizeof job.newest);
                size_t before = left.end - left.first;
                left = mx_thread_pool_run(count, &job, left, threads, interrupt_later);
                CHECK(left.end - left.first < before); /* at least a chunk each time */
                CHECK(left.first <= left.end);
                if (left.first == left.end)
                    left = (struct mx_chunks){300, 300};
                check_runs(0, left.first, 1);
                check_runs(left.first, left.end, 0);
                check_runs(left.end, 300, 1);
                CHECK(job.asked <= stop + 1);
                if (left.first < left.end) {
                    interruptions++;
                    CHECK(job.asked == stop + 1);
                }
            }
            CHECK(threads > 1 || interruptions == 299 / (stop + 1));
        }
}

/* The calling thread checks for interrupts after each of its chunks except the last. */
static void test_interruption_alone(void)
{
    prepare(0, 10, 1);
    job.stop = 100;
    struct mx_chunks left =
        mx_thread_pool_run(count, &job, (struct mx_chunks){0, 10}, 1, interrupt_later);
    CHECK(left.first == 10 && left.end == 10);
    CHECK(job.asked == 9);
    prepare(0, 1, 1);
    left = mx_thread_pool_run(count, &job, (struct mx_chunks){0, 1}, 8, interrupt_later);
    CHECK(left.first == 1 && left.end == 1);
    CHECK(job.asked == 0);
}

static void test_many_quick_runs(void)
{
    mx_thread_pool_set_size(4);
    for (int i = 0; i < 100000; i++) {
        int threads = 2 + i % 3;
        size_t n = 2 + (size_t)i % 5;
        prepare(0, n, threads);
        CHECK(run(count, &job, 0, n, threads));
        check_runs(0, n, 1);
    }
}

/* -- Waking and waiting -------------------------------------------------------------- */

static _Atomic int arrived;

/* Returns only when all threads of the run are in this function at the same time. */
static void meet(void *members, size_t chunk, int thread)
{
    (void)chunk;
    (void)thread;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < *(int *)members)
        sched_yield();
}

static void meet_with(int members)
{
    atomic_store(&arrived, 0);
    CHECK(run(meet, &members, 0, (size_t)members, members));
    CHECK(atomic_load(&arrived) == members);
}

static void wait_until_all_sleep(void)
{
    uint64_t workers = ((uint64_t)2 << pool.n_workers) - 2;
    while (atomic_load(&pool.asleep) != workers)
        sched_yield();
    for (int i = 1; i <= pool.n_workers; i++) { /* asleep, not just before it */
        pthread_mutex_lock(&pool.sleepers[i].lock);
        pthread_mutex_unlock(&pool.sleepers[i].lock);
    }
}

/* No worker sleeps while there is a chunk for it: neither after a long sleep, nor if it is just
 * about to fall asleep. */
static void test_all_wake(void)
{
    for (int members = 2; members <= 6; members++) {
        mx_thread_pool_set_size(members);
        for (int i = 0; i < 20; i++) {
            meet_with(members);
            wait_until_all_sleep();
        }
        unsigned seed = (unsigned)members;
        for (int i = 0; i < 1000; i++) {
            meet_with(members);
            seed = seed * 1103515245u + 12345u;
            int64_t end = mx_now() + (int64_t)(seed >> 16) % (2 * SPIN_NS);
            while (mx_now() < end)
                mx_relax();
        }
    }
    mx_thread_pool_set_size(MX_MAX_THREADS);
    meet_with(MX_MAX_THREADS);
    wait_until_all_sleep();
    meet_with(MX_MAX_THREADS);
}

static int slow_results[64];

/* The calling thread's chunk waits until a worker has a chunk, and the worker is slow. */
static void be_slow(void *unused, size_t chunk, int thread)
{
    (void)unused;
    if (thread == 0)
        while (atomic_load(&arrived) == 0)
            sched_yield();
    else {
        atomic_fetch_add(&arrived, 1);
        usleep(2000); /* the calling thread falls asleep meanwhile */
    }
    slow_results[chunk] = (int)chunk + 1;
}

static void test_claimed_is_waited_for(void)
{
    mx_thread_pool_set_size(3);
    for (int round = 0; round < 10; round++) {
        memset(slow_results, 0, sizeof slow_results);
        atomic_store(&arrived, 0);
        CHECK(run(be_slow, NULL, 0, 4, 3));
        for (int i = 0; i < 4; i++)
            CHECK(slow_results[i] == i + 1);
    }
}

static bool interrupt_always(void *unused)
{
    (void)unused;
    return true;
}

static void test_claimed_is_waited_for_when_interrupted(void)
{
    mx_thread_pool_set_size(3);
    for (int round = 0; round < 10; round++) {
        memset(slow_results, 0, sizeof slow_results);
        atomic_store(&arrived, 0);
        struct mx_chunks left =
            mx_thread_pool_run(be_slow, NULL, (struct mx_chunks){0, 64}, 3, interrupt_always);
        CHECK(left.first >= 1 && left.first <= left.end && left.end - left.first <= 62);
        for (size_t i = 0; i < 64; i++)
            CHECK(slow_results[i] == (i < left.first || i >= left.end ? (int)i + 1 : 0));
    }
}

/* -- Processes ----------------------------------------------------------------------- */

/* Runs a function in a child process. */
static void check_child(void (*function)(void))
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child in which mx_thread_pool_after_fork was not called waits for no worker. */
static void run_without_workers(void)
{
    for (int i = 0; i < 100; i++) {
        prepare(0, 1000, 8);
        CHECK(run(count, &job, 0, 1000, 8));
        check_runs(0, 1000, 1);
        CHECK(job.total[0] == 1000);
    }
}

static void test_workers_that_never_come_are_not_waited_for(void)
{
    mx_thread_pool_set_size(8);
    meet_with(8);
    CHECK(pool.n_workers >= 7);
    wait_until_all_sleep();
    check_child(run_without_workers);
}

static void run_in_child(void)
{
    mx_thread_pool_after_fork(true);
    CHECK(pool.n_workers == 0);
    meet_with(4); /* the workers of the child */
    CHECK(pool.n_workers == 3);
    prepare(0, 1000, 4);
    CHECK(run(count, &job, 0, 1000, 4));
    check_runs(0, 1000, 1);
    wait_until_all_sleep();
    meet_with(4);
}

static void run_in_child_and_grandchild(void)
{
    run_in_child();
    check_child(run_in_child);
}

static void test_fork(void)
{
    mx_thread_pool_set_size(4);
    for (int i = 0; i < 20; i++) { /* the parent's workers spin, fall asleep, or sleep */
        meet_with(4);
        usleep((useconds_t)(i * 10));
        check_child(i == 0 ? run_in_child_and_grandchild : run_in_child);
        mx_thread_pool_after_fork(false);
        meet_with(4);
    }
}

static void *run_and_end(void *unused)
{
    meet_with(4);
    return unused;
}

/* Each run may have another calling thread. */
static void test_other_callers(void)
{
    mx_thread_pool_set_size(4);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run_and_end, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        meet_with(4);
    }
}

/* -- Threads ------------------------------------------------------------------------- */

static void check_signals(void *members, size_t chunk, int thread)
{
    meet(members, chunk, thread);
    sigset_t blocked;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0);
    bool is_worker = thread != 0;
    CHECK(sigismember(&blocked, SIGINT) == is_worker);
    CHECK(sigismember(&blocked, SIGTERM) == is_worker);
    CHECK(sigismember(&blocked, SIGALRM) == is_worker);
    CHECK(sigismember(&blocked, SIGSEGV) == 0);
}

static void test_signals(void)
{
    int members = 3;
    mx_thread_pool_set_size(members);
    atomic_store(&arrived, 0);
    CHECK(run(check_signals, &members, 0, 3, 3));
}

static void test_size(void)
{
    static const int sizes[] = {2, 8, 1, 5, 64, 2, 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mx_thread_pool_set_size(sizes[i]);
        CHECK(mx_thread_pool_size() == sizes[i]);
        meet_with(sizes[i]);
        prepare(0, 500, sizes[i]);
        CHECK(run(count, &job, 0, 500, MX_MAX_THREADS));
        check_runs(0, 500, 1);
    }
    mx_thread_pool_set_size(0);
    CHECK(mx_thread_pool_size() == 1);
    mx_thread_pool_set_size(-5);
    CHECK(mx_thread_pool_size() == 1);
    mx_thread_pool_set_size(100000);
    CHECK(mx_thread_pool_size() == MX_MAX_THREADS);
}

static void test_default_size(void)
{
    int size = mx_thread_pool_default_size();
    CHECK(size >= 1 && size <= MX_MAX_THREADS && size <= mx_cores_count(""));
    mx_settings.n_threads = MX_MAX_THREADS + 1;
    CHECK(mx_thread_pool_default_size() == MX_MAX_THREADS);
    mx_settings.n_threads = 5;
    CHECK(mx_thread_pool_size() == 5); /* the first call reads the settings */
    mx_settings.n_threads = 0;
    CHECK(mx_thread_pool_size() == 5);
}

/* -- Failed starts ------------------------------------------------------------------- */

static void run_all(int threads)
{
    prepare(0, 200, threads);
    CHECK(run(count, &job, 0, 200, threads));
    check_runs(0, 200, 1);
}

static int count_blocked_signals(void)
{
    sigset_t blocked;
    int n = 0;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0);
    for (int number = 1; number < 32; number++)
        n += sigismember(&blocked, number) == 1;
    return n;
}

static void start_two_of_five(void)
{
    mx_thread_pool_after_fork(true);
    mx_alloc_refuse(2, 1);
    run_all(6);
    CHECK(pool.n_workers == 2);
    meet_with(3);
    mx_alloc_refuse(0, 0);
    for (int i = 0; i < RUNS_TO_RETRY; i++)
        run_all(6);
    CHECK(pool.n_workers == 2); /* a run does not always try again */
    run_all(6);
    CHECK(pool.n_workers == 5);
    meet_with(6);
}

static struct {
    int granted; /* the number of threads that start */
    int refused; /* the number of starts after them that fail */
    int error;
} starts = {.granted = 1 << 30};

static int start_or_refuse(pthread_t *thread, const pthread_attr_t *attributes,
                           void *(*function)(void *), void *argument)
{
    if (starts.granted > 0 || starts.refused == 0) {
        starts.granted--;
        return pthread_create(thread, attributes, function, argument);
    }
    starts.refused--;
    return starts.error;
}

/* The threads that could be started share the work, before and after the next attempt. */
static void start_some(void)
{
    mx_thread_pool_after_fork(true);
    int granted = starts.granted, refused = starts.refused, n_blocked = count_blocked_signals();
    run_all(6);
    CHECK(count_blocked_signals() == n_blocked);
    CHECK(pool.n_workers == granted);
    meet_with(granted + 1);
    for (; refused > 1; refused--) {
        CHECK(starts.refused == refused - 1); /* one attempt */
        for (int i = 0; i < RUNS_TO_RETRY; i++)
            run_all(6);
        CHECK(starts.refused == refused - 1); /* not at each run */
        run_all(6);
        CHECK(pool.n_workers == granted);
    }
    for (int i = 0; i <= RUNS_TO_RETRY; i++)
        run_all(6);
    CHECK(pool.n_workers == 5);
    meet_with(6);
}

static void start_none(void)
{
    mx_thread_pool_after_fork(true);
    mx_alloc_refuse(0, 1000);
    for (int i = 0; i < 3 * RUNS_TO_RETRY; i++)
        run_all(6);
    CHECK(pool.n_workers == 0);
    CHECK(job.total[0] == 200);
}

#ifdef __linux__
static void *end_at_once(void *unused) { return unused; }

/* A user who is not root and may have no more threads. */
static void start_none_by_the_system(void)
{
    mx_thread_pool_after_fork(true);
    struct rlimit none = {0, 0};
    if (getuid() == 0 && setuid(65534) != 0)
        return;
    CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
        CHECK(pthread_join(thread, NULL) == 0); /* allowed nevertheless */
        return;
    }
    for (int i = 0; i < 3 * RUNS_TO_RETRY; i++)
        run_all(6);
    CHECK(pool.n_workers == 0);
    CHECK(job.total[0] == 200);
}
#endif

static void test_failing_starts(void)
{
    mx_thread_pool_set_size(6);
    check_child(start_two_of_five);
    static const int errors[] = {EAGAIN, EPERM, ENOMEM, EINVAL};
    for (int granted = 0; granted < 5; granted++) {
        starts.granted = granted;
        starts.refused = 1 + granted % 3;
        starts.error = errors[granted % 4];
        check_child(start_some);
    }
    starts.refused = 0;
    check_child(start_none);
#ifdef __linux__
    check_child(start_none_by_the_system);
#endif
}

int main(void)
{
    test_default_size();
    test_failing_starts(); /* before this process has threads */
    test_each_once();
    test_interruption();
    test_interruption_alone();
    test_many_quick_runs();
    test_all_wake();
    test_claimed_is_waited_for();
    test_claimed_is_waited_for_when_interrupted();
    test_other_callers();
    test_signals();
    test_size();
    test_workers_that_never_come_are_not_waited_for();
    test_fork();
    meet_with(4);
    return 0; /* while the workers spin */
}
