#pragma once
/* functions.h -- functions and methods of NumPy that are computed here for small arrays. */
#include "python/base/types.h"

/* Set what computes small arrays for a function, by a name.  Return whether there is one. */
bool functions_attach(struct function *f, const char *name);

/* Returns its argument if that is an array. */
direct_call functions_asarray;

int functions_load(void); /* -1 with an exception set */
