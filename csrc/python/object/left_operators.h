#pragma once
/* left_operators.h -- operators between a NumPy scalar or array on the left and an mxnp array.
 */

/* Let scalars and arrays of NumPy call the operator of an mxnp array on the right directly. */
void left_operators_load(void);
