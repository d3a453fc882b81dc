/* items.c -- a[key] and a[key] = value without NumPy's parser, for keys of integers, slices,
 * Ellipsis and None. */
#include "python/direct/items.h"
#include "python/base/state.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/record/queue.h"
#include "python/record/source.h"
#include "python/record/wrapper.h"

#define MOST_NDIM 8

/* What a key selects: a view, or one element if it has an integer for each axis. */
struct selection {
    char *data;
    int ndim;
    bool is_element;
    npy_intp shape[MOST_NDIM], strides[MOST_NDIM];
};

/* -- Keys -------------------------------------------------------------------------- */

static bool is_integer(PyObject *x)
{
    return PyLong_CheckExact(x) ||
           (PyArray_IsScalar(x, Integer) && !PyArray_IsScalar(x, Timedelta));
}

/* Return the position of an integer on an axis of `length`, or -1 if NumPy has to read the key.
 */
static inline Py_ssize_t position(PyObject *integer, npy_intp length)
{
    Py_ssize_t i = PyLong_CheckExact(integer) ? PyLong_AsSsize_t(integer)
                                              : PyNumber_AsSsize_t(integer, NULL);
    if (i == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    i += i < 0 ? length : 0;
    return i >= 0 && i < length ? i : -1;
}

/* Check whether a tuple has integers, slices, None and at most one Ellipsis; counts its axes.
 */
static bool is_plain_key(PyObject *key, Py_ssize_t n, int *n_axes, int *n_new)
{
    int n_ellipses = 0;
    *n_axes = *n_new = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = PyTuple_GetItem(key, i);
        if (part == Py_None)
            ++*n_new;
        else if (part == Py_Ellipsis)
            n_ellipses++;
        else if (PySlice_Check(part) || is_integer(part))
            ++*n_axes;
        else
            return false;
    }
    return n_ellipses <= 1;
}

/* Apply one part of a key to an axis.  Return 1, 0 or -1. */
static int apply(struct selection *s, PyObject *part, npy_intp length, npy_intp stride)
{
    if (!PySlice_Check(part)) {
        Py_ssize_t i = position(part, length);
        s->data += i < 0 ? 0 : i * stride;
        return i >= 0;
    }
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(part, &start, &stop, &step) < 0)
        return -1;
    npy_intp n = PySlice_AdjustIndices(length, &start, &stop, step);
    s->data += n > 0 ? start * stride : 0;
    s->shape[s->ndim] = n;
    s->strides[s->ndim++] = n > 0 ? step * stride : stride;
    return 1;
}

static void keep_axis(struct selection *s, npy_intp length, npy_intp stride)
{
    s->shape[s->ndim] = length;
    s->strides[s->ndim++] = stride;
}

/* Read a key.  Return 1, 0 or -1. */
static int select_items(struct selection *s, PyArrayObject *np_array, PyObject *key)
{
    int ndim = PyArray_NDIM(np_array), n_axes, n_new, axis = 0, status = 1;
    bool is_tuple = PyTuple_CheckExact(key), has_ellipsis = false;
    Py_ssize_t n = is_tuple ? PyTuple_Size(key) : 1;
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    if (!is_tuple) {
        n_axes = PySlice_Check(key) || is_integer(key);
        n_new = key == Py_None;
        if (!n_axes && !n_new && key != Py_Ellipsis)
            return 0;
    } else if (!is_plain_key(key, n, &n_axes, &n_new)) {
        return 0;
    }
    if (n_axes > ndim || ndim + n_new > MOST_NDIM)
        return 0;
    s->data = PyArray_BYTES(np_array);
    s->ndim = 0;
    for (Py_ssize_t i = 0; i < n && status > 0; i++) {
        PyObject *part = is_tuple ? PyTuple_GetItem(key, i) : key;
        if (part == Py_None) {
            keep_axis(s, 1, 0);
        } else if (part == Py_Ellipsis) {
            has_ellipsis = true;
            for (int rest = ndim - n_axes; rest > 0; rest--, axis++)
                keep_axis(s, shape[axis], strides[axis]);
        } else {
            status = apply(s, part, shape[axis], strides[axis]);
            axis++;
        }
    }
    for (; axis < ndim; axis++)
        keep_axis(s, shape[axis], strides[axis]);
    s->is_element = s->ndim == 0 && !has_ellipsis;
    return status;
}

/* -- Views ------------------------------------------------------------------------- */

static PyObject *new_view(PyObject *a, const struct selection *s)
{
    return items_new_view(a, s->data, s->ndim, s->shape, s->strides);
}

PyObject *items_new_view(PyObject *a, char *data, int ndim, const npy_intp *shape,
                         const npy_intp *strides)
{
    PyObject *view = recycle_new_view(np_array_of(a), data, ndim, shape, strides);
    PyObject *out = view ? wrapper_new_small(view) : NULL;
    if (out)
        as_array(out)->base = Py_NewRef((PyObject *)root_of(a));
    return out;
}

