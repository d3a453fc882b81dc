/* patching.h -- compiled functions of other packages receive NumPy arrays: see patching.c. */
#pragma once
#include "python/base/numpy.h"

int patching_load(void); /* -1 with an exception set */

/* Methods of the module. */
extern PyMethodDef patching_methods[];
