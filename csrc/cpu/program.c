/* program.c -- from a group to blocks, and the blocks of a chunk one after the other. */
#include "program.h"

#include <string.h>

#include "../alloc.h"
#include "../axes.h"
#include "../buffer.h"
#include "../error.h"
#include "conditions.h"
#include "copies.h"
#include "find.h"
#include "gather.h"
#include "reduce.h"
#include "scan.h"
#include "scatter.h"

#define CACHE_BYTES    24576 /* of the first-level cache, for what a block touches */
#define MIN_BLOCK      256   /* elements */
#define MAX_BLOCK      4096
#define ROW_BYTES      32768 /* of results that a reduction comes back to */
#define SHORT_AXIS     48    /* an innermost axis up to this is made part of larger blocks */
#define CHUNK_ELEMENTS 16384
#define LINE           64 /* bytes of a cache line */

/* -- Axes -------------------------------------------------------------------------- */

static bool is_memory(const struct mx_access *access) { return access->place == MX_DIRECT; }

static intptr_t at_least_one(intptr_t n) { return n > 0 ? n : 1; }

/* The axes as all operands in memory have them. */
static struct mx_axes axes_of(struct mx_program *program, intptr_t **strides)
{
    struct mx_axes axes = {&program->ndim, program->shape, &program->reduced, 0, strides};
    for (int a = 0; a < program->n_accesses; a++)
        if (is_memory(&program->accesses[a]))
            strides[axes.n_views++] = program->accesses[a].strides;
    return axes;
}

static void sort_axes(struct mx_program *program)
{
    intptr_t *strides[program->n_accesses];
    struct mx_axes axes = axes_of(program, strides);
    mx_axes_sort(&axes);
}

static bool has_ranges(const struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        if (program->calls[c].instruction->kind == MX_RANGE)
            return true;
    return false;
}

/* An axis along which all operands go backwards is gone through from its other end. */
static void turn_axes(struct mx_program *program)
{
    for (int i = 0; i < program->ndim; i++) {
        bool backwards = false, forwards = has_ranges(program);
        for (int a = 0; a < program->n_accesses; a++) {
            intptr_t stride =
                is_memory(&program->accesses[a]) ? program->accesses[a].strides[i] : 0;
            backwards |= stride < 0;
            forwards |= stride > 0;
        }
        if (!backwards || forwards)
            continue;
        for (int a = 0; a < program->n_accesses; a++) {
            struct mx_access *access = &program->accesses[a];
            if (is_memory(access)) {
                access->data += (program->shape[i] - 1) * access->strides[i];
                access->strides[i] = -access->strides[i];
            }
        }
    }
}

static void merge_axes(struct mx_program *program)
{
    intptr_t *strides[program->n_accesses];
    struct mx_axes axes = axes_of(program, strides);
    mx_axes_merge(&axes);
}

/* -- Blocks ------------------------------------------------------------------------ */

/* Elements of a block for which all operands fit the cache. */
static intptr_t block_size(const struct mx_program *program)
{
    intptr_t bytes = 1;
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        if (access->place == MX_SCRATCH || access->strides[program->ndim - 1] != 0)
            bytes += access->itemsize;
    }
    intptr_t size = CACHE_BYTES / bytes / LINE * LINE;
    return size < MIN_BLOCK ? MIN_BLOCK : size > MAX_BLOCK ? MAX_BLOCK : size;
}

/* Reductions go along the innermost axis, or along others with a row of results: either
 * way a long one. */
static void choose_reduced_row(struct mx_program *program)
{
    int last = program->ndim - 1, longest = last;
    for (int i = 0; i < last; i++)
        if (program->shape[i] > program->shape[longest])
            longest = i;
    if (program->shape[last] < MIN_BLOCK / 4 && longest != last) {
        intptr_t *strides[program->n_accesses];
        struct mx_axes axes = axes_of(program, strides);
        for (int i = longest; i < last; i++)
            mx_axes_swap(&axes, i, i + 1);
    }
}

static int largest_item(const struct mx_program *program)
{
    int itemsize = 1;
    for (int a = 0; a < program->n_accesses; a++)
        if (program->accesses[a].itemsize > itemsize)
            itemsize = program->accesses[a].itemsize;
    return itemsize;
}

static void cut_into_blocks(struct mx_program *program)
{
    bool reduces = program->n_reductions > 0;
    if (reduces)
        choose_reduced_row(program);
    int split = program->ndim - 1;
    intptr_t inner = 1;
    while (!reduces && split > 0 && inner * program->shape[split] <= SHORT_AXIS)
        inner *= program->shape[split--];
    bool comes_back = reduces && !(program->reduced >> split & 1);
    intptr_t size = block_size(program);
    if (comes_back && program->n_calls <= 2)
        size = ROW_BYTES / largest_item(program); /* long ones: memory is read in one go */
    else if (program->n_calls == 1 && inner == 1)
        size = CHUNK_ELEMENTS; /* a loop alone just streams */
    intptr_t length = size / inner, n = program->shape[split];
    program->n_pieces = (n + length - 1) / length;
    program->length = (n + program->n_pieces - 1) / program->n_pieces;
    program->n_pieces = (n + program->length - 1) / program->length;
    program->split = split;
    program->inner = inner;
    program->n_blocks = program->n_pieces;
    for (int i = 0; i < split; i++)
        program->n_blocks *= program->shape[i];
}