static int take(PyObject *a, const struct selection *s, PyObject **item)
{
    PyArrayObject *np_array = np_array_of(a);
    *item = s->is_element ? scalars_new(recycle_row(PyArray_DESCR(np_array)), s->data)
                          : new_view(a, s);
    return *item ? 1 : -1;
}

/* Views of objects and records have more to them. */
static inline bool is_plain(PyArrayObject *np_array)
{
    return recycle_row(PyArray_DESCR(np_array)) >= 0 && recycle_is_plain(np_array);
}

/* Return the address of the element that a key of plain integers selects, or NULL. */
static inline char *find_element(PyArrayObject *np_array, PyObject *key)
{
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    int ndim = PyArray_NDIM(np_array);
    bool is_tuple = PyTuple_CheckExact(key);
    char *data = PyArray_BYTES(np_array);
    if (ndim != (is_tuple ? PyTuple_Size(key) : 1))
        return NULL;
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *integer = is_tuple ? PyTuple_GetItem(key, axis) : key;
        if (!PyLong_CheckExact(integer))
            return NULL;
        Py_ssize_t i = position(integer, shape[axis]);
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

/* Copy the elements of a vector at the positions of an index vector.  Return 1, 0 or -1. */
static int take_at(PyArrayObject *from, int row, PyArrayObject *key, PyObject **item)
{
    if (recycle_row(PyArray_DESCR(key)) != ROW_int64 || PyArray_NDIM(key) != 1 ||
        PyArray_NDIM(from) != 1 || PyArray_DIM(key, 0) == 0 || !PyArray_ISALIGNED(key))
        return 0;
    npy_intp n = PyArray_DIM(key, 0), length = PyArray_DIM(from, 0);
    npy_intp step = PyArray_STRIDE(from, 0), key_step = PyArray_STRIDE(key, 0);
    size_t itemsize = (size_t)dtype_itemsizes[row];
    if (n * (npy_intp)itemsize > RECYCLED_BYTES || n >= queue_threshold)
        return 0;
    PyObject *np_array = recycle_new(row, 1, &n);
    if (!np_array)
        return -1;
    char *out = PyArray_DATA((PyArrayObject *)np_array), *data = PyArray_BYTES(from);
    for (npy_intp k = 0; k < n; k++) {
        int64_t i = *(int64_t *)(PyArray_BYTES(key) + k * key_step);
        i += i < 0 ? length : 0;
        if (i < 0 || i >= length) { /* NumPy raises */
            Py_DECREF(np_array);
            return 0;
        }
        copy_element(out + (npy_intp)itemsize * k, data + i * step, itemsize);
    }
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

/* Copy the elements of a vector where a mask is true.  Return 1, 0 or -1. */
static int take_masked(PyArrayObject *from, int row, PyArrayObject *mask, PyObject **item)
{
    if (!is_mask_of(mask, from))
        return 0;
    npy_intp length = PyArray_DIM(mask, 0), step = PyArray_STRIDE(mask, 0), n = 0;
    const char *is_true = PyArray_BYTES(mask), *data = PyArray_BYTES(from);
    for (npy_intp i = 0; i < length; i++)
        n += is_true[i * step];
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

int items_take(PyObject *a, PyObject *key, PyObject **item)
{
    struct selection s;
    *item = NULL;
    int row = recycle_row(PyArray_DESCR(np_array_of(a)));
    if (row < 0 || !recycle_is_plain(np_array_of(a)))
        return 0;
    if (is_array(key) && queue_is_free(key))
        return PyArray_TYPE(np_array_of(key)) == NPY_BOOL
                   ? take_masked(np_array_of(a), row, np_array_of(key), item)
                   : take_at(np_array_of(a), row, np_array_of(key), item);
    if (is_array(key))
        return 0;
    char *data = find_element(np_array_of(a), key);
    if (data && PyArray_NDIM(np_array_of(a)) > 0) {
        *item = scalars_new(row, data);
        return *item ? 1 : -1;
    }
    int status = select_items(&s, np_array_of(a), key);
    return status > 0 ? take(a, &s, item) : status;
}

int items_take_row(PyObject *a, Py_ssize_t i, PyObject **item)
{
    struct selection s;
    PyArrayObject *np_array = np_array_of(a);
    int ndim = PyArray_NDIM(np_array);
    *item = NULL;
    if (!is_plain(np_array) || ndim == 0 || ndim > MOST_NDIM || i < 0 ||
        i >= PyArray_DIM(np_array, 0))
        return 0;
    s.data = PyArray_BYTES(np_array) + i * PyArray_STRIDE(np_array, 0);
    s.ndim = 0;
    for (int axis = 1; axis < ndim; axis++)
        keep_axis(&s, PyArray_DIM(np_array, axis), PyArray_STRIDE(np_array, axis));
    s.is_element = ndim == 1;
    return take(a, &s, item);
}

/* -- Assignment -------------------------------------------------------------------- */

/* Check whether values of both kinds are copied without a cast and without overlap. */
static bool is_same_kind(PyArrayObject *to, PyObject *value)
{
    return is_array(value) &&
           recycle_row(PyArray_DESCR(np_array_of(value))) == recycle_row(PyArray_DESCR(to));
}

static bool shapes_agree(const struct selection *s, PyArrayObject *from)
{
    return PyArray_NDIM(from) == s->ndim &&
           memcmp(PyArray_DIMS(from), s->shape, (size_t)s->ndim * sizeof *s->shape) == 0;
}

/* Write elements with strides, one run of the last axis at a time. */
static void copy_runs(const struct selection *to, const char *from,
                      const npy_intp *from_strides, int itemsize)
{
    mx_loop_function copy = core->copy_loop(itemsize);
    int last = to->ndim - 1;
    npy_intp index[MOST_NDIM] = {0};
    intptr_t n = to->shape[last], strides[] = {from_strides[last], to->strides[last]};
    char *args[] = {(char *)(uintptr_t)from, to->data};
    for (int axis = last; axis >= 0;) {
        char *both[] = {args[0], args[1]};
        if (strides[0] == itemsize && strides[1] == itemsize)
            memcpy(args[1], args[0], (size_t)(n * itemsize));
        else
            copy(both, &n, strides, NULL);
        for (axis = last - 1; axis >= 0; axis--) {
            args[0] += from_strides[axis];
            args[1] += to->strides[axis];
            if (++index[axis] < to->shape[axis])
                break;
            args[0] -= from_strides[axis] * to->shape[axis];
            args[1] -= to->strides[axis] * to->shape[axis];
            index[axis] = 0;
        }
    }
}

static npy_intp count_elements(const struct selection *s)
{
    npy_intp n = 1;
    for (int axis = 0; axis < s->ndim; axis++)
        n *= s->shape[axis];
    return n;
}

/* Write a number where a mask is true. */
static int assign_masked(PyArrayObject *to, PyArrayObject *mask, const char *number,
                         size_t itemsize)
{
    const char *is_true = PyArray_BYTES(mask);
    for (npy_intp i = 0; i < PyArray_DIM(mask, 0); i++)
        if (is_true[i * PyArray_STRIDE(mask, 0)])
            copy_element(PyArray_BYTES(to) + i * PyArray_STRIDE(to, 0), number, itemsize);
    return 1;
}

int items_assign(PyObject *a, PyObject *key, PyObject *value)
{
    static const npy_intp no_strides[MOST_NDIM] = {0};
    _Alignas(16) char number[16];
    struct selection s;
    struct source source;
    PyArrayObject *to = np_array_of(a);
    int row = recycle_row(PyArray_DESCR(to));
    if (row < 0 || !PyArray_ISBEHAVED(to) || !recycle_is_plain(to) || queue_threshold <= 1)
        return 0;
    bool is_plain_value = scalars_read(value, row, number);
    if (is_array(key))
        return is_plain_value && queue_is_free(key) && is_mask_of(np_array_of(key), to)
                   ? assign_masked(to, np_array_of(key), number, (size_t)dtype_itemsizes[row])
                   : 0;
    char *element = is_plain_value && PyArray_NDIM(to) > 0 ? find_element(to, key) : NULL;
    if (element) {
        memcpy(element, number, (size_t)dtype_itemsizes[row]);
        return 1;
    }
    bool is_copy = is_same_kind(to, value) && PyArray_NDIM(np_array_of(value)) > 0;
    if (is_copy ? root_of(value) == root_of(a) || queue_writes(value)
                : !is_plain_value && (is_array(value) || !source_read(value, &source) ||
                                      !source_fits(&source, row)))
        return PyErr_Occurred() ? -1 : 0;
    int status = select_items(&s, to, key);
    if (status <= 0)
        return status;
    if (count_elements(&s) >= queue_threshold) /* it is recorded */
        return 0;
    if (is_copy && !shapes_agree(&s, np_array_of(value)))
        return 0;
    if (!is_copy && !is_plain_value && !source_value(&source, row, number))
        return 0;
    if (s.ndim == 0)
        memcpy(s.data, number, (size_t)dtype_itemsizes[row]);
    else if (count_elements(&s) > 0)
        copy_runs(&s, is_copy ? PyArray_BYTES(np_array_of(value)) : number,
                  is_copy ? PyArray_STRIDES(np_array_of(value)) : no_strides,
                  dtype_itemsizes[row]);
    return 1;
}
