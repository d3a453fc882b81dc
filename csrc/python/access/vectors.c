/* vectors.c -- elements of a small vector, at the positions in another one or where a mask is
 * true. */
#include "python/access/vectors.h"
#include "python/base/state.h"
#include "python/direct/recycle.h"
#include "python/record/wrapper.h"

/* Make a call with the itemsize as a constant, SIZE, so that the compiler calls no memcpy. */
#define CALL_OF_SIZE(size, call) \
    {                            \
        enum { SIZE = size };    \
        call;                    \
        break;                   \
    }
#define WITH_SIZE(itemsize, call) \
    switch (itemsize) {           \
    case 1:                       \
        CALL_OF_SIZE(1, call)     \
    case 2:                       \
        CALL_OF_SIZE(2, call)     \
    case 4:                       \
        CALL_OF_SIZE(4, call)     \
    case 8:                       \
        CALL_OF_SIZE(8, call)     \
    default:                      \
        CALL_OF_SIZE(16, call)    \
    }

/* Check whether an array is a vector of indices, all of which are valid for `length`
 * elements. */
static bool are_indices(PyArrayObject *key, npy_intp length)
{
    int64_t least = 0, most = -1;
    if (recycle_row(PyArray_DESCR(key)) != ROW_int64 || PyArray_NDIM(key) != 1 ||
        !PyArray_ISALIGNED(key) || PyArray_DIM(key, 0) >= queue_threshold)
        return false;
    if (PyArray_DIM(key, 0) > 0)
        core->mx_index_range(PyArray_BYTES(key), ROW_int64, 1, PyArray_DIMS(key),
                             PyArray_STRIDES(key), &least, &most);
    return least >= -length && most < length;
}

/* Copy elements from, or to, the positions of an index vector. */
static inline void copy_at(bool gathers, char *data, npy_intp length, npy_intp step,
                           PyArrayObject *key, char *other, npy_intp other_step,
                           npy_intp itemsize)
{
    const char *indices = PyArray_BYTES(key);
    npy_intp n = PyArray_DIM(key, 0), key_step = PyArray_STRIDE(key, 0);
    if (step == itemsize && key_step == 8 && other_step == itemsize) {
        /* Constant steps need no multiplication. */
        for (npy_intp k = 0; k < n; k++) {
            int64_t i = ((const int64_t *)(const void *)indices)[k];
            char *element = data + itemsize * (i + (length & (i >> 63)));
            char *item = other + itemsize * k;
            memcpy(gathers ? item : element, gathers ? element : item, (size_t)itemsize);
        }
        return;
    }
    for (npy_intp k = 0; k < n; k++, indices += key_step, other += other_step) {
        int64_t i = *(const int64_t *)indices;
        char *element = data + (i + (i < 0 ? length : 0)) * step;
        memcpy(gathers ? other : element, gathers ? element : other, (size_t)itemsize);
    }
}

/* Copy the elements of a vector at the positions of an index vector.  Return 1, 0 or -1. */
static int take_at(PyArrayObject *from, int row, PyArrayObject *key, PyObject **item)
{
    npy_intp n = PyArray_NDIM(key) == 1 ? PyArray_DIM(key, 0) : 0;
    npy_intp length = PyArray_NDIM(from) == 1 ? PyArray_DIM(from, 0) : 0;
    size_t itemsize = (size_t)dtype_itemsizes[row];
    if (n == 0 || n * (npy_intp)itemsize > RECYCLED_BYTES || !are_indices(key, length))
        return 0;
    PyObject *np_array = recycle_new(row, 1, &n);
    if (!np_array)
        return -1;
    char *out = PyArray_DATA((PyArrayObject *)np_array), *data = PyArray_BYTES(from);
    npy_intp step = PyArray_STRIDE(from, 0);
    WITH_SIZE(itemsize, copy_at(true, data, length, step, key, out, SIZE, SIZE))
    *item = wrapper_new_small(np_array);
    return *item ? 1 : -1;
}

/* Check whether a mask and an array are vectors of one length. */
static bool is_mask_of(PyArrayObject *mask, PyArrayObject *array)
{
    return PyArray_NDIM(mask) == 1 && PyArray_NDIM(array) == 1 &&
           PyArray_DIM(mask, 0) == PyArray_DIM(array, 0) && PyArray_TYPE(mask) == NPY_BOOL &&
           PyArray_DIM(array, 0) <= RECYCLED_BYTES && PyArray_DIM(array, 0) < queue_threshold;
}

