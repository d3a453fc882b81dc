#pragma once
/* compiler.h -- calls the compiler of hot groups, which is written in Python: mxnp/_jit. */
#include "python/base/state.h"

extern PyMethodDef compiler_methods[];
