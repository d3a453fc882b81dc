/* test_stream.c -- instructions run once, in order, and hold their buffers until then.  Those
 * that could not run wait for the next flush. */
#include "base/error.h"
#include "cpu/threads/thread_pool.h"
#include "instructions.h"

enum { N = 5000 };

static int64_t record_add(struct mx_operand a, struct mx_operand b, struct mx_operand out)
{
    return record(binary("add", add, N, a, b, out));
}

static void check_all(const struct array *array, double expected)
{
    const double *data = (const double *)(const void *)array->data;
    for (int i = 0; i < N; i++)
        CHECK(data[i] == expected);
}

static void test_order_and_lifetime(void)
{
    struct array a, b;
    double *data = array_init_doubles(&a, N, 1.0);
    array_init_doubles(&b, N, 2.0);
    int64_t before = mx_stream_recorded();
    for (int i = 0; i < 100; i++) /* more than the initial capacity */
        CHECK(record_add(row(&a), row(&b), row(&a)) == before + 1 + i);
    record_add(row(&b), value(1.0), row(&b));
    record_add(row(&a), row(&b), row(&a));
    array_drop(&b); /* now only the stream holds it */
    CHECK(mx_stream_size() == 102 && mx_stream_done() == before && data[0] == 1.0);

    CHECK(flush() == MX_OK);
    CHECK(mx_stream_size() == 0 && mx_stream_done() == before + 102);
    check_all(&a, 1.0 + 100 * 2.0 + 3.0);
    array_drop(&a);
    CHECK(memory_info().in_use == 0);
    CHECK(flush() == MX_OK); /* with an empty queue */
}

/* A buffer without an array gets no memory.  The address of one with an array is published. */
static void test_temporaries(void)
{
    struct array a, temporary, kept;
    array_init_doubles(&a, N, 3.0);
    array_init(&temporary, N * sizeof(double));
    array_init(&kept, N * sizeof(double));
    char *token = kept.data;
    record_add(row(&a), row(&a), row(&temporary));
    record_add(row(&temporary), value(0.5), row(&kept));
    array_drop(&temporary);
    size_t before = memory_info().in_use;
    CHECK(flush() == MX_OK);
    CHECK(memory_info().in_use == 2 * before && kept.data != token);
    check_all(&kept, 6.5);
    array_drop(&a);
    array_drop(&kept);
    CHECK(memory_info().in_use == 0);
}

/* A buffer with an array is allocated before anything runs, even if nothing has written it. */
static void test_published_is_allocated_first(void)
{
    struct array unwritten, out;
    size_t count;
    array_init(&unwritten, N * sizeof(double));
    array_init(&out, N * sizeof(double));
    record_add(row(&unwritten), value(1.0), row(&out));
    mx_stream_enter();
    CHECK(mx_stream_prepare(&count) == MX_OK);
    CHECK(unwritten.buffer->data && unwritten.data == unwritten.buffer->data);
    CHECK(out.buffer->data && out.data == out.buffer->data);
    mx_stream_leave();
    CHECK(flush() == MX_OK);
    array_drop(&unwritten);
    array_drop(&out);
}

/* A buffer that is held but has no array is computed, too. */
static void test_held_but_not_published(void)
{
    struct array out;
    array_init(&out, N * sizeof(double));
    out.buffer->published = NULL;
    record_add(value(1.0), value(2.0), row(&out));
    CHECK(flush() == MX_OK);
    record_add(row(&out), value(2.0), row(&out));
    CHECK(flush() == MX_OK);
    out.data = out.buffer->data;
    CHECK(out.data);
    check_all(&out, 5.0);
    array_drop(&out);
}

/* -- Conditions --------------------------------------------------------------------- */

static int fpe_flags[4];

static void look_at_fpe_flags(const struct mx_instruction *items, size_t count)
{
    CHECK(count <= 4);
    for (size_t i = 0; i < count; i++)
        fpe_flags[i] = atomic_load(&items[i].fpe_flags);
}

