/* boundary.h -- compiled functions of other packages receive NumPy arrays: see boundary.c. */
#pragma once
#include "python/base/numpy.h"

int boundary_load(void); /* -1 with an exception set */

/* Methods of the module. */
extern PyMethodDef boundary_methods[];
