#pragma once
/* indices.h -- indices: their range, the check that all are there, the offsets they stand for.
 */
#include "cpu/kernels/index_kernels.h"
#include "ir/instruction.h"

#define MX_INDEX_BLOCK 256 /* indices whose offsets are found in one go */

const struct mx_index_kernels *mx_index_kernels(void);

/* Whether a scatter can make the update without a loop. */
bool mx_index_has_update(enum mx_update update, int dtype);

/* An inner loop that marks its data, an instruction, as failed if an index is out of bounds;
 * NULL if the dtype is no integer. */
mx_loop_function mx_index_check_loop(int dtype);

/* The least and the greatest index of a dtype in an aligned array that is not empty; uint64
 * is read as int64. */
void mx_index_range(const char *data, int dtype, int ndim, const intptr_t *shape,
                    const intptr_t *strides, int64_t *least, int64_t *most);

/* The index that NumPy would find to be out of bounds first; false: there is none. */
bool mx_index_find_invalid(const struct mx_instruction *check, int64_t *index);

/* The offsets in bytes that n <= MX_INDEX_BLOCK tuples of indices stand for; under MX_DROP of
 * those that are there.  Gives their number: if it is less than n, places gets which they are;
 * under other bounds it may be NULL. */
intptr_t mx_index_offsets(const struct mx_indexing *indexing, char *const *indices,
                          const intptr_t *strides, intptr_t n, int64_t *offsets,
                          int64_t *places);
