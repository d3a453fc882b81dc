#pragma once
/* indices.h -- the range of indices, the check that all are in bounds, and the offsets of the
 * elements that they select.
 */
#include "cpu/kernels/index_kernels.h"
#include "ir/instruction.h"

#define MX_INDEX_BLOCK 256 /* indices whose offsets are computed together */

/* Returns the kernels for the instruction set in use. */
const struct mx_index_kernels *mx_index_kernels(void);

/* Returns whether a scatter has a kernel for the update, and so needs no loop. */
bool mx_index_has_update(enum mx_update update, int dtype);

/* Returns an inner loop that marks the instruction, which is its data argument, as failed if an
 * index is out of bounds.  Returns NULL if the dtype is not an integer. */
mx_loop_function mx_index_check_loop(int dtype);

/* Finds the least and the greatest index in an aligned array that is not empty; uint64 is read
 * as int64. */
void mx_index_range(const char *data, int dtype, int ndim, const intptr_t *shape,
                    const intptr_t *strides, int64_t *least, int64_t *most);

/* Finds the index that NumPy would report as out of bounds.  Returns false if there is none. */
bool mx_index_find_invalid(const struct mx_instruction *check, int64_t *index);

/* Returns the offset in bytes that one index of array number k selects.  The instruction does
 * not leave out indices. */
intptr_t mx_index_offset(const struct mx_indexing *indexing, int k, const char *index);

/* Computes the offsets in bytes of the elements that n <= MX_INDEX_BLOCK tuples of indices
 * select.  Returns their number.  Under MX_DROP, tuples that are out of bounds are left out; if
 * the result is less than n, positions receives the numbers of the tuples that remain.
 * Otherwise positions may be NULL. */
intptr_t mx_index_offsets(const struct mx_indexing *indexing, char *const *indices,
                          const intptr_t *strides, intptr_t n, int64_t *offsets,
                          int64_t *positions);
