/* callables.h -- functions, methods and attributes of compiled code, changed in place. */
#pragma once
#include "python/base/types.h"

/* Return 1; 0 if the structs of this Python are unknown, so nothing may be changed; or -1 with
 * an exception set. */
int callable_load(void);

/* Check whether x is a function or ufunc of compiled code, also inside a staticmethod or the
 * like. */
bool callable_is_function(PyObject *x);

/* Check whether x is the descriptor of a method. */
bool callable_is_method(PyObject *x);

/* Replace the vectorcall of a function, which is then never freed, and keep the one that it
 * had. Return 0, or -1 with an exception set. */
int callable_replace(PyObject *function, vector_call *call, vector_call replacement);
vector_call callable_original(PyObject *function);

/* Return where the call of a function is that has NumPy arrays in place of mxnp's, or NULL if
 * its class has no vectorcall.  A NULL there stands for the call slot of the class. */
vector_call *callable_innermost(PyObject *function);

/* Call the slot of a function's class with a tuple and a dict. */
PyObject *callable_call_packed(PyObject *function, PyObject *const *args, Py_ssize_t n,
                               PyObject *names);

/* Make a subtype of a type of descriptors, which Python declares final.  Return NULL with an
 * exception set. */
PyTypeObject *callable_derive(PyTypeObject *final, const char *name, PyType_Slot *own);

/* Check whether x may be the result of a decorator: a function written in Python, or one of
 * functools. */
bool callable_is_decorated(PyObject *x);

/* Each function makes compiled code receive NumPy arrays.  It leaves other objects unchanged.
 * It returns 0, or -1 with an exception set. */

/* Patch a function. */
int callable_patch(PyObject *function);

/* Patch the member that a type has under a name. */
int callable_patch_member(PyTypeObject *type, PyObject *name, PyObject *member);

/* Patch a type that makes its objects in a vectorcall. */
int callable_patch_class(PyTypeObject *type);
