#pragma once
/* shuffles.h -- exchanges of elements at random, in NumPy's order. */
#include "draws/draws.h"

/* Exchanges each element of `out`, from the last one down to the one at integers[0], with
 * itself or an element before it.  An element has integers[1] bytes, and integers[2] says
 * whether a place is the lower bits of a number, or drawn by Lemire's method.  Returns whether
 * it did. */
bool mx_shuffle(struct mx_draws *draws);
