/* access.c -- the one reading of a key. */
#include "python/access/access.h"

/* -- Items ------------------------------------------------------------------------- */

/* Check for an integer of NumPy whose value is found without code of the program, which could
 * change the array. */
__attribute__((noinline)) static bool is_integer_scalar(PyObject *x)
{
    return PyArray_IsScalar(x, Integer) && !PyArray_IsScalar(x, Timedelta) &&
           is_static(Py_TYPE(x));
}

static inline bool is_end(PyObject *x)
{
    return x == Py_None || PyLong_CheckExact(x) || is_integer_scalar(x);
}

/* Check whether reading a slice runs no code of the program. */
static bool is_plain_slice(PyObject *x)
{
    const struct parts_slice *slice = (const struct parts_slice *)x;
    return parts_has_slices && is_end(slice->start) && is_end(slice->stop) &&
           is_end(slice->step);
}

static enum access_item read_item(PyObject *x)
{
    if (PyLong_CheckExact(x))
        return ITEM_INTEGER;
    if (PySlice_Check(x))
        return is_plain_slice(x) ? ITEM_SLICE : ITEM_OTHER;
    if (x == Py_None || x == Py_Ellipsis)
        return x == Py_None ? ITEM_NEW_AXIS : ITEM_ELLIPSIS;
    if (np_array_in(x) || PyList_CheckExact(x))
        return ITEM_ARRAY;
    if (PyUnicode_CheckExact(x)) /* a field */
        return ITEM_OTHER;
    if (is_integer_scalar(x))
        return ITEM_INTEGER;
    bool is_copied = PyBool_Check(x) || PyArray_IsScalar(x, Bool) || PyTuple_CheckExact(x) ||
                     PyArray_Check(x);
    return is_copied ? ITEM_COPIED : ITEM_OTHER;
}

/* Note the kinds of the items.  Sums are variables, because a store to `items` might change any
 * field, as far as the compiler knows. */
static void read_items(struct access *access)
{
    unsigned found = 0;
    int n_arrays = 0, n_ellipses = 0;
    Py_ssize_t n = access->n, n_axes = 0;
    PyObject *key = access->is_tuple ? NULL : access->key, *tuple = access->key;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = key ? key : parts_item(tuple, i);
        enum access_item item = read_item(x);
        access->items[i < ACCESS_ITEMS ? i : ACCESS_ITEMS] = (unsigned char)item;
        found |= 1u << item;
        n_arrays += item == ITEM_ARRAY;
        n_ellipses += item == ITEM_ELLIPSIS;
        n_axes +=
            item == ITEM_ARRAY ? access_axes(x) : item == ITEM_SLICE || item == ITEM_INTEGER;
    }
    access->found = found;
    access->n_arrays = n_arrays;
    access->n_ellipses = n_ellipses;
    access->n_axes = n_axes;
}

/* -- Views ------------------------------------------------------------------------- */

static void keep_axis(struct view *view, npy_intp length, npy_intp stride)
{
    view->shape[view->ndim] = length;
    view->strides[view->ndim++] = stride;
}

/* Apply a slice to an axis.  Return false if Python refuses it. */
static bool apply_slice(struct view *view, PyObject *slice, npy_intp length, npy_intp stride)
{
    Py_ssize_t start, stop, step = 1;
    npy_intp n;
    if (parts_slice(slice, length, &start, &stop)) {
        n = stop - start;
    } else {
        if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
            PyErr_Clear(); /* NumPy raises it again */
            return false;
        }
        n = PySlice_AdjustIndices(length, &start, &stop, step);
    }
    view->data += n > 0 ? start * stride : 0;
    keep_axis(view, n, n > 0 ? step * stride : stride);
    return true;
}

/* Apply an integer to an axis.  Return false if it is out of bounds. */
static bool apply_integer(struct view *view, PyObject *integer, npy_intp length,
                          npy_intp stride)
{
    Py_ssize_t i = access_position(integer, length);
    view->data += i * stride;
    return i >= 0;
}

/* Find the elements that a basic key selects.  Return false if NumPy has to find them. */
static bool find_view(struct access *access, PyArrayObject *np_array)
{
    struct view *view = &access->view;
    int ndim = PyArray_NDIM(np_array), axis = 0;
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    bool fits = access->n + ndim <= DIRECT_NDIM;
    view->data = PyArray_BYTES(np_array);
    view->ndim = 0;
    for (Py_ssize_t k = 0; k < access->n && fits; k++) {
        PyObject *item = access_item(access, k);
        if (access->items[k] == ITEM_NEW_AXIS) {
            keep_axis(view, 1, 0);
        } else if (access->items[k] == ITEM_ELLIPSIS) {
            for (Py_ssize_t rest = ndim - access->n_axes; rest > 0; rest--, axis++)
                keep_axis(view, shape[axis], strides[axis]);
        } else {
            fits = access->items[k] == ITEM_SLICE
                       ? apply_slice(view, item, shape[axis], strides[axis])
                       : apply_integer(view, item, shape[axis], strides[axis]);
            axis++;
        }
    }
    for (; axis < ndim && fits; axis++)
        keep_axis(view, shape[axis], strides[axis]);
    return fits;
}

/* -- Keys -------------------------------------------------------------------------- */

void access_read(struct access *access, PyObject *a, PyObject *key, bool is_ready)
{
    const PyArrayObject *np_array = np_array_of(a);
    access->key = key;
    access->is_tuple = PyTuple_CheckExact(key);
    access->n = access->is_tuple ? Py_SIZE(key) : 1;
    read_items(access);
    if (access_has(access, ITEM_COPIED) || access_has(access, ITEM_OTHER) ||
        access->n > ACCESS_ITEMS || access->n_axes > PyArray_NDIM(np_array) ||
        access->n_ellipses > 1)
        access->kind = ACCESS_NUMPY;
    else if (access->n_arrays > 0)
        access->kind = is_array(key) && access_mask(key) ? ACCESS_MASK : ACCESS_GATHER;
    else if (!is_ready || !find_view(access, queue_ready(a)))
        access->kind = ACCESS_BASIC;
    else
        access->kind =
            access->view.ndim == 0 && access->n_ellipses == 0 ? ACCESS_ELEMENT : ACCESS_VIEW;
}

bool access_may_record(const struct access *access, PyObject *a, bool is_waiting)
{
    double most = (double)array_size(np_array_of(a));
    for (Py_ssize_t i = 0; i < access->n; i++) {
        PyObject *item = access_item(access, i);
        const PyArrayObject *np_array = np_array_in(item);
        if (access->items[i] != ITEM_ARRAY)
            continue;
        is_waiting |= is_array(item) && queue_writes(item);
        most *= np_array ? (double)array_size(np_array) : (double)PyList_Size(item);
    }
    return is_waiting || most >= (double)queue_threshold;
}

bool access_is_view(PyObject *item, PyObject *a)
{
    if (Py_TYPE(item) != np_array_type)
        return false;
    PyObject *base = PyArray_BASE((PyArrayObject *)item);
    return base && (base == as_array(a)->unprepared || base == root_of(a)->unprepared);
}
