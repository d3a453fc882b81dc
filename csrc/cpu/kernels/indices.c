/* indices.c -- the range of indices, their check, and the offsets of what they select. */
#include "cpu/kernels/indices.h"

#include <string.h>

#include "cpu/kernels/copies.h"
#include "memory/buffer.h"

#define CONTIGUOUS_BLOCK 1024 /* indices that are packed together if they have gaps */

const struct mx_index_kernels *mx_index_kernels(void)
{
    static const struct mx_index_kernels *const tables[] = {
#define ISA(name) &mx_index_kernels_##name, /* mx_index_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()];
}

bool mx_index_has_update(enum mx_update update, int dtype)
{
    return mx_index_kernels()->updates[update][dtype] != NULL;
}

/* -- Ranges ------------------------------------------------------------------------ */

/* Widens the range *least..*most to include n indices. */
static void widen(mx_range_kernel *run, int itemsize, const char *data, intptr_t stride,
                  intptr_t n, int64_t *least, int64_t *most)
{
    _Alignas(64) char packed[CONTIGUOUS_BLOCK * 8];
    MX_ASSERT(run && n > 0);
    if (stride == itemsize) {
        run(data, n, least, most);
        return;
    }
    for (intptr_t at = 0; at < n; at += CONTIGUOUS_BLOCK) {
        intptr_t count = n - at < CONTIGUOUS_BLOCK ? n - at : CONTIGUOUS_BLOCK;
        char *args[] = {(char *)(uintptr_t)data + at * stride, packed};
        mx_copy_loop(itemsize)(args, &count, (intptr_t[]){stride, itemsize}, NULL);
        run(packed, count, least, most);
    }
}

/* Moves to the next element over the first ndim axes, in C order.  Returns false after the
 * last.
 */
static bool indices_advance(const char **data, intptr_t *at, const intptr_t *shape,
                            const intptr_t *strides, int ndim)
{
    for (int i = ndim - 1; i >= 0; i--) {
        *data += strides[i];
        if (++at[i] < shape[i])
            return true;
        *data -= shape[i] * strides[i];
        at[i] = 0;
    }
    return false;
}

void mx_index_range(const char *data, int dtype, int ndim, const intptr_t *shape,
                    const intptr_t *strides, int64_t *least, int64_t *most)
{
    mx_range_kernel *run = mx_index_kernels()->ranges[dtype];
    int itemsize = mx_dtype_get(dtype)->itemsize, inner = ndim - 1;
    intptr_t at[MX_MAX_NDIM] = {0}, n = ndim ? shape[inner] : 1;
    for (; inner > 0 && strides[inner - 1] == strides[inner] * shape[inner]; inner--)
        n *= shape[inner - 1];
    intptr_t stride = ndim ? strides[ndim - 1] : itemsize;
    *least = INT64_MAX;
    *most = INT64_MIN;
    do {
        widen(run, itemsize, data, stride, n, least, most);
    } while (indices_advance(&data, at, shape, strides, inner));
}

/* -- Checks ------------------------------------------------------------------------ */

static bool is_within(int64_t least, int64_t most, intptr_t size)
{
    return least >= -size && most < size;
}

static void indices_check(int dtype, char **args, const intptr_t *dimensions,
                          const intptr_t *strides, void *data)
{
    struct mx_instruction *in = data;
    int64_t least = INT64_MAX, most = INT64_MIN;
    if (dtype == MX_DTYPE_int64 && strides[0] == sizeof(int64_t) &&
        mx_index_kernels()->are_plain((const int64_t *)(const void *)args[0], dimensions[0],
                                      in->indexing.sizes[0]))
        return;
    widen(mx_index_kernels()->ranges[dtype], mx_dtype_get(dtype)->itemsize, args[0], strides[0],
          dimensions[0], &least, &most);
    if (!is_within(least, most, in->indexing.sizes[0]))
        atomic_store_explicit(&in->is_failed, true, memory_order_relaxed);
}

#define INTEGERS(X) X(int8) X(int16) X(int32) X(int64) X(uint8) X(uint16) X(uint32) X(uint64)

#define CHECK(name)                                                                            \
    static void check_##name(char **args, const intptr_t *dimensions, const intptr_t *strides, \
                             void *data)                                                       \
    {                                                                                          \
        indices_check(MX_DTYPE_##name, args, dimensions, strides, data);                       \
    }
INTEGERS(CHECK)

mx_loop_function mx_index_check_loop(int dtype)
{
    static const mx_loop_function loops[MX_DTYPE_COUNT] = {
#define LOOP(name) [MX_DTYPE_##name] = check_##name,
        INTEGERS(LOOP)
#undef LOOP
    };
    return loops[dtype];
}

static intptr_t indices_magnitude(intptr_t x) { return x < 0 ? -x : x; }

/* Sorts the axes by the magnitude of their strides, as NumPy's check of indices does.  It does
 * not reverse negative strides. */
static int order_of_memory(const struct mx_instruction *in, const char **data, intptr_t *shape,
                           intptr_t *strides)
{
    const struct mx_operand *operand = &in->operands[0];
    int ndim = in->ndim;
    *data = (operand->buffer ? mx_buffer_address(operand->buffer) : NULL) + operand->at;
    memcpy(shape, in->shape, sizeof in->shape);
    memcpy(strides, operand->strides, sizeof operand->strides);
    for (int i = 0; i < ndim; i++) {
        for (int j = i;
             j > 0 && indices_magnitude(strides[j - 1]) < indices_magnitude(strides[j]); j--) {
            intptr_t length = shape[j], stride = strides[j];
            shape[j] = shape[j - 1];
            strides[j] = strides[j - 1];
            shape[j - 1] = length;
            strides[j - 1] = stride;
        }
    }
    return ndim;
}

bool mx_index_find_invalid(const struct mx_instruction *in, int64_t *index)
{
    if (in->operands[0].buffer && !mx_buffer_is_allocated(in->operands[0].buffer))
        return false;
    const char *data;
    intptr_t shape[MX_MAX_NDIM], strides[MX_MAX_NDIM], at[MX_MAX_NDIM] = {0};
    int ndim = order_of_memory(in, &data, shape, strides);
    do {
        int64_t most = INT64_MIN;
        mx_index_range(data, in->operands[0].dtype, 0, NULL, NULL, index, &most);
        if (!is_within(*index, *index, in->indexing.sizes[0]))
            return true;
    } while (indices_advance(&data, at, shape, strides, ndim));
    return false;
}

/* -- Offsets ----------------------------------------------------------------------- */

static int64_t index_at(const char *indices, intptr_t stride, intptr_t i)
{
    return *(const int64_t *)(const void *)(indices + i * stride);
}

static inline int64_t modulo(int64_t i, int64_t size)
{
    i %= size;
    return i < 0 ? i + size : i;
}

#define ADD_OFFSETS(value)                                                      \
    for (intptr_t i = 0; i < n; i++) {                                          \
        int64_t index = index_at(indices, stride, i);                           \
        uintptr_t more = (uintptr_t)(value) * (uintptr_t)indexed_stride;        \
        offsets[i] = (intptr_t)((is_first ? 0 : (uintptr_t)offsets[i]) + more); \
    }

static void add_offsets(enum mx_bounds bounds, int64_t size, intptr_t indexed_stride,
                        const char *indices, intptr_t stride, intptr_t n, bool is_first,
                        int64_t *offsets)
{
    switch (bounds) {
    case MX_PLAIN:
        ADD_OFFSETS(index)
        break;
    case MX_NEGATIVE:
    case MX_DROP:
        ADD_OFFSETS(mx_index_from_end(index, size))
        break;
    case MX_CLAMP:
        ADD_OFFSETS(mx_index_nearest(mx_index_from_end(index, size), size))
        break;
    case MX_NEAREST:
        ADD_OFFSETS(mx_index_nearest(index, size))
        break;
    case MX_MODULO:
        ADD_OFFSETS(modulo(index, size))
        break;
    }
}

intptr_t mx_index_offset(const struct mx_indexing *indexing, int k, const char *index)
{
    int64_t offset = 0;
    MX_ASSERT(indexing->bounds != MX_DROP && k >= 0 && k < indexing->n);
    add_offsets(indexing->bounds, indexing->sizes[k], indexing->strides[k], index, 0, 1, true,
                &offset);
    return (intptr_t)offset;
}

static bool are_present(const struct mx_indexing *indexing, char *const *indices,
                        const intptr_t *strides, intptr_t n)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int k = 0; k < indexing->n; k++, least = INT64_MAX, most = INT64_MIN) {
        widen(mx_index_kernels()->ranges[MX_DTYPE_int64], sizeof(int64_t), indices[k],
              strides[k], n, &least, &most);
        if (!is_within(least, most, indexing->sizes[k]))
            return false;
    }
    return true;
}

