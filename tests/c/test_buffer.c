/* test_buffer.c -- a buffer gets memory when it is allocated, and returns it to the pool with
 * its last reference, from any thread. */
#include <pthread.h>
#include <sched.h>

#include "base/error.h"
#include "instructions.h"

static void test_counts(void)
{
    struct mx_buffer *buffer = mx_buffer_new(12345);
    CHECK(buffer->nbytes == 12345 && !buffer->data);
    CHECK(memory_info().in_use == 0);
    CHECK(mx_buffer_allocate(buffer) == MX_OK);
    CHECK((uintptr_t)buffer->data % mx_alloc_page_size() == 0);
    memset(buffer->data, 1, 12345);
    mx_buffer_retain(buffer);
    mx_buffer_release(buffer);
    CHECK(memory_info().in_use > 0);
    mx_buffer_release(buffer);
    CHECK(memory_info().in_use == 0);
}

static void test_never_placed(void)
{
    size_t calls = memory_info().n_system_calls;
    struct mx_buffer *buffer = mx_buffer_new((size_t)1 << 40);
    mx_buffer_retain(buffer);
    mx_buffer_release(buffer);
    mx_buffer_release(buffer);
    CHECK(memory_info().n_system_calls == calls && memory_info().in_use == 0);
}

static void test_placed_once(void)
{
    struct mx_buffer *buffer = mx_buffer_new(100);
    CHECK(mx_buffer_allocate(buffer) == MX_OK);
    char *data = buffer->data;
    size_t size = memory_info().in_use;
    CHECK(mx_buffer_allocate(buffer) == MX_OK);
    CHECK(buffer->data == data && memory_info().in_use == size);
    mx_buffer_release(buffer);
}

/* A buffer is found by its placeholder address, and later by the address of its data. */
static void test_addresses(void)
{
    struct array arrays[100];
    for (int i = 0; i < 100; i++)
        array_init(&arrays[i], (size_t)i * 100);
    for (int i = 0; i < 100; i++) {
        char *address = arrays[i].data;
        struct mx_buffer *buffer = arrays[i].buffer;
        CHECK((uintptr_t)address % mx_alloc_page_size() != 0);
        CHECK(mx_buffer_address(buffer) == address && mx_buffer_get(address) == buffer);
        CHECK(mx_buffer_allocate(buffer) == MX_OK);
        CHECK(arrays[i].data == address && mx_buffer_get(address) == buffer);
        CHECK(mx_buffer_publish(buffer) == MX_OK);
        CHECK(arrays[i].data == buffer->data && arrays[i].data != address);
        CHECK(mx_buffer_address(buffer) == buffer->data);
        CHECK(mx_buffer_get(arrays[i].data) == buffer);
    }
    for (int i = 0; i < 100; i++)
        array_drop(&arrays[i]);
    CHECK(memory_info().in_use == 0);
}

static void *retain_and_release(void *buffer)
{
    for (int i = 0; i < 100000; i++) {
        mx_buffer_retain(buffer);
        mx_buffer_release(buffer);
    }
    mx_buffer_release(buffer);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    struct mx_buffer *buffer = mx_buffer_new(1 << 16);
    CHECK(mx_buffer_allocate(buffer) == MX_OK);
    for (int i = 0; i < 4; i++) {
        mx_buffer_retain(buffer);
        CHECK(pthread_create(&threads[i], NULL, retain_and_release, buffer) == 0);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(memory_info().in_use > 0);
    mx_buffer_release(buffer);
    CHECK(memory_info().in_use == 0);
}

struct part {
    struct mx_buffer *buffer;
    size_t at;
};

static void *write_and_release(void *argument)
{
    const struct part *part = argument;
    memset(part->buffer->data + part->at, 1, 4096);
    mx_buffer_release(part->buffer);
    return NULL;
}

/* The writes of all holders happen before the memory is used again, which the thread sanitizer
 * checks. */
static void test_last_count(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        struct part parts[4];
        struct mx_buffer *buffer = mx_buffer_new(4 * 4096);
        CHECK(mx_buffer_allocate(buffer) == MX_OK);
        for (size_t i = 0; i < 4; i++) {
            parts[i] = (struct part){buffer, i * 4096};
            if (i > 0)
                mx_buffer_retain(buffer);
        }
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, write_and_release, &parts[i]) == 0);
        while (memory_info().in_use > 0)
            sched_yield();
        struct mx_buffer *next = mx_buffer_new(4 * 4096);
        CHECK(mx_buffer_allocate(next) == MX_OK);
        memset(next->data, 2, 4 * 4096);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(next->data[0] == 2 && next->data[4 * 4096 - 1] == 2);
        mx_buffer_release(next);
    }
}

static void test_failure(void)
{
    struct array array;
    CHECK(!mx_buffer_new(SIZE_MAX));
    CHECK(strcmp(mx_error_message(), "Unable to allocate 18446744073709551615 bytes") == 0 ||
          sizeof(size_t) < 8);
    mx_alloc_refuse(0, 1);
    CHECK(!mx_buffer_new(100));
    mx_alloc_refuse(0, 0);
    CHECK(strcmp(mx_error_message(), "Unable to allocate 100 bytes") == 0);

    array_init(&array, 100 << 20);
    char *address = array.data;
    mx_alloc_refuse(0, 2); /* the pool tries twice */
    CHECK(mx_buffer_allocate(array.buffer) == MX_ERROR_MEMORY);
    mx_alloc_refuse(0, 0);
    CHECK(strcmp(mx_error_message(), "Unable to allocate 104857600 bytes") == 0);
    CHECK(array.data == address && mx_buffer_get(address) == array.buffer);
    CHECK(mx_buffer_take_refused() == array.buffer && !mx_buffer_take_refused());
    mx_buffer_release(array.buffer);
    CHECK(memory_info().in_use == 0);
    CHECK(mx_buffer_allocate(array.buffer) == MX_OK);
    array_drop(&array);
    CHECK(memory_info().in_use == 0);
}

int main(void)
{
    test_counts();
    test_never_placed();
    test_placed_once();
    test_addresses();
    test_threads();
    test_last_count();
    test_failure();
    mx_pool_trim(0);
    return 0;
}
