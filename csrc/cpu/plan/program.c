/* program.c -- prepares a group for execution on the processor, and runs it chunk by chunk. */
#include "cpu/plan/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/conditions.h"
#include "cpu/plan/argreduce.h"
#include "cpu/plan/blocks.h"
#include "cpu/plan/gather.h"
#include "cpu/plan/interpreter.h"
#include "cpu/plan/pairs.h"
#include "cpu/plan/reduce.h"
#include "cpu/plan/runs.h"
#include "cpu/plan/scan.h"
#include "cpu/plan/scatter.h"
#include "cpu/plan/scratch.h"
#include "ir/dtypes.h"
#include "ir/ops.h"
#include "memory/coherence.h"

/* -- Planning ---------------------------------------------------------------------- */

/* Makes the contents of the views current.  Views of one buffer may be read and written. */
static int prepare_views(const struct mx_group *group)
{
    int status = MX_OK;
    char *data;
    for (int v = 0; v < group->n_views && status == MX_OK; v++) {
        const struct mx_view *view = &group->views[v];
        if (!view->buffer || view->is_temporary)
            continue;
        bool keeps = !mx_fuse_overwrites(group, view);
        status = view->is_written ? mx_coherence_write(view->buffer, keeps, &data)
                                  : mx_coherence_read(view->buffer, &data);
    }
    return status;
}

static void add_views(struct mx_program *program, const struct mx_group *group)
{
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        struct mx_access *access = &program->accesses[program->n_accesses++];
        *access = (struct mx_access){
            .kind = view->is_temporary ? MX_SCRATCH : MX_DIRECT,
            .itemsize = view->itemsize,
            .is_loaded = view->is_read && !view->begins_empty,
            .is_stored = view->is_written && !view->is_reduced,
        };
        memcpy(access->strides, view->strides, sizeof access->strides);
        if (view->is_temporary)
            continue;
        access->data = (view->buffer ? mx_buffer_address(view->buffer) : NULL) + view->at;
        if (view->is_written && !view->begins_empty && !view->is_reduced)
            program->is_repeatable = false;
    }
}

/* Returns whether an instruction cannot report a condition: comparisons of floats clear them,
 * and comparisons and logical operations on integers and bools meet none. */
static bool is_silent(const struct mx_instruction *in)
{
    bool are_exact = true;
    for (int k = 0; k < mx_operand_count(in); k++)
        are_exact &= !mx_dtype_is_inexact(in->operands[k].dtype);
    bool is_elementwise = in->kind == MX_MAP || in->kind == MX_REDUCE;
    return is_elementwise && in->operands[in->nin].dtype == MX_DTYPE_bool &&
           (are_exact || in->loop.clears);
}

static void add_calls(struct mx_program *program, const struct mx_group *group,
                      struct mx_instruction *instructions)
{
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_call *call = &program->calls[program->n_calls++];
        struct mx_instruction *in = &instructions[group->steps[s].instruction];
        *call = (struct mx_call){.instruction = in};
        program->fpe_mask |= in->fpe_mask;
        program->is_silent &= is_silent(in);
        program->n_reductions += in->kind == MX_REDUCE;
        if (in->keeps_order && group->steps[s].views[0] >= 0)
            program->accesses[group->steps[s].views[0]].is_ordered = true;
        for (int k = 0; k < mx_operand_count(in); k++) {
            call->accesses[k] = group->steps[s].views[k];
            if (call->accesses[k] >= 0)
                continue;
            call->accesses[k] = program->n_accesses;
            program->accesses[program->n_accesses++] = (struct mx_access){
                .kind = MX_DIRECT,
                .itemsize = in->operands[k].itemsize,
                .data = in->operands[k].value,
            };
        }
    }
}

static bool has_one_element(const struct mx_program *program)
{
    for (int i = 0; i < program->ndim; i++)
        if (program->shape[i] != 1)
            return false;
    return true;
}

/* Values have no strides.  In NumPy, an array of one element has, which decides whether
 * products of complex numbers are computed with fused operations.  The bounds of clip are
 * numbers in most programs, and their strides decide between zeros of both signs. */
static void set_strides(struct mx_program *program)
{
    bool is_one = has_one_element(program);
    for (int c = 0; c < program->n_calls; c++) {
        struct mx_call *call = &program->calls[c];
        bool has_strides = is_one && call->instruction->op != MX_CLIP;
        for (int k = 0; k < mx_operand_count(call->instruction); k++) {
            const struct mx_access *access = &program->accesses[call->accesses[k]];
            call->strides[k] = has_strides ? access->itemsize : access->stride;
        }
    }
}

static int plan_blocks(struct mx_program *program)
{
    mx_blocks_plan(program);
    mx_scratch_plan(program);
    set_strides(program);
    if (mx_runs_find(program)) {
        mx_blocks_enlarge(program);
        mx_scratch_plan(program);
        mx_runs_reserve_copies(program);
    }
    mx_pairs_find(program);
    return program->n_reductions > 0 ? mx_reduce_plan(program) : MX_OK;
}

static int plan(struct mx_program *program)
{
    switch (program->kind) {
    case MX_SCAN:
        mx_scan_plan(program);
        return MX_OK;
    case MX_ARGREDUCE:
        return mx_argreduce_plan(program);
    case MX_GATHER:
        mx_blocks_merge_axes(program);
        mx_gather_plan(program);
        return MX_OK;
    case MX_SCATTER:
        mx_blocks_merge_axes(program);
        return mx_scatter_plan(program);
    default:
        return plan_blocks(program);
    }
}

