/* test_indexing.c -- gathers and scatters have the results of a plain loop, for all kinds of
 * bounds and any number of threads.  Failed checks leave memory unchanged. */
#include <stdlib.h>

#include "cpu/kernels/indices.h"
#include "cpu/kernels/search.h"
#include "cpu/plan/gather.h"
#include "cpu/threads/thread_pool.h"
#include "instructions.h"
#include "ir/dtypes.h"

BINARY_LOOP(subtract, double, double, x - y)

static uint64_t chance = 1;

/* Allocates an array of n indices from low to high. */
static int64_t *array_init_indices(struct array *array, intptr_t n, int64_t low, int64_t high)
{
    array_init(array, (size_t)n * sizeof(int64_t));
    CHECK(mx_buffer_publish(array->buffer) == MX_OK);
    int64_t *data = (int64_t *)(void *)array->data;
    for (intptr_t i = 0; i < n; i++)
        data[i] = low + (int64_t)(next_random(&chance) % (uint64_t)(high - low + 1));
    return data;
}

static double *array_init_numbers(struct array *array, intptr_t n)
{
    double *data = array_init_doubles(array, (int)n, 0.0);
    for (intptr_t i = 0; i < n; i++)
        data[i] = below(&chance, 1000) / 7.0;
    return data;
}

static struct mx_operand indexed(const struct array *array, intptr_t row_stride)
{
    return (struct mx_operand){
        .buffer = array->buffer,
        .itemsize = sizeof(double),
        .dtype = MX_DTYPE_float64,
        .strides = {0, row_stride},
    };
}

/* Returns the position that an index selects, or -1. */
static int64_t position_of(int64_t i, int64_t size, enum mx_bounds bounds)
{
    int64_t from_end = i < 0 ? i + size : i;
    bool is_there = i >= -size && i < size;
    switch (bounds) {
    case MX_PLAIN:
        return i;
    case MX_NEGATIVE:
        return from_end;
    case MX_CLAMP:
        return from_end < 0 ? 0 : from_end >= size ? size - 1 : from_end;
    case MX_DROP:
        return is_there ? from_end : -1;
    case MX_NEAREST:
        return i < 0 ? 0 : i >= size ? size - 1 : i;
    case MX_MODULO:
        return ((i % size) + size) % size;
    }
    return -1;
}

static int64_t lowest(int64_t size, enum mx_bounds bounds)
{
    return bounds == MX_PLAIN ? 0 : bounds == MX_NEGATIVE ? -size : -3 * size;
}

static int64_t highest(int64_t size, enum mx_bounds bounds)
{
    return bounds <= MX_NEGATIVE ? size - 1 : 3 * size;
}

/* A table of size x columns, and n indices of its rows. */
static struct problem {
    intptr_t size, columns, n;
    enum mx_bounds bounds;
    struct array table, indices, values;
    double *elements, *given;
    int64_t *index;
} problem;

static void problem_init(intptr_t size, intptr_t columns, intptr_t n, enum mx_bounds bounds)
{
    problem.size = size;
    problem.columns = columns;
    problem.n = n;
    problem.bounds = bounds;
    problem.elements = array_init_numbers(&problem.table, size * columns);
    problem.index =
        array_init_indices(&problem.indices, n, lowest(size, bounds), highest(size, bounds));
    for (intptr_t i = 0; i < n && bounds > MX_NEGATIVE; i += 97)
        problem.index[i] = i % 2 ? INT64_MIN + i : INT64_MAX - i;
    problem.given = array_init_numbers(&problem.values, n * columns);
}

static void problem_drop(void)
{
    array_drop(&problem.table);
    array_drop(&problem.indices);
    array_drop(&problem.values);
}

