#pragma once
/* functions.h -- functions and methods of NumPy that are computed here for small arrays. */
#include "python/base/types.h"

/* Return the implementation with a name, or NULL.  *takes_axis is set if the keyword `axis` may
 * follow the first argument. */
direct_call *functions_find(const char *name, bool *takes_axis);

/* Returns its argument if that is an array. */
direct_call functions_asarray;

int functions_load(void); /* -1 with an exception set */