static void test_conditions(void)
{
    struct array a, out;
    array_init_doubles(&a, N, 1.0);
    array_init(&out, N * sizeof(double));
    struct mx_operand zero = value(0.0), huge = value(1e308);
    struct mx_instruction program[] = {
        binary("divide", divide, N, row(&a), zero, row(&out)),
        binary("divide", divide, N, zero, zero, row(&out)),
        binary("add", add, N, huge, huge, row(&out)),
        binary("add", add, N, row(&a), row(&a), row(&out)),
    };
    const int expected[] = {1, 8, 2, 0};
    for (int fpe_mask = 0; fpe_mask < 16; fpe_mask++) {
        for (int i = 0; i < 4; i++) {
            program[i].fpe_mask = fpe_mask;
            record(program[i]);
        }
        CHECK(flush_and(look_at_fpe_flags) == MX_OK);
        for (int i = 0; i < 4; i++)
            CHECK(fpe_flags[i] == (expected[i] & fpe_mask));
    }
    check_all(&out, 2.0);
    array_drop(&a);
    array_drop(&out);
}

/* -- Failures ----------------------------------------------------------------------- */

/* Each request in turn is refused.  All instructions wait then, and run with the next flush. */
static void test_refused_memory(void)
{
    int refusals = 0;
    for (int n = 0, done = 0; !done; n++) {
        struct array a, b, c, unseen;
        array_init_doubles(&a, N, 1.0);
        array_init(&b, N * sizeof(double));
        array_init(&unseen, N * sizeof(double));
        array_init(&c, N * sizeof(double) / 2);
        record_add(row(&a), value(1.0), row(&b));
        record_add(row(&b), value(1.0), row(&unseen));
        record_add(row(&unseen), row(&b), row(&b));
        record(binary("add", add, N / 2, row(&b), strided(unseen.buffer, 0, 16), row(&c)));
        array_drop(&unseen); /* not a temporary: two views of it are used */
        mx_pool_trim(0);

        mx_alloc_refuse(n, 1 << 20);
        int status = flush();
        mx_alloc_refuse(0, 0);
        done = status == MX_OK;
        CHECK(status == MX_OK || status == MX_ERROR_MEMORY);
        if (!done) {
            refusals++;
            CHECK(mx_stream_size() == 4);
            CHECK(flush() == MX_OK);
        }
        CHECK(mx_stream_size() == 0);
        check_all(&b, 5.0);
        const double *data = (const double *)(const void *)c.data;
        for (int i = 0; i < N / 2; i++)
            CHECK(data[i] == 8.0);
        array_drop(&a);
        array_drop(&b);
        array_drop(&c);
        CHECK(memory_info().in_use == 0);
    }
    CHECK(refusals > 5);
}

static void test_refused_record(void)
{
    struct array a;
    array_init_doubles(&a, 1, 1.0);
    int64_t sequence = -1;
    size_t recorded = 0;
    int refusals = 0;
    const struct mx_instruction in = binary("add", add, 1, row(&a), value(1.0), row(&a));
    for (int i = 0; i < 1000; i++) {
        mx_alloc_refuse(0, 1);
        int status = mx_stream_append(&in, &sequence);
        mx_alloc_refuse(0, 0);
        CHECK(status == MX_OK || status == MX_ERROR_MEMORY);
        if (status != MX_OK) {
            CHECK(mx_stream_size() == recorded);
            CHECK(atomic_load(&a.buffer->count) == 1 + 2 * (long)recorded);
            refusals++;
            record(in);
        }
        CHECK(mx_stream_size() == ++recorded);
    }
    CHECK(refusals > 0 && refusals < 10);
    CHECK(flush() == MX_OK);
    CHECK(*(double *)(void *)a.data == 1001.0);
    CHECK(atomic_load(&a.buffer->count) == 1);
    array_drop(&a);
    CHECK(memory_info().in_use == 0);
}

/* A result that is used again after a failed flush, and then dropped, is still computed. */
static void test_used_after_failure(void)
{
    struct array a, b, c;
    array_init_doubles(&a, N, 1.0);
    array_init(&b, N * sizeof(double));
    record_add(row(&a), value(1.0), row(&b));
    mx_pool_trim(0);
    mx_alloc_refuse(0, 1 << 20);
    CHECK(flush() == MX_ERROR_MEMORY);
    mx_alloc_refuse(0, 0);
    array_init(&c, N * sizeof(double));
    record_add(row(&b), value(1.0), row(&c));
    array_drop(&b);
    CHECK(flush() == MX_OK && mx_stream_size() == 1);
    CHECK(flush() == MX_OK && mx_stream_size() == 0);
    check_all(&c, 3.0);
    array_drop(&a);
    array_drop(&c);
    CHECK(memory_info().in_use == 0);
}

