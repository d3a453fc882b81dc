/* reduction.h -- reductions, scans and searches along axes. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef reduction_methods[];
