#pragma once
/* agreement.h -- comparison of the bits of two loops on this machine. */
#include "base/base.h"

/* Calls two loops of one or two float64 inputs and a float64 output with some thousand numbers.
 * Returns whether all results are equal; all NaN are equal.  No condition is left. */
bool mx_agreement_holds(const struct mx_loop *a, const struct mx_loop *b, int nin);
