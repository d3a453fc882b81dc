/* conversion.h -- classes whose __array__ returns one of mxnp's arrays: see conversion.c. */
#pragma once
#include "python/bridge.h"

/* Methods of the module. */
extern PyMethodDef conversion_methods[];
