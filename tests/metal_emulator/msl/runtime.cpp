// runtime.cpp -- the part that all kernel libraries share.
//
// It is compiled once, without instrumentation, because instrumented code calls it.
#include "kernel_abi.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define SHARED   extern "C" __attribute__((visibility("hidden")))

SHARED const msl_engine *__msl_engine;
const msl_engine *__msl_engine;

EXPORTED void metal_emulator_load(const msl_engine *engine) { __msl_engine = engine; }

// -- What the compiler's coverage instrumentation calls

SHARED void __sanitizer_cov_trace_pc_guard(uint32_t *) { __msl_engine->branch(); }
SHARED void __sanitizer_cov_trace_pc_guard_init(uint32_t *, uint32_t *) {}

#define ACCESS(size)                                                                        \
    SHARED void __sanitizer_cov_load##size(void *at) { __msl_engine->access(at, size, 0); } \
    SHARED void __sanitizer_cov_store##size(void *at) { __msl_engine->access(at, size, 1); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

// -- Conversions that some processors have no instruction for, rounded to nearest even

SHARED uint16_t msl_bfloat_bits(float value)
{
    uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return uint16_t(bits >> 16 | 0x40);
    return uint16_t((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

SHARED __bf16 __truncsfbf2(float value)
{
    return __builtin_bit_cast(__bf16, msl_bfloat_bits(value));
}

SHARED _Float16 __truncsfhf2(float value)
{
    uint32_t bits = __builtin_bit_cast(uint32_t, value);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu, half;
    if (rest > 0x7f800000u)
        half = 0x7e00u | (rest >> 13 & 0x3ffu);
    else if (rest >= 0x477ff000u) // what rounds to 65536 and more
        half = 0x7c00u;
    else if (rest >= 0x38800000u) // 2^-14: the exponent is another, the rest is rounded
        half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13;
    else // half's subnormal numbers are multiples of what 0.5f is precise to
        half = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, rest) + 0.5f) -
               __builtin_bit_cast(uint32_t, 0.5f);
    return __builtin_bit_cast(_Float16, uint16_t(sign | half));
}

SHARED float __extendhfsf2(_Float16 value)
{
    uint32_t bits = __builtin_bit_cast(uint16_t, value);
    uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, rest = bits & 0x3ffu;
    if (exponent == 0)
        return __builtin_bit_cast(float,
                                  sign | __builtin_bit_cast(uint32_t, float(rest) * 0x1p-24f));
    if (exponent == 31)
        return __builtin_bit_cast(float, sign | 0x7f800000u | rest << 13);
    return __builtin_bit_cast(float, sign | (exponent + 112) << 23 | rest << 13);
}