static struct mx_instruction instruction(enum mx_kind kind)
{
    intptr_t row = problem.columns * (intptr_t)sizeof(double);
    struct mx_operand index = {.buffer = problem.indices.buffer,
                               .itemsize = sizeof(int64_t),
                               .strides = {sizeof(int64_t), 0}};
    struct mx_operand values = packed(problem.values.buffer, sizeof(double), 2,
                                      (intptr_t[]){problem.n, problem.columns});
    struct mx_operand table = indexed(&problem.table, problem.columns > 1 ? sizeof(double) : 0);
    struct mx_instruction in = {
        .loop = {mx_gather_loop, NULL},
        .op = MX_NO_OP,
        .kind = kind,
        .nin = 2,
        .nout = 1,
        .ndim = 2,
        .shape = {problem.n, problem.columns},
        .operands = {index, kind == MX_GATHER ? table : values,
                     kind == MX_GATHER ? values : table},
        .name = "index",
        .indexing = {.n = 1,
                     .bounds = problem.bounds,
                     .strides = {row},
                     .sizes = {problem.size}},
    };
    return in;
}

static void test_gathers(intptr_t size, intptr_t columns, intptr_t n)
{
    for (enum mx_bounds bounds = MX_PLAIN; bounds <= MX_MODULO; bounds++) {
        if (bounds == MX_DROP)
            continue;
        problem_init(size, columns, n, bounds);
        record(instruction(MX_GATHER));
        CHECK(flush() == MX_OK);
        for (intptr_t i = 0; i < n; i++) {
            int64_t place = position_of(problem.index[i], size, bounds);
            CHECK(memcmp(&problem.given[i * columns], &problem.elements[place * columns],
                         (size_t)columns * sizeof(double)) == 0);
        }
        problem_drop();
    }
}

static double updated(enum mx_update update, double x, double y)
{
    switch (update) {
    case MX_BY_LOOP:
    case MX_UPDATE_SUBTRACT:
        return x - y;
    case MX_UPDATE_ADD:
        return x + y;
    case MX_UPDATE_MAXIMUM:
        return x > y ? x : y;
    default:
        return y;
    }
}

static void test_scatters(intptr_t size, intptr_t columns, intptr_t n)
{
    static const enum mx_update updates[] = {MX_SET, MX_UPDATE_ADD, MX_BY_LOOP,
                                             MX_UPDATE_MAXIMUM};
    size_t nbytes = (size_t)(size * columns) * sizeof(double);
    double *expected = malloc(nbytes);
    CHECK(expected);
    for (enum mx_bounds bounds = MX_PLAIN; bounds <= MX_MODULO; bounds++) {
        enum mx_update update = updates[below(&chance, 4)];
        problem_init(size, columns, n, bounds);
        memcpy(expected, problem.elements, nbytes);
        for (intptr_t i = 0; i < n; i++) {
            int64_t place = position_of(problem.index[i], size, bounds);
            for (intptr_t c = 0; c < columns && place >= 0; c++) {
                double *at = &expected[place * columns + c];
                *at = updated(update, *at, problem.given[i * columns + c]);
            }
        }
        struct mx_instruction in = instruction(MX_SCATTER);
        in.update = update;
        in.loop.function = subtract;
        record(in);
        CHECK(flush() == MX_OK);
        CHECK(memcmp(problem.elements, expected, nbytes) == 0);
        problem_drop();
    }
    free(expected);
}

/* Each element is updated once, whichever request is refused. */
static void test_refused_memory(void)
{
    enum { SIZE = 300, N = 40000 };
    double expected[SIZE];
    int status;
    long n = 0;
    do {
        problem_init(SIZE, 1, N, MX_PLAIN);
        memcpy(expected, problem.elements, sizeof expected);
        for (intptr_t i = 0; i < N; i++)
            expected[problem.index[i]] += problem.given[i];
        struct mx_instruction in = instruction(MX_SCATTER);
        in.update = MX_UPDATE_ADD;
        record(in);
        mx_alloc_refuse(n++, 1 << 20);
        status = flush();
        CHECK((status != MX_OK) == (mx_alloc_refuse(0, 0) > 0));
        CHECK(status == MX_OK || (status == MX_ERROR_MEMORY && flush() == MX_OK));
        CHECK(memcmp(problem.elements, expected, sizeof expected) == 0);
        problem_drop();
        CHECK(memory_info().in_use == 0);
    } while (status != MX_OK);
    CHECK(n > 2);
}

