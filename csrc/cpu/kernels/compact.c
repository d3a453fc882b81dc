/* compact.c -- copies elements to or from the places where a mask is true, in their order. */
#include "cpu/kernels/compact.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/pick.h"
#include "cpu/threads/thread_pool.h"

#define CHUNK_ELEMENTS 65536
#define MIN_SHARED     4 /* chunks: for fewer, waking another thread costs more than it saves */
#define ROUND          64  /* elements of a mask that are counted together */
#define ROUNDS         255 /* after which a count that is a byte may be full */
#define WORD           8   /* elements of a mask that are examined together */
#define ALL_TRUE       0x0101010101010101u
#define ODD_BYTES      0x00ff00ff00ff00ffu
#define ODD_ONES       0x0001000100010001u

static intptr_t begin_of(size_t chunk) { return (intptr_t)chunk * CHUNK_ELEMENTS; }

static intptr_t end_of(const struct mx_compaction *c, size_t chunk)
{
    intptr_t end = begin_of(chunk + 1);
    return end < c->n ? end : c->n;
}

static void compact_run(mx_chunk_function function, void *job, size_t n_chunks)
{
    if (n_chunks < MIN_SHARED)
        for (size_t chunk = 0; chunk < n_chunks; chunk++)
            function(job, chunk, 0);
    else
        mx_thread_pool_run(function, job, (struct mx_chunks){0, n_chunks},
                           mx_thread_pool_size(), NULL);
}

/* -- Counting ---------------------------------------------------------------------- */

typedef uint8_t counts __attribute__((vector_size(16)));

/* Counts in bytes as long as they can't overflow. */
intptr_t mx_compact_count_true(const uint8_t *mask, intptr_t n)
{
    intptr_t total = 0, at = 0;
    while (at + ROUND <= n) {
        counts here[ROUND / sizeof(counts)] = {0};
        for (int round = 0; round < ROUNDS && at + ROUND <= n; round++, at += ROUND) {
            counts part[ROUND / sizeof(counts)];
            memcpy(part, mask + at, sizeof part);
            for (size_t i = 0; i < ROUND / sizeof(counts); i++)
                here[i] -= (counts)(part[i] != 0); /* -1 where it is true */
        }
        uint64_t words[ROUND / WORD];
        memcpy(words, here, sizeof words);
        for (int i = 0; i < ROUND / WORD; i++) {
            uint64_t pairs = (words[i] & ODD_BYTES) + (words[i] >> 8 & ODD_BYTES);
            total += (intptr_t)(pairs * ODD_ONES >> 48); /* the sum of the four pairs */
        }
    }
    for (; at < n; at++)
        total += mask[at] != 0;
    return total;
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

/* Returns the first element from i on that is in a word with a true one, or one of the last. */
static intptr_t skip_false(const uint8_t *mask, intptr_t i, intptr_t n)
{
    for (; i + 4 * WORD <= n; i += 4 * WORD) {
        uint64_t words[4];
        memcpy(words, mask + i, sizeof words);
        if (words[0] | words[1] | words[2] | words[3])
            break;
    }
    return i;
}

/* Goes through the mask in words.  `all` copies the elements of a word that is true, `some`
 * those of another, and `one` copies a single element. */
#define WALK(name, type, all, some, one)                                \
    static void name##_##type(void *job, size_t chunk, int thread)      \
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
        while (k + WORD <= end && i + WORD <= n) {                      \
            uint64_t word;                                              \
            memcpy(&word, mask + i, sizeof word);                       \
            if (word == 0) {                                            \
                i = skip_false(mask, i + WORD, n);                      \
                continue;                                               \
            }                                                           \
            if (word == ALL_TRUE) {                                     \
                all;                                                    \
                k += WORD;                                              \
            } else                                                      \
                for (int b = 0; b < WORD; b++) {                        \
                    some;                                               \
                    k += mask[i + b] != 0;                              \
                }                                                       \
            i += WORD;                                                  \
        }                                                               \
        while (k < end && i < n) { /* other code may write the mask */  \
            if (mask[i] != 0) {                                         \
                one;                                                    \
                k++;                                                    \
            }                                                           \
            if ((++i & (WORD - 1)) == 0)                                \
                i = skip_false(mask, i, n);                             \
        }                                                               \
    }
#define SIZES(X) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t) X(uint128)

/* Each element of a word is written, and the next one overwrites it unless the mask is true.
 * This needs no branches, but may write one element too many.  The last elements are therefore
 * written one by one, as those of the next chunk follow. */
#define EACH(statement)            \
    for (int b = 0; b < WORD; b++) \
    statement
#define WRITE(type) \
    WALK(write, type, EACH(to[k + b] = from[i + b]), to[k] = from[i + b], to[k] = from[i])
SIZES(WRITE)
WALK(positions, int64_t, EACH(to[k + b] = i + b), to[k] = i + b, to[k] = i)

/* Other code may write the elements where the mask is false meanwhile, so they are not written,
 * not even with their own values. */
#define PUT_CHOSEN(type)                                                  \
    type nowhere, *place = pick_place(mask[i + b], to + i + b, &nowhere); \
    *place = from[k]
#define EXPAND(type)                                                                    \
    WALK(expand, type, memcpy(to + i, from + k, WORD * sizeof(type)), PUT_CHOSEN(type), \
         to[i] = from[k])
SIZES(EXPAND)

#define FUNCTIONS(name) \
    {name##_uint8_t, name##_uint16_t, name##_uint32_t, name##_uint64_t, name##_uint128}

void mx_compact_write(const struct mx_compaction *c, const char *from, int itemsize, char *to)
{
    static const mx_chunk_function functions[] = FUNCTIONS(write);
    struct job job = {c, from, to};
    compact_run(from ? functions[__builtin_ctz((unsigned)itemsize)] : positions_int64_t, &job,
                c->n_chunks);
}

void mx_compact_expand(const struct mx_compaction *c, const char *from, int itemsize, char *to)
{
    static const mx_chunk_function functions[] = FUNCTIONS(expand);
    struct job job = {c, from, to};
    compact_run(functions[__builtin_ctz((unsigned)itemsize)], &job, c->n_chunks);
}
