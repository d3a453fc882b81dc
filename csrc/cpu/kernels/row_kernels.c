/* row_kernels.c -- reduces rows; compiled for each instruction set: see isa.h. */
#include "cpu/kernels/row_kernels.h"

#include "cpu/kernels/extremes.h"
#include "cpu/kernels/integers.h"

#define ADD(a, b) ((a) + (b))
#define OR(a, b)  (((a) | (b)) != 0)
#define AND(a, b) (((a) != 0) & ((b) != 0))

/* -- Columns ----------------------------------------------------------------------- */

/* Reduces the columns that begin at c, as long as at least `width` are left.  Returns the first
 * column that is left. */
#define COLUMNS(name, type, OPERATION, width)                                            \
    static intptr_t name##_##width(type *results, const char *rows, intptr_t row_stride, \
                                   intptr_t n_rows, intptr_t c, intptr_t n)              \
    {                                                                                    \
        for (; c + width <= n; c += width) {                                             \
            type value[width];                                                           \
            for (int k = 0; k < width; k++)                                              \
                value[k] = results[c + k];                                               \
            for (intptr_t r = 0; r < n_rows; r++) {                                      \
                const type *row = (const type *)(const void *)(rows + r * row_stride);   \
                for (int k = 0; k < width; k++)                                          \
                    value[k] = (type)OPERATION(value[k], row[c + k]);                    \
            }                                                                            \
            for (int k = 0; k < width; k++)                                              \
                results[c + k] = value[k];                                               \
        }                                                                                \
        return c;                                                                        \
    }

/* Memory is read best if few rows are read at the same time. */
#define NEAR_ROWS 16

#define ADD_ROWS(name, type, OPERATION)                                                     \
    COLUMNS(name, type, OPERATION, 128)                                                     \
    COLUMNS(name, type, OPERATION, 32)                                                      \
    COLUMNS(name, type, OPERATION, 8)                                                       \
    COLUMNS(name, type, OPERATION, 4)                                                       \
    COLUMNS(name, type, OPERATION, 2)                                                       \
    COLUMNS(name, type, OPERATION, 1)                                                       \
    static void name##_add(void *results, const char *rows, intptr_t row_stride,            \
                           intptr_t n_rows, intptr_t n)                                     \
    {                                                                                       \
        const intptr_t most = n * (intptr_t)sizeof(type) > 256 ? NEAR_ROWS : n_rows;        \
        for (; n_rows > 0; n_rows -= most, rows += most * row_stride) {                     \
            const intptr_t count = n_rows < most ? n_rows : most;                           \
            intptr_t c =                                                                    \
                sizeof(type) == 1 ? name##_128(results, rows, row_stride, count, 0, n) : 0; \
            c = name##_32(results, rows, row_stride, count, c, n);                          \
            c = name##_8(results, rows, row_stride, count, c, n);                           \
            c = name##_4(results, rows, row_stride, count, c, n);                           \
            c = name##_2(results, rows, row_stride, count, c, n);                           \
            name##_1(results, rows, row_stride, count, c, n);                               \
        }                                                                                   \
    }

/* -- Sums of floats ---------------------------------------------------------------- */

#define LEAF 128 /* floats that NumPy adds up in 8 lanes, at most */

#define VECTOR 16 /* bytes: with longer ones a row takes as long, as each addition waits */

#define LANE(k) lanes[(k) / COUNT][(k) % COUNT]

/* Adds a[0], a[width], a[2 * width] ... to sum[0], those after them to sum[1], and so on: the
 * numbers of a row, or the parts of complex numbers, in 8 lanes if there are as many. */
