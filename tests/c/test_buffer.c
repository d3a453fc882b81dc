/* test_buffer.c -- a buffer goes back to the pool with its last count, from any thread. */
#include <pthread.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "check.h"

static size_t in_use(void)
{
    struct mx_memory_info info;
    mx_pool_info(&info);
    return info.in_use;
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

static void test_counts(void)
{
    struct mx_buffer *buffer = mx_buffer_new(12345);
    CHECK(buffer->nbytes == 12345);
    char *data = mx_buffer_data(buffer);
    CHECK((uintptr_t)data % mx_page_size() == 0);
    CHECK(mx_buffer_get(data) == buffer);
    memset(data, 1, 12345);
    mx_buffer_retain(buffer);
    mx_buffer_release(buffer);
    CHECK(in_use() > 0);
    mx_buffer_release(buffer);
    CHECK(in_use() == 0);
}

static void test_threads(void)
{
    pthread_t threads[4];
    struct mx_buffer *buffer = mx_buffer_new(1 << 16);
    for (int i = 0; i < 4; i++) {
        mx_buffer_retain(buffer);
        CHECK(pthread_create(&threads[i], NULL, retain_and_release, buffer) == 0);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(in_use() > 0);
    mx_buffer_release(buffer);
    CHECK(in_use() == 0);
}

static void test_failure(void)
{
    CHECK(!mx_buffer_new(SIZE_MAX));
    CHECK(strcmp(mx_error_message(), "unable to allocate 18446744073709551615 bytes") == 0 ||
          sizeof(size_t) < 8);
    mx_alloc_refuse(0, 2);
    CHECK(!mx_buffer_new(100 << 20));
    mx_alloc_refuse(0, 0);
    CHECK(in_use() == 0);
}

int main(void)
{
    test_counts();
    test_threads();
    test_failure();
    mx_pool_trim(0);
    return 0;
}
