/* frameless.h -- functions written in Python whose frames no traceback shows. */
#pragma once
#include "python/base/types.h"

extern PyType_Spec frameless_spec;
