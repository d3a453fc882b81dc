/* memory.h -- NumPy arrays over the memory of the core. */
#pragma once
#include "python/base/state.h"
#include "python/base/types.h"

/* Return a new reference to a numpy.ndarray over a buffer without memory, or NULL with an
 * exception set. */
PyObject *memory_new_array(int type, int ndim, const npy_intp *shape, const npy_intp *strides);

/* The same in C order, with memory that the caller fills. */
PyObject *memory_new_filled(int type, int ndim, const npy_intp *shape);

/* Return the buffer that a NumPy array without a base owns, or NULL if NumPy allocated its
 * memory. */
struct mx_buffer *memory_of(PyObject *np_array);

/* Note that NumPy will write the memory of an array that is blank. */
void memory_note_written(PyObject *a);

/* Note in the buffer that the mxnp array stands for its memory, or that it no longer does. */
void memory_own(PyObject *a);
void memory_disown(PyObject *a);

/* Steal a reference to a NumPy array.  Return it, or a copy of it in a buffer, which a device
 * can use.  It is copied if only the caller refers to it and a device is likely to compute with
 * it. */
PyObject *memory_pool(PyObject *np_array);

/* Raise NumPy's exception after the core failed to allocate memory. */
void memory_raise_error(void);

/* Stop lending the memory of a buffer; NULL passes through. */
static inline void memory_end_elision(struct mx_buffer *buffer)
{
    if (buffer)
        buffer->elision_owner = NULL;
}

int memory_load(void); /* -1 with an exception set */