/* -- Interrupted backends ------------------------------------------------------------ */

static int left_to_stop, stop_status;

static int run_until_stopped(struct mx_group *group, struct mx_instruction *instructions,
                             bool (*interrupted)(void))
{
    if (left_to_stop-- == 0)
        return mx_fail(stop_status, "stopped");
    for (int s = 1; s < group->n_steps; s++)
        CHECK(instructions[group->steps[s - 1].instruction].sequence <
              instructions[group->steps[s].instruction].sequence);
    return mx_cpu_backend.run(group, instructions, interrupted);
}

/* A backend that fails or is interrupted once before each group. */
static void test_stopping_backend(void)
{
    const struct mx_backend stopping = {.name = "stopping", .run = run_until_stopped};
    const int statuses[] = {MX_ERROR_MEMORY, MX_INTERRUPTED};
    mx_stream_set_backends(NULL, &stopping);
    mx_stream_set_fuse(false);
    for (int s = 0; s < 2; s++) {
        for (int stop = 0; stop < 5; stop++) {
            struct array a;
            array_init_doubles(&a, N, 1.0);
            for (int i = 0; i < 5; i++)
                record_add(row(&a), row(&a), row(&a));
            left_to_stop = stop;
            stop_status = statuses[s];
            CHECK(flush() == statuses[s]);
            CHECK(strcmp(mx_error_message(), "stopped") == 0);
            CHECK(mx_stream_size() == 5);
            check_all(&a, (double)(1 << stop));
            CHECK(atomic_load(&a.buffer->count) == 1 + 3 * (5 - stop));
            record_add(row(&a), row(&a), row(&a)); /* runs with the next flush but one */
            CHECK(flush() == MX_OK && mx_stream_size() == 1);
            check_all(&a, 32.0);
            CHECK(flush() == MX_OK && mx_stream_size() == 0);
            check_all(&a, 64.0);
            array_drop(&a);
            CHECK(memory_info().in_use == 0);
        }
    }
    mx_stream_set_fuse(true);
    mx_stream_set_backends(NULL, &mx_cpu_backend);
}

static int questions;

static bool every_other_time(void) { return questions++ % 2 == 1; }

/* A group that is interrupted repeatedly computes each element once. */
static void test_interruption(int threads)
{
    enum { LARGE = 1000000 };
    struct array a, total;
    double *data = array_init_doubles(&a, LARGE, 1.0);
    array_init(&total, sizeof(double));
    for (int i = 0; i < 3; i++)
        record(binary("add", add, LARGE, row(&a), row(&a), row(&a)));
    record(sum(LARGE, row(&a), row(&total)));
    int interruptions = 0, status;
    mx_thread_pool_set_size(threads);
    do {
        size_t n, taken;
        mx_stream_enter();
        status = mx_stream_prepare(&taken);
        CHECK(status == MX_OK && taken == 4);
        status = mx_stream_run(every_other_time);
        interruptions += status == MX_INTERRUPTED;
        if (status == MX_OK)
            mx_free(mx_stream_take_back(&n));
        mx_stream_leave();
    } while (status == MX_INTERRUPTED);
    /* Only the calling thread checks for interrupts, between its chunks. */
    CHECK(status == MX_OK && (interruptions > 5 || threads > 1));
    for (int i = 0; i < LARGE; i++)
        CHECK(data[i] == 8.0);
    CHECK(*(double *)(void *)total.data == 8.0 * LARGE);
    array_drop(&a);
    array_drop(&total);
}

static void test_one_at_a_time(void)
{
    mx_stream_enter();
    CHECK(!mx_stream_try_enter());
    mx_stream_leave();
    CHECK(mx_stream_try_enter());
    mx_stream_leave();
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    CHECK(mx_start() == MX_OK);
    test_order_and_lifetime();
    test_temporaries();
    test_published_is_allocated_first();
    test_held_but_not_published();
    test_conditions();
    test_refused_memory();
    test_refused_record();
    test_used_after_failure();
    test_stopping_backend();
    test_interruption(1);
    test_interruption(4);
    test_one_at_a_time();
    mx_memory_trim(0);
    return 0;
}
