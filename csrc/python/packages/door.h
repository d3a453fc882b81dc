/* door.h -- functions of packages that the program calls: see door.c. */
#pragma once
#include "python/base/types.h"

/* Check whether code of the program is running.  Return 1, 0, or -1 with an exception set. */
int door_is_program(void);

/* Methods of the module. */
extern PyMethodDef door_methods[];
