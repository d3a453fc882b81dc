/* memory.h -- NumPy arrays over the memory of the core. */
#pragma once
#include "python/base/state.h"
#include "python/base/types.h"

/* Return a new reference to a numpy.ndarray over a buffer without memory, or NULL with an
 * exception set. */
PyObject *memory_new_array(int type, int ndim, const npy_intp *shape, const npy_intp *strides);

/* The same over a buffer that may have memory, whose reference is stolen. */
PyObject *memory_new_over(struct mx_buffer *buffer, int type, int ndim, const npy_intp *shape,
                          const npy_intp *strides);

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

/* Move the memory of an array without a base into a buffer, unless it is in one or other code
 * knows it.  Return the buffer, or NULL. */
struct mx_buffer *memory_adopt(struct array *a);

/* Check whether other code uses the memory of an array on the GPU: see device_export.h. */
static inline bool memory_is_lent(PyObject *a)
{
    struct array *root = root_of(a);
    if (root->is_lent) {
        const struct mx_buffer *buffer = memory_of(root->unprepared);
        root->is_lent = buffer && mx_coherence_is_lent(buffer);
    }
    return root->is_lent;
}

/* Raise NumPy's exception after the core failed to allocate memory. */
void memory_raise_error(void);

/* Stop lending the memory of a buffer; NULL passes through. */
static inline void memory_end_elision(struct mx_buffer *buffer)
{
    if (buffer)
        buffer->elision_owner = NULL;
}

int memory_load(void); /* -1 with an exception set */
