/* unbound.h -- members of an array class, called with arrays of the other one: see unbound.c.
 */
#pragma once
#include "python/base/numpy.h"

/* Let the members of both array classes accept arrays of both.  Return 0, or -1 with an
 * exception set. */
int unbound_patch(void);
