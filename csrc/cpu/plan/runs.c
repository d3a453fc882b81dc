/* runs.c -- describes a program for the compiler, and finds compiled kernels for its calls.
 *
 * A key consists of these numbers, which mxnp/_jit/program.py reads:
 *
 *     for each access    its layout, and whether it is stored
 *     -1
 *     for each call      the operation, or -1 if only its own loop can compute it; the number
 * of inputs, the number of outputs; then for each operand the access and the dtype
 */
#include "cpu/plan/runs.h"

#include "cpu/plan/scratch.h"
#include "ir/ops.h"

enum layout { ONE_VALUE, ADJACENT, STRIDED, STORED = 4 };

static bool is_compilable(const struct mx_instruction *in)
{
    return in->kind == MX_MAP && in->op < MX_SEARCH_LEFT && in->op != MX_ARGMAX &&
           in->op != MX_ARGMIN;
}

static short layout_of(const struct mx_access *access)
{
    int layout = access->stride == 0                  ? ONE_VALUE
                 : access->stride == access->itemsize ? ADJACENT
                                                      : STRIDED;
    return (short)(layout | (access->is_stored && access->kind != MX_SCRATCH ? STORED : 0));
}

/* Returns whether the program fits a key. */
static bool runs_describe(const struct mx_program *program, struct mx_compiled_key *key)
{
    int n = 0;
    if (program->n_accesses + 1 + program->n_calls * (3 + 2 * MX_MAX_OPERANDS) > MX_MAX_KEY)
        return false;
    for (int a = 0; a < program->n_accesses; a++)
        key->numbers[n++] = layout_of(&program->accesses[a]);
    key->numbers[n++] = -1;
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        const struct mx_instruction *in = call->instruction;
        key->numbers[n++] = is_compilable(in) ? (short)in->op : -1;
        key->numbers[n++] = (short)in->nin;
        key->numbers[n++] = (short)in->nout;
        for (int k = 0; k < mx_operand_count(in); k++) {
            key->numbers[n++] = (short)call->accesses[k];
            key->numbers[n++] = (short)in->operands[k].dtype;
        }
    }
    key->n = n;
    return true;
}

/* Returns whether a kernel that writes one access overwrites the other: temporaries share slots
 * of scratch memory. */
static bool shares_memory(const struct mx_access *a, const struct mx_access *b)
{
    bool are_temporaries = a->kind == MX_SCRATCH && b->kind == MX_SCRATCH;
    return a == b || (are_temporaries && a->offset == b->offset);
}

/* Marks the accesses that a run reads and then overwrites.  If a condition is met, the run is
 * computed again call by call, from a copy of their elements. */
static void mark_saved(struct mx_program *program, int first, int n_calls)
{
    int n = program->n_accesses;
    bool is_read[n], is_written[n];
    for (int a = 0; a < n; a++)
        is_read[a] = is_written[a] = false;
    for (int c = first; c < first + n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        const struct mx_instruction *in = call->instruction;
        for (int k = 0; k < in->nin; k++)
            is_read[call->accesses[k]] |= !is_written[call->accesses[k]];
        for (int k = in->nin; k < mx_operand_count(in); k++)
            is_written[call->accesses[k]] = true;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n && is_read[a]; b++)
            program->accesses[a].is_saved |=
                is_written[b] && !program->accesses[b].is_in_registers &&
                shares_memory(&program->accesses[a], &program->accesses[b]);
}

/* Marks the temporaries that only one run uses. */
static void mark_registers(struct mx_program *program)
{
    int n = program->n_accesses, run = -1, runs[n];
    for (int a = 0; a < n; a++) {
        runs[a] = -1;
        program->accesses[a].is_in_registers = program->accesses[a].kind == MX_SCRATCH;
    }
    for (int c = 0, end = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        if (call->run) {
            run = c;
            end = c + call->run->n_calls;
        }
        for (int k = 0; k < mx_operand_count(call->instruction); k++) {
            int a = call->accesses[k];
            if (c >= end || (runs[a] >= 0 && runs[a] != run))
                program->accesses[a].is_in_registers = false;
            runs[a] = run;
        }
    }
}

void mx_runs_reserve_copies(struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        if (program->calls[c].run)
            mark_saved(program, c, program->calls[c].run->n_calls);
    program->saves_blocks =
        program->fpe_mask && !program->is_repeatable && program->n_reductions == 0;
    if (program->saves_blocks)
        mark_saved(program, 0, program->n_calls);
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        if (!access->is_saved)
            continue;
        access->saved = program->scratch_size;
        program->scratch_size += mx_scratch_slot_size(program, access);
    }
}

bool mx_runs_find(struct mx_program *program)
{
    struct mx_compiled_key key;
    int64_t work = program->n_calls;
    if (!mx_compiled_is_on() || !runs_describe(program, &key))
        return false;
    for (int i = 0; i < program->ndim; i++)
        work *= program->shape[i];
    const struct mx_compiled *compiled = mx_compiled_get(&key, work);
    if (!compiled)
        return false;
    for (int r = 0; r < compiled->n_runs; r++) {
        const struct mx_compiled_run *run = &compiled->runs[r];
        MX_ASSERT(run->first >= 0 && run->first + run->n_calls <= program->n_calls);
        program->calls[run->first].run = run;
        program->n_compiled += run->n_calls;
    }
    for (int a = 0; a < program->n_accesses; a++)
        program->strides[a] = program->accesses[a].stride;
    mark_registers(program);
    return true;
}
