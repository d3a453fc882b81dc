#pragma once
/* products.h -- products of stacks of small matrices, with the bits of BLAS. */
#include "cpu/kernels/product_kernels.h"
#include "ir/loop.h"

/* Returns whether the processor has a kernel for these matrices whose results have the bits of
 * NumPy's loop.  The first call for a shape compares them.  No two threads call it at a time.
 */
bool mx_products_can(const struct mx_products *products, const struct mx_loop *numpys);

/* Computes the products on the threads of the pool, of which few products get one.  NumPy's
 * loop computes the chunks that have an element that is not finite.  Returns false if NumPy has
 * to warn of a floating-point condition. */
bool mx_products_compute(const struct mx_products *products, const struct mx_loop *numpys);

/* Returns whether the products take so long that other threads should not wait for them. */
bool mx_products_are_long(const struct mx_products *products);
