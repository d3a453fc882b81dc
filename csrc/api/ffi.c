/* ffi.c -- what the generated module mxnp._core begins with. */
#include "base/base.h"
