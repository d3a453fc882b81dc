/* hooks.h -- methods that report their calls: see hooks.c. */
#pragma once
#include "python/base/numpy.h"

extern PyType_Spec hook_spec;

/* Methods of the module. */
extern PyMethodDef hook_methods[];
