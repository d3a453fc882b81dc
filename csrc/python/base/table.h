/* table.h -- hash tables with open addressing, whose keys are an address and a number. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Each row of a table begins with its key.  A free row is zero. */
struct table_key {
    const void *address;
    long number;
};

struct table {
    size_t row_size;
    bool (*keep)(void *row); /* NULL, or whether a row stays when the table grows */
    char *rows;
    size_t n, capacity; /* a power of 2 */
};

/* Return the row of a key, or the free row where it belongs. */
static inline void *table_find(const struct table *table, const void *address, long number)
{
    size_t at = (((size_t)address >> 4) * 31 + (size_t)number) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        void *row = table->rows + (at & (table->capacity - 1)) * table->row_size;
        const struct table_key *key = row;
        if ((key->address == address && key->number == number) || !key->address)
            return row;
    }
}

/* Return the row of a key, which is made if there is none, or NULL with an exception set.
 * Other rows may move. */
void *table_add(struct table *table, const void *address, long number);

/* Make room for more rows, unless most rows go.  A table needs it before its first use.  Return
 * 0, or -1 with an exception set. */
int table_grow(struct table *table);
