/* counting.c -- sorts long rows of narrow integers by counting how often each value occurs. */
#include "cpu/kernels/counting.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/threads/thread_pool.h"
#include "ir/dtypes.h"

#define WIDE_ROW 262144 /* elements; in shorter rows there are too many values of 16 bits */
#define CHUNK    65536  /* elements that a thread writes at a time */

struct counting {
    char *elements;
    bool is_wide;  /* values have 16 bits, not 8 */
    unsigned flip; /* the bits that make values of signed integers positive */
    intptr_t n, n_values;
    int n_parts;
    intptr_t
        *counts; /* of each part; later the first part has the place where each value begins */
};

bool mx_counting_suits(int dtype, intptr_t n)
{
    switch (dtype) {
    case MX_DTYPE_bool:
    case MX_DTYPE_int8:
    case MX_DTYPE_uint8:
        return true;
    case MX_DTYPE_int16:
    case MX_DTYPE_uint16:
        return n >= WIDE_ROW;
    }
    return false;
}

static void count_part(void *job, size_t part, int thread)
{
    (void)thread;
    const struct counting *c = job;
    intptr_t at = c->n / c->n_parts * (intptr_t)part;
    intptr_t end = (int)part + 1 < c->n_parts ? c->n / c->n_parts * (intptr_t)(part + 1) : c->n;
    intptr_t *counts = c->counts + (intptr_t)part * c->n_values;
    memset(counts, 0, (size_t)c->n_values * sizeof *counts);
    if (c->is_wide)
        for (const uint16_t *x = (const uint16_t *)(const void *)c->elements; at < end; at++)
            counts[x[at] ^ c->flip]++;
    else
        for (const uint8_t *x = (const uint8_t *)c->elements; at < end; at++)
            counts[x[at] ^ c->flip]++;
}

/* Returns the last value that begins at an element or before it, and has elements. */
static intptr_t value_at(const struct counting *c, intptr_t element)
{
    intptr_t low = 0, high = c->n_values - 1;
    while (low < high) {
        intptr_t middle = low + (high - low + 1) / 2;
        if (c->counts[middle] <= element)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void counting_fill(const struct counting *c, intptr_t value, intptr_t begin,
                          intptr_t end)
{
    unsigned bits = (unsigned)value ^ c->flip;
    if (!c->is_wide)
        memset(c->elements + begin, (int)bits, (size_t)(end - begin));
    else
        for (uint16_t *x = (uint16_t *)(void *)c->elements; begin < end; begin++)
            x[begin] = (uint16_t)bits;
}

static void fill_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct counting *c = job;
    intptr_t at = (intptr_t)chunk * CHUNK, end = at + CHUNK < c->n ? at + CHUNK : c->n;
    for (intptr_t value = value_at(c, at); at < end; value++) {
        intptr_t next = value + 1 < c->n_values ? c->counts[value + 1] : c->n;
        next = next < end ? next : end;
        counting_fill(c, value, at, next);
        at = next;
    }
}

int mx_counting_sort(void *elements, int dtype, intptr_t n)
{
    bool is_wide = dtype == MX_DTYPE_int16 || dtype == MX_DTYPE_uint16;
    bool is_signed = dtype == MX_DTYPE_int16 || dtype == MX_DTYPE_int8;
    const int threads = mx_thread_pool_size();
    struct counting c = {
        elements, is_wide, is_signed ? is_wide ? 0x8000 : 0x80 : 0, n, is_wide ? 65536 : 256,
        threads,  NULL};
    c.counts = mx_alloc((size_t)threads * (size_t)c.n_values * sizeof *c.counts);
    if (!c.counts)
        return mx_fail(MX_ERROR_MEMORY, "unable to count what is sorted");
    mx_thread_pool_run(count_part, &c, (struct mx_chunks){0, (size_t)threads}, threads, NULL);
    intptr_t before = 0;
    for (intptr_t value = 0; value < c.n_values; value++) {
        intptr_t count = 0;
        for (int part = 0; part < threads; part++)
            count += c.counts[part * c.n_values + value];
        c.counts[value] = before;
        before += count;
    }
    MX_ASSERT(before == n);
    size_t n_chunks = (size_t)((n + CHUNK - 1) / CHUNK);
    mx_thread_pool_run(fill_chunk, &c, (struct mx_chunks){0, n_chunks}, threads, NULL);
    mx_free(c.counts);
    return MX_OK;
}
