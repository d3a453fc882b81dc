/* access.h -- the one reading of a key.
 *
 * a[key], a[key] = value, ufunc.at and a.at[key] read the key once, and then decide by its kind
 * whether they compute the elements immediately, record an operation or call NumPy.
 */
#pragma once
#include "ir/instruction.h"
#include "python/access/parts.h"
#include "python/direct/arrays.h"
#include "python/record/queue.h"

enum access_item {
    ITEM_NEW_AXIS, /* None */
    ITEM_ELLIPSIS,
    ITEM_SLICE,   /* whose ends are None or integers */
    ITEM_INTEGER, /* whose value is found without code of the program */
    ITEM_ARRAY,   /* an array or a list: indices, or a mask */
    ITEM_COPIED,  /* a bool, a tuple or an array of a subclass, for which NumPy copies elements
                   */
    ITEM_OTHER    /* NumPy may run code of the program to read it */
};

/* The most items of a key that is not left to NumPy: one for each axis of the array and of the
 * result, and an Ellipsis. */
#define ACCESS_ITEMS (2 * MX_MAX_NDIM + 1)

enum access_kind {
    ACCESS_ELEMENT, /* integers, of an array whose elements are read immediately */
    ACCESS_VIEW,    /* integers, slices, None and an Ellipsis, of such an array */
    ACCESS_BASIC,   /* the same, but NumPy finds the view or raises an error */
    ACCESS_MASK,    /* one array of bools */
    ACCESS_GATHER,  /* arrays or lists, besides the items of a view */
    ACCESS_NUMPY    /* a key that only NumPy reads */
};

struct access {
    enum access_kind kind;
    PyObject *key; /* borrowed */
    bool is_tuple;
    unsigned found;    /* a bit for each enum access_item */
    Py_ssize_t n;      /* items; those from ACCESS_ITEMS on share a place */
    Py_ssize_t n_axes; /* that the items index, without an Ellipsis */
    unsigned char items[ACCESS_ITEMS + 1];
    struct view view; /* of an ELEMENT or a VIEW */
};

/* Read a key of `a`.  If `is_ready`, nothing waits for `a`, and its elements may be found. This
 * runs no code of the program. */
void access_read(struct access *access, PyObject *a, PyObject *key, bool is_ready);

/* Check whether a key has integers, slices, None and Ellipsis only: it selects a view, and may
 * be read twice. */
static inline bool access_is_basic(const struct access *access)
{
    return access->kind <= ACCESS_BASIC;
}

static inline PyObject *access_item(const struct access *access, Py_ssize_t i)
{
    return access->is_tuple ? parts_item(access->key, i) : access->key;
}

/* Check whether a key has items of one kind. */
static inline bool access_has(const struct access *access, enum access_item item)
{
    return (access->found >> item & 1) != 0;
}

/* Check whether a key copies elements, because it contains arrays, lists or bools. */
static inline bool access_copies(const struct access *access)
{
    return access_has(access, ITEM_ARRAY) || access_has(access, ITEM_COPIED);
}

/* Check whether arrays of a key select elements that may be recorded. */
static inline bool access_selects(const struct access *access)
{
    return access->kind == ACCESS_MASK || access->kind == ACCESS_GATHER;
}

/* Check cheaply whether these elements may be so many that the operation is recorded, or
 * whether something waits: an array of the key or, according to the caller, `a`. */
bool access_may_record(const struct access *access, PyObject *a, bool is_waiting);

/* Return a borrowed reference to the NumPy array of a mask in a key, or NULL for another item.
 */
static inline const PyArrayObject *access_mask(PyObject *item)
{
    const PyArrayObject *np_array = np_array_in(item);
    return np_array && PyArray_TYPE(np_array) == NPY_BOOL ? np_array : NULL;
}

/* Return the number of axes that an array in a key indexes. */
static inline int access_axes(PyObject *item)
{
    const PyArrayObject *mask = access_mask(item);
    return mask ? PyArray_NDIM(mask) : 1;
}

/* Return the NumPy array of a key that is one array, which is computed, or NULL. */
static inline PyArrayObject *access_vector(PyObject *key)
{
    return is_array(key) && queue_is_free(key) ? queue_ready(key) : NULL;
}

/* Check whether NumPy's item of an array is a view of it. */
bool access_is_view(PyObject *item, PyObject *a);

/* Return the position of an integer on an axis of `length`, or -1 if NumPy has to read the key.
 */
static inline Py_ssize_t access_position(PyObject *integer, npy_intp length)
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

/* Return the address of the element that a key of plain integers selects, or NULL.  It is the
 * start of access_read() for the keys that have to be fastest. */
static inline char *access_find_element(PyArrayObject *np_array, PyObject *key)
{
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    int ndim = PyArray_NDIM(np_array);
    bool is_tuple = PyTuple_CheckExact(key);
    char *data = PyArray_BYTES(np_array);
    if (ndim == 0 || ndim != (is_tuple ? Py_SIZE(key) : 1))
        return NULL;
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *integer = is_tuple ? parts_item(key, axis) : key;
        Py_ssize_t i = PyLong_CheckExact(integer) ? access_position(integer, shape[axis]) : -1;
        if (i < 0)
            return NULL;
        data += i * strides[axis];
    }
    return data;
}
