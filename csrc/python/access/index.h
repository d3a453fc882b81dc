/* index.h -- the analysis of a key with arrays in it. */
#pragma once
#include "ir/instruction.h"
#include "python/access/access.h"
#include "python/record/shape.h"

/* The least and the greatest of an array's elements, valid until its memory is written. */
struct index_range {
    int64_t version; /* of the root array */
    int64_t least, most;
};

/* A key whose index arrays are replaced by whole axes selects a view.  The index arrays select
 * points on these axes.  In the result, the axes of the index arrays, the block, replace the
 * axes of the view that they index. */
struct index {
    int n;
    PyObject *arrays[MX_MAX_INDICES]; /* with references */
    struct source sources[MX_MAX_INDICES];
    int axes[MX_MAX_INDICES]; /* of the array that is indexed */
    struct mx_indexing indexing;
    PyObject *view; /* the NumPy array of the view, with a reference */
    struct source table;
    intptr_t at; /* where the view begins, in bytes from the first element of its root */
    struct shape block, shape; /* of the index arrays broadcast together; of the result */
    int block_at, n_rest;
    int rest[MX_MAX_NDIM];         /* axes of the view that no array indexes */
    intptr_t strides[MX_MAX_NDIM]; /* of the view, along the axes of the result */
};

/* Return the range of indices whose elements are in memory. */
struct index_range index_range_of(const struct source *indices);

/* Return the cached range of indices, or NULL if it is not known.  It is also known of elements
 * that the processor does not have. */
const struct index_range *index_known_range(const struct source *indices);

/* Cache a range, unless other code may write the indices. */
void index_note_range(const struct source *indices, const struct index_range *range);

/* Free the cached range of an array. */
void index_forget(struct array *array);

/* Analyse the arrays of a key of `a`.  Return 1, 0 if NumPy has to index, or -1 with an
 * exception set.  Call index_clear() in any case. */
int index_read(PyObject *a, const struct access *access, struct index *index);
void index_clear(struct index *index);

/* Check whether the key selects many elements, or something waits. */
bool index_should_record(const struct index *index);