/* Few integers: each thread updates a copy of them. */
static void test_copies(void)
{
    enum { SIZE = 100, COUNT = 100000 };
    struct array target, indices, values;
    int64_t *at = array_init_indices(&target, SIZE, -5, 5), expected[SIZE];
    int64_t *index = array_init_indices(&indices, COUNT, 0, SIZE - 1);
    int64_t *given = array_init_indices(&values, COUNT, -1000, 1000);
    for (enum mx_update update = MX_UPDATE_ADD; update <= MX_UPDATE_MINIMUM; update++) {
        if (update == MX_UPDATE_DIVIDE)
            continue;
        memcpy(expected, at, sizeof expected);
        for (int i = 0; i < COUNT; i++) {
            int64_t *x = &expected[index[i]], y = given[i];
            *x = update == MX_UPDATE_ADD        ? *x + y
                 : update == MX_UPDATE_SUBTRACT ? *x - y
                 : update == MX_UPDATE_MULTIPLY ? (int64_t)((uint64_t)*x * (uint64_t)y)
                 : update == MX_UPDATE_MAXIMUM  ? (*x > y ? *x : y)
                                                : (*x < y ? *x : y);
        }
        struct mx_instruction in = {
            .op = MX_NO_OP,
            .kind = MX_SCATTER,
            .nin = 2,
            .nout = 1,
            .ndim = 1,
            .shape = {COUNT},
            .operands = {strided(indices.buffer, 0, 8), strided(values.buffer, 0, 8),
                         strided(target.buffer, 0, 0)},
            .name = "index",
            .update = update,
            .indexing = {.n = 1, .bounds = MX_PLAIN, .strides = {8}, .sizes = {SIZE}},
        };
        for (int k = 0; k < 3; k++)
            in.operands[k].dtype = MX_DTYPE_int64;
        record(in);
        CHECK(flush() == MX_OK);
        CHECK(memcmp(at, expected, sizeof expected) == 0);
    }
    array_drop(&target);
    array_drop(&indices);
    array_drop(&values);
}

