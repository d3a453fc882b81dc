/* iterators.h -- generators, coroutines and iterators that cross a door. */
#pragma once
#include "python/base/types.h"

enum direction { GIVEN, TAKEN, N_DIRECTIONS }; /* to a package, or from it */

/* Convert what an iterator, generator or coroutine yields and returns from now on.  Leave other
 * objects as they are.  Return 0, or -1 with an exception set. */
int iterator_mark(PyObject *x, enum direction direction);

/* Check for a class whose objects it does not leave as they are. */
bool iterator_is_markable(const PyTypeObject *class);

extern PyMethodDef iterators_methods[];
