#pragma once
/* sort.h -- sorts the rows of an array on several threads, by NumPy's functions.
 *
 * Threads share the rows.  If there are fewer rows than threads, all threads sort one row after
 * the other: they move its elements into buckets, and sort these.  The results are NumPy's,
 * also the order of equal elements.
 */
#include "cpu/kernels/sort_kernels.h"

struct mx_sort {
    int dtype;
    bool is_stable; /* whether the functions keep the order of equal elements */
    mx_sort_function *sort;
    mx_argsort_function *argsort;
    void *array;

    char *data;
    char *positions; /* int64, or NULL: the elements themselves are sorted */
    bool continues;  /* whether the positions have an order to begin with */

    int ndim; /* the number of axes beside the one along a row; strides are in bytes */
    intptr_t shape[MX_MAX_NDIM], strides[MX_MAX_NDIM], position_strides[MX_MAX_NDIM];
    intptr_t n, stride, position_stride; /* of a row */
};

/* Returns whether elements of a dtype can be sorted. */
bool mx_sort_has(int dtype);

/* Sorts.  The caller holds the stream.  Returns MX_ERROR_VALUE if only NumPy knows the order of
 * equal elements, and MX_ERROR_MEMORY.  The elements are then still there, in some order that
 * keeps that of equal ones if the sort is stable. */
int mx_sort_rows(const struct mx_sort *sort);
