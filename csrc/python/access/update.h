/* update.h -- assignments and updates of the elements that a key with arrays selects. */
#pragma once
#include "python/access/access.h"

/* Record a[key] = value for a key that access_may_record().  Return 1, 0 if NumPy has to
 * assign, or -1 with an exception set. */
int update_assign(PyObject *a, const struct access *access, PyObject *value);

/* Methods of the module. */
extern PyMethodDef update_methods[];
