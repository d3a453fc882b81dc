/* filters.h -- whether the program's filters turn floating-point warnings into errors. */
#pragma once
#include "python/base/numpy.h"

/* Check whether a filter of the module `warnings` may turn a RuntimeWarning into an error.
 * Return 1, 0 or -1 with an exception set. */
int filters_raise(void);

int filters_load(void); /* -1 with an exception set */
