/* compact.c -- copies elements to or from the places where a mask is true, in their order. */
#include "cpu/kernels/compact.h"

#include <string.h>

#include "base/alloc.h"
#include "base/axes.h"
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

/* Elements of a chunk in one row, which is as far as their steps are equal. */
struct part {
    const uint8_t *mask; /* without gaps, so it may be a copy */
    char *elements;
    intptr_t step;  /* from one of the elements to the next, in bytes */
    intptr_t first; /* position of the first element */
    intptr_t n;
    uint8_t copy[MX_BLOCK];
};

static void copy_mask(struct part *part, intptr_t stride)
{
    part->n = part->n < MX_BLOCK ? part->n : MX_BLOCK;
    for (intptr_t i = 0; i < part->n; i++)
        part->copy[i] = part->mask[i * stride];
    part->mask = part->copy;
}

/* Finds the part that begins at a position. */
static void part_find(struct part *part, const struct mx_compaction *c, char *elements,
                      intptr_t first, intptr_t end)
{
    int row = c->ndim - 1;
    intptr_t position = first, offset = 0;
    part->mask = c->mask;
    part->step = c->strides.elements[row];
    part->first = first;
    part->n = end - first;
    for (int axis = row; axis >= 0; axis--) {
        intptr_t length = c->shape[axis], rest = axis > 0 ? position / length : 0;
        intptr_t i = position - rest * length;
        if (axis == row && length - i < part->n)
            part->n = length - i;
        part->mask += i * c->strides.mask[axis];
        offset += i * c->strides.elements[axis];
        position = rest;
    }
    part->elements = elements ? elements + offset : NULL;
    if (c->strides.mask[row] != 1)
        copy_mask(part, c->strides.mask[row]);
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
    struct part part;
    c->begins[chunk] = 0;
    for (intptr_t i = begin_of(chunk), end = end_of(c, chunk); i < end; i += part.n) {
        part_find(&part, c, NULL, i, end);
        c->begins[chunk] += mx_compact_count_true(part.mask, part.n);
    }
}

static void merge_axes(struct mx_compaction *c)
{
    unsigned reduced = 0;
    intptr_t *strides[] = {c->strides.mask, c->strides.elements};
    mx_axes_merge(&(struct mx_axes){&c->ndim, c->shape, &reduced, 2, strides});
}

/* Rows are counted as far as the mask has no gaps, whatever gaps the elements have. */
static void count_chunks(const struct mx_compaction *c)
{
    struct mx_compaction of_mask = *c;
    memcpy(of_mask.strides.elements, c->strides.mask, sizeof c->strides.mask);
    merge_axes(&of_mask);
    mx_thread_pool_share(count_chunk, &of_mask, c->n_chunks, MIN_SHARED);
}

int mx_compact_count(struct mx_compaction *c)
{
    merge_axes(c);
    c->n = 1;
    for (int axis = 0; axis < c->ndim; axis++)
        c->n *= c->shape[axis];
    c->n_chunks = (size_t)((c->n + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS);
    c->begins = mx_alloc((c->n_chunks + 1) * sizeof *c->begins);
    if (!c->begins)
        return mx_fail(MX_ERROR_MEMORY, "unable to count in %zu chunks", c->n_chunks);
    count_chunks(c);
    intptr_t total = 0;
    for (size_t chunk = 0; chunk < c->n_chunks; chunk++) {
        intptr_t count = c->begins[chunk];
        c->begins[chunk] = total;
        total += count;
    }
    c->begins[c->n_chunks] = total;
    MX_ASSERT(total >= 0 && total <= c->n);
    return MX_OK;
}

void mx_compact_free(struct mx_compaction *c)
{
    mx_free(c->begins);
    c->begins = NULL;
}

/* -- Copying ------------------------------------------------------------------------ */

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

/* Copies the elements of a part to or from packed[k] and on.  Returns where the next part goes,
 * if the chunk ends at `end`. */
typedef intptr_t (*copy_function)(const struct part *part, char *packed, intptr_t k,
                                  intptr_t end);

/* Goes through the mask in words.  `all` copies the elements of a word that is true, `some`
 * those of another, and `one` copies a single element. */
#define WALK(name, type, all, some, one)                                                \
    static intptr_t name##_##type(const struct part *part, char *bytes, intptr_t k,     \
                                  intptr_t end)                                         \
    {                                                                                   \
        const uint8_t *mask = part->mask;                                               \
        const intptr_t first = part->first, step = part->step / (intptr_t)sizeof(type); \
        type *at = (type *)(void *)part->elements, *packed = (type *)(void *)bytes;     \
        intptr_t i = 0, n = part->n;                                                    \
        (void)at, (void)first, (void)step;                                              \
        while (k + WORD <= end && i + WORD <= n) {                                      \
            uint64_t word;                                                              \
            memcpy(&word, mask + i, sizeof word);                                       \
            if (word == 0) {                                                            \
                i = skip_false(mask, i + WORD, n);                                      \
                continue;                                                               \
            }                                                                           \
            if (word == ALL_TRUE) {                                                     \
                all;                                                                    \
                k += WORD;                                                              \
            } else                                                                      \
                for (int b = 0; b < WORD; b++) {                                        \
                    some;                                                               \
                    k += mask[i + b] != 0;                                              \
                }                                                                       \
            i += WORD;                                                                  \
        }                                                                               \
        while (k < end && i < n) { /* other code may write the mask */                  \
            if (mask[i] != 0) {                                                         \
                one;                                                                    \
                k++;                                                                    \
            }                                                                           \
            if ((++i & (WORD - 1)) == 0)                                                \
                i = skip_false(mask, i, n);                                             \
        }                                                                               \
        return k;                                                                       \
    }
