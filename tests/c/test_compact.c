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

static void fill_mask(uint8_t *mask, intptr_t n, int share)
{
    for (intptr_t i = 0; i < n; i++)
        mask[i] = (uint8_t)(is_chosen(share) ? 1 + i % 255 : 0); /* all but 0 are true */
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

/* Where the axes of a layout of n positions are in memory, in steps of one element. */
struct layout {
    int ndim;
    intptr_t shape[3], mask[3], elements[3], mask_size, size;
};

static struct mx_compaction new_compaction(const uint8_t *mask, const struct layout *layout,
                                           int itemsize)
{
    struct mx_compaction c = {.mask = mask, .ndim = layout->ndim};
    for (int axis = 0; axis < c.ndim; axis++) {
        c.shape[axis] = layout->shape[axis];
        c.strides.mask[axis] = layout->mask[axis];
        c.strides.elements[axis] = layout->elements[axis] * itemsize;
    }
    CHECK(mx_compact_count(&c) == MX_OK);
    return c;
}

/* Returns the place of a position that counts in C order. */
static intptr_t place_of(const struct layout *layout, const intptr_t *steps, intptr_t position)
{
    intptr_t place = 0;
    for (int axis = layout->ndim - 1; axis >= 0; position /= layout->shape[axis--])
        place += position % layout->shape[axis] * steps[axis];
    return place;
}

static void check_elements(const struct mx_compaction *c, const uint8_t *mask,
                           const struct layout *layout, int itemsize)
{
    char *from = malloc((size_t)(layout->size * itemsize));
    size_t nbytes = (size_t)(c->begins[c->n_chunks] * itemsize);
    char *to = new_guarded(nbytes);
    CHECK(from);
    fill_elements(from, layout->size, itemsize);
    mx_compact_write(c, from, itemsize, to);
    intptr_t k = 0;
    for (intptr_t i = 0; i < c->n; i++)
        if (mask[place_of(layout, layout->mask, i)] != 0) {
            const char *expected = from + itemsize * place_of(layout, layout->elements, i);
            CHECK(memcmp(to + itemsize * k++, expected, (size_t)itemsize) == 0);
        }
    free(from);
    free_guarded(to, nbytes);
}

/* Elements return to their places, and the others keep their values. */
static void check_return(const struct mx_compaction *c, const uint8_t *mask,
                         const struct layout *layout, int itemsize)
{
    size_t nbytes = (size_t)(layout->size * itemsize);
    char *from = malloc(nbytes), *packed = malloc(nbytes), *to = new_guarded(nbytes);
    char *expected = malloc(nbytes);
    CHECK(from && packed && expected);
    fill_elements(from, layout->size, itemsize);
    mx_compact_write(c, from, itemsize, packed);
    memset(to, 0x5A, nbytes);
    memset(expected, 0x5A, nbytes);
    mx_compact_expand(c, to, itemsize, packed);
    for (intptr_t i = 0; i < c->n; i++)
        if (mask[place_of(layout, layout->mask, i)] != 0) {
            intptr_t place = itemsize * place_of(layout, layout->elements, i);
            memcpy(expected + place, from + place, (size_t)itemsize);
        }
    CHECK(memcmp(to, expected, nbytes) == 0);
    free(from);
    free(packed);
    free(expected);
    free_guarded(to, nbytes);
}

static void check_places(const struct mx_compaction *c, const uint8_t *mask,
                         const struct layout *layout)
{
    size_t nbytes = (size_t)c->begins[c->n_chunks] * sizeof(int64_t);
    int64_t *to = (int64_t *)(void *)new_guarded(nbytes);
    mx_compact_write(c, NULL, 8, (char *)to);
    intptr_t k = 0;
    for (intptr_t i = 0; i < c->n; i++)
        if (mask[place_of(layout, layout->mask, i)] != 0)
            CHECK(to[k++] == i);
    free_guarded((char *)to, nbytes);
}

static void check_layout(const struct layout *layout, int share)
{
    uint8_t *mask = malloc((size_t)layout->mask_size);
    CHECK(mask);
    fill_mask(mask, layout->mask_size, share);
    for (int itemsize = 1; itemsize <= 16; itemsize *= 2) {
        struct mx_compaction c = new_compaction(mask, layout, itemsize);
        check_elements(&c, mask, layout, itemsize);
        check_return(&c, mask, layout, itemsize);
        check_places(&c, mask, layout);
        mx_compact_free(&c);
    }
    free(mask);
}

static void check_mask(intptr_t n, int share)
{
    struct layout flat = {.ndim = 1, .shape = {n}, .mask = {1}, .elements = {1}, n, n};
    check_layout(&flat, share);
}

static void check_layouts(int share)
{
    const struct layout layouts[] = {
        /* rows with gaps, and a mask without */
        {2, {300, 301}, {301, 1}, {310, 1}, 300 * 301, 299 * 310 + 301},
        /* a mask with gaps */
        {2, {300, 301}, {303, 1}, {301, 1}, 299 * 303 + 301, 300 * 301},
        /* columns: elements have gaps, or mask and elements are in Fortran order */
        {1, {70000}, {1}, {3}, 70000, 3 * 69999 + 1},
        {2, {300, 301}, {1, 300}, {1, 300}, 300 * 301, 300 * 301},
        /* three axes, of which none can be merged with the next */
        {3, {9, 40, 257}, {40 * 260, 260, 1}, {1, 9, 400}, 9 * 40 * 260, 257 * 400},
        /* rows that are shorter than a word */
        {2, {30000, 3}, {3, 1}, {4, 1}, 30000 * 3, 30000 * 4},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        check_layout(&layouts[i], share);
}

static void test_refused_memory(void)
{
    static const uint8_t mask[100000];
    struct mx_compaction c = {
        mask, 1, {sizeof mask}, .strides = {.mask = {1}, .elements = {1}}};
    mx_alloc_refuse(0, 1);
    CHECK(mx_compact_count(&c) == MX_ERROR_MEMORY);
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
        for (size_t p = 0; p < sizeof shares / sizeof *shares; p++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                check_mask(sizes[s], shares[p]);
            check_layouts(shares[p]);
        }
    }
    return 0;
}
