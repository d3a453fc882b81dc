/* conversion.h -- classes whose __array__ returns an mxnp array: see conversion.c. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef conversion_methods[];
