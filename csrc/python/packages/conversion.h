/* conversion.h -- classes that return mxnp arrays or derive from them: see conversion.c. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef conversion_methods[];
