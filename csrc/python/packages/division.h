/* division.h -- compiled functions whose large calls are divided: see division.c. */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef division_methods[];
