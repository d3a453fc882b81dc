/* attributes.h -- attributes that the program sets on objects of packages. */
#pragma once
#include "python/base/types.h"

extern PyMethodDef attributes_methods[];
