#pragma once
/* compact.h -- copies elements to or from the places where a mask is true, in their order.
 *
 * The elements of each chunk are counted first, which shows where they belong in the output.
 * Then each chunk copies its elements.
 */
#include "base/base.h"

struct mx_compaction {
    const uint8_t *mask;
    intptr_t n;
    size_t n_chunks;
    /* Where the elements of each chunk begin in the output; the last item is the total. */
    intptr_t *begins;
};

/* Returns how many of n contiguous bools are true. */
intptr_t mx_compact_count_true(const uint8_t *mask, intptr_t n);

/* Counts the elements of each chunk.  Returns a status; mx_compact_free frees out->begins. */
int mx_compact_count(struct mx_compaction *out, const uint8_t *mask, intptr_t n);

/* Copies contiguous, aligned elements of 1, 2, 4, 8 or 16 bytes.  If `from` is NULL, writes the
 * positions where the mask is true, as int64. */
void mx_compact_write(const struct mx_compaction *c, const char *from, int itemsize, char *to);

/* Copies as many elements from `from` to the places of `to` where the mask is true. */
void mx_compact_expand(const struct mx_compaction *c, const char *from, int itemsize, char *to);

void mx_compact_free(struct mx_compaction *c);
