/* reduce.c -- groups that end in reductions: units, strips and segments. */
#include "cpu/plan/reduce.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/conditions.h"
#include "cpu/kernels/copies.h"

#define MANY_CHUNKS      64    /* enough for any number of threads to share */
#define SEGMENT_ELEMENTS 32768 /* at least */
#define SEGMENT_ROWS     32    /* at least: each segment copies one, and one is joined */
#define CHUNK_ELEMENTS   16384

struct mx_reduce_plan {
    bool is_row_kept; /* the innermost axis is kept: results come in rows */
    intptr_t n_units, units_per_chunk, n_strips, n_segments;
    void *memory;        /* with partials in it */
    char *partials;      /* [segment][reduction][unit][element of row], on a cache line */
    size_t segment_size; /* bytes of the results of one segment */
    size_t levels;       /* where in scratch memory the waiting results begin */
    int n_row_levels;    /* of rows there, below the row of results itself */
};

/* -- Planning ---------------------------------------------------------------------- */

static size_t row_length(const struct mx_program *program)
{
    return program->reduce->is_row_kept ? (size_t)program->length : 1;
}

static int output_itemsize(const struct mx_call *call)
{
    return call->instruction->operands[call->instruction->nin].itemsize;
}

/* Bytes of one reduction's results in a segment; the next one's are aligned behind them. */
static size_t results_size(const struct mx_program *program, const struct mx_call *call)
{
    size_t size =
        (size_t)program->reduce->n_units * row_length(program) * (size_t)output_itemsize(call);
    return (size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
}

/* Bytes of one reduction's results that wait on the levels. */
static size_t levels_size(const struct mx_program *program, const struct mx_call *call)
{
    const struct mx_reduce_plan *plan = program->reduce;
    if (!plan->is_row_kept)
        return MX_LEVELS * MX_FAN * 16;
    size_t size = (size_t)(program->length * plan->n_row_levels * output_itemsize(call));
    return (size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
}

static intptr_t at_least_one(intptr_t n) { return n > 0 ? n : 1; }

int mx_reduce_plan(struct mx_program *program)
{
    struct mx_reduce_plan *plan = mx_alloc(sizeof *plan);
    if (!plan)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan a reduction");
    *plan = (struct mx_reduce_plan){
        .is_row_kept = !mx_is_reduced(program, program->split), .n_units = 1, .n_strips = 1};
    program->reduce = plan;
    for (int i = 0; i < program->split; i++)
        *(mx_is_reduced(program, i) ? &plan->n_strips : &plan->n_units) *= program->shape[i];
    *(plan->is_row_kept ? &plan->n_units : &plan->n_strips) *= program->n_pieces;

    intptr_t most = plan->n_strips * program->length / SEGMENT_ELEMENTS;
    if (plan->is_row_kept && most > plan->n_strips / SEGMENT_ROWS)
        most = plan->n_strips / SEGMENT_ROWS;
    most = at_least_one(most);
    intptr_t fpe_mask = (MANY_CHUNKS + plan->n_units - 1) / plan->n_units;
    fpe_mask = fpe_mask < plan->n_strips ? fpe_mask : plan->n_strips;
    plan->n_segments = fpe_mask < most ? fpe_mask : most;
    intptr_t unit = plan->n_strips / plan->n_segments * program->length;
    plan->units_per_chunk = at_least_one(CHUNK_ELEMENTS / at_least_one(unit));
    program->n_chunks =
        (size_t)((plan->n_units + plan->units_per_chunk - 1) / plan->units_per_chunk) *
        (size_t)plan->n_segments;

    for (intptr_t n = plan->n_strips / plan->n_segments;
         n > MX_ROWS && plan->n_row_levels < MX_LEVELS - 1; n /= MX_ROWS)
        plan->n_row_levels++;
    plan->levels = program->scratch_size =
        (program->scratch_size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
    for (int c = 0; c < program->n_calls; c++) {
        if (program->calls[c].instruction->kind != MX_REDUCE)
            continue;
        plan->segment_size += results_size(program, &program->calls[c]);
        program->scratch_size += levels_size(program, &program->calls[c]);
    }
    if (plan->n_segments > 1) {
        plan->memory = mx_alloc((size_t)plan->n_segments * plan->segment_size + MX_CACHE_LINE);
        plan->partials = (char *)(((uintptr_t)plan->memory + MX_CACHE_LINE - 1) &
                                  ~(uintptr_t)(MX_CACHE_LINE - 1));
        if (!plan->memory) {
            mx_fail(MX_ERROR_MEMORY, "unable to reduce in %td segments",
                    (ptrdiff_t)plan->n_segments);
            mx_reduce_free(program);
            return MX_ERROR_MEMORY;
        }
    }
    return MX_OK;
}

void mx_reduce_free(struct mx_program *program)
{
    if (program->reduce)
        mx_free(program->reduce->memory);
    mx_free(program->reduce);
    program->reduce = NULL;
}

/* -- One block --------------------------------------------------------------------- */

static const _Alignas(16) char zero[16];

/* *value = loop(*value, x) for each of n elements. */
static void fold(const struct mx_loop *loop, char *value, char *data, intptr_t stride,
                 intptr_t n)
{
    char *args[] = {value, data, value};
    intptr_t strides[] = {0, stride, 0};
    if (n > 0)
        loop->function(args, &n, strides, loop->data);
}

/* Reduces what waits on a level to its first place, from where the caller takes it. */
static char *fold_level(const struct mx_loop *loop, struct mx_partial *partial, int level,
                        int itemsize)
{
    char *values = partial->levels + level * MX_FAN * itemsize;
    fold(loop, values, values + itemsize, itemsize, partial->counts[level] - 1);
    partial->counts[level] = 0;
    return values;
}

static void push(const struct mx_loop *loop, struct mx_partial *partial, int level,
                 const char *value, int itemsize)
{
    char *values = partial->levels + level * MX_FAN * itemsize;
    memmove(values + partial->counts[level]++ * itemsize, value, (size_t)itemsize);
    if (partial->counts[level] < MX_FAN)
        return;
    char *folded = fold_level(loop, partial, level, itemsize);
    if (level + 1 < MX_LEVELS)
        push(loop, partial, level + 1, folded, itemsize);
    else
        partial->counts[level] = 1;
}

static void finish_levels(const struct mx_loop *loop, struct mx_partial *partial, int itemsize)
{
    for (int level = 0; level < MX_LEVELS - 1; level++)
        if (partial->counts[level] > 0)
            push(loop, partial, level + 1, fold_level(loop, partial, level, itemsize),
                 itemsize);
    memcpy(partial->target, fold_level(loop, partial, MX_LEVELS - 1, itemsize),
           (size_t)itemsize);
}

static void copy_row(char *to, intptr_t to_stride, const char *from, intptr_t from_stride,
                     intptr_t n, int itemsize)
{
    mx_copy_block(to, &to_stride, from, &from_stride, &n, 1, itemsize);
}

/* Adds a row to the sum on a level, and a sum that is complete to the one above: there the
 * row of results comes last. */
static void push_row(const struct mx_program *program, const struct mx_instruction *in,
                     struct mx_partial *partial, int level, char *data, intptr_t stride,
                     intptr_t n, int itemsize)
{
    bool is_first = partial->counts[level] == 0;
    bool is_last = level == program->reduce->n_row_levels;
    char *row =
        is_last ? partial->target : partial->levels + level * program->length * itemsize;
    intptr_t step = is_last ? partial->stride : itemsize;
    partial->counts[level] = is_last ? 1 : partial->counts[level] + 1;
    if (is_first && !in->begins_with_zero) {
        copy_row(row, step, data, stride, n, itemsize);
        return;
    }
    char *args[] = {is_first ? (char *)zero : row, data, row};
    intptr_t strides[] = {is_first ? 0 : step, stride, step};
    in->loop.function(args, &n, strides, in->loop.data);
    if (is_last || partial->counts[level] < MX_ROWS)
        return;
    partial->counts[level] = 0;
    push_row(program, in, partial, level + 1, row, itemsize, n, itemsize);
}

static void finish_rows(const struct mx_program *program, const struct mx_instruction *in,
                        struct mx_partial *partial, intptr_t n, int itemsize)
{
    for (int level = 0; level < program->reduce->n_row_levels; level++)
        if (partial->counts[level] > 0)
            push_row(program, in, partial, level + 1,
                     partial->levels + level * program->length * itemsize, itemsize, n,
                     itemsize);
}

void mx_reduce_block(const struct mx_program *program, const struct mx_call *call, char *data,
                     intptr_t stride, intptr_t n, struct mx_partial *partial)
{
    const struct mx_loop *loop = &call->instruction->loop;
    int itemsize = output_itemsize(call);
    if (program->reduce->is_row_kept) {
        push_row(program, call->instruction, partial, 0, data, stride, n, itemsize);
        return;
    }
    _Alignas(16) char value[16] = {0};
    if (call->instruction->begins_with_zero) {
        fold(loop, value, data, stride, n);
    } else {
        memcpy(value, data, (size_t)itemsize);
        fold(loop, value, data + stride, stride, n - 1);
    }
    if (program->reduce->n_strips == 1)
        memcpy(partial->target, value, (size_t)itemsize);
    else
        push(loop, partial, 0, value, itemsize);
}

/* -- One chunk --------------------------------------------------------------------- */

static void set_piece(const struct mx_program *program, intptr_t piece, struct mx_position *at)
{
    intptr_t begin = piece * program->length, left = program->shape[program->split] - begin;
    at->index[program->split] = begin;
    at->length = left < program->length ? left : program->length;
}

/* Sets the position on the axes kept, or on those reduced over. */
static void set_axes(const struct mx_program *program, bool reduced, intptr_t number,
                     struct mx_position *at)
{
    if (reduced == mx_is_reduced(program, program->split)) {
        set_piece(program, number % program->n_pieces, at);
        number /= program->n_pieces;
    }
    for (int i = program->split - 1; i >= 0; i--) {
        if (mx_is_reduced(program, i) != reduced)
            continue;
        at->index[i] = number % program->shape[i];
        number /= program->shape[i];
    }
}

/* Where the result of a unit goes in the output itself. */
static char *output_of(const struct mx_program *program, const struct mx_call *call,
                       const struct mx_position *at, intptr_t *stride)
{
    const struct mx_access *out = &program->accesses[call->accesses[call->instruction->nin]];
    char *data = out->data;
    for (int i = 0; i <= program->split; i++)
        if (!mx_is_reduced(program, i))
            data += at->index[i] * out->strides[i];
    *stride = out->stride;
    return data;
}

/* Where it goes among the results of a segment. */
static char *partial_of(const struct mx_program *program, int call, intptr_t segment,
                        intptr_t unit)
{
    const struct mx_reduce_plan *plan = program->reduce;
    char *results = plan->partials + (size_t)segment * plan->segment_size;
    for (int c = 0; c < call; c++)
        if (program->calls[c].instruction->kind == MX_REDUCE)
            results += results_size(program, &program->calls[c]);
    size_t itemsize = (size_t)output_itemsize(&program->calls[call]);
    return results + (size_t)unit * row_length(program) * itemsize;
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
        levels += levels_size(program, call);
        if (program->reduce->n_segments == 1) {
            partials[c].target = output_of(program, call, at, &partials[c].stride);
        } else {
            partials[c].target = partial_of(program, c, segment, unit);
            partials[c].stride = output_itemsize(call);
        }
    }
}

static void run_unit(struct mx_program *program, intptr_t unit, intptr_t segment, char *scratch,
                     bool watched)
{
    const struct mx_reduce_plan *plan = program->reduce;
    struct mx_partial partials[MX_MAX_STEPS];
    struct mx_position at = {.length = 1};
    set_axes(program, false, unit, &at);
    begin_partials(program, unit, segment, &at, scratch, partials);
    intptr_t begin = segment * plan->n_strips / plan->n_segments;
    intptr_t end = (segment + 1) * plan->n_strips / plan->n_segments;
    for (intptr_t strip = begin; strip < end; strip++) {
        set_axes(program, true, strip, &at);
        mx_program_run_block(program, &at, scratch, partials, watched);
    }
    for (int c = 0; c < program->n_calls; c++) {
        struct mx_instruction *in = program->calls[c].instruction;
        int itemsize = output_itemsize(&program->calls[c]);
        if (in->kind != MX_REDUCE)
            continue;
        if (plan->is_row_kept)
            finish_rows(program, in, &partials[c], at.length, itemsize);
        else if (plan->n_strips > 1)
            finish_levels(&in->loop, &partials[c], itemsize);
        if (watched)
            mx_conditions_report(in);
    }
}

void mx_reduce_run_chunk(struct mx_program *program, size_t chunk, char *scratch, bool watched)
{
    const struct mx_reduce_plan *plan = program->reduce;
    intptr_t segment = (intptr_t)chunk % plan->n_segments;
    intptr_t begin = (intptr_t)chunk / plan->n_segments * plan->units_per_chunk;
    intptr_t end = begin + plan->units_per_chunk;
    for (intptr_t unit = begin; unit < end && unit < plan->n_units; unit++)
        run_unit(program, unit, segment, scratch, watched);
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
    if (!plan->is_row_kept) {
        fold(loop, first, first + step, step, plan->n_segments - 1);
        memcpy(out, first, (size_t)itemsize);
        return;
    }
    copy_row(out, stride, first, itemsize, at.length, itemsize);
    for (intptr_t s = 1; s < plan->n_segments; s++) {
        char *args[] = {out, first + s * step, out};
        intptr_t strides[] = {stride, itemsize, stride};
        loop->function(args, &at.length, strides, loop->data);
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
