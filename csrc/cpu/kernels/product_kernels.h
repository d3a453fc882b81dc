#pragma once
/* product_kernels.h -- products of small matrices, compiled for each instruction set.
 *
 * The tables mx_product_kernels_base, _v3 and _v4 are defined in product_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

/* Rows and columns of a matrix: BLAS takes less time for larger ones. */
#define MX_MOST_SIDE 8

struct mx_products {
    const char *a, *b;
    char *out;                        /* contiguous */
    intptr_t n, rows, inner, columns; /* n products of (rows, inner) and (inner, columns) */
    intptr_t a_step, b_step;          /* bytes from one matrix to the next */
    intptr_t a_row, a_column;         /* bytes from one row, or column, to the next */
    intptr_t b_row, b_column;
    int dtype;
};

/* Computes the products begin..end-1.  Each element is a sum in the order of the inner axis,
 * with one rounding for a product and its addition.  Returns whether all elements are finite.
 */
typedef bool mx_product_kernel(const struct mx_products *products, intptr_t begin,
                               intptr_t end);

struct mx_product_kernels {
    mx_product_kernel *float32, *float64; /* NULL: none */
};

#define TABLE(isa) extern const struct mx_product_kernels mx_product_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
