/* items.c -- a[key] and a[key] = value without NumPy's parser, for keys of integers, slices,
 * Ellipsis and None. */
#include "python/access/items.h"
#include "python/access/parts.h"
#include "python/base/state.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/record/queue.h"
#include "python/record/source.h"
#include "python/record/wrapper.h"

/* -- Keys -------------------------------------------------------------------------- */

/* Check for an integer whose value is found without code of the program, which could change the
 * array. */
static bool is_integer(PyObject *x)
{
    return PyLong_CheckExact(x) || (PyArray_IsScalar(x, Integer) &&
                                    !PyArray_IsScalar(x, Timedelta) && is_static(Py_TYPE(x)));
}

/* Return the position of an integer on an axis of `length`, or -1 if NumPy has to read the key.
 */
static inline Py_ssize_t position(PyObject *integer, npy_intp length)
{
    Py_ssize_t i;
    if (!parts_small(integer, &i)) {
        i = PyLong_CheckExact(integer) ? PyLong_AsSsize_t(integer)
                                       : PyNumber_AsSsize_t(integer, NULL);
        if (i == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return -1;
        }
    }
    i += i < 0 ? length : 0;
    return i >= 0 && i < length ? i : -1;
}

static bool is_end(PyObject *x) { return x == Py_None || PyLong_CheckExact(x); }

/* Check whether reading a slice runs no code of the program. */
static bool is_plain_slice(PyObject *x)
{
    const struct parts_slice *slice = (const struct parts_slice *)x;
    return PySlice_Check(x) && parts_has_slices && is_end(slice->start) &&
           is_end(slice->stop) && is_end(slice->step);
}

static void keep_axis(struct view *view, npy_intp length, npy_intp stride)
{
    view->shape[view->ndim] = length;
    view->strides[view->ndim++] = stride;
}

/* Apply a slice to an axis.  Return 1 or -1. */
static int apply_slice(struct view *view, PyObject *slice, npy_intp length, npy_intp stride)
{
    Py_ssize_t start, stop, step = 1;
    npy_intp n;
    if (parts_slice(slice, length, &start, &stop)) {
        n = stop - start;
    } else {
        if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
            return -1;
        n = PySlice_AdjustIndices(length, &start, &stop, step);
    }
    view->data += n > 0 ? start * stride : 0;
    keep_axis(view, n, n > 0 ? step * stride : stride);
    return 1;
}

/* Count the parts of a key from `i` on that index an axis, or return -1 if there is an
 * Ellipsis.
 */
static int count_axes(PyObject *key, Py_ssize_t i, Py_ssize_t n)
{
    int n_axes = 0;
    for (; i < n; i++) {
        PyObject *part = parts_item(key, i);
        if (part == Py_Ellipsis)
            return -1;
        n_axes += part != Py_None;
    }
    return n_axes;
}

/* Find what a key of n parts selects: a view, or one element if it has an integer for each
 * axis. Return 1, 0 or -1. */
static int select_parts(struct view *view, bool *is_element, PyArrayObject *np_array,
                        PyObject *key, Py_ssize_t n)
{
    bool is_tuple = PyTuple_CheckExact(key), has_ellipsis = false;
    int ndim = PyArray_NDIM(np_array), axis = 0;
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    view->data = PyArray_BYTES(np_array);
    view->ndim = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *part = is_tuple ? parts_item(key, k) : key;
        Py_ssize_t i;
        if (part == Py_None) {
            keep_axis(view, 1, 0);
        } else if (part == Py_Ellipsis) {
            int n_behind = is_tuple ? count_axes(key, k + 1, n) : 0;
            if (n_behind < 0)
                return 0;
            has_ellipsis = true;
            for (int rest = ndim - axis - n_behind; rest > 0; rest--, axis++)
                keep_axis(view, shape[axis], strides[axis]);
        } else if (axis == ndim) {
            return 0;
        } else if (is_plain_slice(part)) {
            if (apply_slice(view, part, shape[axis], strides[axis]) < 0)
                return -1;
            axis++;
        } else if (is_integer(part) && (i = position(part, shape[axis])) >= 0) {
            view->data += i * strides[axis];
            axis++;
        } else {
            return 0;
        }
    }
    for (; axis < ndim; axis++)
        keep_axis(view, shape[axis], strides[axis]);
    *is_element = view->ndim == 0 && !has_ellipsis;
    return 1;
}

