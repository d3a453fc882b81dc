/* pairs.c -- finds calls of a program that one kernel can compute together with the next call.
 */
#include "cpu/plan/pairs.h"

#include "cpu/kernels/compact.h"
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

void mx_pairs_find(struct mx_program *program)
{
    for (int c = 0; c + 1 < program->n_calls; c++) {
        struct mx_call *call = &program->calls[c];
        if (call->run) { /* a compiled kernel computes them */
            c += call->run->n_calls - 1;
            continue;
        }
        if (call[1].run)
            continue;
        pair_with_next(program, call);
        count_for_next(program, call);
        c += call->pair || call->count;
    }
}
