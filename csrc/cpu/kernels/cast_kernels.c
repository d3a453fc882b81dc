/* cast_kernels.c -- conversions of contiguous elements, compiled for each instruction set: see
 * isa.h.
 *
 * C does not define the conversion of a floating-point number beyond the range of an integer
 * type.  Here the result is that of NumPy's wheels, whose conversions use these instructions.
 * Narrower results are the lower bits.
 *
 * |             | from      | 8 and 16 bits | int32 | uint32         | int64 | uint64 |
 * |-------------|-----------|---------------|-------|----------------|-------|--------|
 * | x86-64      | all       | int32         | int32 | int64          | int64 | halves |
 * | macOS arm64 | all       | int32         | int32 | uint32         | int64 | uint64 |
 * | Linux arm64 | float32   | int32         | int32 | uint32         | int64 | uint64 |
 * |             | float64   | int64         | int64 | int64          | int64 | uint64 |
 * |             | float16   | int32, uint32 | int32 | uint32         | int64 | uint64 |
 *
 * A number beyond the range of the instruction becomes the smallest integer on x86-64, and the
 * nearest one on arm64.  Contiguous conversions to uint32 on x86-64 are described below.  On
 * Linux arm64 the table is that of NumPy's vectors: its loops for the elements that remain
 * convert negative numbers to 0 if the result is unsigned.
 */
#include "cpu/kernels/cast_kernels.h"

#include "cpu/kernels/bfloat.h"
#include "cpu/kernels/half.h"

#undef bool /* here it is the name of a dtype */

typedef uint8_t element_bool; /* any byte but 0 is true */
typedef int8_t element_int8;
typedef int16_t element_int16;
typedef int32_t element_int32;
typedef int64_t element_int64;
typedef uint8_t element_uint8;
typedef uint16_t element_uint16;
typedef uint32_t element_uint32;
typedef uint64_t element_uint64;
typedef uint16_t element_float16;
typedef float element_float32;
typedef double element_float64;

#define INTEGERS(X, from) \
    X(from, int8)         \
    X(from, int16)        \
    X(from, int32)        \
    X(from, int64)        \
    X(from, uint8)        \
    X(from, uint16)       \
    X(from, uint32)       \
    X(from, uint64)

#define EACH_TO(X, from) \
    X(from, bool)        \
    INTEGERS(X, from)    \
    X(from, float32)     \
    X(from, float64)

/* No iteration depends on another, even if the output is the input. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define RUN(from, to, value)                                             \
    static void from##_to_##to(const void *from_, void *to_, intptr_t n) \
    {                                                                    \
        const element_##from *x = from_;                                 \
        element_##to *y = to_;                                           \
        INDEPENDENT                                                      \
        for (intptr_t i = 0; i < n; i++)                                 \
            y[i] = (element_##to)(value);                                \
    }

#define TRUTH(from, to) RUN(from, to, x[i] != 0)
#define PLAIN(from, to) RUN(from, to, x[i])

EACH_TO(TRUTH, bool)

#define FROM_INTEGER(from) \
    TRUTH(from, bool) INTEGERS(PLAIN, from) PLAIN(from, float32) PLAIN(from, float64)
FROM_INTEGER(int8)
FROM_INTEGER(int16)
FROM_INTEGER(int32)
FROM_INTEGER(int64)
FROM_INTEGER(uint8)
FROM_INTEGER(uint16)
FROM_INTEGER(uint32)
FROM_INTEGER(uint64)

TRUTH(float32, bool)
TRUTH(float64, bool)
PLAIN(float32, float32)
PLAIN(float32, float64)
PLAIN(float64, float32)
PLAIN(float64, float64)

#if defined(__x86_64__)

#define HALF_ENTRIES

/* Moves x from the upper half of the range of the type to the lower half before converting it.
 */
