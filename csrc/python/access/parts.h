#pragma once
/* parts.h -- the parts of a key: items of tuples, small integers, ends of slices.
 *
 * A call of Python's limited API for each of them takes longer than the rest of an index.  So
 * they are read from memory.  parts_load finds out where Python keeps them, and where it does
 * not find them, the calls are made.
 */
#include "python/base/types.h"

/* The integers from PARTS_LEAST on, which Python keeps one behind the other. */
#define PARTS_LEAST    (-5)
#define PARTS_INTEGERS 262
#define PARTS_DISTANCE 32 /* bytes from one integer to the next */
extern uintptr_t parts_least;
extern uintptr_t parts_span; /* bytes of these integers, or 0 */

extern size_t parts_items; /* offset of the items in a tuple, or 0 */
extern bool parts_has_slices;

struct parts_slice { /* PySliceObject */
    PyObject_HEAD PyObject *start, *stop, *step;
};

static inline PyObject *parts_item(PyObject *tuple, Py_ssize_t i)
{
    return parts_items ? ((PyObject **)((char *)tuple + parts_items))[i]
                       : PyTuple_GetItem(tuple, i);
}

/* Return whether an object is a small integer, and its value. */
static inline bool parts_small(PyObject *x, Py_ssize_t *value)
{
    uintptr_t offset = (uintptr_t)x - parts_least;
    *value = (Py_ssize_t)(offset / PARTS_DISTANCE) + PARTS_LEAST;
    return offset < parts_span;
}

/* Check whether a key is a slice without a step. */
static inline bool parts_is_run(PyObject *key)
{
    return PySlice_Check(key) && parts_has_slices &&
           ((const struct parts_slice *)key)->step == Py_None;
}

/* Read a slice with a step of one whose ends are small integers or None.  Return false for
 * others. */
static inline bool parts_slice(PyObject *slice, npy_intp length, Py_ssize_t *start,
                               Py_ssize_t *stop)
{
    const struct parts_slice *s = (const struct parts_slice *)slice;
    if (!parts_has_slices || s->step != Py_None)
        return false;
    *start = 0;
    *stop = length;
    if ((s->start != Py_None && !parts_small(s->start, start)) ||
        (s->stop != Py_None && !parts_small(s->stop, stop)))
        return false;
    *start += *start < 0 ? length : 0;
    *stop += *stop < 0 ? length : 0;
    *start = *start < 0 ? 0 : *start > length ? length : *start;
    *stop = *stop < *start ? *start : *stop > length ? length : *stop;
    return true;
}

void parts_load(void);
