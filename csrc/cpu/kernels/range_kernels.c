/* range_kernels.c -- numbers at equal distances, rounded as in NumPy's arange. */
#include "cpu/kernels/range_kernels.h"

#include <string.h>

#include "cpu/kernels/half.h"

#define LANE_BYTES 64

/* Both set value[i] for n numbers from position `begin` on.  Older instruction sets can neither
 * convert nor multiply vectors of int64.  Positions within a block are therefore int32, and
 * integers, which wrap around, are computed by sums. */
#define PUT_FLOATS(value, type)     \
    for (int32_t i = 0; i < n; i++) \
        (value)[i] = first + (type)((double)begin + (double)i) * delta;

#define PUT_INTEGERS(value, type)                                           \
    enum { LANES = LANE_BYTES / sizeof(type) };                             \
    typedef type vector __attribute__((vector_size(LANE_BYTES)));           \
    vector lanes;                                                           \
    int32_t done = 0;                                                       \
    for (int j = 0; j < LANES; j++)                                         \
        lanes[j] = (type)(first + ((uint64_t)begin + (uint64_t)j) * delta); \
    for (; done + LANES <= n; done += LANES) {                              \
        memcpy((value) + done, &lanes, sizeof lanes);                       \
        lanes += (type)(LANES * delta);                                     \
    }                                                                       \
    for (; done < n; done++)                                                \
        (value)[done] = lanes[done % LANES];

/* Defines a loop with a contiguous output.  The first two numbers are copied, because sums may
 * differ from them. */
#define RANGE(name, type, number, value_of, put_block)                                         \
    static void name##_range(char **args, const intptr_t *dimensions, const intptr_t *strides, \
                             void *data)                                                       \
    {                                                                                          \
        const type *given = (const type *)args[0];                                             \
        const number first = value_of(given[0]), delta = value_of(given[1]) - first;           \
        const intptr_t start = *(const intptr_t *)data, end = dimensions[0];                   \
        type *out = (type *)args[1];                                                           \
        (void)strides;                                                                         \
        for (intptr_t at = 0; at < end; at += MX_BLOCK) {                                      \
            const intptr_t begin = start + at;                                                 \
            const int32_t n = (int32_t)(end - at < MX_BLOCK ? end - at : MX_BLOCK);            \
            put_block(out + at, type)                                                          \
        }                                                                                      \
        for (intptr_t i = start; i < 2 && i < start + end; i++)                                \
            out[i - start] = given[i];                                                         \
    }

RANGE(int8, uint8_t, uint64_t, , PUT_INTEGERS)
RANGE(int16, uint16_t, uint64_t, , PUT_INTEGERS)
RANGE(int32, uint32_t, uint64_t, , PUT_INTEGERS)
RANGE(int64, uint64_t, uint64_t, , PUT_INTEGERS)
RANGE(float32, float, float, , PUT_FLOATS)
RANGE(float64, double, double, , PUT_FLOATS)

static float float_of(uint16_t half)
{
    float value;
    mx_half_to_float(&half, &value, 1);
    return value;
}

#define PUT_HALVES(out, type) \
    float value[MX_BLOCK];    \
    PUT_FLOATS(value, float)  \
    mx_half_of_float(value, out, n);

RANGE(float16, uint16_t, float, float_of, PUT_HALVES)

const struct mx_range_kernels MX_ISA_NAME(mx_range_kernels) = {{
#define LOOP(dtype, name) [MX_DTYPE_##dtype] = name##_range,
    LOOP(int8, int8) LOOP(int16, int16) LOOP(int32, int32) LOOP(int64, int64) LOOP(uint8, int8)
        LOOP(uint16, int16) LOOP(uint32, int32) LOOP(uint64, int64) LOOP(float16, float16)
            LOOP(float32, float32) LOOP(float64, float64)
#undef LOOP
}};
