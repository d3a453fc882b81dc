/* indexing.h -- the selection of elements by a key with arrays, and operands for it. */
#pragma once
#include "python/access/index.h"
#include "python/record/record.h"

#define INDEXING_IN_BOUNDS (-1) /* instead of an enum mx_bounds: the mode decides */

/* Decide what happens to indices out of bounds: what `bounds` says or, in fast mode, `fast`.
 * Return 1, 0 if there are some and NumPy has to raise the error, or -1 with an exception set.
 */
int indexing_settle_bounds(struct index *index, int bounds, enum mx_bounds fast);

/* Buffers that are released after an instruction is recorded. */
struct temporaries {
    int n;
    struct mx_buffer *buffers[MX_MAX_OPERANDS];
};

void indexing_release(struct temporaries *temporaries);

/* Set an operand to a copy of a source, in the dtype of `row` and with the source's own shape.
 * Return 1, or -1 with an exception set. */
int indexing_copy(struct mx_operand *operand, const struct source *source, int row,
                  const struct shape *own, int fpe_mask, struct temporaries *temporaries);

/* Set the strides of an operand with its own shape, which is broadcast to axes first..end-1. */
void indexing_spread(struct mx_operand *operand, int own_ndim, int first, int end, int ndim);

/* Set operands to the index arrays as int64.  They are copied if they share memory with
 * `target`, which is written.  Return 1, or -1 with an exception set. */
int indexing_operands(struct mx_instruction *in, const struct index *index,
                      const struct source *target, struct call_site *site,
                      struct temporaries *temporaries);

/* Set an operand to the view that is indexed. */
void indexing_table(struct mx_operand *operand, const struct index *index,
                    struct call_site *site);

/* Note in the index arrays that an operation uses them. */
void indexing_mark(const struct index *index, int64_t sequence);

/* Record a[key] for a key that access_may_record().  Return 1, 0 if NumPy has to index, or -1
 * with an exception set. */
int indexing_take(PyObject *a, const struct access *access, PyObject **out);

/* Methods of the module. */
extern PyMethodDef indexing_methods[];
