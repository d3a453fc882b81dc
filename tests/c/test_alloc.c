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
static void use_blocks(size_t nbytes, int n)
{
    char *blocks[N_BLOCKS];
    for (int i = 0; i < n; i++) {
        CHECK((blocks[i] = mx_alloc(nbytes / (size_t)n)));
        memset(blocks[i], 1, nbytes / (size_t)n);
    }
    for (int i = 0; i < n; i++)
        mx_free(blocks[i]);
}

static void use(size_t nbytes) { use_blocks(nbytes, N_BLOCKS); }

static void test_most_kept(void)
{
    size_t most = mx_alloc_most_kept(SIZE_MAX), memory = most * 32;
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
    use(most * 2);
    CHECK(resident() < before + most + slack);
    mx_alloc_trim();
    use_blocks(most * 3 / 8, 1); /* more than malloc keeps in a block */
    CHECK(resident() < before + slack);

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