/* Whether one stride leads through all elements of a block, and which. */
static bool has_block_stride(const struct mx_program *program, struct mx_access *access)
{
    int last = program->ndim - 1;
    access->stride = access->strides[last];
    for (int i = last; i > program->split; i--)
        if (access->strides[i - 1] != access->strides[i] * program->shape[i])
            return false;
    return true;
}

/* -- Scratch memory ---------------------------------------------------------------- */

struct slots {
    size_t size; /* of the whole so far */
    struct {
        size_t offset, size;
    } unused[MX_MAX_STEPS * 2];
    int n_unused;
};

static size_t take_slot(struct slots *slots, size_t size)
{
    for (int i = slots->n_unused - 1; i >= 0; i--) {
        if (slots->unused[i].size != size)
            continue;
        size_t offset = slots->unused[i].offset;
        slots->unused[i] = slots->unused[--slots->n_unused];
        return offset;
    }
    size_t offset = slots->size;
    slots->size += size;
    return offset;
}

static void give_slot(struct slots *slots, size_t offset, size_t size)
{
    if (slots->n_unused < MX_MAX_STEPS * 2) {
        slots->unused[slots->n_unused].offset = offset;
        slots->unused[slots->n_unused++].size = size;
    }
}

/* Room for one block, and a line more so that blocks do not fall on the same lines. */
static size_t slot_size(const struct mx_program *program, const struct mx_access *access)
{
    size_t n = (size_t)(program->length * program->inner);
    return (n * (size_t)access->itemsize + LINE - 1) / LINE * LINE + LINE;
}

static int last_use(const struct mx_program *program, int access)
{
    for (int c = program->n_calls - 1; c >= 0; c--) {
        const struct mx_instruction *in = program->calls[c].instruction;
        for (int k = 0; k < mx_operand_count(in); k++)
            if (program->calls[c].accesses[k] == access)
                return c;
    }
    return -1;
}

static bool is_first_use(const struct mx_program *program, int call, int access)
{
    for (int c = 0; c < call; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            if (program->calls[c].accesses[k] == access)
                return false;
    return true;
}

/* A temporary takes over the slot of one that is used for the last time, as its loop would
 * work in place. */
static void place_in_scratch(struct mx_program *program)
{
    struct slots slots = {0};
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        if (access->place == MX_PACKED)
            access->offset = take_slot(&slots, slot_size(program, access));
        if (access->place != MX_DIRECT)
            access->stride = access->itemsize;
    }
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_instruction *in = program->calls[c].instruction;
        const int *accesses = program->calls[c].accesses;
        for (int pass = 0; pass < 2; pass++) {
            /* Before the outputs take slots, the slots of inputs of their size are free. */
            for (int k = 0; k < mx_operand_count(in); k++) {
                struct mx_access *access = &program->accesses[accesses[k]];
                bool is_seen = false;
                for (int j = 0; j < k; j++)
                    is_seen |= accesses[j] == accesses[k];
                bool in_place = k < in->nin && in->nout == 1 &&
                                access->itemsize == in->operands[in->nin].itemsize;
                if (access->place == MX_SCRATCH && !is_seen && in_place == (pass == 0) &&
                    last_use(program, accesses[k]) == c)
                    give_slot(&slots, access->offset, slot_size(program, access));
            }
            for (int k = in->nin; k < mx_operand_count(in) && pass == 0; k++) {
                struct mx_access *access = &program->accesses[accesses[k]];
                if (access->place == MX_SCRATCH && is_first_use(program, c, accesses[k]))
                    access->offset = take_slot(&slots, slot_size(program, access));
            }
        }
    }
    program->scratch_size = slots.size;
}

static void settle_strides(struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            program->calls[c].strides[k] =
                program->accesses[program->calls[c].accesses[k]].stride;
}

/* -- Pairs ------------------------------------------------------------------------- */

