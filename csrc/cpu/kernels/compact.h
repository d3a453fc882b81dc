#pragma once
/* compact.h -- the elements where a mask is true, in their order.
 *
 * First they are counted, chunk by chunk, which tells where those of each chunk go; then each
 * chunk moves its own.
 */
#include "base/base.h"

struct mx_compaction {
    const uint8_t *mask;
    intptr_t n;
    size_t n_chunks;
    intptr_t
        *begins; /* where what a chunk gives begins; behind the last one: how many in all */
};

/* Of contiguous bools, those that are true. */
intptr_t mx_compact_count_true(const uint8_t *mask, intptr_t n);

/* Counts; out->begins is freed by mx_compact_free.  Status. */
int mx_compact_count(struct mx_compaction *out, const uint8_t *mask, intptr_t n);

/* Moves contiguous, aligned elements of 1, 2, 4, 8 or 16 bytes; or, from NULL, puts down the
 * places of the true ones as int64. */
void mx_compact_write(const struct mx_compaction *c, const char *from, int itemsize, char *to);

void mx_compact_free(struct mx_compaction *c);
