/* take.c -- a[key]: small arrays are read immediately, elements of large ones are selected by a
 * recorded operation, and NumPy does the rest. */
#include "python/access/take.h"
#include "python/access/access.h"
#include "python/access/indexing.h"
#include "python/access/selection.h"
#include "python/access/vectors.h"
#include "python/convert/convert.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/record/prepare.h"

/* -- Immediately ------------------------------------------------------------------- */

/* Return the row of the dtype of an array that is read immediately, or -1. */
static inline int row_to_take(PyObject *a)
{
    if (profile_is_on || is_standard(a) || !queue_is_free(a))
        return -1;
    const PyArrayObject *np_array = queue_ready(a);
    return recycle_is_plain(np_array) ? recycle_row(PyArray_DESCR(np_array)) : -1;
}

/* Return 1, 0 if the elements are not taken immediately, or -1 with an exception set. */
static int take_now(PyObject *a, int row, const struct access *access, PyObject **item)
{
    if (access->kind > ACCESS_VIEW)
        return 0;
    *item = access->kind == ACCESS_ELEMENT ? scalars_new(row, access->view.data)
                                           : recycle_view(a, &access->view);
    return *item ? 1 : -1;
}

/* -- Recorded ---------------------------------------------------------------------- */

/* Return 1, 0 if NumPy has to take the elements, or -1 with an exception set. */
static int take_recorded(PyObject *a, const struct access *access, PyObject **item)
{
    if (!access_selects(access))
        return 0;
    int status = access->kind == ACCESS_MASK ? selection_take(a, access->key, item) : 0;
    if (status == 0 && access_may_record(access, a, queue_writes(a)))
        status = indexing_take(a, access, item);
    return status;
}

/* -- By NumPy ---------------------------------------------------------------------- */

/* Steal a reference to an element of a structured dtype.  It refers to the memory of the array,
 * so the program may read and write that memory at any time. */
static PyObject *lend_element(PyObject *a, PyObject *element)
{
    if (prepare_operands(a, NULL) < 0) {
        Py_DECREF(element);
        return NULL;
    }
    queue_export(a);
    return element;
}

/* Steal a reference to an item.  Return an array if it is a view of `a` or a copy, and an
 * element unchanged. */
static PyObject *adopt_item(PyObject *a, PyObject *item)
{
    struct call_args call_args = {.n = 1, .arrays = {a}};
    if (!item || Py_TYPE(item) != np_array_type)
        return item && PyArray_IsScalar(item, Void) ? lend_element(a, item) : item;
    return convert_adopt_array(item, &call_args);
}

/* Steal a reference to an item.  Return an array of the standard if `a` is one. */
static PyObject *keep_standard(PyObject *a, PyObject *item)
{
    return is_standard(a) ? convert_standard(item, 0) : item;
}

/* Return a new reference to NumPy's item.  A view needs only allocated memory, not computed
 * elements. */
static PyObject *find_item(PyObject *a, PyObject *index, bool is_basic)
{
    PyObject *np_array;
    if (queue_writes(a) && is_basic) {
        np_array = queue_to_view(a);
        PyObject *item = np_array ? PyObject_GetItem(np_array, index) : NULL;
        if (!item || !queue_writes(a) || access_is_view(item, a))
            return item;
        Py_DECREF(item);
    }
    if (!(np_array = queue_to_read(a)))
        return NULL;
    span_note_numpy();
    return PyObject_GetItem(np_array, index);
}

static PyObject *take_held(PyObject *a, PyObject *index, bool is_basic)
{
    call_args_hold(a);
    PyObject *item = find_item(a, index, is_basic);
    call_args_release(a);
    return item;
}

/* Take an item by a key that may contain arrays.  This function is separate because a `struct
 * call_args` is large: objects whose __index__ takes items may recurse as deeply as with
 * NumPy's arrays. */
__attribute__((noinline)) static PyObject *take_unwrapped(PyObject *a, PyObject *key)
{
    struct call_args call_args;
    call_args_begin(&call_args);
    PyObject *index = convert_unwrap(key, &call_args, 1), *item = NULL;
    if (index && convert_prepare(&call_args, true) == 0)
        item = take_held(a, index, false);
    Py_XDECREF(index);
    item = adopt_item(a, item);
    call_args_end(&call_args);
    queue_after_write();
    return item;
}

static PyObject *take_by_numpy(PyObject *a, const struct access *access)
{
    bool is_basic = access_is_basic(access);
    if (!is_basic && (access->is_tuple || access_has(access, ITEM_ARRAY)))
        return take_unwrapped(a, access->key);
    return adopt_item(a, take_held(a, access->key, is_basic));
}

