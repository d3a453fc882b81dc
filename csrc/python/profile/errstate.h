/* errstate.h -- the floating-point conditions of numpy.errstate. */
#pragma once
#include "python/profile/call_site.h"

/* Return the mask of the conditions that the program wants warnings of, in NumPy's numbers.
 * Return -1 if it wants more than warnings, which only NumPy supports, or if its filters may
 * turn them into errors.  Return -2 with an exception set. */
int errstate_mask(void);

/* Issue the warnings for the conditions that an operation met.  Return 0, or -1 with an
 * exception set. */
int errstate_warn(const struct call_site *site, int met, const char *name);

/* Report the conditions that a loop met, as NumPy does after its loop.  Return 0, or -1 if
 * NumPy turns one into an exception. */
int errstate_report(int met, const char *name);

int errstate_load(PyObject *numpy); /* -1 with an exception set */