int mx_program_new(struct mx_program **out, const struct mx_group *group,
                   struct mx_instruction *instructions)
{
    int status = prepare_views(group);
    if (status != MX_OK)
        return status;
    size_t n_accesses = (size_t)(group->n_views + group->n_steps * MX_MAX_OPERANDS);
    size_t calls_size = (size_t)group->n_steps * sizeof(struct mx_call);
    struct mx_program *program =
        mx_alloc(sizeof *program + n_accesses * (sizeof(struct mx_access) + sizeof(intptr_t)) +
                 calls_size);
    if (!program)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan %d operations", group->n_steps);
    *program = (struct mx_program){
        .ndim = group->ndim,
        .reduced = group->reduced,
        .parts = -1,
        .accesses = (struct mx_access *)(program + 1),
        .is_measured = group->is_measured,
        .is_repeatable = true,
        .is_silent = true,
    };
    program->calls = (struct mx_call *)(program->accesses + n_accesses);
    program->strides = (intptr_t *)(program->calls + group->n_steps);
    memcpy(program->shape, group->shape, sizeof program->shape);
    add_views(program, group);
    add_calls(program, group, instructions);
    program->kind = group->is_alone ? program->calls[0].instruction->kind : MX_MAP;
    status = plan(program);
    if (status != MX_OK) {
        mx_free(program);
        return status;
    }
    program->left = (struct mx_chunks){0, program->n_chunks};
    *out = program;
    return MX_OK;
}

void mx_program_free(struct mx_program *program)
{
    if (program) {
        mx_reduce_free(program);
        mx_free(program->state);
    }
    mx_free(program);
}

/* -- Running ----------------------------------------------------------------------- */

/* Sets the position of a block on the axes. */
static void find_block(const struct mx_program *program, intptr_t block, struct mx_position *at)
{
    intptr_t piece = block % program->n_pieces, row = block / program->n_pieces;
    intptr_t begin = piece * program->length, left = program->shape[program->split] - begin;
    at->index[program->split] = begin;
    at->length = left < program->length ? left : program->length;
    for (int i = program->split - 1; i >= 0; i--) {
        at->index[i] = row % program->shape[i];
        row /= program->shape[i];
    }
}

static void run_blocks(struct mx_program *program, size_t chunk, char *scratch, bool is_watched,
                       bool is_timed)
{
    struct mx_position at;
    intptr_t begin = (intptr_t)chunk * program->blocks_per_chunk;
    intptr_t end = begin + program->blocks_per_chunk;
    for (intptr_t b = begin; b < end && b < program->n_blocks; b++) {
        find_block(program, b, &at);
        at.is_timed = is_timed && b == begin;
        mx_interpreter_run_block(program, &at, scratch, NULL, is_watched);
        is_watched |= program->saves_blocks && atomic_load(&program->is_watched);
    }
}

/* Runs a chunk.  If is_timed, the calls are timed in its first block. */
static void run_once(struct mx_program *program, size_t chunk, char *scratch, bool is_watched,
                     bool is_timed)
{
    switch (program->kind) {
    case MX_ARGREDUCE:
        mx_argreduce_run_chunk(program, chunk, scratch);
        return;
    case MX_GATHER:
        mx_gather_run_chunk(program, chunk);
        return;
    case MX_SCAN:
        mx_scan_run_chunk(program, chunk);
        break;
    case MX_SCATTER:
        mx_scatter_run_chunk(program, chunk);
        break;
    default:
        if (program->n_reductions > 0)
            mx_reduce_run_chunk(program, chunk, scratch, is_watched, is_timed);
        else
            run_blocks(program, chunk, scratch, is_watched, is_timed);
        return;
    }
    if (is_watched)
        mx_conditions_report(program->calls[0].instruction);
}

/* The conditions are read once for a chunk.  If some were met and the chunk is repeatable, it
 * runs again and reads them after each call, which shows the calls that met them. */
void mx_program_run_chunk(struct mx_program *program, size_t chunk, char *scratch)
{
    mx_conditions_clear();
    if (program->fpe_mask && !program->is_repeatable && !program->saves_blocks)
        atomic_store(&program->is_watched, true);
    bool is_watched = atomic_load(&program->is_watched);
    run_once(program, chunk, scratch, is_watched, program->is_measured);
    if (!is_watched && !program->saves_blocks && mx_interpreter_has_met(program))
        run_once(program, chunk, scratch, true, false);
}

/* The samples of a call count as at most this many times the shortest one on average: a thread
 * that lost its core during a sample measured something else. */
#define LONGEST 4

/* Calls that ran together have no samples, except for the last of them.  Its time is divided
 * equally among them. */
static void write_samples(struct mx_program *program)
{
    for (int c = 0, first = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        int64_t n_samples = atomic_load(&call->n_samples);
        int64_t most = LONGEST * atomic_load(&call->shortest) * n_samples;
        int64_t taken = atomic_load(&call->nanoseconds);
        call->instruction->cost.nanoseconds = 0;
        if (n_samples == 0)
            continue;
        taken = taken < most ? taken : most;
        for (int k = first; k <= c; k++)
            program->calls[k].instruction->cost.nanoseconds = taken / (c + 1 - first);
        first = c + 1;
    }
}

void mx_program_finish(struct mx_program *program)
{
    if (program->n_reductions > 0)
        mx_reduce_finish(program);
    if (program->kind == MX_ARGREDUCE)
        mx_argreduce_finish(program);
    if (program->kind == MX_SCATTER)
        mx_scatter_finish(program);
    if (program->is_measured)
        write_samples(program);
}
