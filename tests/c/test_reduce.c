/* test_reduce.c -- sums, extremes and running results over any axes are correct, and have the
 * same bits for any number of threads and any order of the chunks. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "cpu/plan/partial.h"
#include "cpu/plan/program.h"
#include "cpu/threads/thread_pool.h"
#include "instructions.h"

enum { MAX_ELEMENTS = 600000, MAX_THREADS = 3 };

BINARY_LOOP(add_float, float, float, x + y)
BINARY_LOOP(add_long, int64_t, int64_t, x + y)
BINARY_LOOP(add_byte, uint8_t, uint8_t, x + y)
BINARY_LOOP(larger, double, double, x > y ? x : y)
BINARY_LOOP(smaller, float, float, x < y ? x : y)
BINARY_LOOP(either, uint8_t, uint8_t, x || y)
UNARY_LOOP(square_float, float, float, x *x)
UNARY_LOOP(square_long, int64_t, int64_t, x *x)
UNARY_LOOP(square_byte, uint8_t, uint8_t, x *x)

/* Long doubles hold the numbers of each type exactly. */
#define TYPE(name, type)                                                                      \
    static long double name##_get(const char *at) { return *(const type *)(const void *)at; } \
    static void name##_set(char *at, int x) { *(type *)(void *)at = (type)x; }
TYPE(double, double)
TYPE(float, float)
TYPE(long, int64_t)
TYPE(byte, uint8_t)

static long double plus(long double x, long double y) { return x + y; }
static long double most(long double x, long double y) { return x > y ? x : y; }
static long double least(long double x, long double y) { return x < y ? x : y; }
static long double any(long double x, long double y) { return x != 0 || y != 0; }

