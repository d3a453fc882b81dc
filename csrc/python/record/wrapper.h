/* wrapper.h -- the memory of mxnp arrays, the Python objects around NumPy arrays. */
#pragma once
#include "python/base/types.h"

/* Arrays whose memory is reused.  Without them, a loop that makes and drops one array would
 * take a block from Python's allocator and return it each time.  That costs more than the
 * operation if the block is the only one of its arena.  The GIL guards them. */
#define MAX_SPARE 16
extern struct array *wrapper_spare[MAX_SPARE];
extern int wrapper_n_spare;

/* Return a new mxnp array around a NumPy array, whose reference it steals, or NULL with an
 * exception set. */
PyObject *wrapper_new(PyObject *np_array);

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
