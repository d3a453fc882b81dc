/* test_stream.c -- instructions run once, in order; buffers live until then; failures leave
 * the stream whole or empty. */
#include <pthread.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "check.h"
#include "error.h"
#include "stream.h"

enum { N = 5000 };

static void add(char **args, const intptr_t *size, const intptr_t *strides, void *data)
{
    (void)data;
    for (intptr_t i = 0; i < *size; i++)
        *(double *)(args[2] + i * strides[2]) =
            *(double *)(args[0] + i * strides[0]) + *(double *)(args[1] + i * strides[1]);
}

static void divide(char **args, const intptr_t *size, const intptr_t *strides, void *data)
{
    (void)data;
    for (intptr_t i = 0; i < *size; i++)
        *(volatile double *)(args[2] + i * strides[2]) =
            *(volatile double *)(args[0] + i * strides[0]) /
            *(volatile double *)(args[1] + i * strides[1]);
}

static const struct mx_loop ADD = {add, NULL, 3}, DIVIDE = {divide, NULL, 3};

static size_t in_use(void)
{
    struct mx_memory_info info;
    mx_pool_info(&info);
    return info.in_use;
}

static double *new_doubles(double value)
{
    double *data = (double *)mx_memory_new(N * sizeof(double));
    CHECK(data);
    for (int i = 0; i < N; i++)
        data[i] = value;
    return data;
}

static struct mx_operand counted(double *data)
{
    return (struct mx_operand){(char *)data, sizeof(double), (char *)data};
}

static struct mx_operand scalar(double *data)
{
    return (struct mx_operand){(char *)data, 0, NULL};
}

static void record(const struct mx_loop *loop, struct mx_operand a, struct mx_operand b,
                   struct mx_operand out)
{
    struct mx_operand operands[] = {a, b, out};
    CHECK(mx_record(loop, operands, N) == MX_OK);
}

static void test_order_and_lifetime(void)
{
    double one = 1.0;
    double *a = new_doubles(1.0), *b = new_doubles(2.0);
    int floating_status = -1;
    for (int i = 0; i < 100; i++) /* more than the stream has room for at first */
        record(&ADD, counted(a), counted(b), counted(a));
    record(&ADD, counted(b), scalar(&one), counted(b));
    mx_memory_retain((char *)a);
    mx_memory_release((char *)b); /* the stream alone holds it now */
    mx_memory_release((char *)a);
    CHECK(mx_pending() == 101 && a[0] == 1.0);

    CHECK(mx_flush(&floating_status) == MX_OK);
    CHECK(floating_status == 0 && mx_pending() == 0);
    for (int i = 0; i < N; i++)
        CHECK(a[i] == 201.0);
    mx_memory_release((char *)a);
    CHECK(in_use() == 0);
    CHECK(mx_flush(&floating_status) == MX_OK);
}

static void test_floating_status(void)
{
    double zero = 0.0, huge = 1e308;
    double *a = new_doubles(1.0), *out = new_doubles(0.0);
    int status;
    record(&DIVIDE, counted(a), scalar(&zero), counted(out));
    CHECK(mx_flush(&status) == MX_OK && status == 1);
    record(&DIVIDE, scalar(&zero), scalar(&zero), counted(out));
    CHECK(mx_flush(&status) == MX_OK && status == 8);
    record(&ADD, scalar(&huge), scalar(&huge), counted(out));
    record(&DIVIDE, counted(a), scalar(&zero), counted(out));
    CHECK(mx_flush(&status) == MX_OK && status == (1 | 2));
    record(&ADD, counted(a), counted(a), counted(out));
    CHECK(mx_flush(&status) == MX_OK && status == 0);
    mx_memory_release((char *)a);
    mx_memory_release((char *)out);
}

static void test_bad_arguments(void)
{
    double x = 1.0;
    struct mx_operand operands[] = {scalar(&x), scalar(&x), {NULL, 8, NULL}};
    const struct mx_loop none = {NULL, NULL, 3}, many = {add, NULL, MX_MAX_OPERANDS + 1};
    CHECK(mx_record(&ADD, operands, N) == MX_ERROR_VALUE);
    CHECK(strcmp(mx_error_message(), "operand 2 has no data") == 0);
    CHECK(mx_record(&none, operands, N) == MX_ERROR_VALUE);
    CHECK(mx_record(&many, operands, N) == MX_ERROR_VALUE);
    CHECK(mx_record(&ADD, operands, -1) == MX_ERROR_VALUE);
    CHECK(mx_pending() == 0);
}

/* The n-th request is refused, for every n until none is made. */
static void test_refused_memory(void)
{
    double *a = new_doubles(1.0);
    struct mx_operand operands[] = {counted(a), counted(a), counted(a)};
    int status;
    size_t recorded = 0;
    int refusals = 0;
    for (int i = 0; i < 1000; i++) {
        mx_alloc_refuse(0, 1);
        int result = mx_record(&ADD, operands, 1);
        mx_alloc_refuse(0, 0);
        CHECK(result == MX_OK || result == MX_ERROR_MEMORY);
        recorded += result == MX_OK;
        refusals += result != MX_OK;
        CHECK(mx_pending() == recorded);
        if (result != MX_OK) {
            CHECK(mx_record(&ADD, operands, 1) == MX_OK);
            recorded++;
        }
    }
    CHECK(refusals > 0 && refusals < 10);
    CHECK(mx_flush(&status) == MX_OK);
    mx_memory_release((char *)a);
    CHECK(in_use() == 0);
}

static int fail(const struct mx_instruction *instructions, size_t count, int *floating_status)
{
    (void)floating_status;
    CHECK(count == 3);
    for (size_t i = 1; i < count; i++)
        CHECK(instructions[i].sequence == instructions[i - 1].sequence + 1);
    return mx_fail(MX_ERROR_DEVICE, "the device is lost");
}

static void test_failing_backend(void)
{
    const struct mx_backend failing = {.name = "failing", .run = fail};
    double *a = new_doubles(1.0);
    int status;
    for (int i = 0; i < 3; i++)
        record(&ADD, counted(a), counted(a), counted(a));
    mx_memory_release((char *)a);
    mx_stream_set_backend(&failing);
    CHECK(mx_flush(&status) == MX_ERROR_DEVICE);
    CHECK(strcmp(mx_error_message(), "the device is lost") == 0);
    CHECK(mx_pending() == 0 && in_use() == 0);
    mx_stream_set_backend(&mx_cpu_backend);
    CHECK(mx_flush(&status) == MX_OK);
}

static void *record_and_flush(void *unused)
{
    for (int round = 0; round < 200; round++) {
        double *a = new_doubles(0.0), *b = new_doubles(1.0);
        int status;
        for (int i = 0; i < 10; i++)
            record(&ADD, counted(a), counted(b), counted(a));
        CHECK(mx_flush(&status) == MX_OK);
        CHECK(a[0] == 10.0 && a[N - 1] == 10.0);
        mx_memory_release((char *)a);
        mx_memory_release((char *)b);
    }
    return unused;
}

static void test_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, record_and_flush, NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(in_use() == 0 && mx_pending() == 0);
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    CHECK(mx_start() == MX_OK);
    test_order_and_lifetime();
    test_floating_status();
    test_bad_arguments();
    test_refused_memory();
    test_failing_backend();
    test_threads();
    mx_memory_trim(0);
    return 0;
}