static const struct kind {
    const char *name;
    mx_loop_function loop, before;
    int itemsize;
    long double (*get)(const char *at);
    void (*set)(char *at, int x);
    long double (*combine)(long double x, long double y);
    int divisor;    /* of the numbers in the test: 1 unless sums are rounded */
    double epsilon; /* 0: exact */
} kinds[] = {
    {"sum", add, square, 8, double_get, double_set, plus, 1, 0},
    {"sum", add, square, 8, double_get, double_set, plus, 7, DBL_EPSILON},
    {"sum", add_float, square_float, 4, float_get, float_set, plus, 7, FLT_EPSILON},
    {"sum", add_long, square_long, 8, long_get, long_set, plus, 1, 0},
    {"max", larger, square, 8, double_get, double_set, most, 7, 0},
    {"min", smaller, square_float, 4, float_get, float_set, least, 7, 0},
    {"any", either, square_byte, 1, byte_get, byte_set, any, 1, 0},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* -- One problem ---------------------------------------------------------------------- */

static struct problem {
    const struct kind *kind;
    int ndim;
    intptr_t shape[MX_MAX_NDIM], n_results, n_elements;
    unsigned axes;
    struct array input, output;
    struct mx_operand from, to;
} problem;

static uint64_t chance = 1;

static void random_shape(void)
{
    intptr_t left = 1 << (4 + below(&chance, 16));
    problem.ndim = 1 + below(&chance, 4);
    for (int i = 0; i < problem.ndim; i++) {
        intptr_t most_here = 1 << below(&chance, 20);
        most_here = most_here < left ? most_here : left;
        problem.shape[i] = 1 + below(&chance, (int)most_here);
        left /= problem.shape[i];
    }
    for (int i = problem.ndim - 1; i > 0; i--) {
        int j = below(&chance, i + 1);
        intptr_t length = problem.shape[i];
        problem.shape[i] = problem.shape[j];
        problem.shape[j] = length;
    }
}

static void next_index(intptr_t *index)
{
    for (int i = problem.ndim - 1; i >= 0; i--) {
        if (++index[i] < problem.shape[i])
            return;
        index[i] = 0;
    }
}

static intptr_t offset_of(const struct mx_operand *operand, const intptr_t *index)
{
    intptr_t at = operand->at;
    for (int i = 0; i < problem.ndim; i++)
        at += index[i] * operand->strides[i];
    return at;
}

/* Puts the axes into any order in memory, forwards or backwards.  Those of `without` get stride
 * 0. */
static struct mx_operand lay_out(struct array *array, int itemsize, unsigned without)
{
    struct mx_operand operand = {.itemsize = itemsize};
    int order[MX_MAX_NDIM];
    intptr_t stride = itemsize;
    bool is_ordered = below(&chance, 2);
    for (int i = 0; i < problem.ndim; i++) {
        int j = is_ordered ? i : below(&chance, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = problem.ndim - 1; i >= 0; i--) {
        int axis = order[i];
        if (without >> axis & 1)
            continue;
        bool is_turned = below(&chance, 5) == 0;
        operand.strides[axis] = is_turned ? -stride : stride;
        operand.at += is_turned ? (problem.shape[axis] - 1) * stride : 0;
        stride *= problem.shape[axis];
    }
    array_init(array, (size_t)stride);
    CHECK(mx_buffer_publish(array->buffer) == MX_OK);
    operand.buffer = array->buffer;
    return operand;
}

static void random_values(void)
{
    const struct kind *kind = problem.kind;
    intptr_t index[MX_MAX_NDIM] = {0};
    bool is_rare = kind->combine == any;
    for (intptr_t i = 0; i < problem.n_elements; i++, next_index(index)) {
        char *at = problem.input.data + offset_of(&problem.from, index);
        int x = is_rare ? below(&chance, 500) == 0 : below(&chance, 2001) - 1000;
        kind->set(at, x);
        if (kind->divisor == 1)
            continue;
        if (kind->itemsize == 8)
            *(double *)(void *)at = x / (double)kind->divisor;
        else
            *(float *)(void *)at = (float)x / (float)kind->divisor;
    }
}

static void begin_problem(const struct kind *kind, bool scans)
{
    problem.kind = kind;
    random_shape();
    problem.axes = scans ? 0 : 1 + next_random(&chance) % ((1u << problem.ndim) - 1);
    problem.n_elements = problem.n_results = 1;
    for (int i = 0; i < problem.ndim; i++) {
        problem.n_elements *= problem.shape[i];
        problem.n_results *= problem.axes >> i & 1 ? 1 : problem.shape[i];
    }
    CHECK(problem.n_elements <= MAX_ELEMENTS);
    problem.from = lay_out(&problem.input, kind->itemsize, 0);
    problem.to = lay_out(&problem.output, kind->itemsize, problem.axes);
    random_values();
}

static void end_problem(void)
{
    array_drop(&problem.input);
    array_drop(&problem.output);
    CHECK(memory_info().in_use == 0);
}

static struct mx_instruction instruction(const char *name, mx_loop_function loop,
                                         struct mx_operand from, struct mx_operand to)
{
    struct mx_instruction in = unary(name, loop, 1, from, to);
    in.ndim = problem.ndim;
    memcpy(in.shape, problem.shape, sizeof in.shape);
    return in;
}

/* -- The plain reduction -------------------------------------------------------------- */

static bool are_close(long double x, long double expected, long double magnitude)
{
    long double difference = x > expected ? x - expected : expected - x;
    return difference <= 100 * (long double)problem.kind->epsilon * magnitude;
}

/* Compares the output with the plain reduction of the input, or of its squares. */
static void check_results(bool squares)
{
    size_t n = (size_t)problem.n_elements; /* more than bytes of the output / itemsize */
    long double *totals = calloc(n, sizeof *totals), *sizes = calloc(n, sizeof *sizes);
    intptr_t index[MX_MAX_NDIM] = {0};
    CHECK(totals && sizes);
    for (intptr_t i = 0; i < problem.n_elements; i++, next_index(index)) {
        char *at = problem.input.data + offset_of(&problem.from, index), squared[8];
        intptr_t to = offset_of(&problem.to, index) / problem.kind->itemsize;
        if (squares) {
            char *args[] = {at, squared};
            const intptr_t one = 1, strides[] = {0, 0};
            problem.kind->before(args, &one, strides, NULL);
            at = squared;
        }
        long double x = problem.kind->get(at);
        totals[to] = sizes[to] == 0 ? x : problem.kind->combine(totals[to], x);
        sizes[to] += x < 0 ? -x : x;
        if (sizes[to] == 0)
            sizes[to] = LDBL_MIN; /* has begun */
    }
    for (intptr_t i = 0; i < problem.n_results; i++) {
        long double x = problem.kind->get(problem.output.data + i * problem.kind->itemsize);
        CHECK(are_close(x, totals[i], sizes[i]));
    }
    free(totals);
    free(sizes);
}

/* -- Reductions ----------------------------------------------------------------------- */

static void record_reduction(bool squares)
{
    struct mx_operand from = problem.from;
    if (squares) {
        struct mx_buffer *unseen = mx_buffer_new(problem.input.buffer->nbytes);
        struct mx_operand squared = problem.from;
        CHECK(unseen);
        squared.buffer = unseen;
        record(instruction("square", problem.kind->before, from, squared));
        mx_buffer_release(unseen);
        from = squared;
    }
    struct mx_instruction in =
        instruction(problem.kind->name, problem.kind->loop, from, problem.to);
    in.kind = MX_REDUCE;
    record(in);
}

static char *copy_output(void)
{
    char *copy = malloc(problem.output.buffer->nbytes);
    CHECK(copy);
    memcpy(copy, problem.output.data, problem.output.buffer->nbytes);
    return copy;
}

static void check_output_is(const char *bits)
{
    CHECK(memcmp(problem.output.data, bits, problem.output.buffer->nbytes) == 0);
}

/* Compares with the plain reduction, and the results of different numbers of threads. */
static void test_random_reductions(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        bool squares = below(&chance, 2);
        begin_problem(&kinds[below(&chance, N_KINDS)], false);
        char *bits = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            mx_thread_pool_set_size(threads);
            memset(problem.output.data, 0x55, problem.output.buffer->nbytes);
            record_reduction(squares);
            CHECK(flush() == MX_OK);
            if (bits)
                check_output_is(bits);
            else
                bits = copy_output();
        }
        check_results(squares);
        free(bits);
        end_problem();
    }
}

