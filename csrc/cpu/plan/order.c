/* order.c -- the order in which a program adds numbers. */
#include "cpu/plan/order.h"

#include <string.h>

#include "base/alloc.h"
#include "base/axes.h"
#include "base/error.h"
#include "cpu/kernels/rows.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

#define NUMPYS_BUFFER 8192 /* elements */
#define NUMPYS_LEAF   128  /* elements that NumPy adds up in lanes, at most */

#define NARROW_ROW 16   /* elements: of shorter rows a kernel reduces too few at once */
#define MEDIUM_ROW 1024 /* elements: longer rows are blocks of their own */

/* -- Axes -------------------------------------------------------------------------- */

static bool is_complex_sum(const struct mx_call *call)
{
    int dtype = call->instruction->operands[call->instruction->nin].dtype;
    return dtype == MX_DTYPE_complex64 || dtype == MX_DTYPE_complex128;
}

static bool is_ordered_sum(const struct mx_call *call)
{
    return call->instruction->keeps_order && call->instruction->op == MX_OP_add;
}

bool mx_order_is_complex(const struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        if (is_ordered_sum(&program->calls[c]))
            return is_complex_sum(&program->calls[c]);
    return false;
}

/* Returns whether the axes of the program are in the order in which NumPy goes through an
 * input. */
static bool is_numpys_order(const struct mx_program *program, const struct mx_access *input)
{
    intptr_t outer = INTPTR_MAX;
    for (int i = 0; i < program->ndim; i++) {
        intptr_t stride = input->strides[i] < 0 ? -input->strides[i] : input->strides[i];
        if (stride == 0 || stride > outer)
            return false;
        outer = stride;
    }
    return true;
}

enum mx_order mx_order_of(const struct mx_program *program)
{
    int last = program->ndim - 1, n_reduced = 0;
    bool has_sums = false, has_products = false, have_kernels = true;
    intptr_t longest_kept = 0;
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        if (call->instruction->kind == MX_REDUCE)
            have_kernels &= mx_rows_kernels(call->instruction) != NULL;
        if (!call->instruction->keeps_order)
            continue;
        has_sums |= is_ordered_sum(call);
        has_products |= !is_ordered_sum(call);
        if ((is_ordered_sum(call) && is_complex_sum(call) != mx_order_is_complex(program)) ||
            !is_numpys_order(program, &program->accesses[call->accesses[0]]))
            return MX_ANY_ORDER;
    }
    for (int i = 0; i < program->ndim; i++) {
        n_reduced += mx_is_reduced(program, i);
        if (!mx_is_reduced(program, i) && program->shape[i] > longest_kept)
            longest_kept = program->shape[i];
    }
    bool reduces_rows = n_reduced == 1 && mx_is_reduced(program, last) && last > 0 &&
                        program->shape[last] <= MEDIUM_ROW &&
                        program->shape[last] * program->shape[last - 1] >= MX_LEAST_ROWS;
    if (!has_sums && reduces_rows && program->shape[last] >= MX_LONG_ROW)
        return MX_SHORT_ROWS;
    bool keeps_rows = last > 0 && !mx_is_reduced(program, last) &&
                      mx_is_reduced(program, last - 1) && program->shape[last] >= NARROW_ROW;
    if ((has_sums || has_products) && !mx_is_reduced(program, last))
        return MX_ROW_BY_ROW;
    if (!has_sums)
        return keeps_rows && have_kernels ? MX_FOLDED_ROWS : MX_ANY_ORDER;
    /* NumPy copies short rows with gaps between them into a buffer, and adds them as one row.
     */
    if (last > 0 && mx_is_reduced(program, last - 1) &&
        program->shape[last] <= NUMPYS_BUFFER / 2)
        return MX_ANY_ORDER;
    if (reduces_rows)
        return MX_SHORT_ROWS;
    bool is_long = program->shape[last] >= MX_LONG_ROW || longest_kept <= program->shape[last];
    return is_long ? MX_PAIRWISE : MX_ANY_ORDER;
}

/* Returns whether NumPy rounds sums between rows, or is as fast as the core. */
static bool leaves_halves_to_numpy(const struct mx_program *program, enum mx_order order)
{
    bool has_one_axis = (program->reduced & (program->reduced - 1)) == 0;
    return order == MX_ROW_BY_ROW ? program->shape[program->ndim - 1] < NARROW_ROW
                                  : !has_one_axis;
}

enum mx_order mx_order_of_reduction(const struct mx_instruction *in)
{
    struct mx_instruction copy = *in;
    struct mx_access input = {0}; /* the results have no gaps */
    struct mx_call call = {.instruction = &copy};
    struct mx_program program = {
        .ndim = in->ndim, .n_calls = 1, .calls = &call, .accesses = &input};
    intptr_t *strides[] = {input.strides};
    memcpy(program.shape, in->shape, sizeof program.shape);
    memcpy(input.strides, in->operands[0].strides, sizeof input.strides);
    for (int i = 0; i < in->ndim; i++)
        program.reduced |= (unsigned)(in->operands[1].strides[i] == 0) << i;
    struct mx_axes axes = {&program.ndim, program.shape, &program.reduced, 1, strides};
    mx_axes_sort(&axes, 1);
    mx_axes_merge(&axes);
    enum mx_order order = mx_order_of(&program);
    bool is_half = in->operands[1].dtype == MX_DTYPE_float16;
    return is_half && leaves_halves_to_numpy(&program, order) ? MX_ANY_ORDER : order;
}

/* -- Leaves ------------------------------------------------------------------------ */

struct leaves {
    struct mx_leaf *leaves; /* or NULL, if they are counted */
    intptr_t n, longest;
    bool is_complex;
};

/* Returns how many of n elements NumPy adds up before the others. */
static intptr_t first_half(intptr_t n, bool is_complex)
{
    return is_complex ? (n - n % 8) / 2 : n / 2 - n / 2 % 8;
}

static void add_leaves(struct leaves *to, intptr_t begin, intptr_t n, int n_joins)
{
    if (n <= to->longest) {
        if (to->leaves)
            to->leaves[to->n] = (struct mx_leaf){begin, n_joins};
        to->n++;
        return;
    }
    intptr_t half = first_half(n, to->is_complex);
    add_leaves(to, begin, half, 0);
    add_leaves(to, begin + half, n - half, n_joins + 1);
}

int mx_order_leaves(struct mx_leaf **out, intptr_t *n_leaves, intptr_t n, intptr_t longest,
                    bool is_complex)
{
    struct leaves leaves = {.longest = longest, .is_complex = is_complex};
    MX_ASSERT(n <= longest || longest >= NUMPYS_LEAF);
    add_leaves(&leaves, 0, n, 0);
    leaves.leaves = mx_alloc((size_t)(leaves.n + 1) * sizeof *leaves.leaves);
    if (!leaves.leaves)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan a sum of %td numbers", (ptrdiff_t)n);
    leaves.leaves[leaves.n] = (struct mx_leaf){.begin = n};
    *n_leaves = leaves.n;
    leaves.n = 0;
    add_leaves(&leaves, 0, n, 0);
    *out = leaves.leaves;
    return MX_OK;
}
