#pragma once
/* scalars.h -- values of numbers of Python and of NumPy, without NumPy's conversions. */
#include "python/base/dtypes.h"
#include "python/base/types.h"

/* Return a new NumPy scalar of the dtype `row`, or NULL with an exception set.  The value need
 * not be aligned. */
PyObject *scalars_new(int row, const char *value);

/* Return the row of a NumPy scalar, or -1. */
int scalars_row(PyObject *x);

/* Read a number as a value of the dtype `row`: one of the same dtype, or one of Python's that
 * has an exact meaning there.  Return false if that is not the case. */
bool scalars_read(PyObject *x, int row, char *value);

int scalars_load(void); /* -1 with an exception set */
