/* wrapper.c -- the memory of mxnp arrays, the Python objects around NumPy arrays. */
#include "python/record/wrapper.h"
#include "python/record/memory.h"

/* Arrays whose memory is reused.  Without them, a loop that makes and drops one array would
 * take a block from Python's allocator and return it each time.  That costs more than the
 * operation if the block is the only one of its arena.  The GIL guards them. */
#ifdef Py_GIL_DISABLED
#define MAX_SPARE 0
#else
#define MAX_SPARE 16
#endif
static struct array *spare[MAX_SPARE + 1];
static int n_spare;

PyObject *wrapper_new(PyObject *np_array)
{
    struct array *out;
    if (n_spare > 0) {
        out = spare[--n_spare];
        PyObject_Init((PyObject *)out, array_type);
    } else {
        out = (struct array *)PyType_GenericAlloc(array_type, 0);
    }
    if (!out) {
        Py_DECREF(np_array);
        return NULL;
    }
    out->np_array = memory_pool(np_array);
    out->is_exported = Py_REFCNT(out->np_array) > 1;
    if (out->np_array != np_array)
        memory_own((PyObject *)out);
    return (PyObject *)out;
}

void wrapper_free(PyObject *self)
{
    struct array *a = as_array(self);
    if (n_spare < MAX_SPARE && Py_TYPE(self) == array_type) {
        memset(&a->weakrefs, 0, sizeof *a - offsetof(struct array, weakrefs));
        spare[n_spare++] = a;
    } else {
        freefunc release = (freefunc)PyType_GetSlot(Py_TYPE(self), Py_tp_free);
        release(self);
    }
}