#define SIZES(X) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t) X(uint128)

/* Each element of a word is written, and the next one overwrites it unless the mask is true.
 * This needs no branches, but may write one element too many.  The last elements are therefore
 * written one by one, as those of the next chunk follow. */
#define EACH(statement)            \
    for (int b = 0; b < WORD; b++) \
    statement
#define WRITE_ALL(type)                                  \
    if (step == 1)                                       \
        memcpy(packed + k, at + i, WORD * sizeof(type)); \
    else                                                 \
        EACH(packed[k + b] = at[(i + b) * step])
#define WRITE(type) \
    WALK(write, type, WRITE_ALL(type), packed[k] = at[(i + b) * step], packed[k] = at[i * step])
SIZES(WRITE)
WALK(positions, int64_t, EACH(packed[k + b] = first + i + b), packed[k] = first + i + b,
     packed[k] = first + i)

/* Other code may write the elements where the mask is false meanwhile, so they are not written,
 * not even with their own values. */
#define PUT_ALL(type)                                    \
    if (step == 1)                                       \
        memcpy(at + i, packed + k, WORD * sizeof(type)); \
    else                                                 \
        EACH(at[(i + b) * step] = packed[k + b])
#define PUT_CHOSEN(type)                                                           \
    type nowhere, *place = pick_place(mask[i + b], at + (i + b) * step, &nowhere); \
    *place = packed[k]
#define EXPAND(type) \
    WALK(expand, type, PUT_ALL(type), PUT_CHOSEN(type), at[i * step] = packed[k])
SIZES(EXPAND)

struct job {
    const struct mx_compaction *compaction;
    char *elements, *packed;
    copy_function copy;
};

static void copy_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct job *j = job;
    const struct mx_compaction *c = j->compaction;
    struct part part;
    intptr_t k = c->begins[chunk], k_end = c->begins[chunk + 1];
    for (intptr_t i = begin_of(chunk), end = end_of(c, chunk); k < k_end && i < end;
         i += part.n) {
        part_find(&part, c, j->elements, i, end);
        k = j->copy(&part, j->packed, k, k_end);
    }
}

#define FUNCTIONS(name) \
    {name##_uint8_t, name##_uint16_t, name##_uint32_t, name##_uint64_t, name##_uint128}

void mx_compact_write(const struct mx_compaction *c, char *elements, int itemsize, char *packed)
{
    static const copy_function functions[] = FUNCTIONS(write);
    copy_function copy =
        elements ? functions[__builtin_ctz((unsigned)itemsize)] : positions_int64_t;
    mx_thread_pool_share(copy_chunk, &(struct job){c, elements, packed, copy}, c->n_chunks,
                         MIN_SHARED);
}

void mx_compact_expand(const struct mx_compaction *c, char *elements, int itemsize,
                       char *packed)
{
    static const copy_function functions[] = FUNCTIONS(expand);
    copy_function copy = functions[__builtin_ctz((unsigned)itemsize)];
    mx_thread_pool_share(copy_chunk, &(struct job){c, elements, packed, copy}, c->n_chunks,
                         MIN_SHARED);
}
