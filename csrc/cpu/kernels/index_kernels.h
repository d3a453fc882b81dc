#pragma once
/* index_kernels.h -- kernels over indices, compiled for each instruction set.
 *
 * The tables mx_index_kernels_base, _v3 and _v4 are defined in index_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"
#include "ir/instruction.h"

/* Widens the range *least..*most to include n >= 1 contiguous indices; uint64 is read as int64.
 */
typedef void mx_range_kernel(const void *indices, intptr_t n, int64_t *least, int64_t *most);

/* Returns whether all of n contiguous indices are in bounds and none is negative.  This takes
 * less time than finding their range. */
typedef int mx_plain_kernel(const int64_t *indices, intptr_t n, intptr_t size);

/* Sets contiguous out to the elements of table that n contiguous indices select.  Elements of
 * the table are `stride` bytes apart, and its axis has `size` of them. */
typedef void mx_take_kernel(const char *table, intptr_t stride, intptr_t size,
                            const int64_t *indices, char *out, intptr_t n);

/* Copies those of n indices that are at least low and less than high, and their values. Returns
 * how many there are.  Both outputs have room for n. */
typedef intptr_t mx_select_kernel(const int64_t *indices, intptr_t n, int64_t low, int64_t high,
                                  const char *values, intptr_t value_stride, int64_t *selected,
                                  char *selected_values);

/* Updates the elements of target at n positions with n values, in this order.  Positions count
 * in units of `step` bytes. */
typedef void mx_update_kernel(char *target, intptr_t step, const int64_t *positions,
                              const char *values, intptr_t value_stride, intptr_t n);

/* Updates n contiguous elements of target with n values. */
typedef void mx_update_row(char *target, const char *values, intptr_t value_stride, intptr_t n);

#define MX_TAKE_BOUNDS 3 /* MX_PLAIN, MX_NEGATIVE and MX_CLAMP */

/* Returns an index in which negative ones, which count from the end, are resolved. */
static inline int64_t mx_index_from_end(int64_t i, int64_t size)
{
    return i + (i >> 63 & size);
}

/* Returns the nearest valid index. */
static inline int64_t mx_index_nearest(int64_t i, int64_t size)
{
    i = i < 0 ? 0 : i;
    return i < size ? i : size - 1;
}

struct mx_index_kernels {
    mx_range_kernel *ranges[MX_DTYPE_COUNT];
    mx_plain_kernel *are_plain;
    mx_take_kernel *takes[MX_TAKE_BOUNDS][MX_SIZE_COUNT];
    mx_select_kernel *selects[MX_SIZE_COUNT];
    mx_update_kernel *updates[MX_UPDATE_MINIMUM + 1][MX_DTYPE_COUNT]; /* NULL: none */
    mx_update_row *rows[MX_UPDATE_MINIMUM + 1][MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_index_kernels mx_index_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
