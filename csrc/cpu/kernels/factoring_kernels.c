/* factoring_kernels.c -- factors small matrices as OpenBLAS's LAPACK does.
 *
 * A block of matrices is computed together: element (i, j) of each is in one row of LANES
 * numbers, and each step of the elimination is one loop over a row.
 */
#include "cpu/kernels/factoring_kernels.h"

#include <float.h>
#include <math.h>

#define LANES 8
#define SIDE  MX_MOST_FACTORED
#define EACH  for (int l = 0; l < LANES; l++)

typedef double lanes[LANES];

struct block {
    lanes a[SIDE][SIDE]; /* the matrices, then their factors */
    lanes x[SIDE][SIDE]; /* by column: right-hand sides, then solutions */
    int64_t pivots[SIDE][LANES];
};

/* Sets z - x y. */
static inline void subtract(const double *restrict x, const double *restrict y,
                            double *restrict z, bool is_fused)
{
    if (is_fused)
        EACH z[l] = fma(-x[l], y[l], z[l]);
    else
        EACH z[l] = z[l] - x[l] * y[l];
}

/* Exchanges two rows where the pivot is the second one. */
static inline void exchange_numbers(double *restrict first, double *restrict second, int row,
                                    const int64_t *restrict pivots)
{
    EACH
    {
        bool is_pivot = pivots[l] == row;
        double x = first[l], y = second[l];
        first[l] = is_pivot ? y : x;
        second[l] = is_pivot ? x : y;
    }
}

static inline void exchange_rows(lanes *column, const struct block *block, int row, int n)
{
    for (int i = row + 1; i < n; i++)
        exchange_numbers(column[row], column[i], i, block->pivots[row]);
}

/* Sets z - (x[0] y[0] + ... + x[n-1] y[n-1]).  The sum begins with the first product. */
static inline void subtract_sum(lanes *x, double *const *y, double *z, int n, bool is_fused)
{
    lanes sum;
    if (n == 0)
        return;
    EACH sum[l] = 0.0 + x[0][l] * y[0][l]; /* never -0 */
    for (int k = 1; k < n; k++)
        if (is_fused)
            EACH sum[l] = fma(x[k][l], y[k][l], sum[l]);
        else
            EACH sum[l] = sum[l] + x[k][l] * y[k][l];
    EACH z[l] = z[l] - sum[l];
}

/* Finds the pivot of column j, the first number that is farthest from 0. */
static inline void find_pivot(struct block *block, int j, int n)
{
    lanes most;
    EACH most[l] = fabs(block->a[j][j][l]);
    EACH block->pivots[j][l] = j;
    for (int i = j + 1; i < n; i++)
        EACH
        {
            double size = fabs(block->a[i][j][l]);
            bool is_more = size > most[l];
            most[l] = is_more ? size : most[l];
            block->pivots[j][l] = is_more ? i : block->pivots[j][l];
        }
}

/* Factors the matrices, column by column, as LAPACK's getf2.  Returns whether a pivot is tiny
 * or not finite. */
static inline __attribute__((always_inline)) bool factor(struct block *block, int n,
                                                         bool is_fused)
{
    double least = DBL_MAX, most = 0.0;
    for (int j = 0; j < n; j++) {
        double *column[SIDE];
        for (int i = 0; i < n; i++)
            column[i] = block->a[i][j];
        for (int k = 0; k < j; k++)
            for (int i = k + 1; i < n; i++)
                exchange_numbers(column[k], column[i], i, block->pivots[k]);
        for (int i = 1; i < n; i++)
            subtract_sum(block->a[i], column, column[i], i < j ? i : j, is_fused);
        find_pivot(block, j, n);
        for (int k = 0; k <= j; k++)
            for (int i = j + 1; i < n; i++)
                exchange_numbers(block->a[j][k], block->a[i][k], i, block->pivots[j]);
        lanes reciprocal;
        EACH reciprocal[l] = 1.0 / block->a[j][j][l];
        for (int i = j + 1; i < n; i++)
            EACH block->a[i][j][l] *= reciprocal[l];
        for (int l = 0; l < LANES; l++) {
            double size = fabs(block->a[j][j][l]);
            least = size < least ? size : least;
            most = size <= most ? most : size; /* NaN, too */
        }
    }
    return !(least >= DBL_MIN && most <= DBL_MAX);
}

