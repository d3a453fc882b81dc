/* array.h -- the array object: operators, indexing, iteration, NumPy's protocols. */
#pragma once
#include "python/base/numpy.h"

extern PyType_Spec array_spec;

/* Copy the docstrings of attributes and the flag for pattern matching from NumPy's class.
 * Return 0, or -1 with an exception set. */
int array_load(PyObject *numpy_class);

/* Add the attributes that describe an array to array_type itself.  Return 0, or -1 with an
 * exception set. */
int array_own_attributes(void);

/* Look up NumPy's operators, once np_array_type is set. */
void array_load_slots(void);
