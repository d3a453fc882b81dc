/* sorting.h -- sorts of large arrays, which run immediately, on all threads. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef sorting_methods[];
