/* reduce.c -- groups that end in reductions. */
#include "cpu/plan/reduce.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/conditions.h"
#include "cpu/kernels/copies.h"
#include "cpu/plan/interpreter.h"
#include "cpu/plan/order.h"
#include "cpu/plan/partial.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

#define MANY_CHUNKS      64    /* enough for any number of threads */
#define SEGMENT_ELEMENTS 32768 /* at least */
#define SEGMENT_ROWS \
    32 /* at least, as each segment costs the copy of a row and a row to join */

/* -- Planning ---------------------------------------------------------------------- */

/* Returns how many results a unit has at most. */
static size_t row_length(const struct mx_program *program)
{
    return (size_t)(program->reduce->is_row_kept ? program->length
                    : mx_has_rows(program)       ? program->inner
                                                 : 1);
}

static int output_itemsize(const struct mx_call *call)
{
    return call->instruction->operands[call->instruction->nin].itemsize;
}

/* Returns the results of a unit in a segment.  Each leaf of a row has a result of its own. */
static size_t results_of_unit(const struct mx_program *program)
{
    return program->order == MX_PAIRWISE ? (size_t)program->reduce->n_strips
                                         : row_length(program);
}

/* Returns the bytes of a reduction's results in a segment, rounded up to a cache line. */
static size_t results_size(const struct mx_program *program, const struct mx_call *call)
{
    size_t size = (size_t)program->reduce->n_units * results_of_unit(program) *
                  (size_t)output_itemsize(call);
    return (size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
}

static intptr_t at_least_one(intptr_t n) { return n > 0 ? n : 1; }

/* Cuts the rows of a program that adds pairwise into leaves. */
static int cut_into_leaves(struct mx_program *program)
{
    struct mx_reduce_plan *plan = program->reduce;
    int status = mx_order_leaves(&plan->leaves, &plan->n_leaves, program->shape[program->split],
                                 program->length, mx_order_is_complex(program));
    if (status == MX_OK)
        program->n_pieces = plan->n_leaves;
    return status;
}

static void count_units(const struct mx_program *program)
{
    struct mx_reduce_plan *plan = program->reduce;
    plan->n_units = plan->n_strips = 1;
    for (int i = 0; i < program->split; i++)
        *(mx_is_reduced(program, i) ? &plan->n_strips : &plan->n_units) *= program->shape[i];
    *(plan->is_row_kept ? &plan->n_units : &plan->n_strips) *= program->n_pieces;
}

/* Returns the number of segments of each unit.  Rows that are added in NumPy's order have only
 * one, as each depends on those before it. */
static intptr_t choose_segments(const struct mx_program *program)
{
    const struct mx_reduce_plan *plan = program->reduce;
    if (program->order == MX_ROW_BY_ROW || program->order == MX_SHORT_ROWS)
        return 1;
    intptr_t most = plan->n_strips * program->length * program->inner / SEGMENT_ELEMENTS;
    if (plan->is_row_kept && most > plan->n_strips / SEGMENT_ROWS)
        most = plan->n_strips / SEGMENT_ROWS;
    most = at_least_one(most);
    intptr_t wanted = (MANY_CHUNKS + plan->n_units - 1) / plan->n_units;
    wanted = wanted < plan->n_strips ? wanted : plan->n_strips;
    return wanted < most ? wanted : most;
}

static int choose_row_levels(const struct mx_program *program)
{
    const struct mx_reduce_plan *plan = program->reduce;
    int n_levels = 0;
    if (program->order != MX_ANY_ORDER)
        return 0;
    for (intptr_t n = plan->n_strips / plan->n_segments;
         n > MX_ROWS && n_levels < MX_LEVELS - 1; n /= MX_ROWS)
        n_levels++;
    return n_levels;
}

static bool is_any_or_all(const struct mx_call *call)
{
    const struct mx_instruction *in = call->instruction;
    return in->kind == MX_REDUCE && in->operands[0].dtype == MX_DTYPE_bool &&
           (in->op == MX_OP_logical_or || in->op == MX_OP_logical_and);
}

/* Returns whether units may end when their results are known: a program computes nothing else,
 * and the blocks that it leaves out cannot report conditions. */
static bool stops_early(const struct mx_program *program)
{
    const struct mx_call *last = &program->calls[program->n_calls - 1];
    if (!program->is_silent || program->n_reductions != 1 || !is_any_or_all(last) ||
        program->reduce->is_row_kept || mx_has_rows(program))
        return false;
    for (int a = 0; a < program->n_accesses; a++)
        if (program->accesses[a].is_stored && program->accesses[a].kind != MX_SCRATCH)
            return false;
    return true;
}

/* Allocates the results of the segments. */
static int allocate_partials(const struct mx_program *program)
{
    struct mx_reduce_plan *plan = program->reduce;
    size_t n = program->order == MX_PAIRWISE ? 1 : (size_t)plan->n_segments;
    plan->memory = mx_alloc(n * plan->segment_size + MX_CACHE_LINE);
    plan->partials = (char *)(((uintptr_t)plan->memory + MX_CACHE_LINE - 1) &
                              ~(uintptr_t)(MX_CACHE_LINE - 1));
    return plan->memory ? MX_OK
                        : mx_fail(MX_ERROR_MEMORY, "unable to reduce in %td segments",
                                  (ptrdiff_t)plan->n_segments);
}

int mx_reduce_plan(struct mx_program *program)
{
    struct mx_reduce_plan *plan = mx_alloc(sizeof *plan);
    int status = MX_OK;
    if (!plan)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan a reduction");
    *plan = (struct mx_reduce_plan){.is_row_kept = !mx_is_reduced(program, program->split)};
    program->reduce = plan;
    if (program->order == MX_PAIRWISE && (status = cut_into_leaves(program)) != MX_OK) {
        mx_reduce_free(program);
        return status;
    }
    count_units(program);
    plan->n_segments = choose_segments(program);
    plan->stops_early = stops_early(program);
    intptr_t unit = plan->n_strips / plan->n_segments * program->length * program->inner;
    plan->units_per_chunk = at_least_one(MX_CHUNK_ELEMENTS / at_least_one(unit));
    MX_ASSERT(plan->n_segments >= 1 && plan->n_segments <= plan->n_strips);
    program->n_chunks =
        (size_t)((plan->n_units + plan->units_per_chunk - 1) / plan->units_per_chunk) *
        (size_t)plan->n_segments;

    plan->n_row_levels = choose_row_levels(program);
    plan->levels = program->scratch_size =
        (program->scratch_size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
    for (int c = 0; c < program->n_calls; c++) {
        if (program->calls[c].instruction->kind != MX_REDUCE)
            continue;
        plan->segment_size += results_size(program, &program->calls[c]);
        program->scratch_size += mx_partial_levels_size(program, &program->calls[c]);
    }
    if (plan->n_segments > 1)
        status = allocate_partials(program);
    if (status != MX_OK)
        mx_reduce_free(program);
    return status;
}

void mx_reduce_free(struct mx_program *program)
{
    if (program->reduce) {
        mx_free(program->reduce->memory);
        mx_free(program->reduce->leaves);
    }
    mx_free(program->reduce);
    program->reduce = NULL;
}

/* -- One chunk --------------------------------------------------------------------- */

static void set_piece(const struct mx_program *program, intptr_t piece, struct mx_position *at)
{
    const struct mx_leaf *leaves = program->reduce->leaves;
    intptr_t begin = leaves ? leaves[piece].begin : piece * program->length;
    intptr_t left = (leaves ? leaves[piece + 1].begin : program->shape[program->split]) - begin;
    at->index[program->split] = begin;
    at->length = left < program->length ? left : program->length;
}

/* Sets the position on the axes reduced over, or on those that are kept. */
static void set_axes(const struct mx_program *program, bool is_reduced, intptr_t number,
                     struct mx_position *at)
{
    if (is_reduced == mx_is_reduced(program, program->split)) {
        set_piece(program, number % program->n_pieces, at);
        number /= program->n_pieces;
    }
    for (int i = program->split - 1; i >= 0; i--) {
        if (mx_is_reduced(program, i) != is_reduced)
            continue;
        at->index[i] = number % program->shape[i];
        number /= program->shape[i];
    }
}

/* Returns the address of a unit's result in the output itself. */
static char *output_of(const struct mx_program *program, const struct mx_call *call,
                       const struct mx_position *at, intptr_t *stride)
{
    const struct mx_access *out = &program->accesses[call->accesses[call->instruction->nin]];
    char *data = out->data;
    for (int i = 0; i <= program->split; i++)
        if (!mx_is_reduced(program, i))
            data += at->index[i] * out->strides[i];
    int kept = mx_is_reduced(program, program->split) ? program->ndim - 1 : program->split;
    *stride = out->strides[kept];
    return data;
}

/* Returns the address of a unit's result among the results of a segment. */
static char *partial_of(const struct mx_program *program, int call, intptr_t segment,
                        intptr_t unit)
{
    const struct mx_reduce_plan *plan = program->reduce;
    char *results = plan->partials + (size_t)segment * plan->segment_size;
    for (int c = 0; c < call; c++)
        if (program->calls[c].instruction->kind == MX_REDUCE)
            results += results_size(program, &program->calls[c]);
    size_t itemsize = (size_t)output_itemsize(&program->calls[call]);
    return results + (size_t)unit * results_of_unit(program) * itemsize;
}

static void begin_partials(const struct mx_program *program, intptr_t unit, intptr_t segment,
                           const struct mx_position *at, char *scratch,
                           struct mx_partial *partials)
{
    char *levels = scratch + program->reduce->levels;
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        if (call->instruction->kind != MX_REDUCE)
            continue;
        partials[c] = (struct mx_partial){.levels = levels};
        levels += mx_partial_levels_size(program, call);
        if (program->reduce->n_segments == 1) {
            partials[c].target = output_of(program, call, at, &partials[c].stride);
        } else {
            partials[c].target =
                partial_of(program, c, program->order == MX_PAIRWISE ? 0 : segment, unit);
            partials[c].stride = output_itemsize(call);
        }
    }
}

/* Returns whether another segment has decided the result of a unit.  There are few units if
 * they have segments. */
static bool is_decided(const struct mx_program *program, intptr_t unit)
{
    return program->reduce->n_segments > 1 &&
           (atomic_load_explicit(&program->reduce->decided, memory_order_relaxed) >> unit & 1);
}

static void set_decided(const struct mx_program *program, intptr_t unit)
{
    MX_ASSERT(program->reduce->n_segments == 1 || program->reduce->n_units <= MANY_CHUNKS);
    if (program->reduce->n_segments > 1)
        atomic_fetch_or_explicit(&program->reduce->decided, (uint64_t)1 << unit,
                                 memory_order_relaxed);
}

static void run_unit(struct mx_program *program, intptr_t unit, intptr_t segment, char *scratch,
                     bool is_watched, bool is_timed)
{
    const struct mx_reduce_plan *plan = program->reduce;
    struct mx_partial partials[MX_MAX_STEPS];
    struct mx_position at = {.length = 1};
    set_axes(program, false, unit, &at);
    begin_partials(program, unit, segment, &at, scratch, partials);
    if (plan->stops_early && is_decided(program, unit)) {
        mx_partial_decide(&program->calls[program->n_calls - 1],
                          &partials[program->n_calls - 1]);
        return;
    }
    intptr_t begin = segment * plan->n_strips / plan->n_segments;
    intptr_t end = (segment + 1) * plan->n_strips / plan->n_segments;
    bool is_known = false;
    for (intptr_t strip = begin; strip < end && !is_known; strip++) {
        set_axes(program, true, strip, &at);
        at.strip = strip;
        at.is_timed = is_timed && strip == begin;
        mx_interpreter_run_block(program, &at, scratch, partials, is_watched);
        is_known = plan->stops_early && partials[program->n_calls - 1].is_decided;
    }
    if (is_known)
        set_decided(program, unit);
    for (int c = 0; c < program->n_calls; c++) {
        struct mx_call *call = &program->calls[c];
        if (call->instruction->kind != MX_REDUCE)
            continue;
        mx_partial_finish(program, call, &partials[c], &at);
        if (is_watched)
            mx_conditions_report(call->instruction);
    }
}

void mx_reduce_run_chunk(struct mx_program *program, size_t chunk, char *scratch,
                         bool is_watched, bool is_timed)
{
    const struct mx_reduce_plan *plan = program->reduce;
    intptr_t segment = (intptr_t)chunk % plan->n_segments;
    intptr_t begin = (intptr_t)chunk / plan->n_segments * plan->units_per_chunk;
    intptr_t end = begin + plan->units_per_chunk;
    for (intptr_t unit = begin; unit < end && unit < plan->n_units; unit++)
        run_unit(program, unit, segment, scratch, is_watched, is_timed && unit == begin);
}

/* -- The end ----------------------------------------------------------------------- */

static void join_segments(const struct mx_program *program, int c, intptr_t unit)
{
    const struct mx_reduce_plan *plan = program->reduce;
    const struct mx_call *call = &program->calls[c];
    const struct mx_loop *loop = &call->instruction->loop;
    int itemsize = output_itemsize(call);
    struct mx_position at = {.length = 1};
    intptr_t stride, step = (intptr_t)plan->segment_size;
    set_axes(program, false, unit, &at);
    char *out = output_of(program, call, &at, &stride),
         *first = partial_of(program, c, 0, unit);
    if (program->order == MX_PAIRWISE) {
        mx_partial_join_leaves(program, call, first, out);
        return;
    }
    if (!plan->is_row_kept && !mx_has_rows(program)) {
        mx_partial_fold(loop, first, first + step, step, plan->n_segments - 1);
        memcpy(out, first, (size_t)itemsize);
        return;
    }
    intptr_t n = plan->is_row_kept ? at.length : mx_inner(program, &at);
    mx_copy_block(out, &stride, first, &(intptr_t){itemsize}, &n, 1, itemsize);
    for (intptr_t s = 1; s < plan->n_segments; s++) {
        char *args[] = {out, first + s * step, out};
        intptr_t strides[] = {stride, itemsize, stride};
        loop->function(args, &n, strides, loop->data);
    }
}

void mx_reduce_finish(struct mx_program *program)
{
    if (program->reduce->n_segments == 1)
        return;
    mx_conditions_clear();
    for (int c = 0; c < program->n_calls; c++) {
        if (program->calls[c].instruction->kind != MX_REDUCE)
            continue;
        for (intptr_t unit = 0; unit < program->reduce->n_units; unit++)
            join_segments(program, c, unit);
        mx_conditions_report(program->calls[c].instruction);
    }
}
