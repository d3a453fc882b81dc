/* operators.h -- operators of NumPy's own arrays, counted while a report is active. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef operators_methods[];
