#pragma once
/* factoring_kernels.h -- determinants, inverses and solutions of small matrices of float64,
 * compiled for each instruction set.
 *
 * The tables mx_factoring_kernels_base, _v3 and _v4 are defined in factoring_kernels.c.
 */
#include "cpu/kernels/isa.h"

#define MX_MOST_FACTORED 4 /* rows of a matrix: LAPACK orders sums of larger ones otherwise */

enum mx_factoring_operation {
    MX_FACTORING_DETERMINANT,
    MX_FACTORING_INVERSE,
    MX_FACTORING_SOLUTION,
    MX_FACTORING_COUNT
};

/* n square matrices; strides are bytes from one matrix, row or column to the next.  A solution
 * has one column. */
struct mx_factoring {
    enum mx_factoring_operation operation;
    int side;
    intptr_t n;
    const char *a, *b; /* b is the right-hand side of a solution */
    intptr_t a_step, a_row, a_column, b_step, b_row;
    double *out; /* contiguous */
};

/* How LAPACK rounds: with one rounding for a product and its subtraction, or with two. */
struct mx_factoring_rounding {
    bool factors_fused, forward_fused, back_fused;
    bool
        last_apart; /* the last unknown is subtracted with two, the others as back_fused says */
};

/* Computes the matrices begin..end-1.  Returns whether LAPACK takes the same steps: no pivot is
 * tiny, and all results are finite. */
typedef bool mx_factoring_kernel(const struct mx_factoring *linear,
                                 struct mx_factoring_rounding rounding, intptr_t begin,
                                 intptr_t end);

struct mx_factoring_kernels {
    mx_factoring_kernel *compute;
};

#define TABLE(isa) extern const struct mx_factoring_kernels mx_factoring_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
