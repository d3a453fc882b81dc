/* program.c -- from a group to blocks, and the blocks of a chunk one after the other. */
#include "cpu/plan/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/conditions.h"
#include "cpu/kernels/copies.h"
#include "cpu/plan/argreduce.h"
#include "cpu/plan/blocks.h"
#include "cpu/plan/gather.h"
#include "cpu/plan/pairs.h"
#include "cpu/plan/reduce.h"
#include "cpu/plan/scan.h"
#include "cpu/plan/scatter.h"
#include "cpu/plan/scratch.h"
#include "memory/buffer.h"

/* -- Making ------------------------------------------------------------------------ */

static int place_views(const struct mx_group *group)
{
    int status = MX_OK;
    for (int v = 0; v < group->n_views && status == MX_OK; v++)
        if (group->views[v].buffer && !group->views[v].is_temporary)
            status = mx_buffer_allocate(group->views[v].buffer);
    return status;
}

static void add_views(struct mx_program *program, const struct mx_group *group)
{
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        struct mx_access *access = &program->accesses[program->n_accesses++];
        *access = (struct mx_access){
            .place = view->is_temporary ? MX_SCRATCH : MX_DIRECT,
            .itemsize = view->itemsize,
            .is_loaded = view->is_read && !view->begins_empty,
            .is_stored = view->is_written && !view->is_reduced,
        };
        if (view->is_temporary)
            continue;
        access->data = (view->buffer ? view->buffer->data : NULL) + view->at;
        memcpy(access->strides, view->strides, sizeof access->strides);
        if (view->is_written && !view->begins_empty && !view->is_reduced)
            program->is_repeatable = false;
    }
}

static void add_calls(struct mx_program *program, const struct mx_group *group,
                      struct mx_instruction *instructions)
{
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_call *call = &program->calls[program->n_calls++];
        struct mx_instruction *in = &instructions[group->steps[s].instruction];
        *call = (struct mx_call){.instruction = in};
        program->fpe_mask |= in->fpe_mask;
        program->n_reductions += in->kind == MX_REDUCE;
        for (int k = 0; k < mx_operand_count(in); k++) {
            call->accesses[k] = group->steps[s].views[k];
            if (call->accesses[k] >= 0)
                continue;
            call->accesses[k] = program->n_accesses;
            program->accesses[program->n_accesses++] = (struct mx_access){
                .place = MX_DIRECT,
                .itemsize = in->operands[k].itemsize,
                .data = in->operands[k].value,
            };
        }
    }
}

static void settle_strides(struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            program->calls[c].strides[k] =
                program->accesses[program->calls[c].accesses[k]].stride;
}