/* -- Chunks in any order, by any thread ------------------------------------------------- */

static struct {
    struct mx_program *program;
    int order; /* 0 rising, 1 falling, 2 any */
    atomic_size_t next;
} run;

static size_t chunk_at(size_t i)
{
    size_t n = run.program->n_chunks;
    if (run.order == 2) /* a permutation: the step is prime to n */
        return n % 7919 ? i * 7919 % n : i;
    return run.order == 1 ? n - 1 - i : i;
}

static void *run_chunks(void *unused)
{
    char *scratch = aligned_alloc(64, (run.program->scratch_size + 64) & ~(size_t)63);
    CHECK(scratch);
    for (size_t i; (i = atomic_fetch_add(&run.next, 1)) < run.program->n_chunks;)
        mx_program_run_chunk(run.program, chunk_at(i), scratch);
    free(scratch);
    return unused;
}

static void run_in_threads(struct mx_program *program, int order, int threads)
{
    pthread_t ids[MAX_THREADS];
    run.program = program;
    run.order = order;
    atomic_store(&run.next, 0);
    for (int t = 0; t < threads; t++)
        CHECK(pthread_create(&ids[t], NULL, run_chunks, NULL) == 0);
    for (int t = 0; t < threads; t++)
        CHECK(pthread_join(ids[t], NULL) == 0);
    mx_program_finish(program);
}

static struct mx_program *make_program(struct mx_plan *plan, struct mx_instruction *in)
{
    struct mx_program *program;
    CHECK(mx_fuse_plan(plan, in, 1, true) == MX_OK);
    CHECK(mx_program_new(&program, &plan->groups[0], in) == MX_OK);
    return program;
}

