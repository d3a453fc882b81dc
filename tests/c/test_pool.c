/* test_pool.c -- blocks are reused, the limit holds, and a refused request changes nothing. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "memory/pool.h"

static struct mx_memory_info info(void)
{
    struct mx_memory_info out;
    mx_pool_info(&out);
    return out;
}

static void test_sizes(void)
{
    size_t page = mx_alloc_page_size();
    CHECK(mx_pool_data_size(0) == page);
    CHECK(mx_pool_data_size(1) == page);
    CHECK(mx_pool_data_size(page) == page);
    CHECK(mx_pool_data_size(page + 1) == 2 * page);
    CHECK(mx_pool_data_size((size_t)1 << 30) == (size_t)1 << 30);
    CHECK(mx_pool_data_size(SIZE_MAX) == 0);
    CHECK(mx_pool_data_size(SIZE_MAX / 2 + 2) == 0 ||
          mx_pool_data_size(SIZE_MAX / 2 + 2) > SIZE_MAX / 2);
    size_t before = 0;
    for (size_t nbytes = 1; nbytes < (size_t)1 << 34; nbytes += nbytes / 9 + 1) {
        size_t size = mx_pool_data_size(nbytes), pages = (nbytes + page - 1) / page * page;
        CHECK(size % page == 0);
        CHECK(size >= pages && size - pages <= pages / 8);
        CHECK(size >= before);
        before = size;
    }
}

static void test_reuse(void)
{
    struct mx_memory_info start = info();
    struct mx_block *first = mx_pool_take(100000);
    CHECK((uintptr_t)mx_pool_data(first) % mx_alloc_page_size() == 0);
    CHECK(mx_pool_block(mx_pool_data(first)) == first);
    memset(mx_pool_data(first), 1, 100000);
    CHECK(info().in_use == first->size && info().cached == 0);
    CHECK(info().peak >= first->size);

    struct mx_block *second = mx_pool_take(100000);
    size_t size = first->size;
    mx_pool_put(first);
    mx_pool_put(second);
    CHECK(info().in_use == 0 && info().cached == 2 * size);

    CHECK(mx_pool_take(100000) == second); /* the newest first */
    CHECK(mx_pool_take(99999) == first);   /* of the same class */
    CHECK(info().n_system_calls == start.n_system_calls + 2);
    mx_pool_put(first);
    mx_pool_put(second);
    mx_pool_trim(0);
    CHECK(info().in_use == 0 && info().cached == 0);
}

static void test_larger_blocks(void)
{
    struct mx_block *large = mx_pool_take(1 << 20), *larger = mx_pool_take(5 << 18);
    mx_pool_put(large);
    mx_pool_put(larger);
    CHECK(mx_pool_take(900000) == large); /* the smallest that has room */
    CHECK(mx_pool_take(900000) == larger);
    CHECK(info().in_use == large->size + larger->size && info().cached == 0);
    mx_pool_put(large);
    mx_pool_put(larger);
    struct mx_block *own = mx_pool_take(600000); /* half of a larger one would be unused */
    CHECK(own != large && own != larger && info().cached == large->size + larger->size);
    mx_pool_put(own);
    mx_pool_trim(0);

    size_t page = mx_alloc_page_size();
    struct mx_block *two = mx_pool_take(2 * page);
    mx_pool_put(two);
    struct mx_block *one = mx_pool_take(page);
    CHECK(one != two);
    mx_pool_put(one);
    mx_pool_trim(0);
}

static void test_limit(void)
{
    struct mx_block *blocks[8];
    for (int i = 0; i < 8; i++)
        blocks[i] = mx_pool_take((size_t)(i + 1) << 16);
    size_t sizes[8];
    for (int i = 0; i < 8; i++)
        sizes[i] = blocks[i]->size;
    mx_pool_set_limit(sizes[6] + sizes[7]);
    for (int i = 0; i < 8; i++) {
        mx_pool_put(blocks[i]);
        CHECK(info().cached <= info().limit);
    }
    /* The blocks cached longest were freed first. */
    CHECK(info().cached == sizes[6] + sizes[7]);
    mx_pool_set_limit(sizes[7]);
    CHECK(info().cached == sizes[7]);
    mx_pool_set_limit(0);
    CHECK(info().cached == 0);
    mx_pool_set_limit(SIZE_MAX);
    CHECK(info().limit == SIZE_MAX);
}

static void test_refusal(void)
{
    struct mx_block *held = mx_pool_take(1 << 20);
    memset(mx_pool_data(held), 7, 1 << 20);
    mx_pool_put(mx_pool_take(2 << 20));
    size_t calls = info().n_system_calls;

    /* If one request is refused, cached blocks are freed and the second request succeeds. */
    mx_alloc_refuse(0, 1);
    struct mx_block *block = mx_pool_take(3 << 20);
    CHECK(block && info().cached == 0 && info().n_system_calls == calls + 1);
    mx_pool_put(block);

    /* If all requests are refused, the result is NULL and blocks in use stay. */
    size_t in_use = info().in_use;
    mx_alloc_refuse(0, 1000);
    CHECK(!mx_pool_take(4 << 20));
    CHECK(!mx_pool_take(4 << 20));
    mx_alloc_refuse(0, 0);
    CHECK(info().in_use == in_use && in_use == held->size);
    CHECK(mx_pool_data(held)[0] == 7 && mx_pool_data(held)[(1 << 20) - 1] == 7);

    /* A cached block needs no request. */
    mx_pool_put(mx_pool_take(4 << 20));
    mx_alloc_refuse(0, 1000);
    block = mx_pool_take(4 << 20);
    CHECK(block);
    mx_alloc_refuse(0, 0);
    mx_pool_put(block);
    mx_pool_put(held);
    CHECK(!mx_pool_take(SIZE_MAX));
    CHECK(!mx_pool_take(SIZE_MAX / 4)); /* more than the system can map */
    CHECK(info().in_use == 0);
}

/* Each thread marks its blocks and finds its marks unchanged. */
static void *churn(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    char mark = (char)seed;
    struct mx_block *blocks[6] = {NULL};
    for (int round = 0; round < 4000; round++) {
        seed = seed * 1103515245u + 12345u;
        int i = (int)(seed >> 16) % 6;
        if (blocks[i]) {
            char *data = mx_pool_data(blocks[i]);
            CHECK(data[0] == mark && data[blocks[i]->size - mx_alloc_page_size() - 1] == mark);
            mx_pool_put(blocks[i]);
            blocks[i] = NULL;
        } else {
            blocks[i] = mx_pool_take((seed >> 8) % 300000);
            CHECK(blocks[i]);
            char *data = mx_pool_data(blocks[i]);
            data[0] = data[blocks[i]->size - mx_alloc_page_size() - 1] = mark;
        }
        if (round % 500 == 0)
            mx_pool_trim((seed >> 4) % 1000000);
    }
    for (int i = 0; i < 6; i++)
        if (blocks[i])
            mx_pool_put(blocks[i]);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    unsigned seeds[4];
    mx_pool_set_limit(1 << 20);
    for (unsigned i = 0; i < 4; i++) {
        seeds[i] = i + 1;
        CHECK(pthread_create(&threads[i], NULL, churn, &seeds[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(info().in_use == 0 && info().cached <= 1 << 20);
}

int main(void)
{
    CHECK(mx_pool_default_limit() > 0);
    CHECK(info().limit == mx_pool_default_limit());
    test_sizes();
    test_reuse();
    test_larger_blocks();
    test_limit();
    test_refusal();
    test_threads();
    mx_pool_trim(0);
    CHECK(info().cached == 0);
    return 0;
}
