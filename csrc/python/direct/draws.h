/* draws.h -- random numbers, which threads draw from NumPy's bit generators. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef draws_methods[];
