/* compact.c -- copies elements to or from the places where a mask is true, in their order. */
#include "cpu/kernels/compact.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/pick.h"
#include "cpu/threads/thread_pool.h"

#define CHUNK_ELEMENTS 65536
#define MIN_SHARED     4 /* chunks: for fewer, waking another thread costs more than it saves */
#define BYTES_TOGETHER 240 /* of a mask: the count of so many fits a byte */
#define WORD           8   /* elements of a mask that are examined together */
#define ALL_TRUE       0x0101010101010101u

static intptr_t begin_of(size_t chunk) { return (intptr_t)chunk * CHUNK_ELEMENTS; }

static intptr_t end_of(const struct mx_compaction *c, size_t chunk)
{
    intptr_t end = begin_of(chunk + 1);
    return end < c->n ? end : c->n;
}

static void compact_run(mx_chunk_function function, void *job, size_t n_chunks)
{
    int threads = n_chunks < MIN_SHARED ? 1 : mx_thread_pool_size();
    mx_thread_pool_run(function, job, (struct mx_chunks){0, n_chunks}, threads, NULL);
}

/* -- Counting ---------------------------------------------------------------------- */

/* Counts in bytes as long as they can't overflow, so that vectors hold many of them. */
intptr_t mx_compact_count_true(const uint8_t *mask, intptr_t n)
{
    intptr_t count = 0, at = 0;
    for (; at + BYTES_TOGETHER <= n; at += BYTES_TOGETHER) {
        uint8_t here = 0;
        for (int i = 0; i < BYTES_TOGETHER; i++)
            here = (uint8_t)(here + (mask[at + i] != 0));
        count += here;
    }
    for (; at < n; at++)
        count += mask[at] != 0;
    return count;
}

static void count_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    struct mx_compaction *c = job;
    intptr_t begin = begin_of(chunk);
    c->begins[chunk] = mx_compact_count_true(c->mask + begin, end_of(c, chunk) - begin);
}

