#pragma once
/* loop.h -- finds NumPy's inner loops in the ufuncs that own them.
 *
 * A loop lives as long as its ufunc; NumPy's ufuncs are never freed.
 */
#include "base/base.h"

/* Implements mx_loop_find of mxnp.h, which also declares mx_loop_try.  Returns a status. */
int mx_loop_read(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types);
