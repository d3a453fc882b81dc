/* callables.h -- functions, methods and attributes of compiled code, changed in place. */
#pragma once
#include "python/base/numpy.h"

/* 1; 0: this Python's structs are not known, and nothing may be changed; -1 with an exception
 * set. */
int callables_load(void);

/* Whether it is a function of compiled code, also one in a staticmethod or its like. */
bool callable_is_function(PyObject *x);

/* Each lets compiled code get NumPy's arrays: a function; what a type has under a name; a type
 * that makes its objects at a vectorcall.  Others are left alone.  0, or -1 with an exception
 * set. */
int callable_patch(PyObject *function);
int callable_patch_member(PyTypeObject *type, PyObject *name, PyObject *member);
int callable_patch_class(PyTypeObject *type);