static void test_any_order(int rounds, bool scans)
{
    size_t most_chunks = 0;
    for (int round = 0; round < rounds; round++) {
        char *bits = NULL;
        begin_problem(&kinds[below(&chance, N_KINDS)], scans);
        struct mx_instruction in =
            instruction(problem.kind->name, problem.kind->loop, problem.from, problem.to);
        in.kind = scans ? MX_SCAN : MX_REDUCE;
        in.axis = scans ? below(&chance, problem.ndim) : 0;
        for (int order = 0; order < 3; order++) {
            struct mx_plan plan = {0};
            struct mx_program *program = make_program(&plan, &in);
            most_chunks = program->n_chunks > most_chunks ? program->n_chunks : most_chunks;
            memset(problem.output.data, 0x55, problem.output.buffer->nbytes);
            run_in_threads(program, order, 1 + order);
            if (bits)
                check_output_is(bits);
            else
                bits = copy_output();
            mx_program_free(program);
            mx_fuse_clear(&plan);
        }
        free(bits);
        end_problem();
    }
    CHECK(most_chunks > 10); /* otherwise the order would make no difference */
}

/* -- Running results -------------------------------------------------------------------- */

static void check_scan(int axis)
{
    intptr_t index[MX_MAX_NDIM] = {0};
    const struct kind *kind = problem.kind;
    for (intptr_t i = 0; i < problem.n_elements; i++, next_index(index)) {
        char *at = problem.input.data + offset_of(&problem.from, index), before[16],
             expected[16];
        intptr_t to = offset_of(&problem.to, index);
        memcpy(expected, at, (size_t)kind->itemsize);
        if (index[axis] > 0) {
            const intptr_t one = 1, strides[] = {0, 0, 0};
            char *args[] = {before, at, expected};
            memcpy(before, problem.output.data + to - problem.to.strides[axis],
                   (size_t)kind->itemsize);
            kind->loop(args, &one, strides, NULL);
        }
        CHECK(memcmp(problem.output.data + to, expected, (size_t)kind->itemsize) == 0);
    }
}

static void test_random_scans(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        begin_problem(&kinds[below(&chance, N_KINDS)], true);
        struct mx_instruction in =
            instruction(problem.kind->name, problem.kind->loop, problem.from, problem.to);
        in.kind = MX_SCAN;
        in.axis = below(&chance, problem.ndim);
        record(in);
        CHECK(flush() == MX_OK);
        check_scan(in.axis);
        end_problem();
    }
}

/* -- Levels ------------------------------------------------------------------------------- */

/* One block fills the lowest level, and with it each level above.  The last level keeps its
 * value, to which the blocks after it are added. */
static void test_full_levels(void)
{
    enum { N_WAITING = MX_LEVELS * (MX_FAN - 1) };
    double waiting[MX_LEVELS * MX_FAN], result = 0, one = 1;
    struct mx_reduce_plan plan = {.n_strips = 2};
    struct mx_program program = {.order = MX_ANY_ORDER, .parts = -1, .reduce = &plan};
    struct mx_instruction in = sum(1, value(1.0), value(0.0));
    struct mx_call call = {.instruction = &in};
    struct mx_position at = {.length = 1};
    struct mx_partial partial = {.target = (char *)&result, .levels = (char *)waiting};
    for (int i = 0; i < MX_LEVELS * MX_FAN; i++)
        waiting[i] = 1;
    for (int level = 0; level < MX_LEVELS; level++)
        partial.counts[level] = MX_FAN - 1;
    for (int i = 0; i < 2; i++)
        mx_partial_add_block(&program, &call, (char *)&one, sizeof one, &at, 1, &partial);
    mx_partial_finish(&program, &call, &partial, &at);
    CHECK(result == N_WAITING + 2);
}

/* -- Several in one pass ------------------------------------------------------------------ */

