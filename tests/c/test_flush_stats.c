/* test_flush_stats.c -- the record lists the groups of the last flush, and no others. */
#include "cpu/threads/thread_pool.h"
#include "instructions.h"
#include "scheduler/flush_stats.h"

enum { N = 6000, BYTES = N * (int)sizeof(double) };

static struct array a, b, c;

static struct mx_group_row row_at(int number)
{
    struct mx_group_row out;
    CHECK(mx_flush_stats_get(number, &out));
    return out;
}

static int count_rows(void)
{
    struct mx_group_row out;
    int n = 0;
    while (mx_flush_stats_get(n, &out))
        n++;
    return n;
}

static void test_nothing_yet(void)
{
    struct mx_group_row out = {.n_operations = -5};
    CHECK(count_rows() == 0);
    CHECK(!mx_flush_stats_get(-1, &out) && !mx_flush_stats_get(0, &out) &&
          !mx_flush_stats_get(1 << 30, &out));
    CHECK(out.n_operations == -5);
}

/* A chain with a temporary is one group, which reads a and b and writes c. */
static void test_one_group(void)
{
    struct mx_buffer *unseen = mx_buffer_new(BYTES);
    CHECK(unseen);
    record(binary("add", add, N, row(&a), row(&b), strided(unseen, 0, 8)));
    record(binary("multiply", multiply, N, strided(unseen, 0, 8), value(2.0), row(&c)));
    record(unary("square", square, N, row(&c), row(&c)));
    mx_buffer_release(unseen);
    CHECK(flush() == MX_OK && count_rows() == 1);
    const struct mx_group_row out = row_at(0);
    CHECK(out.n_operations == 3 && out.ndim == 1 && out.shape[0] == N);
    CHECK(strcmp(out.names[0], "add") == 0 && strcmp(out.names[1], "multiply") == 0);
    CHECK(strcmp(out.names[2], "square") == 0);
    CHECK(out.kinds[0] == 0 && out.kinds[1] == 0 && out.kinds[2] == 0);
    CHECK(out.n_temporaries == 1);
    CHECK(out.bytes_read == 2 * BYTES && out.bytes_written == BYTES);
    CHECK(out.n_threads >= 1 && out.n_threads <= mx_thread_pool_size());
    CHECK(out.nanoseconds > 0);
    CHECK(flush() == MX_OK && count_rows() == 1); /* nothing ran meanwhile */
}

/* Groups are listed in the order in which they ran.  Without fusion each instruction is a
 * group. */
static void test_groups(void)
{
    mx_stream_set_fuse(false);
    for (int i = 0; i < 3; i++)
        record(binary(i == 1 ? "multiply" : "add", add, N - i, row(&a), value(1.0), row(&a)));
    CHECK(flush() == MX_OK && count_rows() == 3);
    for (int i = 0; i < 3; i++) {
        const struct mx_group_row out = row_at(i);
        CHECK(out.n_operations == 1 && out.shape[0] == N - i && out.n_temporaries == 0);
        CHECK(strcmp(out.names[0], i == 1 ? "multiply" : "add") == 0);
        CHECK(out.bytes_read == out.bytes_written);
        CHECK(out.bytes_read == sizeof(double) * (size_t)(N - i));
    }
    mx_stream_set_fuse(true);
}

/* An axis that is broadcast or reduced over does not add bytes. */
static void test_broadcast_and_reduced(void)
{
    struct mx_instruction in = binary("add", add, 20, row(&a), row(&b), row(&c));
    in.ndim = 2;
    in.shape[1] = 300;
    in.operands[0].strides[0] = 0;
    in.operands[0].strides[1] = 8; /* a row */
    in.operands[1].strides[1] = 0; /* a column */
    in.operands[2].strides[0] = 300 * 8;
    in.operands[2].strides[1] = 8;
    record(in);
    struct mx_instruction sums = sum(20, in.operands[2], row(&b));
    sums.ndim = 2;
    sums.shape[1] = 300;
    sums.operands[1].strides[1] = 8;
    record(sums);
    struct mx_instruction running = sums;
    running.kind = MX_SCAN;
    running.operands[1] = packed(a.buffer, 8, 2, sums.shape);
    record(running);
    CHECK(flush() == MX_OK && count_rows() == 3);
    const struct mx_group_row out = row_at(0), reduction = row_at(1), scan = row_at(2);
    CHECK(out.ndim == 2 && out.shape[0] == 20 && out.shape[1] == 300);
    CHECK(out.bytes_read == (300 + 20) * 8 && out.bytes_written == BYTES);
    CHECK(reduction.kinds[0] == 1 && reduction.bytes_read == BYTES);
    CHECK(reduction.bytes_written == 300 * 8);
    CHECK(scan.kinds[0] == 2 && scan.bytes_read == BYTES && scan.bytes_written == BYTES);
}

