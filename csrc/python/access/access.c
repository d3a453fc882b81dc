/* access.c -- the one reading of a key. */
#include "python/access/access.h"
#include "python/base/state.h"

#define MOST_COUNTED 65536 /* elements of a mask */

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

static inline __attribute__((always_inline)) enum access_item read_item(PyObject *x)
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

/* -- Views ------------------------------------------------------------------------- */

static void keep_axis(struct view *view, npy_intp length, npy_intp stride)
{
    view->shape[view->ndim] = length;
    view->strides[view->ndim++] = stride;
}

/* Keep the whole axes from `axis` up to `end`.  Return the next axis. */
__attribute__((noinline)) static int keep_axes(struct view *view, const PyArrayObject *np_array,
                                               int axis, int end)
{
    for (; axis < end; axis++)
        keep_axis(view, PyArray_DIM(np_array, axis), PyArray_STRIDE(np_array, axis));
    return axis;
}

/* Apply a slice to an axis.  Return false if Python refuses it. */
static inline __attribute__((always_inline)) bool
apply_slice(struct view *view, PyObject *slice, npy_intp length, npy_intp stride)
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

/* Count the items from `k` on that index an axis. */
static int count_axes(const struct access *access, Py_ssize_t k)
{
    int n = 0;
    for (; k < access->n; k++)
        n += access_item(access, k) != Py_None;
    return n;
}

/* -- Keys -------------------------------------------------------------------------- */

/* Note the kinds of the items, and apply them to the view.  Return false if they select no view
 * of an array whose elements may be found.  A key of one item needs no loop. */
static inline __attribute__((always_inline)) bool
read_items(struct access *access, const PyArrayObject *np_array, Py_ssize_t n, bool fits)
{
    struct view *view = &access->view;
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    int ndim = PyArray_NDIM(np_array), axis = 0, n_axes = 0;
    unsigned found = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *x = access_item(access, k);
        enum access_item item = read_item(x);
        if (item == ITEM_ELLIPSIS && found >> ITEM_ELLIPSIS & 1)
            item = ITEM_OTHER;
        found |= 1u << item;
        access->items[k < ACCESS_ITEMS ? k : ACCESS_ITEMS] = (unsigned char)item;
        if (item == ITEM_SLICE || item == ITEM_INTEGER) {
            fits = fits && axis < ndim &&
                   (item == ITEM_SLICE ? apply_slice(view, x, shape[axis], strides[axis])
                                       : apply_integer(view, x, shape[axis], strides[axis]));
            axis++;
            n_axes++;
        } else if (item >= ITEM_ARRAY) {
            fits = false;
            n_axes += item == ITEM_ARRAY ? access_axes(x) : 0;
        } else if (fits && item == ITEM_NEW_AXIS) {
            keep_axis(view, 1, 0);
        } else if (fits) {
            axis = keep_axes(view, np_array, axis, ndim - count_axes(access, k + 1));
        }
    }
    if (fits && axis < ndim)
        keep_axes(view, np_array, axis, ndim);
    access->found = found;
    access->n_axes = n_axes;
    return fits;
}

void access_read(struct access *access, PyObject *a, PyObject *key, bool is_ready)
{
    const PyArrayObject *np_array = np_array_of(a);
    bool is_tuple = PyTuple_CheckExact(key);
    Py_ssize_t n = is_tuple ? Py_SIZE(key) : 1;
    if (is_tuple && n == 1 && np_array_in(parts_item(key, 0))) {
        key = parts_item(key, 0); /* a[x,] is a[x] */
        is_tuple = false;
    }
    bool fits = is_ready && n + PyArray_NDIM(np_array) <= DIRECT_NDIM;
    access->key = key;
    access->is_tuple = is_tuple;
    access->n = n;
    access->view.data = data_address(np_array);
    access->view.ndim = 0;
    fits = is_tuple ? read_items(access, np_array, n, fits)
                    : read_items(access, np_array, 1, fits);
    if (fits)
        access->kind = access->view.ndim == 0 && !access_has(access, ITEM_ELLIPSIS)
                           ? ACCESS_ELEMENT
                           : ACCESS_VIEW;
    else if (access_has(access, ITEM_COPIED) || access_has(access, ITEM_OTHER) ||
             n > ACCESS_ITEMS || access->n_axes > PyArray_NDIM(np_array))
        access->kind = ACCESS_NUMPY;
    else if (access_has(access, ITEM_ARRAY))
        access->kind = is_array(key) && access_mask(key) ? ACCESS_MASK : ACCESS_GATHER;
    else
        access->kind = ACCESS_BASIC;
}

/* Return the greatest share of the elements that a mask may select.  The true elements of a
 * mask that is computed are counted, unless threads should share them. */
static double greatest_share(PyObject *item)
{
    PyArrayObject *mask = access_vector(item);
    npy_intp n = mask ? PyArray_SIZE(mask) : 0;
    if (n == 0 || n > MOST_COUNTED || !PyArray_IS_C_CONTIGUOUS(mask))
        return 1;
    return (double)core->mx_compact_count_true(PyArray_DATA(mask), n) / (double)n;
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
        most *= access_mask(item) ? greatest_share(item)
                : np_array        ? (double)array_size(np_array)
                                  : (double)PyList_Size(item);
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
