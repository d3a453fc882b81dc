/* index.h -- keys with arrays in them, and what is known of these. */
#pragma once
#include "python/record/record.h"

/* The least and the greatest of an array's elements, as long as nothing writes its memory. */
struct index_range {
    int64_t version; /* of the memory's array */
    int64_t least, most;
};

/* Of indices that are written. */
struct index_range index_range_of(const struct source *indices);

/* A key with its index arrays replaced by whole axes selects a view; the arrays select points
 * on these axes.  In the result their axes, the block, stand for the axes of the view that
 * they select on. */
struct index {
    int n;
    PyObject *arrays[MX_MAX_INDICES]; /* references */
    struct source sources[MX_MAX_INDICES];
    int axes[MX_MAX_INDICES]; /* of the array that is indexed */
    struct mx_indexing indexing;
    PyObject *view; /* a reference: the NumPy array of the view */
    struct source table;
    struct shape block, shape; /* of the indices together; of the result */
    int block_at, n_rest;
    int rest[MX_MAX_NDIM];         /* axes of the view that no array indexes */
    intptr_t strides[MX_MAX_NDIM]; /* of the view, along the axes of the result */
};

/* 1; 0: the key is for NumPy.  What it gets is to be cleared in any case. */
int index_read(PyObject *a, PyObject *key, struct index *index);
void index_clear(struct index *index);

/* Whether there is so much to select, or so much that waits, that it is worth recording. */
bool index_is_worth_it(const struct index *index);

/* -- indexing.c --------------------------------------------------------------------- */

#define INDEX_IN_BOUNDS (-1) /* in the place of an enum mx_bounds: what the mode says */

/* Settles what is done about indices out of bounds: what is asked for or, in fast mode, `fast`.
 * 1; 0: there are some, which NumPy says best; or -1. */
int index_settle_bounds(struct index *index, int bounds, enum mx_bounds fast);

/* What must be let go of once an instruction is recorded. */
struct made {
    int n;
    struct mx_buffer *buffers[MX_MAX_OPERANDS];
};

void index_release(struct made *made);

/* A copy of a source, or of what it is in another dtype, as an operand with its own shape. */
int index_copy(struct mx_operand *operand, const struct source *source, int row,
               const struct shape *own, int fpe_mask, struct made *made);

/* The strides of an operand with its own shape, which is broadcast to axes first..end-1. */
void index_spread(struct mx_operand *operand, int own_ndim, int first, int end, int ndim);

/* Index arrays as int64; copied if `target` is memory that they share and that is written. */
int index_operands(struct mx_instruction *in, const struct index *index,
                   const struct source *target, struct call_site *site, struct made *made);

/* What is indexed. */
void index_table(struct mx_operand *operand, const struct index *index, struct call_site *site);

void index_mark(const struct index *index, int64_t sequence);
