/* launch.h -- kernels that a program passes to the core as text. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef launch_methods[];
