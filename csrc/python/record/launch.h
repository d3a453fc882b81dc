/* launch.h -- kernels that a program passes to metal_kernel. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef launch_methods[];