#define ADD_UP(type, width)                                                        \
    static inline void type##_add_up_##width(type *sum, const type *a, intptr_t n) \
    {                                                                              \
        enum { COUNT = VECTOR / sizeof(type) };                                    \
        intptr_t i = width;                                                        \
        for (int k = 0; k < width; k++)                                            \
            sum[k] = a[k];                                                         \
        if (n >= 8) {                                                              \
            type##_vector lanes[8 / COUNT];                                        \
            for (int v = 0; v < 8 / COUNT; v++)                                    \
                lanes[v] = *(const type##_vector *)(a + v * COUNT);                \
            for (i = 8; i + 8 <= n; i += 8)                                        \
                for (int v = 0; v < 8 / COUNT; v++)                                \
                    lanes[v] += *(const type##_vector *)(a + i + v * COUNT);       \
            if (width == 1)                                                        \
                sum[0] = ((LANE(0) + LANE(1)) + (LANE(2) + LANE(3))) +             \
                         ((LANE(4) + LANE(5)) + (LANE(6) + LANE(7)));              \
            for (int k = 0; k < width && width == 2; k++)                          \
                sum[k] = (LANE(k) + LANE(k + 2)) + (LANE(k + 4) + LANE(k + 6));    \
        }                                                                          \
        for (; i < n; i += width)                                                  \
            for (int k = 0; k < width; k++)                                        \
                sum[k] += a[i + k];                                                \
    }

/* Adds up the two parts of a row, and adds their sums. */
#define ADD_PAIRS(type, width)                                                 \
    static void type##_add_pairs_##width(type *sum, const type *a, intptr_t n) \
    {                                                                          \
        const intptr_t half = n / 2 - n / 2 % 8;                               \
        type rest[width];                                                      \
        if (n <= LEAF) {                                                       \
            type##_add_up_##width(sum, a, n);                                  \
            return;                                                            \
        }                                                                      \
        type##_add_pairs_##width(sum, a, half);                                \
        type##_add_pairs_##width(rest, a + half, n - half);                    \
        for (int k = 0; k < width; k++)                                        \
            sum[k] += rest[k];                                                 \
    }

#define REDUCE_ROWS(type, name, width)                                                         \
    ADD_UP(type, width)                                                                        \
    ADD_PAIRS(type, width)                                                                     \
    static void type##_##name(const char *rows, intptr_t row_stride, intptr_t n_rows,          \
                              intptr_t n, const void *initial, char *results, intptr_t stride) \
    {                                                                                          \
        const type *begin = initial;                                                           \
        for (intptr_t r = 0; r < n_rows; r++) {                                                \
            const type *row = (const type *)(const void *)(rows + r * row_stride);             \
            type sum[width], *out = (type *)(void *)(results + r * stride);                    \
            if (n * width <= LEAF)                                                             \
                type##_add_up_##width(sum, row, n * width);                                    \
            else                                                                               \
                type##_add_pairs_##width(sum, row, n * width);                                 \
            for (int k = 0; k < width; k++)                                                    \
                out[k] = begin[k] + sum[k];                                                    \
        }                                                                                      \
    }

#define SUMS(type)                                                                    \
    typedef type type##_vector                                                        \
        __attribute__((vector_size(VECTOR), aligned(sizeof(type)), may_alias));       \
    ADD_ROWS(type##_sum, type, ADD)                                                   \
    REDUCE_ROWS(type, reduce, 1)                                                      \
    REDUCE_ROWS(type, reduce_complex, 2)                                              \
    static void type##_add_complex(void *sums, const char *rows, intptr_t row_stride, \
                                   intptr_t n_rows, intptr_t n)                       \
    {                                                                                 \
        type##_sum_add(sums, rows, row_stride, n_rows, 2 * n);                        \
    }

SUMS(float)
SUMS(double)

/* -- Squares of differences from means --------------------------------------------- */

/* Squares are rounded before they are added, as NumPy writes them to memory. */
#define SQUARES(type)                                                                         \
    static type type##_square_pairs(const type *a, intptr_t n, type mean)                     \
    {                                                                                         \
        if (n > LEAF) {                                                                       \
            const intptr_t half = n / 2 - n / 2 % 8;                                          \
            type first = type##_square_pairs(a, half, mean);                                  \
            return first + type##_square_pairs(a + half, n - half, mean);                     \
        }                                                                                     \
        type squares[LEAF], sum;                                                              \
        squares[0] = 0; /* n > 0, which compilers do not know */                              \
        for (intptr_t i = 0; i < n; i++)                                                      \
            squares[i] = (a[i] - mean) * (a[i] - mean);                                       \
        type##_add_up_1(&sum, squares, n);                                                    \
        return sum;                                                                           \
    }                                                                                         \
    static void type##_reduce_squares(const char *rows, intptr_t row_stride, intptr_t n_rows, \
                                      intptr_t n, const void *means, void *results)           \
    {                                                                                         \
        for (intptr_t r = 0; r < n_rows; r++)                                                 \
            ((type *)results)[r] =                                                            \
                type##_square_pairs((const type *)(const void *)(rows + r * row_stride), n,   \
                                    ((const type *)means)[r]);                                \
    }                                                                                         \
    static void type##_add_squares(void *results, const char *rows, intptr_t row_stride,      \
                                   intptr_t n_rows, intptr_t n, const void *means)            \
    {                                                                                         \
        type *sums = results;                                                                 \
        const type *mean = means;                                                             \
        for (intptr_t r = 0; r < n_rows; r++) {                                               \
            const type *row = (const type *)(const void *)(rows + r * row_stride);            \
            for (intptr_t c = 0; c < n; c++)                                                  \
                sums[c] += (row[c] - mean[c]) * (row[c] - mean[c]);                           \
        }                                                                                     \
    }

