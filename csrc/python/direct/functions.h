#pragma once
/* functions.h -- functions and methods of NumPy that are computed here for small arrays. */
#include "python/base/types.h"

/* The implementation for a function or method of NumPy's, or NULL. */
direct_call *functions_find(PyObject *wrapped);

int functions_load(PyObject *numpy); /* -1 with an exception set */
