/* ffi.c -- the beginning of the generated source of the module mxnp._core. */
#include "base/base.h"
