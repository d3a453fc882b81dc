/* pool.c -- the threads that divide the threadgroups of a dispatch. */
#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MAX_WORKERS = 64 };

struct engine_settings engine_settings = {.workers = 4, .branches = 20000000};

static struct {
    pthread_mutex_t running; /* one dispatch at a time */
    pthread_mutex_t lock;
    pthread_cond_t has_job, is_over;
    struct job *job; /* NULL: nobody may join any more */
    uint64_t job_number;
    int helpers_wanted, helpers_active, helper_count;
} pool = {.running = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .has_job = PTHREAD_COND_INITIALIZER,
          .is_over = PTHREAD_COND_INITIALIZER};

/* -- Denormals --------------------------------------------------------------------- */

/* Metal flushes those of float to zero, in arguments and results. */
#if defined(ENGINE_KEEPS_SUBNORMALS) /* of another GPU */
static uint64_t flush_denormals(void) { return 0; }

static void restore_denormals(uint64_t before) { (void)before; }
#elif defined(__x86_64__)
#define FLUSH_TO_ZERO 0x8040 /* DAZ and FTZ of MXCSR */

static uint64_t flush_denormals(void)
{
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH_TO_ZERO);
    return before;
}

static void restore_denormals(uint64_t before) { __builtin_ia32_ldmxcsr((unsigned)before); }
#elif defined(__aarch64__)
#define FLUSH_TO_ZERO ((uint64_t)1 << 24) /* FZ of FPCR */

static uint64_t flush_denormals(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | FLUSH_TO_ZERO));
    return before;
}

static void restore_denormals(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#else
static uint64_t flush_denormals(void) { return 0; }

static void restore_denormals(uint64_t before) { (void)before; }
#endif

/* -- Workers ----------------------------------------------------------------------- */

static void *allocate_pages(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        perror("Metal emulator: no memory for a worker");
        abort();
    }
    return pages;
}

/* Makes this thread one, for good. */
static struct worker *become_worker(void)
{
    if (engine_worker)
        return engine_worker;
    faults_prepare_thread();
    struct worker *worker = allocate_pages(sizeof *worker);
    worker->threads = allocate_pages(ENGINE_THREADS * sizeof *worker->threads);
    worker->threadgroup_memory = allocate_pages(ENGINE_THREADGROUP_MEMORY);
    worker->random = (uintptr_t)worker;
    return engine_worker = worker;
}

/* Returns the bits of the bindings that a kernel declares as constant. */
static uint64_t constant_bindings(const struct msl_kernel *kernel)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].kind == MSL_BUFFER &&
            kernel->arguments[i].space == MSL_CONSTANT)
            bits |= (uint64_t)1 << kernel->arguments[i].index;
    return bits;
}

static void set_ranges(struct worker *worker, const struct engine_dispatch *dispatch)
{
    unsigned count = RANGE_BUFFERS;
    uint64_t constants = constant_bindings(dispatch->kernel);
    worker->constants = 0;
    for (int i = 0; i < ENGINE_BINDINGS; i++)
        if (dispatch->buffers[i].start) {
            worker->constants |= (constants >> i & 1) << count;
            worker->ranges[count++] = dispatch->buffers[i];
        }
    worker->read_only = count;
    worker->ranges[count++] = dispatch->image;
    worker->ranges[count++] =
        (struct engine_range){(const uint8_t *)&engine_for_kernels, sizeof engine_for_kernels};
    worker->ranges[count++] = (struct engine_range){(const uint8_t *)worker->threads,
                                                    ENGINE_THREADS * sizeof *worker->threads};
    worker->range_count = count;
    worker->last_range = RANGE_STACK;
}

static void run_groups(struct job *job)
{
    struct worker *worker = become_worker();
    uint64_t before = flush_denormals();
    worker->job = job;
    set_ranges(worker, job->dispatch);
    cost_begin(worker);
    for (;;) {
        uint64_t number = atomic_fetch_add(&job->next_group, 1);
        if (number >= job->group_count || atomic_load(&job->stop))
            break;
        run_group(worker, number);
    }
    if (engine_settings.cost)
        cost_end(worker);
    restore_denormals(before);
}

/* -- Helpers ----------------------------------------------------------------------- */

static void *help(void *number)
{
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.job || pool.job_number == seen || (intptr_t)number >= pool.helpers_wanted)
            pthread_cond_wait(&pool.has_job, &pool.lock);
        seen = pool.job_number;
        struct job *job = pool.job;
        pool.helpers_active++;
        pthread_mutex_unlock(&pool.lock);
        run_groups(job);
        pthread_mutex_lock(&pool.lock);
        if (--pool.helpers_active == 0)
            pthread_cond_signal(&pool.is_over);
    }
    return NULL;
}

/* Signals are for the program's own threads. */
static void start_helper(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    engine_unblock_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, help, (void *)(intptr_t)pool.helper_count) == 0) {
        pthread_detach(thread);
        pool.helper_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int helpers_for(const struct job *job)
{
    uint64_t workers = (uint64_t)engine_settings.workers;
    if (engine_settings.race || workers < 1)
        workers = 1;
    if (workers > MAX_WORKERS)
        workers = MAX_WORKERS;
    return (int)((job->group_count < workers ? job->group_count : workers) - 1);
}

static void call_helpers(struct job *job)
{
    pthread_mutex_lock(&pool.lock);
    pool.helpers_wanted = helpers_for(job);
    while (pool.helper_count < pool.helpers_wanted) {
        int before = pool.helper_count;
        start_helper();
        if (pool.helper_count == before)
            break;
    }
    pool.job = job;
    pool.job_number++;
    if (pool.helpers_wanted)
        pthread_cond_broadcast(&pool.has_job);
    pthread_mutex_unlock(&pool.lock);
}

static void dismiss_helpers(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.job = NULL;
    while (pool.helpers_active)
        pthread_cond_wait(&pool.is_over, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void engine_run(struct engine_dispatch *dispatch)
{
    struct job job = {.dispatch = dispatch, .group_count = 1};
    for (int i = 0; i < 3; i++) {
        uint32_t size = dispatch->threads_per_threadgroup[i];
        job.groups[i] = (uint32_t)(((uint64_t)dispatch->threads_per_grid[i] + size - 1) / size);
        job.group_count *= job.groups[i];
    }
    dispatch->failure = ENGINE_NO_FAILURE;
    pthread_mutex_lock(&pool.running);
    engine_take_signals();
    if (engine_settings.race)
        races_begin_dispatch();
    call_helpers(&job);
    run_groups(&job);
    dismiss_helpers();
    pthread_mutex_unlock(&pool.running);
}