/* Solves for one column.  The factor below the diagonal has ones on it. */
static inline __attribute__((always_inline)) void
substitute(struct block *block, lanes *x, int n, bool is_inverse,
           struct mx_factoring_rounding rounding)
{
    for (int k = 0; k < n; k++)
        exchange_rows(x, block, k, n);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            subtract(block->a[k][i], x[i], x[k], rounding.forward_fused);
    for (int i = n - 1; i >= 0; i--) {
        if (is_inverse) /* the triangular solver of several columns inverts the diagonal */
            EACH x[i][l] = x[i][l] * (1.0 / block->a[i][i][l]);
        else
            EACH x[i][l] = x[i][l] / block->a[i][i][l];
        bool is_fused = rounding.back_fused && !(rounding.last_apart && i == n - 1);
        for (int k = 0; k < i; k++)
            subtract(block->a[k][i], x[i], x[k], is_fused);
    }
}

static inline void load_block(struct block *block, const struct mx_factoring *p, intptr_t begin,
                              intptr_t end)
{
    for (int l = 0; l < LANES; l++) {
        intptr_t n = begin + l < end ? begin + l : end - 1; /* the last one fills the block */
        const char *a = p->a + n * p->a_step, *b = p->b + n * p->b_step;
        for (int i = 0; i < p->side; i++)
            for (int j = 0; j < p->side; j++)
                block->a[i][j][l] =
                    *(const double *)(const void *)(a + i * p->a_row + j * p->a_column);
        for (int i = 0; i < p->side && p->operation == MX_FACTORING_SOLUTION; i++)
            block->x[0][i][l] = *(const double *)(const void *)(b + i * p->b_row);
    }
}

/* Sets the determinants as NumPy does: by the logarithms of the factors on the diagonal. */
static bool set_determinants(const struct block *block, const struct mx_factoring *p,
                             intptr_t begin, int count)
{
    bool are_finite = true;
    for (int l = 0; l < count; l++) {
        double sign = 1.0, logarithm = 0.0;
        for (int i = 0; i < p->side; i++) {
            double x = block->a[i][i][l];
            bool is_negative = (x < 0.0) != (block->pivots[i][l] != i);
            sign = is_negative ? -sign : sign;
            logarithm += log(fabs(x));
        }
        p->out[begin + l] = sign * exp(logarithm);
        are_finite &= isfinite(p->out[begin + l]) != 0;
    }
    return are_finite;
}

static bool store(const struct block *block, const struct mx_factoring *p, intptr_t begin,
                  int count)
{
    const int side = p->side, columns = p->operation == MX_FACTORING_INVERSE ? side : 1;
    bool are_finite = true;
    for (int l = 0; l < count; l++) {
        double *out = p->out + (begin + l) * side * columns;
        for (int i = 0; i < side; i++)
            for (int j = 0; j < columns; j++) {
                out[i * columns + j] = block->x[j][i][l];
                are_finite &= fabs(block->x[j][i][l]) <= DBL_MAX;
            }
    }
    return are_finite;
}

static inline __attribute__((always_inline)) bool
compute_block(const struct mx_factoring *p, struct mx_factoring_rounding rounding, int n,
              intptr_t begin, intptr_t end)
{
    struct block block;
    int count = (int)(end - begin < LANES ? end - begin : LANES);
    load_block(&block, p, begin, end);
    if (factor(&block, n, rounding.factors_fused))
        return false;
    if (p->operation == MX_FACTORING_DETERMINANT)
        return set_determinants(&block, p, begin, count);
    const bool is_inverse = p->operation == MX_FACTORING_INVERSE;
    for (int j = 0; j < (is_inverse ? n : 1); j++) {
        for (int i = 0; i < n && is_inverse; i++)
            EACH block.x[j][i][l] = i == j;
        substitute(&block, block.x[j], n, is_inverse, rounding);
    }
    return store(&block, p, begin, count);
}

static bool factoring_compute(const struct mx_factoring *p,
                              struct mx_factoring_rounding rounding, intptr_t begin,
                              intptr_t end)
{
    bool is_ordinary = true;
    for (intptr_t n = begin; n < end && is_ordinary; n += LANES)
        switch (p->side) {
        case 2:
            is_ordinary = compute_block(p, rounding, 2, n, end);
            break;
        case 3:
            is_ordinary = compute_block(p, rounding, 3, n, end);
            break;
        default:
            is_ordinary = compute_block(p, rounding, 4, n, end);
        }
    return is_ordinary;
}

const struct mx_factoring_kernels MX_ISA_NAME(mx_factoring_kernels) = {
    .compute = factoring_compute};
