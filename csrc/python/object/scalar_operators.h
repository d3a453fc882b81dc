#pragma once
/* scalar_operators.h -- operators between a NumPy scalar on the left and an mxnp array. */

/* Let the scalar types of NumPy call the operator of an mxnp array on the right directly. */
void scalar_operators_load(void);
