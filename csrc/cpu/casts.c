/* casts.c -- interim. */
#include "casts.h"

#include "../dtypes.h"
#include "copies.h"
#include <complex.h>

#undef bool

mx_loop_function mx_cast_loop(int from, int to);
#define F(a, b) a##_to_##b
#define D1(FN, FT, TN, TT)                                                               \
    static void FN##_to_##TN(char **args, const intptr_t *n, const intptr_t *s, void *d) \
    {                                                                                    \
        (void)d;                                                                         \
        const char *x = args[0];                                                         \
        char *y = args[1];                                                               \
        for (intptr_t i = 0; i < *n; i++, x += s[0], y += s[1])                          \
            *(TT *)y = (TT) * (const FT *)x;                                             \
    }
#define TARGETS(FN, FT)                                                                    \
    D1(FN, FT, bool, _Bool)                                                                \
    D1(FN, FT, int8, int8_t) D1(FN, FT, int16, int16_t) D1(FN, FT, int32, int32_t)         \
        D1(FN, FT, int64, int64_t) D1(FN, FT, uint8, uint8_t) D1(FN, FT, uint16, uint16_t) \
            D1(FN, FT, uint32, uint32_t) D1(FN, FT, uint64, uint64_t)                      \
                D1(FN, FT, float32, float) D1(FN, FT, float64, double)                     \
                    D1(FN, FT, complex64, float _Complex)                                  \
                        D1(FN, FT, complex128, double _Complex)
#define ROW(FN)                                                                             \
    {FN##_to_bool,    FN##_to_int8,    FN##_to_int16,     FN##_to_int32,     FN##_to_int64, \
     FN##_to_uint8,   FN##_to_uint16,  FN##_to_uint32,    FN##_to_uint64,    0,             \
     FN##_to_float32, FN##_to_float64, FN##_to_complex64, FN##_to_complex128}
TARGETS(bool, _Bool)
TARGETS(int8, int8_t) TARGETS(int16, int16_t) TARGETS(int32, int32_t) TARGETS(int64, int64_t)
    TARGETS(uint8, uint8_t) TARGETS(uint16, uint16_t) TARGETS(uint32, uint32_t)
        TARGETS(uint64, uint64_t) TARGETS(float32, float) TARGETS(float64, double)
            TARGETS(complex64, float _Complex)
                TARGETS(complex128,
                        double _Complex) static const mx_loop_function table[14][14] = {
                    ROW(bool),    ROW(int8),    ROW(int16),     ROW(int32),     ROW(int64),
                    ROW(uint8),   ROW(uint16),  ROW(uint32),    ROW(uint64),    {0},
                    ROW(float32), ROW(float64), ROW(complex64), ROW(complex128)};
mx_loop_function mx_cast_loop(int from, int to)
{
    return from == to ? mx_copy_loop(mx_dtype_get(to)->itemsize) : table[from][to];
}
