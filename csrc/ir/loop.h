#pragma once
/* loop.h -- NumPy's inner loops, taken from the ufuncs that own them.
 *
 * A loop belongs to its ufunc and lives as long; NumPy's own ufuncs are never freed.
 */
#include "base/base.h"

/* Status; see mx_loop_find. */
int mx_loop_read(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types);
