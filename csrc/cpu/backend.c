/* backend.c -- the backend of the processor. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/plan/program.h"
#include "cpu/threads/thread_pool.h"
#include "scheduler/backend.h"

/* Nanoseconds of work from which on several threads share it.  Waking a thread takes time, and
 * a thread that loses its core during a chunk makes all others wait. */
#define SHARED_WORK 60000

/* The same for threads that are awake, and if the program does little else than such work. */
#define LITTLE_WORK 15000
#define FEW_RUNS    4 /* with more in a row that take longer than the time between them */

/* The scratch memory of each thread.  One group runs at a time. */
static struct {
    char *memory, *aligned;
    size_t size;
} scratch[MX_MAX_THREADS];

static int reserve_scratch(size_t size, int threads)
{
    for (int t = 0; t < threads; t++) {
        if (scratch[t].size >= size)
            continue;
        mx_free(scratch[t].memory);
        scratch[t].size = 0;
        scratch[t].memory = mx_alloc(size + 64);
        if (!scratch[t].memory)
            return mx_fail(MX_ERROR_MEMORY, "Unable to allocate %zu bytes", size + 64);
        scratch[t].aligned = (char *)(((uintptr_t)scratch[t].memory + 63) & ~(uintptr_t)63);
        scratch[t].size = size;
    }
    return MX_OK;
}

/* How many runs in a row had enough work for threads that are awake, and took longer than the
 * time before them; and when the last run ended. */
static struct {
    int n;
    int64_t ended;
} dense_runs;

struct job {
    struct mx_program *program;
    bool (*interrupted)(void);
};

static void run_chunk(void *job, size_t chunk, int thread)
{
    mx_program_run_chunk(((struct job *)job)->program, chunk, scratch[thread].aligned);
}

static bool is_interrupted(void *job) { return ((struct job *)job)->interrupted(); }

/* Returns whether threads share the rest of a run, which takes a number of nanoseconds on one
 * of them. */
static bool is_shared(int64_t begin, double work)
{
    bool is_dense = work >= LITTLE_WORK && work >= (double)(begin - dense_runs.ended);
    dense_runs.n = is_dense ? dense_runs.n + 1 : 0;
    if (work >= SHARED_WORK)
        return true;
    return work >= LITTLE_WORK && (dense_runs.n > FEW_RUNS || mx_thread_pool_is_awake());
}

/* Runs the first chunk to estimate the time of the others, as the time per element differs a
 * hundredfold between loops.  A clock whose steps are longer measures several chunks.  Returns
 * how many threads should run the rest.  Few long chunks are shared at once. */
static int run_first_chunks(struct mx_program *program, int threads)
{
    intptr_t n_elements = program->n_blocks * program->length * program->inner;
    if (program->reduce && program->n_chunks > 1 && program->n_chunks <= 8 * (size_t)threads &&
        n_elements >= MX_SHARED_ELEMENTS)
        return threads;
    const int64_t begin = mx_now();
    const size_t first = program->left.first;
    int64_t taken = 0;
    while (taken == 0 && program->left.first < program->left.end) {
        mx_program_run_chunk(program, program->left.first++, scratch[0].aligned);
        taken = mx_now() - begin;
    }
    double each = (double)taken / (double)(program->left.first - first);
    double left = (double)(program->left.end - program->left.first);
    return is_shared(begin, each * left) ? threads : 1;
}

static int cpu_run(struct mx_group *group, struct mx_instruction *instructions,
                   bool (*interrupted)(void))
{
    if (instructions[group->steps[0].instruction].kind == MX_KERNEL)
        return mx_fail(MX_ERROR_DEVICE, "the device of a kernel is gone");
    struct mx_program *program = group->program;
    int status = MX_OK, threads = mx_thread_pool_size();
    if (!program)
        status = mx_program_new(&program, group, instructions);
    if (status != MX_OK)
        return status;
    group->program = program;
    group->n_compiled = program->n_compiled;
    status = reserve_scratch(program->scratch_size, threads);
    if (status != MX_OK)
        return status;
    bool is_in_parts = program->kind == MX_SCATTER; /* each thread runs one part */
    group->threads = is_in_parts ? (int)program->n_chunks : run_first_chunks(program, threads);
    struct job job = {program, interrupted};
    program->left = mx_thread_pool_run(run_chunk, &job, program->left, group->threads,
                                       interrupted ? is_interrupted : NULL);
    if (program->left.first < program->left.end)
        return MX_INTERRUPTED;
    mx_program_finish(program);
    dense_runs.ended = mx_now();
    mx_program_free(program);
    group->program = NULL;
    return MX_OK;
}

const struct mx_backend mx_cpu_backend = {.name = "cpu", .run = cpu_run};