/* The record has room for a fixed number of groups, and the next flush begins a new one. */
static void test_many_groups(void)
{
    mx_stream_set_fuse(false);
    for (int i = 0; i < 1000; i++)
        record(binary("add", add, 1 + i, row(&a), value(0.0), row(&a)));
    CHECK(flush() == MX_OK && count_rows() == 256);
    for (int i = 0; i < 256; i++)
        CHECK(row_at(i).shape[0] == 1 + i);
    mx_stream_set_fuse(true);
    record(binary("add", add, N, row(&a), value(0.0), row(&a)));
    CHECK(flush() == MX_OK && count_rows() == 1);
    mx_flush_stats_begin();
    CHECK(count_rows() == 0);
}

/* A row has room for the names of all steps that a group may have. */
static void test_full_group(void)
{
    for (int i = 0; i < MX_MAX_STEPS; i++)
        record(binary(i % 2 ? "odd" : "even", add, N, row(&a), value(0.0), row(&a)));
    CHECK(flush() == MX_OK && count_rows() == 1);
    const struct mx_group_row out = row_at(0);
    CHECK(out.n_operations == MX_MAX_STEPS);
    CHECK(sizeof out.names / sizeof *out.names == MX_MAX_STEPS);
    CHECK(sizeof out.kinds / sizeof *out.kinds == MX_MAX_STEPS);
    CHECK(sizeof out.shape / sizeof *out.shape == MX_MAX_NDIM);
    for (int i = 0; i < MX_MAX_STEPS; i++)
        CHECK(strcmp(out.names[i], i % 2 ? "odd" : "even") == 0);
}

static void look_at_shares(const struct mx_instruction *items, size_t count)
{
    CHECK(count == 3);
    const struct mx_cost first = items[0].cost, second = items[1].cost, alone = items[2].cost;
    CHECK(first.group > 0 && second.group == first.group && alone.group == first.group + 1);
    CHECK(first.begin == second.begin && alone.begin >= first.begin);
    CHECK(first.nanoseconds + second.nanoseconds == row_at(0).nanoseconds);
    CHECK(alone.nanoseconds == row_at(1).nanoseconds);
    CHECK(first.nanoseconds > 0 && second.nanoseconds > 0);
    CHECK(first.n_together == 2 && second.n_together == 2 && alone.n_together == 1);
    CHECK(first.n_elided == 1 && second.n_elided == 0 && alone.n_elided == 0);
    CHECK(first.bytes_read == 2 * BYTES && first.bytes_written == 0);
    CHECK(second.bytes_read == 0 && second.bytes_written == BYTES);
    CHECK(alone.bytes_read == BYTES - 8 && alone.bytes_written == BYTES - 8);
    CHECK(!first.is_on_device && !first.is_rematerialized);
}

static void look_at_nothing(const struct mx_instruction *items, size_t count)
{
    CHECK(count == 1 && items[0].cost.group == 0);
}

/* The costs are those of a group of two instructions with a temporary, and of another group. */
static void test_shares(void)
{
    struct mx_buffer *unseen = mx_buffer_new(BYTES);
    CHECK(unseen);
    mx_stream_set_measured(true);
    record(binary("add", add, N, row(&a), row(&b), strided(unseen, 0, 8)));
    record(binary("multiply", multiply, N, strided(unseen, 0, 8), value(2.0), row(&c)));
    record(binary("add", add, N - 1, row(&a), value(1.0), row(&a)));
    mx_buffer_release(unseen);
    CHECK(flush_and(look_at_shares) == MX_OK);
    mx_stream_set_measured(false);
    record(binary("add", add, N, row(&a), value(1.0), row(&a)));
    CHECK(flush_and(look_at_nothing) == MX_OK);
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    array_init_doubles(&a, N, 1.0);
    array_init_doubles(&b, N, 2.0);
    array_init_doubles(&c, N, 0.0);
    test_nothing_yet();
    test_one_group();
    test_groups();
    test_broadcast_and_reduced();
    test_many_groups();
    test_full_group();
    test_shares();
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
    mx_pool_trim(0);
    return 0;
}
