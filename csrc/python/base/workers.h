/* workers.h -- threads of Python that wait for calls. */
#pragma once
#include "python/base/numpy.h"

extern PyMethodDef workers_methods[];
