/* slots.h -- what Python calls types through, changed in place. */
#pragma once
#include "python/base/numpy.h"

/* Each lets what a type is called through get NumPy's arrays: a slot, by the name of its
 * descriptor in the type's dict; the making of objects; the call of objects.  0, or -1 with an
 * exception set. */
int slot_patch(PyTypeObject *type, PyObject *name, PyObject *descriptor);
int slot_patch_new(PyTypeObject *type);
void slot_patch_call(PyTypeObject *type);
