/* ranges.c -- chooses the loops of numbers at equal distances. */
#include "cpu/kernels/ranges.h"

#include "cpu/kernels/range_kernels.h"

mx_loop_function mx_range_loop(int dtype)
{
    static const struct mx_range_kernels *const tables[] = {
#define ISA(name) &mx_range_kernels_##name, /* mx_range_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()]->loops[dtype];
}