#define HALVES(from, to, half)                                 \
    static inline u##to from##_halves_##to(element_##from x)   \
    {                                                          \
        _Bool upper = x >= half;                               \
        u##to lower = (u##to)(to)(x - (upper ? half : 0));     \
        return lower ^ ((u##to)upper << (8 * sizeof(to) - 1)); \
    }
HALVES(float32, int32_t, 0x1p31f)
HALVES(float64, int32_t, 0x1p31)
HALVES(float32, int64_t, 0x1p63f)
HALVES(float64, int64_t, 0x1p63)

/* NumPy's loop converts four elements at a time in two halves.  It converts the elements that
 * remain from an int64, which differs from -2**31 - 1 down and from 2**32 up. */
#define TO_UINT32(from)                                                    \
    static void from##_to_uint32(const void *from_, void *to_, intptr_t n) \
    {                                                                      \
        const element_##from *x = from_;                                   \
        uint32_t *y = to_;                                                 \
        intptr_t i, fours = n & ~(intptr_t)3;                              \
        INDEPENDENT                                                        \
        for (i = 0; i < fours; i++)                                        \
            y[i] = from##_halves_int32_t(x[i]);                            \
        for (; i < n; i++)                                                 \
            y[i] = (uint32_t)(int64_t)x[i];                                \
    }

#define FROM_FLOAT(from)             \
    RUN(from, int8, (int32_t)x[i])   \
    RUN(from, int16, (int32_t)x[i])  \
    RUN(from, int32, x[i])           \
    RUN(from, int64, x[i])           \
    RUN(from, uint8, (int32_t)x[i])  \
    RUN(from, uint16, (int32_t)x[i]) \
    TO_UINT32(from)                  \
    RUN(from, uint64, from##_halves_int64_t(x[i]))
FROM_FLOAT(float32)
FROM_FLOAT(float64)

#else

#if defined(__APPLE__) && defined(__aarch64__)

/* An instruction for vectors of float64 would convert to int64, whose lower bits are others. */
#define CONVERT(to, instruction)                                 \
    static inline to##_t float64_as_##to(double x)               \
    {                                                            \
        to##_t whole;                                            \
        __asm__(instruction " %w0, %d1" : "=r"(whole) : "w"(x)); \
        return whole;                                            \
    }
CONVERT(int32, "fcvtzs")
CONVERT(uint32, "fcvtzu")

#define ONE_BY_ONE(from, to, value)                                      \
    static void from##_to_##to(const void *from_, void *to_, intptr_t n) \
    {                                                                    \
        const element_##from *x = from_;                                 \
        element_##to *y = to_;                                           \
        for (intptr_t i = 0; i < n; i++)                                 \
            y[i] = (element_##to)(value);                                \
    }

#define FLOAT64 ONE_BY_ONE, float64_as_int32, float64_as_uint32
#define HALF_ENTRIES

#else

/* NumPy has no vectors of float16. */
RUN(float16, uint8, (uint32_t)mx_float_of_bits(mx_half_to_float_bits(x[i])))
RUN(float16, uint16, (uint32_t)mx_float_of_bits(mx_half_to_float_bits(x[i])))
#define FLOAT64      RUN, (int64_t), (int64_t)
#define HALF_ENTRIES ENTRY(float16, uint8) ENTRY(float16, uint16)

#endif

#define FROM_FLOAT(from, ...) FROM_FLOAT_BY(from, __VA_ARGS__)
#define FROM_FLOAT_BY(from, NARROW, int32_of, uint32_of) \
    NARROW(from, int8, int32_of(x[i]))                   \
    NARROW(from, int16, int32_of(x[i]))                  \
    NARROW(from, int32, int32_of(x[i]))                  \
    NARROW(from, uint8, int32_of(x[i]))                  \
    NARROW(from, uint16, int32_of(x[i]))                 \
    NARROW(from, uint32, uint32_of(x[i]))                \
    RUN(from, int64, x[i])                               \
    RUN(from, uint64, x[i])
FROM_FLOAT(float32, RUN, (int32_t), (uint32_t))
FROM_FLOAT(float64, FLOAT64)

#endif

static void float16_to_float32(const void *x, void *y, intptr_t n)
{
    mx_half_to_float(x, y, n);
}

RUN(float16, bool, (x[i] & 0x7fff) != 0)

/* The processor would change a signaling NaN, and raise a condition. */
static double double_of_half(uint16_t half)
{
    if ((half & 0x7fff) <= 0x7c00)
        return mx_float_of_bits(mx_half_to_float_bits(half));
    uint64_t sign = (uint64_t)(half & 0x8000) << 48, size = (uint64_t)(half & 0x7fff) << 42;
    uint64_t bits = sign | size | 0x7ff0000000000000;
    double nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

static void float16_to_float64(const void *from, void *to, intptr_t n)
{
    const uint16_t *x = from;
    double *y = to;
    float block[MX_HALF_BLOCK];
    for (intptr_t i = 0; i < n; i += MX_HALF_BLOCK, x += MX_HALF_BLOCK, y += MX_HALF_BLOCK) {
        intptr_t size = n - i < MX_HALF_BLOCK ? n - i : MX_HALF_BLOCK;
        if (mx_half_keeps_nan(x, size)) {
            for (intptr_t k = 0; k < size; k++)
                y[k] = double_of_half(x[k]);
            continue;
        }
        mx_half_to_float(x, block, size);
        float32_to_float64(block, y, size);
    }
}

static void float32_to_float16(const void *x, void *y, intptr_t n)
{
    mx_half_of_float(x, y, n);
}

static void float64_to_float16(const void *x, void *y, intptr_t n)
{
    mx_half_of_double(x, y, n);
}

static void bfloat16_to_float32(const void *x, void *y, intptr_t n)
{
    mx_bfloat_to_float(x, y, n);
}

/* As in ml_dtypes, overflow raises no condition, and every NaN becomes the quiet NaN of its
 * sign.
 */
static void bfloat16_to_float16(const void *from, void *to, intptr_t n)
{
    const uint16_t *x = from;
    uint16_t *y = to;
    for (intptr_t i = 0; i < n; i++) {
        uint32_t fpe_flags = 0;
        uint16_t half = mx_half_of_float_bits((uint32_t)x[i] << 16, &fpe_flags);
        y[i] = (half & 0x7fff) > 0x7c00 ? (half & 0x8000) | 0x7e00 : half;
    }
}

#if defined(__x86_64__)

/* The loop of ml_dtypes converts eight elements at a time in two halves, and those that remain
 * from an int64. */
static void bfloat16_to_uint32(const void *from, void *to, intptr_t n)
{
    const uint16_t *x = from;
    uint32_t *y = to;
    intptr_t i, eights = n & ~(intptr_t)7;
    INDEPENDENT
    for (i = 0; i < eights; i++)
        y[i] = float32_halves_int32_t(mx_float_of_bits((uint32_t)x[i] << 16));
    for (; i < n; i++)
        y[i] = (uint32_t)(int64_t)mx_float_of_bits((uint32_t)x[i] << 16);
}

#define UINT32_ENTRY ENTRY(bfloat16, uint32)
#else
#define UINT32_ENTRY
#endif

static void float32_to_bfloat16(const void *x, void *y, intptr_t n)
{
    mx_bfloat_of_float(x, y, n);
}

#define COMPLEX(part, complex)                                              \
    static void part##_to_##complex(const void *from, void *to, intptr_t n) \
    {                                                                       \
        const element_##part *x = from;                                     \
        element_##part *y = to;                                             \
        INDEPENDENT                                                         \
        for (intptr_t i = 0; i < n; i++) {                                  \
            y[2 * i] = x[i];                                                \
            y[2 * i + 1] = 0;                                               \
        }                                                                   \
    }                                                                       \
    static void complex##_to_bool(const void *from, void *to, intptr_t n)   \
    {                                                                       \
        const element_##part *x = from;                                     \
        element_bool *y = to;                                               \
        for (intptr_t i = 0; i < n; i++)                                    \
            y[i] = (x[2 * i] != 0) | (x[2 * i + 1] != 0);                   \
    }
COMPLEX(float32, complex64)
COMPLEX(float64, complex128)

static void complex64_to_complex128(const void *x, void *y, intptr_t n)
{
    float32_to_float64(x, y, 2 * n);
}

static void complex128_to_complex64(const void *x, void *y, intptr_t n)
{
    float64_to_float32(x, y, 2 * n);
}

#define ENTRY(from, to) [MX_DTYPE_##from][MX_DTYPE_##to] = from##_to_##to,

const struct mx_cast_kernels MX_ISA_NAME(mx_cast_kernels) = {
    {EACH_TO(ENTRY, bool) EACH_TO(ENTRY, int8) EACH_TO(ENTRY, int16) EACH_TO(ENTRY, int32)
         EACH_TO(ENTRY, int64) EACH_TO(ENTRY, uint8) EACH_TO(ENTRY, uint16)
             EACH_TO(ENTRY, uint32) EACH_TO(ENTRY, uint64) EACH_TO(ENTRY, float32)
                 EACH_TO(ENTRY, float64) ENTRY(float16, bool) ENTRY(float16, float32)
                     ENTRY(float16, float64) ENTRY(float32, float16) ENTRY(float64, float16)
                         ENTRY(bfloat16, float32) ENTRY(bfloat16, float16)
                             UINT32_ENTRY HALF_ENTRIES ENTRY(float32, bfloat16)
                                 ENTRY(float32, complex64) ENTRY(float64, complex128)
                                     ENTRY(complex64, bool) ENTRY(complex128, bool)
                                         ENTRY(complex64, complex128)
                                             ENTRY(complex128, complex64)}};
