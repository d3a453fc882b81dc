/* arg_kernels.c -- compares rows with the best elements so far; compiled for each instruction
 * set: see isa.h. */
#include "cpu/kernels/arg_kernels.h"

#define STRIP 32 /* columns whose best elements stay in registers; fewer are not vectorized */
#define NEAR_ROWS 16  /* that are read at the same time, if they are longer than a strip */
#define FEW_ROWS  127 /* their numbers fit the smallest integer */

#define GREATER(a, b) ((a) > (b))
#define LESS(a, b)    ((a) < (b))
/* NaN wins over a number, but not over another NaN. */
#define FLOAT_GREATER(a, b) (!((a) <= (b)) & ((b) == (b)))
#define FLOAT_LESS(a, b)    (!((a) >= (b)) & ((b) == (b)))

/* Compares the columns from c to c + width.  `mark` is an integer of the size of an element, as
 * the compiler uses vectors best if all elements have one size. */
#define COLUMNS(name, type, mark, WINS, width)                                           \
    static void name##_##width(const char *rows, intptr_t row_stride, intptr_t n_rows,   \
                               intptr_t c, intptr_t first, type *best, int64_t *winners) \
    {                                                                                    \
        type value[width];                                                               \
        mark row_of[width];                                                              \
        for (int k = 0; k < width; k++) {                                                \
            value[k] = best[c + k];                                                      \
            row_of[k] = -1;                                                              \
        }                                                                                \
        for (intptr_t r = 0; r < n_rows; r++) {                                          \
            const type *row = (const type *)(const void *)(rows + r * row_stride) + c;   \
            for (int k = 0; k < width; k++) {                                            \
                const int wins = WINS(row[k], value[k]);                                 \
                value[k] = wins ? row[k] : value[k];                                     \
                row_of[k] = wins ? (mark)r : row_of[k];                                  \
            }                                                                            \
        }                                                                                \
        for (int k = 0; k < width; k++) {                                                \
            best[c + k] = value[k];                                                      \
            winners[c + k] = row_of[k] < 0 ? winners[c + k] : first + row_of[k];         \
        }                                                                                \
    }

/* The last strip may repeat columns of the one before, which changes nothing: no element wins
 * over itself. */
#define ROWS(name, type, mark, WINS)                                                     \
    COLUMNS(name, type, mark, WINS, 32)                                                  \
    COLUMNS(name, type, mark, WINS, 1)                                                   \
    static void name(const char *rows, intptr_t row_stride, intptr_t n_rows, intptr_t n, \
                     intptr_t first, void *best, int64_t *winners)                       \
    {                                                                                    \
        const intptr_t most = n > STRIP ? NEAR_ROWS : FEW_ROWS;                          \
        for (intptr_t r = 0; r < n_rows; r += most) {                                    \
            const intptr_t count = n_rows - r < most ? n_rows - r : most;                \
            const char *at = rows + r * row_stride;                                      \
            intptr_t c = 0;                                                              \
            for (; c + STRIP <= n; c += STRIP)                                           \
                name##_32(at, row_stride, count, c, first + r, best, winners);           \
            if (c < n && n >= STRIP)                                                     \
                name##_32(at, row_stride, count, n - STRIP, first + r, best, winners);   \
            for (; c < n && n < STRIP; c++)                                              \
                name##_1(at, row_stride, count, c, first + r, best, winners);            \
        }                                                                                \
    }

#define INTEGERS(X)              \
    X(int8, int8_t, int8_t)      \
    X(int16, int16_t, int16_t)   \
    X(int32, int32_t, int32_t)   \
    X(int64, int64_t, int64_t)   \
    X(uint8, uint8_t, int8_t)    \
    X(uint16, uint16_t, int16_t) \
    X(uint32, uint32_t, int32_t) \
    X(uint64, uint64_t, int64_t)
#define FLOATS(X)              \
    X(float32, float, int32_t) \
    X(float64, double, int64_t)

#define INTEGER_ROWS(name, type, mark)       \
    ROWS(argmax_##name, type, mark, GREATER) \
    ROWS(argmin_##name, type, mark, LESS)
#define FLOAT_ROWS(name, type, mark)               \
    ROWS(argmax_##name, type, mark, FLOAT_GREATER) \
    ROWS(argmin_##name, type, mark, FLOAT_LESS)
INTEGERS(INTEGER_ROWS)
FLOATS(FLOAT_ROWS)

#define ARGMAX(name, type, mark) [MX_DTYPE_##name] = argmax_##name,
#define ARGMIN(name, type, mark) [MX_DTYPE_##name] = argmin_##name,

const struct mx_arg_kernels MX_ISA_NAME(mx_arg_kernels) = {
    .argmax = {INTEGERS(ARGMAX) FLOATS(ARGMAX)},
    .argmin = {INTEGERS(ARGMIN) FLOATS(ARGMIN)},
};
