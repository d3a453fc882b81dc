#pragma once
/* index_kernels.h -- what is done with indices in one go, compiled for each instruction set. */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"
#include "ir/instruction.h"

/* Widens the range *least..*most to that of n contiguous indices; uint64 is read as int64. */
typedef void mx_range_kernel(const void *indices, intptr_t n, int64_t *least, int64_t *most);

/* Contiguous out = the elements of table that n contiguous indices find, `stride` bytes apart;
 * size: elements along the axis. */
typedef void mx_take_kernel(const char *table, intptr_t stride, intptr_t size,
                            const int64_t *indices, char *out, intptr_t n);

/* The indices from low to high - 1 among n of them, and their values; gives their number. There
 * is room for n of both. */
typedef intptr_t mx_keep_kernel(const int64_t *indices, intptr_t n, int64_t low, int64_t high,
                                const char *values, intptr_t value_stride, int64_t *kept,
                                char *kept_values);

/* The elements of target at these places, `step` bytes apart, = themselves, updated with n
 * values, in order. */
typedef void mx_update_kernel(char *target, intptr_t step, const int64_t *places,
                              const char *values, intptr_t value_stride, intptr_t n);

/* n contiguous elements of target = themselves, updated with n values. */
typedef void mx_update_row(char *target, const char *values, intptr_t value_stride, intptr_t n);

#define MX_TAKE_BOUNDS 3 /* MX_PLAIN, MX_NEGATIVE and MX_CLAMP */
#define MX_TAKE_SIZES  5 /* 1, 2, 4, 8 and 16 bytes */

/* An index with negative ones counted from the end; the nearest one that there is. */
static inline int64_t mx_index_from_end(int64_t i, int64_t size)
{
    return i + (i >> 63 & size);
}

static inline int64_t mx_index_nearest(int64_t i, int64_t size)
{
    i = i < 0 ? 0 : i;
    return i < size ? i : size - 1;
}

static inline int mx_size_number(int itemsize)
{
    int number = 0;
    while (1 << number < itemsize)
        number++;
    return number;
}

struct mx_index_kernels {
    mx_range_kernel *ranges[MX_DTYPE_COUNT];
    mx_take_kernel *takes[MX_TAKE_BOUNDS][MX_TAKE_SIZES];
    mx_keep_kernel *keeps[MX_TAKE_SIZES];
    mx_update_kernel *updates[MX_UPDATE_MINIMUM + 1][MX_DTYPE_COUNT]; /* NULL: none */
    mx_update_row *rows[MX_UPDATE_MINIMUM + 1][MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_index_kernels mx_index_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
