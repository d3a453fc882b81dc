/* put.c -- a[key] = value: small arrays are written immediately, assignments to large ones are
 * recorded, and NumPy does the rest. */
#include "python/access/put.h"
#include "python/access/access.h"
#include "python/access/selection.h"
#include "python/access/update.h"
#include "python/access/vectors.h"
#include "python/base/refusal.h"
#include "python/convert/convert.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/record/assignment.h"
#include "python/record/call.h"
#include "python/record/prepare.h"
#include "python/record/source.h"

/* -- Immediately ------------------------------------------------------------------- */

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
static bool put_array(const struct view *to, PyArrayObject *from, npy_intp itemsize)
{
    npy_intp strides[DIRECT_NDIM], n = count_elements(to);
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
static bool put_number(const struct view *to, const char *number, npy_intp itemsize)
{
    static const npy_intp strides[DIRECT_NDIM] = {0};
    npy_intp n = count_elements(to);
    if (n >= queue_threshold && !queue_is_eager(n))
        return false;
    if (n > 0)
        arrays_copy(to, number, strides, itemsize);
    return true;
}

/* Return the row of the dtype of an array that is written immediately, or -1. */
static inline int row_to_put(PyObject *a)
{
    if (profile_is_on || as_array(a)->is_unwritten || !queue_is_free(a) || queue_threshold <= 1)
        return -1;
    PyArrayObject *to = queue_ready(a);
    return PyArray_ISBEHAVED(to) && recycle_is_plain(to) ? recycle_row(PyArray_DESCR(to)) : -1;
}

/* Return the NumPy array of a value with the dtype `row` that is computed, or NULL. */
static PyArrayObject *ready_array(PyObject *value, int row)
{
    bool is_ready = is_array(value) && PyArray_NDIM(np_array_of(value)) > 0 &&
                    recycle_row(PyArray_DESCR(np_array_of(value))) == row &&
                    !queue_writes(value);
    return is_ready ? queue_ready(value) : NULL;
}

/* Read a number that NumPy casts to the dtype `row` without an error or a warning. */
static bool read_number(PyObject *value, int row, char *number)
{
    struct source source;
    return !is_array(value) && source_read(value, &source) && source_fits(&source, row) &&
           source_value(&source, row, number);
}

/* Write `number`, or `value` if it is NULL.  Return 1, 0 if the elements are not written
 * immediately, or -1 with an exception set. */
static int put_now(int row, const struct access *access, PyObject *value, const char *number)
{
    _Alignas(16) char cast[16];
    npy_intp itemsize = dtype_itemsizes[row];
    PyArrayObject *from = number ? NULL : ready_array(value, row);
    if (access->kind > ACCESS_VIEW)
        return 0;
    if (from)
        return put_array(&access->view, from, itemsize);
    if (!number && !read_number(value, row, cast))
        return PyErr_Occurred() ? -1 : 0;
    return put_number(&access->view, number ? number : cast, itemsize);
}

/* -- Recorded ---------------------------------------------------------------------- */

/* Record an assignment to a view that is large, or for which NumPy would have to wait.  Return
 * 1, 0 or -1. */
static int record_view(PyObject *a, PyObject *key, PyObject *value)
{
    PyObject *np_array = queue_to_view(a);
    if (!np_array)
        return -1;
    PyObject *view = PyObject_GetItem(np_array, key);
    if (!view)
        return refusal_drop();
    int status = 0;
    if (access_is_view(view, a) && (PyArray_SIZE((PyArrayObject *)view) >= queue_threshold ||
                                    queue_uses(a) || (is_array(value) && queue_uses(value))))
        status = assignment_record(a, view, value);
    Py_DECREF(view);
    return status;
}

/* Return 1, 0 if NumPy has to assign, or -1 with an exception set. */
static int put_recorded(PyObject *a, const struct access *access, PyObject *value)
{
    int status = 0;
    bool is_large = queue_accepts(a) || (is_array(value) && queue_accepts(value));
    if (is_large && access->kind == ACCESS_MASK) {
        status = call_masked_fill(a, access->key, value);
        if (status == 0 && selection_may_put(a, value))
            return 0; /* positions of the elements would take longer: see put_item() */
    } else if (is_large && access_is_basic(access))
        status = record_view(a, access->key, value);
    if (status == 0 && access_selects(access) && access_may_record(access, a, queue_uses(a)))
        status = update_assign(a, access, value);
    return status;
}

/* -- By NumPy ---------------------------------------------------------------------- */

/* Check whether NumPy might read elements of a value that it has just written.  It copies a
 * value that shares memory with the elements, but not along one axis, where it only chooses the
 * first or the last element to begin with.  That is right if both go on in equal steps.  For a
 * mask NumPy reads the values in turn, so that is done here too. */
static bool must_copy(const PyArrayObject *to, const struct access *access, PyObject *value)
{
    PyArrayObject *from = (PyArrayObject *)value;
    if (access_copies(access) || !PyArray_Check(value) || PyArray_NDIM(from) == 0 ||
        are_apart(extent_of_array(to), extent_of_array(from)))
        return false;
    return PyArray_NDIM(to) != 1 || PyArray_NDIM(from) != 1 || !parts_is_run(access->key) ||
           PyArray_STRIDE(to, 0) != PyArray_STRIDE(from, 0);
}

static int put_item(PyObject *np_array, PyObject *index, PyObject *value)
{
    int status = value ? selection_put(np_array, index, value) : 0;
    if (status != 0)
        return status < 0 ? -1 : 0;
    return value ? PyObject_SetItem(np_array, index, value) : PyObject_DelItem(np_array, index);
}

/* Assign a value without mxnp arrays in it.  Return 0, or -1 with an exception set. */
static int put_prepared(PyObject *a, const struct access *access, PyObject *index,
                        PyObject *value)
{
    PyObject *np_array;
    if (prepare_to_write(a, NULL) < 0 || !(np_array = queue_to_write(a)))
        return -1;
    if (as_array(a)->is_unwritten)
        memory_note_written(a);
    PyObject *copy = value && must_copy(np_array_of(a), access, value)
                         ? PyArray_NewCopy((PyArrayObject *)value, NPY_KEEPORDER)
                         : Py_XNewRef(value);
    int status = value && !copy ? -1 : put_item(np_array, index, copy);
    Py_XDECREF(copy);
    return status;
}

__attribute__((noinline)) static int put_by_numpy(PyObject *a, const struct access *access,
                                                  PyObject *value)
{
    struct call_args call_args;
    call_args_begin(&call_args);
    PyObject *index = convert_unwrap(access->key, &call_args, 1);
    if (!index) {
        call_args_end(&call_args);
        return -1;
    }
    call_args_hold(a);
    /* An array that becomes an element of an object array keeps its identity, and so does one
     * that becomes a field. */
    PyArray_Descr *dtype = PyArray_DESCR(np_array_of(a));
    bool is_object = dtype->kind == 'O';
    bool is_element = is_object && value && is_array(value) && !access_copies(access);
    PyObject *source = is_element ? Py_NewRef(value) : NULL;
    if (value && !is_element)
        source = convert_unwrap(value, &call_args, PyDataType_REFCHK(dtype) ? 0 : MAX_DEPTH);
    int status = -1;
    if ((!value || source) && convert_prepare(&call_args, true) == 0)
        status = put_prepared(a, access, index, source);
    queue_after_write();
    Py_XDECREF(source);
    Py_DECREF(index);
    call_args_release(a);
    call_args_end(&call_args);
    return status;
}

/* -- Keys -------------------------------------------------------------------------- */

__attribute__((noinline)) static int put_slowly(PyObject *a, const struct access *access,
                                                PyObject *value)
{
    int status = value ? put_recorded(a, access, value) : 0;
    root_of(a)->version++;
    if (status != 0)
        return status < 0 ? -1 : 0;
    return put_by_numpy(a, access, value);
}

/* Return how many elements a key of integers selects, or 0 for another key. */
static Py_ssize_t count_selected(PyObject *a, const struct access *access)
{
    const PyArrayObject *np_array = np_array_of(a);
    Py_ssize_t size = access->found == 1u << ITEM_INTEGER;
    for (Py_ssize_t axis = access->n; axis < PyArray_NDIM(np_array); axis++)
        size *= PyArray_DIM(np_array, (int)axis);
    return size;
}

/* Assign to the elements that a key other than plain integers selects. */
__attribute__((noinline)) static int put_any(PyObject *a, int row, PyObject *key,
                                             PyObject *value, const char *number)
{
    struct access access;
    struct span span;
    access_read(&access, a, key, row >= 0);
    int status = row < 0 ? 0 : put_now(row, &access, value, number);
    if (status != 0)
        return status < 0 ? -1 : 0;
    span_begin(&span, SPAN_OPERATION, "setitem");
    status = put_slowly(a, &access, value);
    if (span.is_on)
        span.elements = count_selected(a, &access);
    span_end(&span, value, key, NULL);
    return status;
}

/* Assign to the elements that one array selects. */
__attribute__((noinline)) static int put_vector(PyObject *a, int row, PyObject *key,
                                                PyObject *value, const char *number)
{
    _Alignas(16) char cast[16];
    PyArrayObject *vector = access_vector(key);
    PyArrayObject *from = number ? NULL : ready_array(value, row);
    if (vector && !number && !from && read_number(value, row, cast))
        number = cast;
    if (PyErr_Occurred())
        return -1;
    if (vector && (number || from) && vectors_put(queue_ready(a), row, vector, number, from))
        return 0;
    return put_any(a, row, key, value, number);
}

int put_by_key(PyObject *a, PyObject *key, PyObject *value)
{
    _Alignas(16) char number[16];
    int row = value ? row_to_put(a) : -1;
    if (row < 0)
        return put_any(a, -1, key, value, NULL);
    root_of(a)->version++;
    bool is_number = scalars_read(value, row, number);
    char *element = is_number ? access_find_element(queue_ready(a), key) : NULL;
    if (!element)
        return (is_array(key) ? put_vector : put_any)(a, row, key, value,
                                                      is_number ? number : NULL);
    memcpy(element, number, (size_t)dtype_itemsizes[row]);
    return 0;
}