/* Keeps the offsets of the tuples whose indices are all in bounds, and returns their number. */
static intptr_t select_present(const struct mx_indexing *indexing, char *const *indices,
                               const intptr_t *strides, intptr_t n, int64_t *offsets,
                               int64_t *positions)
{
    intptr_t n_kept = 0;
    for (intptr_t i = 0; i < n; i++) {
        bool is_present = true;
        for (int k = 0; k < indexing->n; k++) {
            int64_t index = index_at(indices[k], strides[k], i), size = indexing->sizes[k];
            is_present &= index >= -size && index < size;
        }
        offsets[n_kept] = offsets[i];
        positions[n_kept] = i;
        n_kept += is_present;
    }
    return n_kept;
}

intptr_t mx_index_offsets(const struct mx_indexing *indexing, char *const *indices,
                          const intptr_t *strides, intptr_t n, int64_t *offsets,
                          int64_t *positions)
{
    MX_ASSERT(n <= MX_INDEX_BLOCK && indexing->n >= 1 && indexing->n <= MX_MAX_INDICES);
    for (int k = 0; k < indexing->n; k++)
        add_offsets(indexing->bounds, indexing->sizes[k], indexing->strides[k], indices[k],
                    strides[k], n, k == 0, offsets);
    if (indexing->bounds != MX_DROP || are_present(indexing, indices, strides, n))
        return n;
    MX_ASSERT(positions);
    return select_present(indexing, indices, strides, n, offsets, positions);
}