static void test_ranges_of_any_layout(void)
{
    enum { ROWS = 30, COLUMNS = 70 };
    int16_t data[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = (int16_t)(below(&chance, 2000) - 1000);
    int64_t least, most, low = INT64_MAX, high = INT64_MIN;
    for (int r = 0; r < ROWS; r += 2)
        for (int c = 0; c < COLUMNS; c += 3) {
            int64_t x = data[r * COLUMNS + c];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    intptr_t shape[] = {(COLUMNS + 2) / 3, ROWS / 2};
    intptr_t strides[] = {6, 4 * COLUMNS};
    mx_index_range((const char *)data, MX_DTYPE_int16, 2, shape, strides, &least, &most);
    CHECK(least == low && most == high);
    mx_index_range((const char *)&data[5], MX_DTYPE_int16, 0, NULL, NULL, &least, &most);
    CHECK(least == data[5] && most == data[5]);
}

/* -- Checks ------------------------------------------------------------------------ */

static struct mx_instruction check_of(const struct array *indices, intptr_t n, intptr_t size)
{
    return (struct mx_instruction){
        .loop = {mx_index_check_loop(MX_DTYPE_int64), NULL},
        .op = MX_NO_OP,
        .kind = MX_BOUNDS_CHECK,
        .nin = 1,
        .ndim = 1,
        .shape = {n},
        .operands = {{.buffer = indices->buffer,
                      .itemsize = sizeof(int64_t),
                      .dtype = MX_DTYPE_int64,
                      .strides = {sizeof(int64_t)}}},
        .name = "check",
        .indexing = {.sizes = {size}, .axis = 1},
    };
}

static size_t n_failed;
static int64_t bad_index;

static void look_at_failures(const struct mx_instruction *items, size_t count)
{
    n_failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct mx_instruction in = items[i];
        n_failed += in.failed_by != 0;
        if (in.failed_by == in.sequence)
            CHECK(mx_index_find_invalid(&in, &bad_index));
        mx_stream_release(&in);
    }
}

/* Runs the recorded instructions, again after each failed check. */
static void flush_with_failures(void)
{
    int status;
    do
        status = flush_and(look_at_failures);
    while (status == MX_INTERRUPTED);
    CHECK(status == MX_OK);
}

static void test_failed_checks(void)
{
    enum { COUNT = 20000, SIZE = 50 };
    struct array before, old, indices, made;
    double *first = array_init_doubles(&before, COUNT, 1.0);
    double *second = array_init_doubles(&old, COUNT, 1.0);
    int64_t *index = array_init_indices(&indices, COUNT, -SIZE, SIZE - 1);
    index[777] = SIZE;
    index[778] = -SIZE - 1;
    record(binary("add", add, COUNT, row(&before), row(&before), row(&before)));
    record(check_of(&indices, COUNT, SIZE));
    array_init(&made, COUNT * sizeof(double));
    record(binary("add", add, COUNT, row(&before), row(&old), row(&made)));
    record(binary("add", add, COUNT, row(&old), row(&made), row(&old)));
    record(binary("add", add, COUNT, row(&before), row(&before), row(&before)));
    flush_with_failures();
    CHECK(n_failed == 4 && bad_index == SIZE);
    CHECK(mx_stream_size() == 0);
    for (int i = 0; i < COUNT; i++)
        CHECK(first[i] == 2.0 && second[i] == 1.0);
    CHECK(made.buffer->failed_by != 0 && old.buffer->failed_by == 0);

    /* An instruction that reads a buffer that was never written fails too, but no other does.
     */
    struct array next;
    array_init(&next, COUNT * sizeof(double));
    record(binary("add", add, COUNT, row(&before), row(&before), row(&before)));
    record(binary("add", add, COUNT, row(&made), row(&old), row(&next)));
    flush_with_failures();
    CHECK(n_failed == 1 && next.buffer->failed_by == made.buffer->failed_by);
    for (int i = 0; i < COUNT; i++)
        CHECK(first[i] == 4.0);

    index[777] = index[778] = 0;
    record(check_of(&indices, COUNT, SIZE));
    flush_with_failures();
    CHECK(n_failed == 0);
    array_drop(&before);
    array_drop(&old);
    array_drop(&indices);
    array_drop(&made);
    array_drop(&next);
    CHECK(memory_info().in_use == 0);
}

static void test_searches(void)
{
    enum { SIZE = 1001, COUNT = 777 };
    double table[SIZE], values[COUNT];
    int64_t places[COUNT];
    for (int i = 0; i < SIZE; i++)
        table[i] = i / 3;
    for (int i = 0; i < COUNT; i++)
        values[i] = below(&chance, 700) / 2.0 - 5;
    struct mx_instruction in = {.op = MX_NO_OP,
                                .indexing = {.n = 1, .strides = {8}, .sizes = {SIZE}}};
    for (int is_right = 0; is_right < 2; is_right++) {
        char *args[] = {(char *)values, (char *)table, (char *)places};
        intptr_t n = COUNT, strides[] = {8, 0, 8};
        mx_search_loop(MX_DTYPE_float64, is_right)(args, &n, strides, &in);
        for (int i = 0; i < COUNT; i++) {
            int64_t place = 0;
            while (place < SIZE &&
                   (is_right ? table[place] <= values[i] : table[place] < values[i]))
                place++;
            CHECK(places[i] == place);
        }
    }
}

int main(void)
{
    mx_stream_set_backends(NULL, &mx_cpu_backend);
    for (int threads = 1; threads <= 3; threads++) {
        mx_thread_pool_set_size(threads);
        test_gathers(1, 1, 5);
        test_gathers(100, 1, 70001);
        test_gathers(30, 8, 5003);
        test_gathers(5, 3000, 20);
        test_scatters(1, 1, 3000);
        test_scatters(1000, 1, 70001);
        test_scatters(3000000, 1, 70001); /* far from each other */
        test_scatters(40000, 64, 3001);
        test_scatters(3, 3000, 50);
        test_scatters(7, 5, 40001);
        test_copies();
        test_refused_memory();
        test_failed_checks();
    }
    test_ranges_of_any_layout();
    test_searches();
    CHECK(memory_info().in_use == 0);
    return 0;
}
