#pragma once
/* isa.h -- instruction sets.  Some sources are compiled once for each of them.
 *
 * The build defines MX_ISA as one of the names below.  MX_ISA_NAME(f) is then the name of the
 * function or table f for that set: MX_ISA_NAME(mx_cast_kernels) is mx_cast_kernels_v3 where
 * MX_ISA is v3.  Results never depend on the instruction set.
 */
#include "base/base.h"

#define MX_ISA_PASTE(name, isa)  name##_##isa
#define MX_ISA_EXPAND(name, isa) MX_ISA_PASTE(name, isa)
#define MX_ISA_NAME(name)        MX_ISA_EXPAND(name, MX_ISA)

#if defined(__x86_64__)
#define MX_ISAS(X) X(base) X(v3) X(v4)
#else
#define MX_ISAS(X) X(base)
#endif

enum mx_isa {
#define ISA(name) MX_ISA_##name,
    MX_ISAS(ISA)
#undef ISA
        MX_ISA_COUNT
};

int mx_isa(void); /* the widest one that this processor supports */

/* For tests: limits the instruction set to this one, and returns the one in use now. */
int mx_isa_limit(int isa);

/* Returns whether writing the chosen elements of a vector of 64 bytes without gaps is slow: on
 * Zen 4 it takes longer than writing them one by one. */
bool mx_isa_packs_slowly(void);