/* -- Keys -------------------------------------------------------------------------- */

__attribute__((noinline)) static PyObject *take_slowly(PyObject *a, const struct access *access)
{
    PyObject *item;
    int status = take_recorded(a, access, &item);
    if (status < 0)
        return NULL;
    if (status == 0)
        item = take_by_numpy(a, access);
    return keep_standard(a, item);
}

/* End the span of an item.  Only copies count, not views or the IndexError that ends a loop. */
static PyObject *end_item(struct span *span, PyObject *key, PyObject *item)
{
    if (span->is_on && (!item || (is_array(item) && as_array(item)->base)))
        span->is_numpys = false;
    return span_end(span, item, key, item);
}

/* Take an item by an integer or the name of a field, when nothing waits for the array. */
__attribute__((noinline)) static PyObject *take_simple(PyObject *a, PyObject *key)
{
    PyObject *item = adopt_item(a, take_held(a, key, false));
    return keep_standard(a, item);
}

/* Take elements by a key other than plain integers.  This function is separate because it needs
 * many registers, which take time to save. */
__attribute__((noinline)) static PyObject *take_any(PyObject *a, int row, PyObject *key)
{
    struct access access;
    struct span span;
    PyObject *item = NULL;
    bool is_simple = PyLong_CheckExact(key) || PyUnicode_CheckExact(key);
    if (row < 0 && is_simple && !profile_is_on && !queue_writes(a))
        return take_simple(a, key);
    access_read(&access, a, key, row >= 0);
    if (row >= 0 && take_now(a, row, &access, &item) != 0)
        return item;
    span_begin(&span, SPAN_ELEMENT, "getitem");
    return end_item(&span, key, take_slowly(a, &access));
}

/* Take the elements that one array selects. */
__attribute__((noinline)) static PyObject *take_vector(PyObject *a, int row, PyObject *key)
{
    PyArrayObject *vector = access_vector(key);
    PyObject *item = NULL;
    if (vector && vectors_take(queue_ready(a), row, vector, &item) != 0)
        return item;
    return take_any(a, row, key);
}

PyObject *take_by_key(PyObject *a, PyObject *key)
{
    int row = row_to_take(a);
    const char *element = row < 0 ? NULL : access_find_element(queue_ready(a), key);
    if (element)
        return scalars_new(row, element);
    return row >= 0 && is_array(key) ? take_vector(a, row, key) : take_any(a, row, key);
}

/* -- Iteration --------------------------------------------------------------------- */

/* Return an element of a vector, a view of another array, or NULL with an exception set. */
static PyObject *take_row_now(PyObject *a, int row, Py_ssize_t i)
{
    struct view view;
    PyArrayObject *np_array = queue_ready(a);
    int ndim = PyArray_NDIM(np_array);
    if (i >= PyArray_DIM(np_array, 0))
        return PyErr_Format(PyExc_IndexError,
                            "index %zd is out of bounds for axis 0 with size %zd", i,
                            PyArray_DIM(np_array, 0));
    view.data = PyArray_BYTES(np_array) + i * PyArray_STRIDE(np_array, 0);
    view.ndim = ndim - 1;
    for (int axis = 1; axis < ndim; axis++) {
        view.shape[axis - 1] = PyArray_DIM(np_array, axis);
        view.strides[axis - 1] = PyArray_STRIDE(np_array, axis);
    }
    return ndim == 1 ? scalars_new(row, view.data) : recycle_view(a, &view);
}

static PyObject *take_row(PyObject *a, Py_ssize_t i)
{
    bool is_row = PyArray_NDIM(np_array_of(a)) > 1;
    PyObject *np_array = is_row ? queue_to_view(a) : queue_to_read(a);
    if (!np_array)
        return NULL;
    span_note_numpy();
    PyObject *item = adopt_item(a, PySequence_GetItem(np_array, i));
    return keep_standard(a, item);
}

PyObject *take_by_position(PyObject *a, Py_ssize_t i)
{
    int row = row_to_take(a), ndim = PyArray_NDIM(np_array_of(a));
    if (row >= 0 && ndim > 0 && ndim <= DIRECT_NDIM && i >= 0)
        return take_row_now(a, row, i);
    struct span span;
    span_begin(&span, SPAN_ELEMENT, "getitem");
    return end_item(&span, NULL, take_row(a, i));
}
