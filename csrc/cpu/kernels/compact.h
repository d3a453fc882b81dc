#pragma once
/* compact.h -- copies elements to or from the places where a mask is true, in their order.
 *
 * The elements of each chunk are counted first, which shows where they belong in the output.
 * Then each chunk copies its elements.
 */
#include "base/base.h"

/* The caller sets the first four members.  mx_compact_count merges axes and sets the others. */
struct mx_compaction {
    const uint8_t *mask;
    int ndim;
    intptr_t shape[MX_MAX_NDIM]; /* of the mask and of the elements; no axis is empty */
    /* In bytes.  The strides of the elements are multiples of the element size. */
    struct {
        intptr_t mask[MX_MAX_NDIM], elements[MX_MAX_NDIM];
    } strides;
    intptr_t n;
    size_t n_chunks;
    /* Where the elements of each chunk begin in the output; the last item is the total. */
    intptr_t *begins;
};

/* Returns how many of n contiguous bools are true. */
intptr_t mx_compact_count_true(const uint8_t *mask, intptr_t n);

/* Counts the elements of each chunk.  Returns a status; mx_compact_free frees c->begins. */
int mx_compact_count(struct mx_compaction *c);

/* Packs aligned elements of 1, 2, 4, 8 or 16 bytes.  If `elements` is NULL, writes the
 * positions where the mask is true, as int64.  They count in C order. */
void mx_compact_write(const struct mx_compaction *c, char *elements, int itemsize,
                      char *packed);

/* Copies as many packed elements to the places where the mask is true. */
void mx_compact_expand(const struct mx_compaction *c, char *elements, int itemsize,
                       char *packed);

void mx_compact_free(struct mx_compaction *c);
