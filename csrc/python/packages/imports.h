/* imports.h -- Python's import functions, with a hook for the imports of NumPy. */
#pragma once
#include "python/base/types.h"

/* Methods of the module. */
extern PyMethodDef imports_methods[];
