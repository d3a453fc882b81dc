/* test_compact.c -- a mask selects the right elements, whichever thread copies a chunk.  Masks
 * and elements have their exact size, so the sanitizers find each access beyond their end. */
#include <string.h>

#include "check.h"
#include "cpu/kernels/compact.h"
#include "cpu/threads/thread_pool.h"

static uint32_t state = 1;

/* Masks have so many true elements of 10,000: 1 leaves a chunk fewer than a word has. */
static bool is_chosen(int share)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % 10000) < share;
}

static intptr_t fill_mask(uint8_t *mask, intptr_t n, int share)
{
    intptr_t total = 0;
    for (intptr_t i = 0; i < n; i++) {
        mask[i] = (uint8_t)(is_chosen(share) ? 1 + i % 255 : 0); /* all but 0 are true */
        total += mask[i] != 0;
    }
    return total;
}

/* The bytes of each element depend on its position. */
static void fill_elements(char *elements, intptr_t n, int itemsize)
{
    for (intptr_t i = 0; i < n; i++)
        for (int b = 0; b < itemsize; b++)
            elements[i * itemsize + b] = (char)(i >> 8 * (b % 4));
}

#define GUARD 128 /* bytes behind a result, which no chunk may write */

static char *new_guarded(size_t nbytes)
{
    char *to = malloc(nbytes + GUARD);
    CHECK(to);
    memset(to + nbytes, 0xA5, GUARD);
    return to;
}

static void free_guarded(char *to, size_t nbytes)
{
    for (size_t b = 0; b < GUARD; b++)
        CHECK((unsigned char)to[nbytes + b] == 0xA5);
    free(to);
}

static void check_elements(const struct mx_compaction *c, int itemsize)
{
    char *from = malloc((size_t)(c->n * itemsize));
    size_t nbytes = (size_t)(c->begins[c->n_chunks] * itemsize);
    char *to = new_guarded(nbytes);
    CHECK(from);
    fill_elements(from, c->n, itemsize);
    mx_compact_write(c, from, itemsize, to);
    intptr_t k = 0;
    for (intptr_t i = 0; i < c->n; i++)
        if (c->mask[i] != 0)
            CHECK(memcmp(to + itemsize * k++, from + itemsize * i, (size_t)itemsize) == 0);
    free(from);
    free_guarded(to, nbytes);
}

/* Elements return to their places, and the others keep their values. */
static void check_return(const struct mx_compaction *c, int itemsize)
{
    size_t nbytes = (size_t)(c->n * itemsize);
    char *from = malloc(nbytes), *packed = malloc(nbytes), *to = new_guarded(nbytes);
    CHECK(from && packed);
    fill_elements(from, c->n, itemsize);
    mx_compact_write(c, from, itemsize, packed);
    memset(to, 0x5A, nbytes);
    mx_compact_expand(c, packed, itemsize, to);
    for (intptr_t i = 0; i < c->n; i++)
        for (int b = 0; b < itemsize; b++)
            CHECK(to[i * itemsize + b] == (c->mask[i] ? from[i * itemsize + b] : 0x5A));
    free(from);
    free(packed);
    free_guarded(to, nbytes);
}

static void check_places(const struct mx_compaction *c)
{
    size_t nbytes = (size_t)c->begins[c->n_chunks] * sizeof(int64_t);
    int64_t *to = (int64_t *)(void *)new_guarded(nbytes);
    mx_compact_write(c, NULL, 8, (char *)to);
    intptr_t k = 0;
    for (intptr_t i = 0; i < c->n; i++)
        if (c->mask[i] != 0)
            CHECK(to[k++] == i);
    free_guarded((char *)to, nbytes);
}

static void check_mask(intptr_t n, int share)
{
    struct mx_compaction c;
    uint8_t *mask = malloc((size_t)n);
    CHECK(mask);
    intptr_t total = fill_mask(mask, n, share);
    CHECK(mx_compact_count(&c, mask, n) == MX_OK);
    CHECK(c.begins[c.n_chunks] == total);
    for (int itemsize = 1; itemsize <= 16; itemsize *= 2) {
        check_elements(&c, itemsize);
        check_return(&c, itemsize);
    }
    check_places(&c);
    mx_compact_free(&c);
    free(mask);
}

static void test_refused_memory(void)
{
    static const uint8_t mask[100000];
    struct mx_compaction c;
    mx_alloc_refuse(0, 1);
    CHECK(mx_compact_count(&c, mask, sizeof mask) == MX_ERROR_MEMORY);
    CHECK(mx_alloc_refuse(0, 0) == 1);
    mx_compact_free(&c); /* it may be called after a failure, too */
    check_mask(sizeof mask, 5000);
}

int main(void)
{
    test_refused_memory();
    const intptr_t sizes[] = {1, 7, 8, 9, 255, 256, 65535, 65536, 65537, 400003};
    const int shares[] = {0, 1, 100, 5000, 9900, 10000};
    for (int threads = 1; threads <= 3; threads += 2) {
        mx_thread_pool_set_size(threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t p = 0; p < sizeof shares / sizeof *shares; p++)
                check_mask(sizes[s], shares[p]);
    }
    return 0;
}