/* Results of several reductions with different itemsizes do not overlap in a segment. */
static void test_together(void)
{
    enum { N = 200000 };
    struct array bytes, doubles, floats, results[4];
    array_init(&bytes, N);
    array_init(&floats, N * sizeof(float));
    double *numbers = array_init_doubles(&doubles, N, 1.0);
    CHECK(mx_buffer_publish(bytes.buffer) == MX_OK &&
          mx_buffer_publish(floats.buffer) == MX_OK);
    for (int i = 0; i < N; i++) {
        bytes.data[i] = (char)(i % 7 == 0);
        ((float *)(void *)floats.data)[i] = (float)(N - i);
        numbers[i] = i;
    }
    const intptr_t shape[] = {N};
    struct mx_operand from[] = {packed(bytes.buffer, 1, 1, shape), row(&doubles),
                                packed(floats.buffer, 4, 1, shape), row(&doubles)};
    const mx_loop_function loops[] = {add_byte, add, smaller, larger};
    for (int i = 0; i < 4; i++) {
        array_init(&results[i], 8);
        struct mx_operand to = {.buffer = results[i].buffer, .itemsize = from[i].itemsize};
        struct mx_instruction in = unary("any", loops[i], N, from[i], to);
        in.kind = MX_REDUCE;
        record(in);
    }
    CHECK(flush() == MX_OK);
    struct mx_group_row group;
    CHECK(mx_flush_stats_get(0, &group) && group.n_operations == 4 &&
          !mx_flush_stats_get(1, &group));
    CHECK(*(uint8_t *)results[0].data == (uint8_t)((N + 6) / 7));
    CHECK(*(double *)(void *)results[1].data == (double)N * (N - 1) / 2);
    CHECK(*(float *)(void *)results[2].data == 1.0f);
    CHECK(*(double *)(void *)results[3].data == N - 1);
    for (int i = 0; i < 4; i++)
        array_drop(&results[i]);
    array_drop(&bytes);
    array_drop(&doubles);
    array_drop(&floats);
}

/* -- Conditions --------------------------------------------------------------------------- */

static int fpe_flags[3];

static void look_at_fpe_flags(const struct mx_instruction *items, size_t count)
{
    for (size_t i = 0; i < count && i < 3; i++)
        fpe_flags[i] = atomic_load(&items[i].fpe_flags);
}

/* Two numbers whose sum overflows lie n_apart.  The sum reports it wherever they meet. */
static void test_conditions(intptr_t n, intptr_t n_apart, enum mx_kind kind)
{
    struct array a, b, c;
    double *numbers = array_init_doubles(&a, (int)n, 1.0);
    array_init(&b, (size_t)n * 8);
    array_init(&c, (size_t)n * 8);
    numbers[0] = numbers[n_apart] = 1e308;
    struct mx_instruction items[] = {
        unary("square", square, n, value(2.0), row(&b)),
        sum(n, row(&a), row(&c)),
        unary("square", square, n, value(3.0), row(&b)),
    };
    items[1].kind = kind;
    items[1].operands[1].strides[0] = kind == MX_SCAN ? 8 : 0;
    for (int i = 0; i < 3; i++) {
        items[i].fpe_mask = 15;
        record(items[i]);
    }
    CHECK(flush_and(look_at_fpe_flags) == MX_OK);
    CHECK(fpe_flags[0] == 0 && fpe_flags[1] == 2 && fpe_flags[2] == 0);
    CHECK(isinf(((double *)(void *)c.data)[kind == MX_SCAN ? n - 1 : 0]));
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
}

/* -- Memory ------------------------------------------------------------------------------- */

static void test_refused_memory(void)
{
    int n = 0, status;
    enum { N = 100000 };
    do {
        struct array a, b;
        array_init_doubles(&a, N, 1.0);
        array_init(&b, 8);
        record(sum(N, row(&a), row(&b)));
        mx_pool_trim(0);
        mx_alloc_refuse(n++, 1 << 20);
        status = flush();
        mx_alloc_refuse(0, 0);
        CHECK(status == MX_OK || status == MX_ERROR_MEMORY);
        if (status != MX_OK)
            CHECK(flush() == MX_OK);
        CHECK(*(double *)(void *)b.data == N);
        array_drop(&a);
        array_drop(&b);
        CHECK(memory_info().in_use == 0);
    } while (status != MX_OK);
    CHECK(n > 4);
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    test_refused_memory();
    test_random_reductions(150);
    test_random_scans(60);
    test_any_order(60, false);
    test_any_order(30, true);
    test_full_levels();
    test_together();
    const intptr_t distances[] = {1, 100, 5000, 60000, 150000, 299999};
    for (int i = 0; i < 6; i++) {
        test_conditions(300000, distances[i], MX_REDUCE);
        test_conditions(300000, distances[i], MX_SCAN);
    }
    mx_pool_trim(0);
    return 0;
}
