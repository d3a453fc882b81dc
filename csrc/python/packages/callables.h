/* callables.h -- functions, methods and attributes of compiled code, changed in place. */
#pragma once
#include "python/base/numpy.h"

/* Return 1; 0 if the structs of this Python are unknown, so nothing may be changed; or -1 with
 * an exception set. */
int callable_load(void);

/* Check whether x is a function of compiled code, also inside a staticmethod or the like. */
bool callable_is_function(PyObject *x);

/* Each function makes compiled code receive NumPy arrays.  It leaves other objects unchanged.
 * It returns 0, or -1 with an exception set. */

/* Patch a function. */
int callable_patch(PyObject *function);

/* Patch the member that a type has under a name. */
int callable_patch_member(PyTypeObject *type, PyObject *name, PyObject *member);

/* Patch a type that makes its objects in a vectorcall. */
int callable_patch_class(PyTypeObject *type);
