#pragma once
/* partition.h -- moves the elements that a sort would put at some places there, on all threads.
 *
 * All elements before such a place are less or equal, and all behind it are greater or equal.
 * Otherwise their order is not NumPy's, which depends on the processor.
 */
#include "cpu/kernels/sort_kernels.h"

struct mx_partition {
    int dtype;
    mx_sort_function *sort;
    mx_argsort_function *argsort;
    void *array;

    void *elements;     /* a row of n elements without gaps */
    int64_t *positions; /* of the elements, which are set and moved with them; or NULL */
    intptr_t n;
    const intptr_t *places; /* increasing; from 0 to n - 1 */
    int n_places;
};

bool mx_partition_has(int dtype);

/* Partitions.  The caller holds the stream.  Returns a status.  After a failure the elements
 * are there, in some order. */
int mx_partition_row(const struct mx_partition *partition);
