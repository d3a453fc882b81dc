/* table.c -- hash tables with open addressing. */
#include "python/base/table.h"
#include "python/base/numpy.h"

enum { FIRST_CAPACITY = 1 << 8 };

int table_grow(struct table *table)
{
    struct table before = *table;
    size_t n = before.capacity, larger = n ? 2 * n : FIRST_CAPACITY;
    char *made = PyMem_Calloc(larger, before.row_size);
    if (!made) {
        PyErr_NoMemory();
        return -1;
    }
    table->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct table_key *key = (void *)(before.rows + i * before.row_size);
        if (key->address && before.keep && !before.keep(key))
            key->address = NULL;
        table->n += key->address != NULL;
    }
    table->rows = made;
    table->capacity = n && 4 * table->n < n ? n : larger;
    for (size_t i = 0; i < n; i++) {
        struct table_key *key = (void *)(before.rows + i * before.row_size);
        if (key->address)
            memcpy(table_find(table, key->address, key->number), key, before.row_size);
    }
    PyMem_Free(before.rows);
    return 0;
}

void *table_add(struct table *table, const void *address, long number)
{
    if (2 * table->n >= table->capacity && table_grow(table) < 0)
        return NULL;
    struct table_key *key = table_find(table, address, number);
    table->n += !key->address;
    *key = (struct table_key){address, number};
    return key;
}