static npy_intp count_true(PyArrayObject *mask)
{
    const char *is_true = PyArray_BYTES(mask);
    npy_intp n = 0, length = PyArray_DIM(mask, 0), step = PyArray_STRIDE(mask, 0);
    if (step == 1)
        return core->mx_compact_count_true((const uint8_t *)is_true, length);
    for (npy_intp i = 0; i < length; i++)
        n += is_true[i * step] != 0;
    return n;
}

/* Copy the n elements where a mask is true. */
static void compact(char *out, npy_intp n, PyArrayObject *mask, PyArrayObject *from,
                    int itemsize)
{
    const char *is_true = PyArray_BYTES(mask), *data = PyArray_BYTES(from);
    npy_intp length = PyArray_DIM(mask, 0), step = PyArray_STRIDE(mask, 0);
    npy_intp from_step = PyArray_STRIDE(from, 0);
    if (from_step % itemsize == 0 && PyArray_ISALIGNED(from)) {
        intptr_t begins[] = {0, n};
        struct mx_compaction whole = {.mask = (const uint8_t *)is_true,
                                      .ndim = 1,
                                      .shape = {length},
                                      .strides = {{step}, {from_step}},
                                      .n = length,
                                      .n_chunks = 1,
                                      .begins = begins};
        core->mx_compact_write(&whole, PyArray_BYTES(from), itemsize, out);
        return;
    }
    for (npy_intp i = 0; i < length; i++, is_true += step, data += from_step)
        if (*is_true) {
            memcpy(out, data, (size_t)itemsize);
            out += itemsize;
        }
}

/* Copy the elements of a vector where a mask is true.  Return 1, 0 or -1. */
static int take_masked(PyArrayObject *from, int row, PyArrayObject *mask, PyObject **item)
{
    if (!is_mask_of(mask, from))
        return 0;
    npy_intp n = count_true(mask);
    const int itemsize = dtype_itemsizes[row];
    PyObject *np_array = n == 0 ? PyArray_SimpleNew(1, &n, dtype_type_number(row))
                         : n * itemsize <= RECYCLED_BYTES ? recycle_new(row, 1, &n)
                                                          : NULL;
    if (!np_array)
        return PyErr_Occurred() ? -1 : 0;
    compact(PyArray_DATA((PyArrayObject *)np_array), n, mask, from, itemsize);
    *item = wrapper_new_small(np_array);
    return *item ? 1 : -1;
}

int vectors_take(PyArrayObject *from, int row, PyArrayObject *key, PyObject **out)
{
    return PyArray_TYPE(key) == NPY_BOOL ? take_masked(from, row, key, out)
                                         : take_at(from, row, key, out);
}

/* Write a number where a mask is true. */
static inline void put_masked(PyArrayObject *to, PyArrayObject *mask, const char *number,
                              size_t itemsize)
{
    npy_intp length = PyArray_DIM(mask, 0), step = PyArray_STRIDE(mask, 0);
    npy_intp to_step = PyArray_STRIDE(to, 0);
    const char *is_true = PyArray_BYTES(mask);
    char *data = PyArray_BYTES(to);
    for (npy_intp i = 0; i < length; i++, is_true += step, data += to_step)
        if (*is_true)
            memcpy(data, number, itemsize);
}

/* Write a number, or an array of the same length, at the positions of an index vector. */
static bool put_at(PyArrayObject *to, PyArrayObject *key, PyArrayObject *values,
                   const char *number, size_t itemsize)
{
    npy_intp length = PyArray_DIM(to, 0), step = PyArray_STRIDE(to, 0), from_step = 0;
    struct extent written = extent_of_array(to);
    if (!are_indices(key, length) || !are_apart(extent_of_array(key), written))
        return false;
    char *from = (char *)(uintptr_t)number;
    if (!number) {
        if (!same_shape(values, key) || !are_apart(extent_of_array(values), written))
            return false;
        from = PyArray_BYTES(values);
        from_step = PyArray_STRIDE(values, 0);
    }
    WITH_SIZE(itemsize,
              copy_at(false, PyArray_BYTES(to), length, step, key, from, from_step, SIZE))
    return true;
}

bool vectors_put(PyArrayObject *to, int row, PyArrayObject *key, const char *number,
                 PyArrayObject *values)
{
    size_t itemsize = (size_t)dtype_itemsizes[row];
    if (PyArray_NDIM(to) != 1)
        return false;
    if (PyArray_TYPE(key) != NPY_BOOL)
        return put_at(to, key, values, number, itemsize);
    if (!number || !is_mask_of(key, to) ||
        !are_apart(extent_of_array(key), extent_of_array(to)))
        return false;
    WITH_SIZE(itemsize, put_masked(to, key, number, SIZE))
    return true;
}
