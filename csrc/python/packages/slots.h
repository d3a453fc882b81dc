/* slots.h -- slots of types, changed in place. */
#pragma once
#include "python/base/numpy.h"

/* Each function makes compiled code receive NumPy arrays.  It returns 0, or -1 with an
 * exception set. */

/* Patch a slot, by the name of its descriptor in the type's dict. */
int slot_patch(PyTypeObject *type, PyObject *name, PyObject *descriptor);

/* Patch the function that makes objects. */
int slot_patch_new(PyTypeObject *type);

/* Replace a function in the slots of a type and of its subclasses, which have copies. */
int slot_replace(PyTypeObject *class, void *original, void *replacement);

/* Patch the function that calls objects; it cannot fail. */
void slot_patch_call(PyTypeObject *type);

/* Set the slots of the array class that Python would derive from methods in another way than
 * NumPy's class has them. */
void slots_set_sequence(void);