int mx_compact_count(struct mx_compaction *out, const uint8_t *mask, intptr_t n)
{
    *out = (struct mx_compaction){.mask = mask, .n = n};
    out->n_chunks = (size_t)((n + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS);
    out->begins = mx_alloc((out->n_chunks + 1) * sizeof *out->begins);
    if (!out->begins)
        return mx_fail(MX_ERROR_MEMORY, "unable to count in %zu chunks", out->n_chunks);
    compact_run(count_chunk, out, out->n_chunks);
    intptr_t total = 0;
    for (size_t chunk = 0; chunk < out->n_chunks; chunk++) {
        intptr_t count = out->begins[chunk];
        out->begins[chunk] = total;
        total += count;
    }
    out->begins[out->n_chunks] = total;
    MX_ASSERT(total >= 0 && total <= n);
    return MX_OK;
}

void mx_compact_free(struct mx_compaction *c)
{
    mx_free(c->begins);
    c->begins = NULL;
}

/* -- Copying ------------------------------------------------------------------------ */

struct job {
    const struct mx_compaction *compaction;
    const char *from;
    char *to;
};

/* Each element of a word is written, and the next one overwrites it unless the mask is true.
 * This needs no branches, but may write one element too many.  The last elements are therefore
 * written one by one, as those of the next chunk follow. */
#define WRITE(type, value)                                              \
    static void write_##type(void *job, size_t chunk, int thread)       \
    {                                                                   \
        (void)thread;                                                   \
        const struct job *j = job;                                      \
        const uint8_t *mask = j->compaction->mask;                      \
        const type *from = (const type *)(const void *)j->from;         \
        type *to = (type *)(void *)j->to;                               \
        intptr_t i = begin_of(chunk), n = end_of(j->compaction, chunk); \
        intptr_t k = j->compaction->begins[chunk];                      \
        const intptr_t end = j->compaction->begins[chunk + 1];          \
        (void)from;                                                     \
        for (; i + WORD <= n && k + WORD <= end; i += WORD) {           \
            uint64_t word;                                              \
            memcpy(&word, mask + i, sizeof word);                       \
            if (word == 0)                                              \
                continue;                                               \
            if (word == ALL_TRUE) {                                     \
                for (int b = 0; b < WORD; b++)                          \
                    to[k + b] = value(i + b);                           \
                k += WORD;                                              \
                continue;                                               \
            }                                                           \
            for (int b = 0; b < WORD; b++) {                            \
                to[k] = value(i + b);                                   \
                k += mask[i + b] != 0;                                  \
            }                                                           \
        }                                                               \
        for (; i < n && k < end; i++)                                   \
            if (mask[i] != 0)                                           \
                to[k++] = value(i);                                     \
    }

#define POSITION(i) (i)
#define ELEMENT(i)  from[i]

WRITE(int64_t, POSITION)
WRITE(uint8_t, ELEMENT)
WRITE(uint16_t, ELEMENT)
WRITE(uint32_t, ELEMENT)
WRITE(uint64_t, ELEMENT)
WRITE(uint128, ELEMENT)

static mx_chunk_function writer(const char *from, int itemsize)
{
    if (!from)
        return write_int64_t;
    switch (itemsize) {
    case 1:
        return write_uint8_t;
    case 2:
        return write_uint16_t;
    case 4:
        return write_uint32_t;
    case 8:
        return write_uint64_t;
    default:
        return write_uint128;
    }
}

void mx_compact_write(const struct mx_compaction *c, const char *from, int itemsize, char *to)
{
    struct job job = {c, from, to};
    compact_run(writer(from, itemsize), &job, c->n_chunks);
}

/* -- Copying back ------------------------------------------------------------------- */

/* Other code may write the elements where the mask is false meanwhile, so they are not written,
 * not even with their own values. */
#define EXPAND(type)                                                              \
    static void expand_##type(void *job, size_t chunk, int thread)                \
    {                                                                             \
        (void)thread;                                                             \
        const struct job *j = job;                                                \
        const uint8_t *mask = j->compaction->mask;                                \
        const type *from = (const type *)(const void *)j->from;                   \
        type *to = (type *)(void *)j->to, nowhere;                                \
        intptr_t i = begin_of(chunk), n = end_of(j->compaction, chunk);           \
        intptr_t k = j->compaction->begins[chunk];                                \
        const intptr_t end = j->compaction->begins[chunk + 1];                    \
        for (; i + WORD <= n && k + WORD <= end; i += WORD) {                     \
            uint64_t word;                                                        \
            memcpy(&word, mask + i, sizeof word);                                 \
            if (word == 0)                                                        \
                continue;                                                         \
            if (word == ALL_TRUE) {                                               \
                memcpy(to + i, from + k, WORD * sizeof(type));                    \
                k += WORD;                                                        \
                continue;                                                         \
            }                                                                     \
            for (int b = 0; b < WORD; b++) {                                      \
                *(type *)pick_place(mask[i + b], to + i + b, &nowhere) = from[k]; \
                k += mask[i + b] != 0;                                            \
            }                                                                     \
        }                                                                         \
        for (; i < n && k < end; i++)                                             \
            if (mask[i] != 0)                                                     \
                to[i] = from[k++];                                                \
    }

EXPAND(uint8_t)
EXPAND(uint16_t)
EXPAND(uint32_t)
EXPAND(uint64_t)
EXPAND(uint128)

void mx_compact_expand(const struct mx_compaction *c, const char *from, int itemsize, char *to)
{
    static const struct {
        int itemsize;
        mx_chunk_function function;
    } sizes[] = {{1, expand_uint8_t},
                 {2, expand_uint16_t},
                 {4, expand_uint32_t},
                 {8, expand_uint64_t},
                 {16, expand_uint128}};
    struct job job = {c, from, to};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].itemsize == itemsize)
            compact_run(sizes[i].function, &job, c->n_chunks);
}