static mx_pair_run *find_pair(int itemsize, enum mx_pair_step first, enum mx_pair_step second,
                              bool one_b, bool one_c)
{
    static const struct mx_pairs *const tables[] = {
#define ISA(name) &mx_pairs_##name,
        MX_ISAS(ISA)
#undef ISA
    };
    const struct mx_pairs *pairs = tables[mx_isa()];
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

static bool is_arithmetic(const struct mx_call *call)
{
    return call->instruction->kind == MX_MAP && call->instruction->arithmetic;
}

/* The step with its operands in the other order. */
static enum mx_pair_step reverse(enum mx_pair_step step)
{
    return step == MX_STEP_subtract ? MX_STEP_reversed : step;
}

/* Whether a run finds its elements there one after the other. */
static bool is_contiguous(const struct mx_call *call, int k)
{
    return call->strides[k] == call->instruction->operands[k].itemsize;
}

static void pair_with_next(struct mx_program *program, struct mx_call *call)
{
    const struct mx_call *next = call + 1;
    int between = call->accesses[2];
    if (!is_arithmetic(call) || !is_arithmetic(next) ||
        program->accesses[between].place != MX_SCRATCH || count_uses(program, between) != 2 ||
        (next->accesses[0] != between && next->accesses[1] != between))
        return;
    int a = is_contiguous(call, 0) ? 0 : 1, b = 1 - a, c = next->accesses[0] == between;
    bool one_b = call->strides[b] == 0, one_c = next->strides[c] == 0;
    if (!is_contiguous(call, a) || !(one_b || is_contiguous(call, b)) ||
        !(one_c || is_contiguous(next, c)) || !is_contiguous(next, 2))
        return;
    enum mx_pair_step first = (enum mx_pair_step)(call->instruction->arithmetic - MX_ADD);
    enum mx_pair_step second = (enum mx_pair_step)(next->instruction->arithmetic - MX_ADD);
    call->pair = find_pair(program->accesses[between].itemsize, a == 0 ? first : reverse(first),
                           c == 1 ? second : reverse(second), one_b, one_c);
    call->pair_accesses[0] = call->accesses[a];
    call->pair_accesses[1] = call->accesses[b];
    call->pair_accesses[2] = next->accesses[c];
}

/* Each call is in one pair at most. */
static void find_pairs(struct mx_program *program)
{
    for (int c = 0; c + 1 < program->n_calls; c++) {
        pair_with_next(program, &program->calls[c]);
        c += program->calls[c].pair != NULL;
    }
}

/* -- Making ------------------------------------------------------------------------ */

static int place_views(const struct mx_group *group)
{
    int status = MX_OK;
    for (int v = 0; v < group->n_views && status == MX_OK; v++)
        if (group->views[v].buffer && !group->views[v].is_temporary)
            status = mx_buffer_place(group->views[v].buffer);
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
        program->wanted |= in->wanted;
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

/* With these, NumPy's loops that tell NaN, infinity and signs go wrong: in NumPy 2.4
 * numpy.isnan(x, out=y[::2]) is not numpy.isnan(x). */
static bool is_scattered_truth(const struct mx_access *access)
{
    return access->is_stored && access->itemsize == 1 && access->stride != 1;
}

static void settle_accesses(struct mx_program *program)
{
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        if (access->place == MX_DIRECT &&
            (!has_block_stride(program, access) || is_scattered_truth(access)))
            access->place = MX_PACKED;
    }
}

static int plan_blocks(struct mx_program *program)
{
    sort_axes(program);
    turn_axes(program);
    merge_axes(program);
    cut_into_blocks(program);
    settle_accesses(program);
    place_in_scratch(program);
    settle_strides(program);
    find_pairs(program);
    program->blocks_per_chunk =
        at_least_one(CHUNK_ELEMENTS / (program->length * program->inner));
    program->n_chunks = (size_t)((program->n_blocks + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk);
    return program->n_reductions > 0 ? mx_reduce_plan(program) : MX_OK;
}

static int plan(struct mx_program *program)
{
    switch (program->kind) {
    case MX_SCAN:
        mx_scan_plan(program);
        return MX_OK;
    case MX_FIND:
        return mx_find_plan(program);
    case MX_GATHER:
        merge_axes(program);
        mx_gather_plan(program);
        return MX_OK;
    case MX_SCATTER:
        merge_axes(program);
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
    case MX_RANGE:
        return (void *)(uintptr_t)&at->index[0];
    case MX_CHECK:
    case MX_GATHER:
        return in;
    default:
        return in->loop.data;
    }
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
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_call *call = &program->calls[c];
        struct mx_instruction *in = call->instruction;
        char *args[MX_MAX_OPERANDS];
        if (call->pair && !watched) {
            const int *from = call->pair_accesses;
            call->pair(data[from[0]], data[from[1]], data[from[2]],
                       data[program->calls[++c].accesses[2]], n);
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
            mx_conditions_tell(in);
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
    case MX_FIND:
        mx_find_run_chunk(program, chunk, scratch);
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
        mx_conditions_tell(program->calls[0].instruction);
}

/* Conditions are looked for once in a chunk.  When some were met the chunk runs again with a
 * look after each call, if it can, to tell which calls met them. */
void mx_program_run_chunk(struct mx_program *program, size_t chunk, char *scratch)
{
    mx_conditions_clear();
    if (program->wanted && !program->is_repeatable)
        atomic_store(&program->is_watched, true);
    bool watched = atomic_load(&program->is_watched);
    run_once(program, chunk, scratch, watched);
    int met = mx_conditions_met() | atomic_load_explicit(&program->met, memory_order_relaxed);
    if (!watched && (met & program->wanted) != 0) {
        atomic_store(&program->is_watched, true);
        mx_conditions_clear();
        run_once(program, chunk, scratch, true);
    }
}

void mx_program_finish(struct mx_program *program)
{
    if (program->n_reductions > 0)
        mx_reduce_finish(program);
    if (program->kind == MX_FIND)
        mx_find_finish(program);
    if (program->kind == MX_SCATTER)
        mx_scatter_finish(program);
}