static int select_items(struct view *view, bool *is_element, PyArrayObject *np_array,
                        PyObject *key)
{
    Py_ssize_t n = PyTuple_CheckExact(key) ? Py_SIZE(key) : 1;
    if (n + PyArray_NDIM(np_array) > DIRECT_NDIM)
        return 0;
    return select_parts(view, is_element, np_array, key, n);
}

/* -- Elements and views -------------------------------------------------------------- */

/* Return the address of the element that a key of plain integers selects, or NULL. */
static inline char *find_element(PyArrayObject *np_array, PyObject *key)
{
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    int ndim = PyArray_NDIM(np_array);
    bool is_tuple = PyTuple_CheckExact(key);
    char *data = PyArray_BYTES(np_array);
    if (ndim == 0 || ndim != (is_tuple ? Py_SIZE(key) : 1))
        return NULL;
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *integer = is_tuple ? parts_item(key, axis) : key;
        Py_ssize_t i = PyLong_CheckExact(integer) ? position(integer, shape[axis]) : -1;
        if (i < 0)
            return NULL;
        data += i * strides[axis];
    }
    return data;
}

static inline void copy_element(char *to, const char *from, size_t itemsize)
{
    if (itemsize == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, itemsize);
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
                           size_t itemsize)
{
    const char *indices = PyArray_BYTES(key);
    npy_intp n = PyArray_DIM(key, 0), key_step = PyArray_STRIDE(key, 0);
    if (itemsize == 8 && step == 8 && key_step == 8 && other_step == 8) {
        /* Constant steps need no multiplication. */
        for (npy_intp k = 0; k < n; k++) {
            int64_t i = ((const int64_t *)(const void *)indices)[k];
            char *element = data + 8 * (i + (length & (i >> 63))), *item = other + 8 * k;
            memcpy(gathers ? item : element, gathers ? element : item, 8);
        }
        return;
    }
    for (npy_intp k = 0; k < n; k++, indices += key_step, other += other_step) {
        int64_t i = *(const int64_t *)indices;
        char *element = data + (i + (i < 0 ? length : 0)) * step;
        memcpy(gathers ? other : element, gathers ? element : other, itemsize);
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
    if (itemsize == 8)
        copy_at(true, data, length, step, key, out, 8, 8);
    else
        copy_at(true, data, length, step, key, out, (npy_intp)itemsize, itemsize);
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

static npy_intp count_true(const char *is_true, npy_intp length, npy_intp step)
{
    npy_intp n = 0;
    if (step == 1) { /* a constant step needs no multiplication */
        for (npy_intp i = 0; i < length; i++)
            n += is_true[i] != 0;
        return n;
    }
    for (npy_intp i = 0; i < length; i++)
        n += is_true[i * step] != 0;
    return n;
}

/* Copy the elements of a vector where a mask is true.  Return 1, 0 or -1. */
static int take_masked(PyArrayObject *from, int row, PyArrayObject *mask, PyObject **item)
{
    if (!is_mask_of(mask, from))
        return 0;
    npy_intp length = PyArray_DIM(mask, 0), step = PyArray_STRIDE(mask, 0);
    const char *is_true = PyArray_BYTES(mask), *data = PyArray_BYTES(from);
    npy_intp n = count_true(is_true, length, step);
    size_t itemsize = (size_t)dtype_itemsizes[row];
    PyObject *np_array =
        n > 0 && n * (npy_intp)itemsize <= RECYCLED_BYTES ? recycle_new(row, 1, &n) : NULL;
    if (!np_array)
        return PyErr_Occurred() ? -1 : 0;
    char *out = PyArray_DATA((PyArrayObject *)np_array);
    for (npy_intp i = 0; i < length; i++)
        if (is_true[i * step]) {
            copy_element(out, data + i * PyArray_STRIDE(from, 0), itemsize);
            out += itemsize;
        }
    *item = wrapper_new_small(np_array);
    return *item ? 1 : -1;
}

/* Take a view, or the elements that an array selects.  This function is separate because it
 * needs many registers, which take time to save. */
__attribute__((noinline)) static int take_many(PyObject *a, int row, PyObject *key,
                                               PyObject **item)
{
    struct view view;
    bool is_element;
    PyArrayObject *np_array = queue_ready(a);
    if (is_array(key)) {
        if (!queue_is_free(key))
            return 0;
        PyArrayObject *indices = queue_ready(key);
        return PyArray_TYPE(indices) == NPY_BOOL ? take_masked(np_array, row, indices, item)
                                                 : take_at(np_array, row, indices, item);
    }
    int status = select_items(&view, &is_element, np_array, key);
    if (status <= 0)
        return status;
    *item = is_element ? scalars_new(row, view.data) : recycle_view(a, &view);
    return *item ? 1 : -1;
}

int items_take(PyObject *a, PyObject *key, PyObject **item)
{
    PyArrayObject *np_array = queue_ready(a);
    int row = recycle_row(PyArray_DESCR(np_array));
    *item = NULL;
    if (row < 0 || !recycle_is_plain(np_array))
        return 0;
    const char *data = find_element(np_array, key);
    if (!data)
        return take_many(a, row, key, item);
    *item = scalars_new(row, data);
    return *item ? 1 : -1;
}

int items_take_row(PyObject *a, Py_ssize_t i, PyObject **item)
{
    struct view view;
    PyArrayObject *np_array = queue_ready(a);
    int row = recycle_row(PyArray_DESCR(np_array)), ndim = PyArray_NDIM(np_array);
    *item = NULL;
    if (row < 0 || !recycle_is_plain(np_array) || ndim == 0 || ndim > DIRECT_NDIM || i < 0)
        return 0;
    if (i >= PyArray_DIM(np_array, 0)) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis 0 with size %zd", i,
                     PyArray_DIM(np_array, 0));
        return -1;
    }
    view.data = PyArray_BYTES(np_array) + i * PyArray_STRIDE(np_array, 0);
    view.ndim = 0;
    for (int axis = 1; axis < ndim; axis++)
        keep_axis(&view, PyArray_DIM(np_array, axis), PyArray_STRIDE(np_array, axis));
    *item = ndim == 1 ? scalars_new(row, view.data) : recycle_view(a, &view);
    return *item ? 1 : -1;
}