SQUARES(float)
SQUARES(double)

/* -- Reductions in any order ------------------------------------------------------- */

/* Compilers vectorize this for integers. */
#define REDUCE_EACH(name, type, OPERATION, OF)                                                 \
    static void name##_reduce(const char *rows, intptr_t row_stride, intptr_t n_rows,          \
                              intptr_t n, const void *initial, char *results, intptr_t stride) \
    {                                                                                          \
        (void)initial;                                                                         \
        for (intptr_t r = 0; r < n_rows; r++) {                                                \
            const type *row = (const type *)(const void *)(rows + r * row_stride);             \
            type value = OF(row[0]);                                                           \
            for (intptr_t i = 1; i < n; i++)                                                   \
                value = (type)OPERATION(value, OF(row[i]));                                    \
            *(type *)(void *)(results + r * stride) = value;                                   \
        }                                                                                      \
    }

#define SAME(x)       (x)
#define TRUTH(x)      ((x) != 0)
#define BIT_OR(a, b)  ((a) | (b))
#define BIT_AND(a, b) ((a) & (b))

#define INTEGER_KERNELS(X)            \
    EACH_AS_UNSIGNED(X, add, ADD)     \
    EACH_INTEGER(X, maximum, MAXIMUM) \
    EACH_INTEGER(X, minimum, MINIMUM)
#define FLOAT_KERNELS(X)                       \
    X(maximum, FLOAT_MAXIMUM, float32, float)  \
    X(maximum, FLOAT_MAXIMUM, float64, double) \
    X(minimum, FLOAT_MINIMUM, float32, float)  \
    X(minimum, FLOAT_MINIMUM, float64, double)

#define COLUMNS_OF(name, OPERATION, dtype, type) ADD_ROWS(name##_##dtype, type, OPERATION)
#define ROWS_OF(name, OPERATION, dtype, type) REDUCE_EACH(name##_##dtype, type, OPERATION, SAME)

INTEGER_KERNELS(COLUMNS_OF)
INTEGER_KERNELS(ROWS_OF)
FLOAT_KERNELS(COLUMNS_OF)
ADD_ROWS(any, uint8_t, OR)
ADD_ROWS(all, uint8_t, AND)
REDUCE_EACH(any, uint8_t, BIT_OR, TRUTH)
REDUCE_EACH(all, uint8_t, BIT_AND, TRUTH)

#define BOTH(name, OPERATION, dtype, type) \
    .of[MX_ROWS_##name][MX_DTYPE_##dtype] = {name##_##dtype##_add, name##_##dtype##_reduce},
/* NumPy's loop is faster along rows of floats. */
#define COLUMNS_ONLY(name, OPERATION, dtype, type) \
    .of[MX_ROWS_##name][MX_DTYPE_##dtype] = {name##_##dtype##_add, NULL},

const struct mx_row_kernel_table MX_ISA_NAME(mx_row_kernels) = {
    .squares[MX_DTYPE_float32] = {float_add_squares, float_reduce_squares},
    .squares[MX_DTYPE_float64] = {double_add_squares, double_reduce_squares},
    .of[MX_ROWS_add][MX_DTYPE_float32] = {float_sum_add, float_reduce},
    .of[MX_ROWS_add][MX_DTYPE_float64] = {double_sum_add, double_reduce},
    .of[MX_ROWS_add][MX_DTYPE_complex64] = {float_add_complex, float_reduce_complex},
    .of[MX_ROWS_add][MX_DTYPE_complex128] = {double_add_complex, double_reduce_complex},
    .of[MX_ROWS_logical_or][MX_DTYPE_bool] = {any_add, any_reduce},
    .of[MX_ROWS_logical_and][MX_DTYPE_bool] = {all_add, all_reduce},
    INTEGER_KERNELS(BOTH) FLOAT_KERNELS(COLUMNS_ONLY)};
