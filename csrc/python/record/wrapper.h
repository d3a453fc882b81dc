/* wrapper.h -- the memory of mxnp arrays, the Python objects around NumPy arrays.
 *
 * Both functions are inline, because each operation on a small array makes and frees one.
 */
#pragma once
#include "python/record/memory.h"

/* Arrays whose memory is reused.  Without them, a loop that makes and drops one array would
 * take a block from Python's allocator and return it each time.  That costs more than the
 * operation if the block is the only one of its arena.  The GIL guards them. */
#define MAX_SPARE 80
extern struct array *wrapper_spare[MAX_SPARE];
extern int wrapper_n_spare;

/* Return a new mxnp array around a small NumPy array that only the caller refers to, or NULL
 * with an exception set.  The reference is stolen. */
static inline PyObject *wrapper_new_small(PyObject *np_array)
{
    struct array *out;
    if (wrapper_n_spare > 0) {
        out = wrapper_spare[--wrapper_n_spare];
        PyObject_Init((PyObject *)out, array_type);
    } else {
        out = (struct array *)PyType_GenericAlloc(array_type, 0);
        /* The collector cannot look into an array, and array_dealloc expects this. */
        if (out && PyObject_GC_IsTracked((PyObject *)out))
            PyObject_GC_UnTrack(out);
    }
    if (out)
        out->unprepared = np_array;
    else
        Py_DECREF(np_array);
    return (PyObject *)out;
}

/* The same for any NumPy array. */
static inline PyObject *wrapper_new(PyObject *np_array)
{
    PyObject *pooled = memory_pool(np_array), *out = wrapper_new_small(pooled);
    if (!out)
        return NULL;
    as_array(out)->is_exported = Py_REFCNT(pooled) > 1;
    if (pooled != np_array)
        memory_own(out);
    return out;
}

/* Free the memory of an array whose references are gone.  It is inline for the speed of views.
 */
static inline void wrapper_free(PyObject *self)
{
    struct array *a = as_array(self);
    if (wrapper_n_spare < MAX_SPARE && Py_TYPE(self) == array_type) {
        memset(&a->weakrefs, 0, sizeof *a - offsetof(struct array, weakrefs));
        wrapper_spare[wrapper_n_spare++] = a;
    } else {
        freefunc release = (freefunc)PyType_GetSlot(Py_TYPE(self), Py_tp_free);
        release(self);
    }
}

/* Return the memory that is kept for new arrays to Python. */
void wrapper_clear(void);