/* -- Assignment -------------------------------------------------------------------- */

/* Find the strides of the elements that each element of a view gets.  Return false if NumPy has
 * to assign. */
static bool find_strides(const struct view *to, PyArrayObject *from, npy_intp *strides)
{
    int first = to->ndim - PyArray_NDIM(from);
    for (int axis = 0; axis < to->ndim; axis++) {
        npy_intp length = axis < first ? 1 : PyArray_DIM(from, axis - first);
        if (length != to->shape[axis] && length != 1)
            return false;
        strides[axis] = length == 1 ? 0 : PyArray_STRIDE(from, axis - first);
    }
    return first >= 0;
}

static npy_intp count_elements(const struct view *view)
{
    npy_intp n = 1;
    for (int axis = 0; axis < view->ndim; axis++)
        n *= view->shape[axis];
    return n;
}

/* Write a number where a mask is true. */
static bool assign_masked(PyArrayObject *to, PyArrayObject *mask, const char *number,
                          size_t itemsize)
{
    const char *is_true = PyArray_BYTES(mask);
    for (npy_intp i = 0; i < PyArray_DIM(mask, 0); i++)
        if (is_true[i * PyArray_STRIDE(mask, 0)])
            copy_element(PyArray_BYTES(to) + i * PyArray_STRIDE(to, 0), number, itemsize);
    return true;
}

/* Check whether an assignment would write an array onto itself, as the last step of
 * a[key] += b does. */
static bool is_same_view(const struct view *to, PyArrayObject *from)
{
    if (to->data != PyArray_BYTES(from) || !has_shape(from, to->ndim, to->shape))
        return false;
    for (int axis = 0; axis < to->ndim; axis++)
        if (to->strides[axis] != PyArray_STRIDE(from, axis))
            return false;
    return true;
}

