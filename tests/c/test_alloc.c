/* test_alloc.c -- malloc keeps what is freed, but not more than the limit, until a trim. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "check.h"
#include "memory/pool.h"

#define N_BLOCKS 16

/* Returns how many bytes of the process are in memory. */
static size_t resident(void)
{
    size_t n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%*u %zu", &n_pages) == 1 && fclose(file) == 0);
    return n_pages * mx_alloc_page_size();
}

/* Allocates so many bytes in blocks, and frees them. */
static void use(size_t nbytes)
{
    char *blocks[N_BLOCKS];
    for (int i = 0; i < N_BLOCKS; i++) {
        CHECK((blocks[i] = mx_alloc(nbytes / N_BLOCKS)));
        memset(blocks[i], 1, nbytes / N_BLOCKS);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        mx_free(blocks[i]);
}

static void test_most_kept(void)
{
    size_t most = mx_alloc_most_kept(SIZE_MAX), memory = most * 16;
    CHECK(most > 0 && mx_alloc_most_kept(memory) == most);
    CHECK(mx_alloc_most_kept(memory / 2) == most / 2 && mx_alloc_most_kept(0) == 0);
}

static void test_keep(void)
{
    size_t most = mx_alloc_most_kept(SIZE_MAX), slack = most / 16, before = resident();
    CHECK(mx_alloc_kept() == 0);
    mx_alloc_keep(most);
    if (mx_alloc_kept() == 0) /* malloc is not glibc's */
        return;
    CHECK(mx_alloc_kept() == most);
    use(most / 2);
    CHECK(resident() > before + most / 2 - slack);
    mx_alloc_trim();
    CHECK(resident() < before + slack);
    use(most * 4);
    CHECK(resident() < before + most + slack);
    mx_alloc_trim();

    /* The pool asks for it when the system refuses memory. */
    use(most / 2);
    mx_alloc_refuse(0, 1);
    struct mx_block *block = mx_pool_take(most);
    mx_alloc_refuse(0, 0);
    CHECK(block && resident() < before + slack);
    mx_pool_put(block);
    mx_pool_trim(0);
}

int main(void)
{
    CHECK(mx_alloc_usable() > 0);
    test_most_kept();
    test_keep();
    return 0;
}
