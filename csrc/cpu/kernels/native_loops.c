/* native_loops.c -- loops over any strides, made from kernels over contiguous elements. */
#include "cpu/kernels/native_loops.h"

#include <string.h>

#include "cpu/kernels/agreement.h"
#include "cpu/kernels/copies.h"
#include "cpu/kernels/native_kernels.h"
#include "ir/dtypes.h"

/* The data argument of a loop. */
struct native_loop {
    mx_native_kernel *run;
    int nin, itemsize, out_itemsize;
    struct mx_loop numpys;
};

/* Packs only operands that are not contiguous, and an operand that is one value only once. */
static void run_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                     void *data)
{
    const struct native_loop *native = data;
    const int nin = native->nin;
    const intptr_t steps[3] = {native->itemsize,
                               nin == 2 ? native->itemsize : native->out_itemsize,
                               native->out_itemsize};
    _Alignas(64) char scratch[3][MX_BLOCK * 8];
    intptr_t length = dimensions[0];
    bool is_packed[3];
    for (int k = 0; k <= nin; k++)
        if ((is_packed[k] = strides[k] != steps[k]))
            length = MX_BLOCK;
    for (intptr_t at = 0; at < dimensions[0]; at += length) {
        intptr_t n = dimensions[0] - at < length ? dimensions[0] - at : length;
        char *now[3];
        for (int k = 0; k <= nin; k++) {
            char *there = args[k] + at * strides[k];
            now[k] = is_packed[k] ? scratch[k] : there;
            if (is_packed[k] && k < nin && (strides[k] != 0 || at == 0))
                mx_copy_loop(native->itemsize)((char *[]){there, now[k]}, &n,
                                               (intptr_t[]){strides[k], steps[k]}, NULL);
        }
        native->run(now[0], now[1], now[nin], n);
        if (is_packed[nin])
            mx_copy_loop(native->out_itemsize)(
                (char *[]){now[nin], args[nin] + at * strides[nin]}, &n,
                (intptr_t[]){steps[nin], strides[nin]}, NULL);
    }
}

/* Returns whether NumPy computes powers with a single exponent by one operation, or none. */
static bool is_simple_exponent(const char *at)
{
    double exponent;
    memcpy(&exponent, at, sizeof exponent);
    return exponent == -1 || exponent == 0 || exponent == 0.5 || exponent == 1 || exponent == 2;
}

/* The loop of float64 powers.  A square root of -0 or -infinity is not the power. */
static void run_power(char **args, const intptr_t *dimensions, const intptr_t *strides,
                      void *data)
{
    const struct native_loop *native = data;
    if (strides[1] == 0 && is_simple_exponent(args[1]))
        native->numpys.function(args, dimensions, strides, native->numpys.data);
    else
        run_loop(args, dimensions, strides, data);
}

/* The loop of float64 logarithms.  The sign of NaN that negative numbers have depends on the C
 * library that NumPy was linked with, so NumPy computes those. */
static void run_log(char **args, const intptr_t *dimensions, const intptr_t *strides,
                    void *data)
{
    const struct native_loop *native = data;
    for (intptr_t at = 0; at < dimensions[0]; at += MX_BLOCK) {
        intptr_t n = dimensions[0] - at < MX_BLOCK ? dimensions[0] - at : MX_BLOCK;
        char *now[] = {args[0] + at * strides[0], args[1] + at * strides[1]};
        int64_t signs = 0, bits;
        for (intptr_t i = 0; i < n; i++) {
            memcpy(&bits, now[0] + i * strides[0], sizeof bits);
            signs |= bits;
        }
        if (signs < 0)
            native->numpys.function(now, &n, strides, native->numpys.data);
        else
            run_loop(now, &n, strides, data);
    }
}

static const struct mx_native_kernels *kernels(void)
{
    static const struct mx_native_kernels *const tables[] = {
#define ISA(name) &mx_native_kernels_##name, /* mx_native_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()];
}

static mx_native_kernel *kernel_of(int op, int dtype)
{
    switch (dtype) {
    case MX_DTYPE_float16:
        return kernels()->float16[op];
    case MX_DTYPE_bfloat16:
        return kernels()->bfloat16[op];
    case MX_DTYPE_float32:
        return kernels()->float32[op];
    case MX_DTYPE_float64:
        return kernels()->float64[op];
    default:
        return NULL;
    }
}

/* Returns whether a loop has NumPy's bits only where NumPy calls the C library that the loop
 * was written after.  It may be another one, and NumPy has loops of its own for AVX-512. */
static bool is_conditional(int op, int dtype)
{
    return dtype == MX_DTYPE_float64 &&
           (op == MX_OP_exp || op == MX_OP_log || op == MX_OP_power || op == MX_OP_float_power);
}

bool mx_native_loop_has_numpys_bits(int op, int dtype)
{
    return dtype != MX_DTYPE_float64 || (op != MX_OP_sin && op != MX_OP_cos);
}

bool mx_native_loop(struct mx_loop *out, int op, const int *dtypes,
                    const struct mx_loop *numpys)
{
    static struct native_loop loops[MX_DTYPE_COUNT][MX_OP_COUNT];
    const struct mx_op_row *row = mx_op_get(op);
    if (!row || !kernel_of(op, dtypes[0]))
        return false;
    for (int k = 1; k < row->nin; k++)
        if (dtypes[k] != dtypes[0])
            return false;
    struct native_loop *native = &loops[dtypes[0]][op];
    if (!native->run) /* otherwise threads of the pool may be reading it */
        *native = (struct native_loop){
            .run = kernel_of(op, dtypes[0]),
            .nin = row->nin,
            .itemsize = mx_dtype_get(dtypes[0])->itemsize,
            .out_itemsize = mx_dtype_get(dtypes[row->nin])->itemsize,
            .numpys = *numpys,
        };
    struct mx_loop own = {.function = run_loop, .data = native};
    *out = own;
    if (op == MX_OP_power)
        out->function = run_power;
    else if (op == MX_OP_log && dtypes[0] == MX_DTYPE_float64)
        out->function = run_log;
    return !is_conditional(op, dtypes[0]) || mx_agreement_holds(&own, numpys, row->nin);
}
