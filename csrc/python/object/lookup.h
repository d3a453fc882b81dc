/* lookup.h -- the __getattr__ of a mirrored module. */
#pragma once
#include "python/base/numpy.h"

extern PyType_Spec lookup_spec;
