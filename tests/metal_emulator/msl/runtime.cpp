// runtime.cpp -- the part that all kernel libraries share.
//
// It is compiled once, without instrumentation, because instrumented code calls it.
#include "kernel_abi.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define SHARED   extern "C" __attribute__((visibility("hidden")))

SHARED const msl_engine *__msl_engine;
const msl_engine *__msl_engine;

// -- Threadgroup memory: see threadgroup_variable of binding.h

struct threadgroup_record {
    uint64_t address, number, size;
};
SHARED __attribute__((weak)) const threadgroup_record __start_msl_threadgroup[];
SHARED __attribute__((weak)) const threadgroup_record __stop_msl_threadgroup[];

// Returns the kernel whose code has the address: the last that begins before it.
static msl_kernel *kernel_at(uint64_t address)
{
    msl_kernel *found = nullptr;
    for (uint32_t i = 0; i < metal_emulator_kernel_count; i++) {
        msl_kernel *kernel = &metal_emulator_kernels[i];
        if ((uint64_t)kernel->function <= address &&
            (!found || kernel->function > found->function))
            found = kernel;
    }
    return found;
}

// The compiler may have copied the code of a variable.
static bool is_counted(const threadgroup_record *record, const msl_kernel *kernel)
{
    for (const threadgroup_record *r = __start_msl_threadgroup; r < record; r++)
        if (r->number == record->number && kernel_at(r->address) == kernel)
            return true;
    return false;
}

static void count_threadgroup_bytes()
{
    for (const threadgroup_record *r = __start_msl_threadgroup; r < __stop_msl_threadgroup;
         r++) {
        msl_kernel *kernel = kernel_at(r->address);
        if (kernel && !is_counted(r, kernel))
            kernel->threadgroup_bytes += uint32_t(r->size + 15) & ~15u;
    }
}

EXPORTED void metal_emulator_load(const msl_engine *engine)
{
    __msl_engine = engine;
    count_threadgroup_bytes();
}

// -- What the compiler's coverage instrumentation calls

SHARED void __sanitizer_cov_trace_pc_guard(uint32_t *) { __msl_engine->branch(); }
SHARED void __sanitizer_cov_trace_pc_guard_init(uint32_t *, uint32_t *) {}

SHARED void __sanitizer_cov_trace_div4(uint32_t) { __msl_engine->divide(); }
SHARED void __sanitizer_cov_trace_div8(uint64_t) { __msl_engine->divide(); }

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
