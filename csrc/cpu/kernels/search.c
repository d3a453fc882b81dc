/* search.c -- chooses the loops that search a sorted table. */
#include "cpu/kernels/search.h"

#include "cpu/kernels/search_kernels.h"

mx_loop_function mx_search_loop(int dtype, bool is_right)
{
    static const struct mx_search_kernels *const tables[] = {
#define ISA(name) &mx_search_kernels_##name, /* mx_search_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()]->loops[dtype][is_right];
}
