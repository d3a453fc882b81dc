/* own_loops.c -- loops over elements at any distance from runs over contiguous ones. */
#include "own_loops.h"

#include "../dtypes.h"
#include "copies.h"
#include "own_runs.h"

#define BLOCK 256

/* What a loop is called with. */
struct own {
    mx_own_run *run;
    int nin, itemsize, out_itemsize;
};

static void run_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                     void *data)
{
    const struct own *own = data;
    int nin = own->nin;
    bool is_contiguous = strides[nin] == own->out_itemsize;
    for (int k = 0; k < nin; k++)
        is_contiguous &= strides[k] == own->itemsize;
    if (is_contiguous) {
        own->run(args[0], nin == 2 ? args[1] : NULL, args[nin], dimensions[0]);
        return;
    }
    _Alignas(64) char packed[3][BLOCK * 8];
    intptr_t step = own->itemsize, out_step = own->out_itemsize;
    for (intptr_t at = 0; at < dimensions[0]; at += BLOCK) {
        intptr_t n = dimensions[0] - at < BLOCK ? dimensions[0] - at : BLOCK;
        for (int k = 0; k < nin; k++)
            mx_copy_block(packed[k], &step, args[k] + at * strides[k], &strides[k], &n, 1,
                          own->itemsize);
        own->run(packed[0], nin == 2 ? packed[1] : NULL, packed[2], n);
        mx_copy_block(args[nin] + at * strides[nin], &strides[nin], packed[2], &out_step, &n, 1,
                      own->out_itemsize);
    }
}

static const struct mx_own_runs *runs(void)
{
    static const struct mx_own_runs *const tables[] = {
#define ISA(name) &mx_own_runs_##name,
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()];
}

static mx_own_run *run_of(int op, int dtype)
{
    switch (dtype) {
    case MX_DTYPE_float16:
        return runs()->float16[op];
    case MX_DTYPE_float32:
        return runs()->float32[op];
    case MX_DTYPE_float64:
        return runs()->float64[op];
    default:
        return NULL;
    }
}

bool mx_own_loop(struct mx_loop *out, int op, const int *dtypes)
{
    static struct own owns[MX_DTYPE_COUNT][MX_OP_COUNT];
    const struct mx_op_row *row = mx_op_get(op);
    if (!row || !run_of(op, dtypes[0]))
        return false;
    for (int k = 1; k < row->nin; k++)
        if (dtypes[k] != dtypes[0])
            return false;
    struct own *own = &owns[dtypes[0]][op];
    *own = (struct own){
        .run = run_of(op, dtypes[0]),
        .nin = row->nin,
        .itemsize = mx_dtype_get(dtypes[0])->itemsize,
        .out_itemsize = mx_dtype_get(dtypes[row->nin])->itemsize,
    };
    *out = (struct mx_loop){.function = run_loop, .data = own};
    return true;
}
