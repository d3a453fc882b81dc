/* isa.c -- finds the instruction set of the processor. */
#include "cpu/kernels/isa.h"

#include <stdatomic.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static atomic_int used = -1;

static int detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* Every processor with AVX2 also has F16C and BMI, and so x86-64-v3. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return MX_ISA_base;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return MX_ISA_v3;
    return MX_ISA_v4;
#else
    return MX_ISA_base;
#endif
}

int mx_isa(void)
{
    int isa = atomic_load_explicit(&used, memory_order_relaxed);
    if (isa < 0) {
        isa = detect();
        atomic_store_explicit(&used, isa, memory_order_relaxed);
    }
    return isa;
}

int mx_isa_limit(int isa)
{
    int widest = detect();
    isa = isa < widest ? isa : widest;
    atomic_store_explicit(&used, isa, memory_order_relaxed);
    return isa;
}

bool mx_isa_packs_slowly(void)
{
#if defined(__x86_64__)
    unsigned family = 0, b, c, d;
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd") && __get_cpuid(1, &family, &b, &c, &d))
        return (family >> 8 & 15) + (family >> 20 & 255) == 25;
#endif
    return false;
}
