/* launch.h -- kernels whose text the program provides. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef launch_methods[];
