/* wrapper.c -- the memory of mxnp arrays, the Python objects around NumPy arrays. */
#include "python/record/wrapper.h"
#include "python/record/memory.h"

struct array *wrapper_spare[MAX_SPARE];
int wrapper_n_spare;

PyObject *wrapper_new(PyObject *np_array)
{
    struct array *out;
    if (wrapper_n_spare > 0) {
        out = wrapper_spare[--wrapper_n_spare];
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
