#pragma once
/* products.h -- products of stacks of small matrices, with the bits of BLAS. */
#include "cpu/kernels/product_kernels.h"
#include "ir/loop.h"

/* Returns whether the processor has a kernel for these matrices whose results have the bits of
 * NumPy's loop.  The first call for a shape compares them.  No two threads call it at a time.
 */
bool mx_products_can(const struct mx_products *products, const struct mx_loop *numpys);

/* Computes the products on the threads of the pool, of which few products get one.  Returns
 * false if an element is not finite or a floating-point condition was met: NaN may have other
 * bits than NumPy's, which also warns of infinities that BLAS multiplies by zeros of its own.
 */
bool mx_products_compute(const struct mx_products *products);

/* Returns whether the products take so long that other threads should not wait for them. */
bool mx_products_are_long(const struct mx_products *products);
