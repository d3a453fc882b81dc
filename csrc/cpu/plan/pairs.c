/* pairs.c -- finds calls of a program that one kernel can compute together with the next ones.
 */
#include "cpu/plan/pairs.h"

#include "cpu/kernels/compact.h"
#include "cpu/kernels/rows.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

/* The tables mx_pair_kernels_base, _v3 and _v4 are defined in pair_kernels.c. */
static mx_pair_kernel *find_pair(int itemsize, enum mx_pair_step first,
                                 enum mx_pair_step second, bool one_b, bool one_c)
{
    static const struct mx_pair_kernels *const tables[] = {
#define ISA(name) &mx_pair_kernels_##name,
        MX_ISAS(ISA)
#undef ISA
    };
    const struct mx_pair_kernels *pairs = tables[mx_isa()];
    return (itemsize == 4 ? pairs->float32 : pairs->float64)[first][second][one_b][one_c];
}

static int count_uses(const struct mx_program *program, int access)
{
    int uses = 0;
    for (int c = 0; c < program->n_calls; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            uses += program->calls[c].accesses[k] == access;
    return uses;
}

/* Returns the step that a call computes on floats of one size, or MX_STEP_COUNT. */
static enum mx_pair_step step_of(const struct mx_call *call)
{
    const struct mx_instruction *in = call->instruction;
    int dtype = in->operands[in->nin].dtype;
    if (in->kind != MX_MAP || (dtype != MX_DTYPE_float32 && dtype != MX_DTYPE_float64) ||
        in->operands[0].dtype != dtype)
        return MX_STEP_COUNT;
    return in->op == MX_OP_add        ? MX_STEP_add
           : in->op == MX_OP_subtract ? MX_STEP_subtract
           : in->op == MX_OP_multiply ? MX_STEP_multiply
                                      : MX_STEP_COUNT;
}

/* Returns the step with its operands exchanged. */
static enum mx_pair_step reverse(enum mx_pair_step step)
{
    return step == MX_STEP_subtract ? MX_STEP_reversed : step;
}

/* Returns whether the elements of an operand are contiguous within a block. */
static bool is_contiguous(const struct mx_call *call, int k)
{
    return call->strides[k] == call->instruction->operands[k].itemsize;
}

static void pair_with_next(struct mx_program *program, struct mx_call *call)
{
    const struct mx_call *next = call + 1;
    enum mx_pair_step first = step_of(call), second = step_of(next);
    int between = call->accesses[2];
    if (first == MX_STEP_COUNT || second == MX_STEP_COUNT ||
        program->accesses[between].kind != MX_SCRATCH || count_uses(program, between) != 2 ||
        (next->accesses[0] != between && next->accesses[1] != between))
        return;
    int a = is_contiguous(call, 0) ? 0 : 1, b = 1 - a, c = next->accesses[0] == between;
    bool one_b = call->strides[b] == 0, one_c = next->strides[c] == 0;
    if (!is_contiguous(call, a) || !(one_b || is_contiguous(call, b)) ||
        !(one_c || is_contiguous(next, c)) || !is_contiguous(next, 2))
        return;
    call->pair = find_pair(program->accesses[between].itemsize, a == 0 ? first : reverse(first),
                           c == 1 ? second : reverse(second), one_b, one_c);
    call->pair_accesses[0] = call->accesses[a];
    call->pair_accesses[1] = call->accesses[b];
    call->pair_accesses[2] = next->accesses[c];
}

static void count_as_int64(const void *a, void *out, intptr_t n)
{
    *(int64_t *)out = mx_compact_count_true(a, n);
}

static void count_as_float64(const void *a, void *out, intptr_t n)
{
    *(double *)out = (double)mx_compact_count_true(a, n);
}

/* Computes a cast of bools and their sum as one count.  Sums of whole numbers are exact, so
 * their order does not matter. */
static void count_for_next(struct mx_program *program, struct mx_call *call)
{
    const struct mx_call *next = call + 1;
    const struct mx_instruction *cast = call->instruction, *sum = next->instruction;
    bool is_row_kept = !mx_is_reduced(program, program->ndim - 1);
    int dtype = cast->operands[1].dtype, between = call->accesses[1];
    if (cast->op != MX_COPY || cast->operands[0].dtype != MX_DTYPE_bool ||
        sum->kind != MX_REDUCE || sum->op != MX_OP_add || is_row_kept ||
        next->accesses[0] != between || program->accesses[between].kind != MX_SCRATCH ||
        count_uses(program, between) != 2 || !is_contiguous(call, 0))
        return;
    call->count = dtype == MX_DTYPE_int64     ? count_as_int64
                  : dtype == MX_DTYPE_float64 ? count_as_float64
                                              : NULL;
}

/* Returns whether a call squares the result of the one before it, and a sum in NumPy's order is
 * all that uses the squares. */
static bool adds_squares(const struct mx_program *program, const struct mx_call *call)
{
    const struct mx_instruction *square = call[1].instruction, *sum = call[2].instruction;
    int difference = call->accesses[2], result = call[1].accesses[square->nin];
    bool is_square = square->kind == MX_MAP &&
                     (square->op == MX_OP_square ||
                      (square->op == MX_OP_multiply && call[1].accesses[1] == difference));
    int uses = result == difference ? square->nin + 3 : square->nin + 1;
    return is_square && call[1].accesses[0] == difference && sum->kind == MX_REDUCE &&
           sum->op == MX_OP_add && sum->keeps_order && call[2].accesses[0] == result &&
           program->accesses[difference].kind == MX_SCRATCH &&
           program->accesses[result].kind == MX_SCRATCH &&
           count_uses(program, difference) == uses &&
           (result == difference || count_uses(program, result) == 2);
}

/* Returns whether the kernels find the mean of each element: one for a block, one for each row,
 * or one for each column. */
static bool are_means(const struct mx_program *program, const struct mx_access *access)
{
    int last = program->ndim - 1;
    intptr_t size = access->itemsize, step = access->strides[last];
    if (access->kind == MX_SCRATCH || access->is_stored)
        return false;
    switch (program->order) {
    case MX_PAIRWISE:
        return access->stride == 0;
    case MX_SHORT_ROWS:
        return step == 0 && access->strides[program->split] == size;
    case MX_ROW_BY_ROW:
        return mx_has_rows(program) && step == size && access->strides[program->split] == 0;
    default:
        return false;
    }
}

/* Computes the squares of differences from means, and their sum, with one kernel. */
static void add_squares(struct mx_program *program, int c)
{
    struct mx_call *call = &program->calls[c];
    const struct mx_instruction *in = call->instruction;
    int dtype = in->operands[2].dtype;
    if (c + 2 >= program->n_calls || in->kind != MX_MAP || in->op != MX_OP_subtract ||
        in->operands[0].dtype != dtype || !adds_squares(program, call))
        return;
    struct mx_access *mean = &program->accesses[call->accesses[1]];
    if (program->accesses[call->accesses[0]].stride != in->operands[0].itemsize ||
        !are_means(program, mean))
        return;
    call->squares = mx_rows_squares(dtype);
    mean->is_mean = call->squares && count_uses(program, call->accesses[1]) == 1;
}

/* Returns how many calls, beginning with one, a kernel computes together, apart from pairs. */
static int count_together(const struct mx_call *call)
{
    return call->squares ? 3 : call->run ? call->run->n_calls : 1;
}

void mx_pairs_find(struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c += count_together(&program->calls[c]))
        add_squares(program, c);
    for (int c = 0, n; c + 1 < program->n_calls; c += n) {
        struct mx_call *call = &program->calls[c];
        n = count_together(call);
        if (n > 1 || call->run || call[1].run || call[1].squares)
            continue;
        pair_with_next(program, call);
        count_for_next(program, call);
        n += call->pair || call->count;
    }
}
