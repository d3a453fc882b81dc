/* door.h -- functions of packages that the program calls: see door.c. */
#pragma once
#include "python/base/types.h"

/* Methods of the module. */
extern PyMethodDef door_methods[];