/* Write a small array of the same dtype to a view.  Return whether it was written. */
static bool assign_array(const struct view *to, PyObject *value, npy_intp itemsize)
{
    npy_intp strides[DIRECT_NDIM], n = count_elements(to);
    PyArrayObject *from = queue_ready(value);
    if (n >= queue_threshold && !queue_is_eager(n)) /* it is recorded */
        return false;
    if (is_same_view(to, from))
        return true;
    if (!find_strides(to, from, strides) ||
        !are_apart(extent_of_array(from), extent_of_view(to, itemsize)))
        return false;
    if (n > 0)
        arrays_copy(to, PyArray_BYTES(from), strides, itemsize);
    return true;
}

/* Write a number of the same dtype to all elements of a view. */
static bool assign_number(const struct view *to, const char *number, npy_intp itemsize)
{
    static const npy_intp strides[DIRECT_NDIM] = {0};
    npy_intp n = count_elements(to);
    if (n >= queue_threshold && !queue_is_eager(n))
        return false;
    if (n > 0)
        arrays_copy(to, number, strides, itemsize);
    return true;
}

/* Write a number, or an array of the same length, at the positions of an index vector. */
static bool assign_at(PyArrayObject *to, PyArrayObject *key, PyObject *value,
                      const char *number, size_t itemsize)
{
    npy_intp length = PyArray_DIM(to, 0), step = PyArray_STRIDE(to, 0), from_step = 0;
    struct extent written = extent_of_array(to);
    if (!are_indices(key, length) || !are_apart(extent_of_array(key), written))
        return false;
    char *from = (char *)(uintptr_t)number;
    if (!number) {
        PyArrayObject *values = queue_ready(value);
        if (!same_shape(values, key) || !are_apart(extent_of_array(values), written))
            return false;
        from = PyArray_BYTES(values);
        from_step = PyArray_STRIDE(values, 0);
    }
    if (itemsize == 8)
        copy_at(false, PyArray_BYTES(to), length, step, key, from, from_step, 8);
    else
        copy_at(false, PyArray_BYTES(to), length, step, key, from, from_step, itemsize);
    return true;
}

/* Write to the elements of a vector that a mask or an index vector selects. */
static bool assign_selected(PyArrayObject *to, PyObject *key, PyObject *value,
                            const char *number, size_t itemsize)
{
    if (!queue_is_free(key) || PyArray_NDIM(to) != 1)
        return false;
    PyArrayObject *selected = queue_ready(key);
    if (PyArray_TYPE(selected) != NPY_BOOL)
        return assign_at(to, selected, value, number, itemsize);
    return number && is_mask_of(selected, to) && assign_masked(to, selected, number, itemsize);
}

int items_assign(PyObject *a, PyObject *key, PyObject *value)
{
    _Alignas(16) char number[16];
    struct view view;
    struct source source;
    bool is_element;
    PyArrayObject *to = queue_ready(a);
    int row = recycle_row(PyArray_DESCR(to));
    if (row < 0 || !PyArray_ISBEHAVED(to) || !recycle_is_plain(to) || queue_threshold <= 1)
        return 0;
    npy_intp itemsize = dtype_itemsizes[row];
    bool is_number = scalars_read(value, row, number);
    char *element = is_number ? find_element(to, key) : NULL;
    if (element) {
        memcpy(element, number, (size_t)itemsize);
        return 1;
    }
    bool is_copy = !is_number && is_array(value) && PyArray_NDIM(np_array_of(value)) > 0 &&
                   recycle_row(PyArray_DESCR(np_array_of(value))) == row &&
                   !queue_writes(value);
    if (is_array(key))
        return (is_number || is_copy) &&
               assign_selected(to, key, value, is_number ? number : NULL, (size_t)itemsize);
    if (!is_number && !is_copy &&
        (is_array(value) || !source_read(value, &source) || !source_fits(&source, row)))
        return PyErr_Occurred() ? -1 : 0;
    int status = select_items(&view, &is_element, to, key);
    if (status <= 0)
        return status;
    if (is_copy)
        return assign_array(&view, value, itemsize);
    return (is_number || source_value(&source, row, number)) &&
           assign_number(&view, number, itemsize);
}
