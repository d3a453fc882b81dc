#pragma once
/* factoring.h -- determinants, inverses and solutions of stacks of small matrices, with the
 * bits of LAPACK. */
#include "cpu/kernels/factoring_kernels.h"
#include "ir/loop.h"

/* Returns whether the results have the bits of NumPy's loop.  The first call for an operation
 * and a side compares them.  No two threads call it at a time. */
bool mx_factoring_can(const struct mx_factoring *linear, const struct mx_loop *numpys);

/* Computes the results on the threads of the pool, of which few matrices get one.  Returns
 * false if NumPy has to: a matrix is singular or nearly, a result is not finite, or a
 * floating-point condition was met. */
bool mx_factoring_compute(const struct mx_factoring *linear);

/* Returns whether this takes so long that other threads should not wait for it. */
bool mx_factoring_is_long(const struct mx_factoring *linear);