static int plan_blocks(struct mx_program *program)
{
    mx_blocks_plan(program);
    mx_scratch_plan(program);
    settle_strides(program);
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
    int status = place_views(group);
    if (status != MX_OK)
        return status;
    size_t n_accesses = (size_t)(group->n_views + group->n_steps * MX_MAX_OPERANDS);
    size_t calls_size = (size_t)group->n_steps * sizeof(struct mx_call);
    struct mx_program *program =
        mx_alloc(sizeof *program + n_accesses * sizeof(struct mx_access) + calls_size);
    if (!program)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan %d operations", group->n_steps);
    *program = (struct mx_program){
        .ndim = group->ndim,
        .reduced = group->reduced,
        .accesses = (struct mx_access *)(program + 1),
        .is_measured = group->is_measured,
        .is_repeatable = true,
    };
    program->calls = (struct mx_call *)(program->accesses + n_accesses);
    memcpy(program->shape, group->shape, sizeof program->shape);
    add_views(program, group);
    add_calls(program, group, instructions);
    program->kind = group->is_alone ? program->calls[0].instruction->kind : MX_MAP;
    status = plan(program);
    if (status != MX_OK) {
        mx_free(program);
        return status;
    }
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

static char *first_element(const struct mx_program *program, const struct mx_access *access,
                           const struct mx_position *at)
{
    char *data = access->data;
    for (int i = 0; i <= program->split; i++)
        data += at->index[i] * access->strides[i];
    return data;
}

/* Between memory and scratch memory, where elements of a block are packed. */
static void move(const struct mx_program *program, const struct mx_access *access,
                 const struct mx_position *at, char *packed, bool is_store)
{
    int ndim = program->ndim - program->split;
    intptr_t shape[MX_MAX_NDIM], strides[MX_MAX_NDIM], stride = access->itemsize;
    for (int i = ndim - 1; i >= 0; i--) {
        shape[i] = i == 0 ? at->length : program->shape[program->split + i];
        strides[i] = stride;
        stride *= shape[i];
    }
    char *data = first_element(program, access, at);
    const intptr_t *memory_strides = &access->strides[program->split];
    if (is_store)
        mx_copy_block(data, memory_strides, packed, strides, shape, ndim, access->itemsize);
    else
        mx_copy_block(packed, strides, data, memory_strides, shape, ndim, access->itemsize);
}

/* Before a call that clears the conditions met by those before it. */
static void keep_conditions(struct mx_program *program)
{
    int met = mx_conditions_met();
    if (met)
        atomic_fetch_or(&program->met, met);
}

/* What the loop of a call is told beside the operands. */
static void *data_of(struct mx_instruction *in, const struct mx_position *at)
{
    switch (in->kind) {
    case MX_ARANGE:
        return (void *)(uintptr_t)&at->index[0];
    case MX_BOUNDS_CHECK:
    case MX_GATHER:
        return in;
    default:
        return in->loop.data;
    }
}

/* Whether the thread's next block is timed. */
static _Thread_local bool is_sampled;

static int64_t add_time(struct mx_call *call, int64_t begin)
{
    int64_t end = mx_now(), taken = end - begin;
    int64_t shortest = atomic_load_explicit(&call->shortest, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->nanoseconds, taken, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->n_samples, 1, memory_order_relaxed);
    if (shortest == 0 || taken < shortest) /* another thread's may get lost */
        atomic_store_explicit(&call->shortest, taken, memory_order_relaxed);
    return end;
}

void mx_program_run_block(struct mx_program *program, const struct mx_position *at,
                          char *scratch, struct mx_partial *partials, bool watched)
{
    char *data[program->n_accesses];
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        data[a] = access->place == MX_DIRECT ? first_element(program, access, at)
                                             : scratch + access->offset;
        if (access->place == MX_PACKED && access->is_loaded)
            move(program, access, at, data[a], false);
    }
    intptr_t n = at->length * program->inner;
    bool is_timed = is_sampled;
    int64_t begin = is_timed ? mx_now() : 0;
    is_sampled = false;
    for (int c = 0; c < program->n_calls; c++) {
        struct mx_call *call = &program->calls[c];
        struct mx_instruction *in = call->instruction;
        char *args[MX_MAX_OPERANDS];
        if (call->pair && !watched) {
            const int *from = call->pair_accesses;
            call->pair(data[from[0]], data[from[1]], data[from[2]],
                       data[program->calls[++c].accesses[2]], n);
            if (is_timed) /* what both took is the second one's until it is over */
                begin = add_time(&program->calls[c], begin);
            continue;
        }
        if (call->count) {
            char *number = data[call->accesses[1]];
            call->count(data[call->accesses[0]], number, n);
            c++;
            mx_reduce_block(program, &program->calls[c], number, 0, 1, &partials[c]);
            if (is_timed)
                begin = add_time(&program->calls[c], begin);
            continue;
        }
        for (int k = 0; k < mx_operand_count(in); k++)
            args[k] = data[call->accesses[k]];
        if (in->loop.clears && !watched)
            keep_conditions(program);
        if (in->kind == MX_REDUCE)
            mx_reduce_block(program, call, args[0], call->strides[0], n, &partials[c]);
        else
            in->loop.function(args, &n, call->strides, data_of(in, at));
        if (watched)
            mx_conditions_report(in);
        if (is_timed)
            begin = add_time(call, begin);
    }
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        if (access->place == MX_PACKED && access->is_stored)
            move(program, access, at, data[a], true);
    }
}

/* The block's place on the axes. */
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

static void run_blocks(struct mx_program *program, size_t chunk, char *scratch, bool watched)
{
    struct mx_position at;
    intptr_t begin = (intptr_t)chunk * program->blocks_per_chunk;
    intptr_t end = begin + program->blocks_per_chunk;
    for (intptr_t b = begin; b < end && b < program->n_blocks; b++) {
        find_block(program, b, &at);
        mx_program_run_block(program, &at, scratch, NULL, watched);
    }
}

static void run_once(struct mx_program *program, size_t chunk, char *scratch, bool watched)
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
            mx_reduce_run_chunk(program, chunk, scratch, watched);
        else
            run_blocks(program, chunk, scratch, watched);
        return;
    }
    if (watched)
        mx_conditions_report(program->calls[0].instruction);
}

/* Conditions are looked for once in a chunk.  When some were met the chunk runs again with a
 * look after each call, if it can, to tell which calls met them. */
void mx_program_run_chunk(struct mx_program *program, size_t chunk, char *scratch)
{
    mx_conditions_clear();
    if (program->fpe_mask && !program->is_repeatable)
        atomic_store(&program->is_watched, true);
    bool watched = atomic_load(&program->is_watched);
    is_sampled = program->is_measured;
    run_once(program, chunk, scratch, watched);
    is_sampled = false;
    int met = mx_conditions_met() | atomic_load_explicit(&program->met, memory_order_relaxed);
    if (!watched && (met & program->fpe_mask) != 0) {
        atomic_store(&program->is_watched, true);
        mx_conditions_clear();
        run_once(program, chunk, scratch, true);
    }
}

/* A thread that lost its core in a sample has not told what the call takes. */
#define LONGEST 4 /* times the shortest sample, on average */

static void tell_samples(struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        int64_t most = LONGEST * atomic_load(&call->shortest) * atomic_load(&call->n_samples);
        int64_t taken = atomic_load(&call->nanoseconds);
        taken = taken < most ? taken : most;
        struct mx_cost *cost = &call->instruction->cost, *before = NULL;
        if (c > 0 && (call[-1].pair || call[-1].count) && atomic_load(&call[-1].n_samples) == 0)
            before = &call[-1].instruction->cost; /* half of what the two took */
        cost->nanoseconds = before ? taken - taken / 2 : taken;
        if (before)
            before->nanoseconds = taken / 2;
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
        tell_samples(program);
}
