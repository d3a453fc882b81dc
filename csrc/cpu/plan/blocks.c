/* blocks.c -- sorts the axes of a program into the order of memory, and cuts them into blocks.
 */
#include "cpu/plan/blocks.h"

#include "base/axes.h"

#define CACHE_BYTES 24576 /* of the first-level cache, for the operands of a block */
#define MIN_BLOCK   256   /* elements */
#define MAX_BLOCK   4096
#define ROW_BYTES   32768 /* of a row of results, to which a reduction returns for each strip */
#define SHORT_AXIS  48    /* innermost axes up to this length become part of larger blocks */
#define CHUNK_ELEMENTS 16384

/* -- Axes -------------------------------------------------------------------------- */

static bool is_memory(const struct mx_access *access) { return access->kind == MX_DIRECT; }

/* Returns the axes, with the strides of all operands that are in memory. */
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
        if (program->calls[c].instruction->kind == MX_ARANGE)
            return true;
    return false;
}

/* Reverses each axis along which the strides of all operands are negative. */
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

void mx_blocks_merge_axes(struct mx_program *program)
{
    intptr_t *strides[program->n_accesses];
    struct mx_axes axes = axes_of(program, strides);
    mx_axes_merge(&axes);
}

/* -- Blocks ------------------------------------------------------------------------ */

/* Returns the number of elements of a block for which all operands fit the cache. */
static intptr_t block_size(const struct mx_program *program)
{
    intptr_t bytes = 1;
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        if (access->kind == MX_SCRATCH || access->strides[program->ndim - 1] != 0)
            bytes += access->itemsize;
    }
    intptr_t size = CACHE_BYTES / bytes / MX_CACHE_LINE * MX_CACHE_LINE;
    return size < MIN_BLOCK ? MIN_BLOCK : size > MAX_BLOCK ? MAX_BLOCK : size;
}

/* Makes a long axis the innermost one, as a reduction either goes along it or keeps a row of
 * results for it. */
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

static int largest_itemsize(const struct mx_program *program)
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
    bool keeps_row = reduces && !mx_is_reduced(program, split);
    intptr_t size = block_size(program);
    if (keeps_row && program->n_calls <= 2)
        size = ROW_BYTES /
               largest_itemsize(program); /* long rows, so that memory is read sequentially */
    else if (program->n_calls == 1 && inner == 1)
        size = CHUNK_ELEMENTS; /* a single loop uses no element twice */
    intptr_t length = size / inner, n = program->shape[split];
    program->n_pieces = (n + length - 1) / length;
    program->length = (n + program->n_pieces - 1) / program->n_pieces;
    program->n_pieces = (n + program->length - 1) / program->length;
    MX_ASSERT(program->length > 0 && (program->n_pieces - 1) * program->length < n &&
              n <= program->n_pieces * program->length);
    program->split = split;
    program->inner = inner;
    program->n_blocks = program->n_pieces;
    for (int i = 0; i < split; i++)
        program->n_blocks *= program->shape[i];
}

/* Sets the stride of an access.  Returns whether it leads through all elements of a block. */
static bool has_block_stride(const struct mx_program *program, struct mx_access *access)
{
    int last = program->ndim - 1;
    access->stride = access->strides[last];
    for (int i = last; i > program->split; i--)
        if (access->strides[i - 1] != access->strides[i] * program->shape[i])
            return false;
    return true;
}

/* Returns whether a bool output has gaps.  NumPy's loops for isnan, isinf, isfinite and signbit
 * write such outputs wrongly: in NumPy 2.4, numpy.isnan(x, out=y[::2]) differs from
 * numpy.isnan(x). */
static bool is_bool_with_gaps(const struct mx_access *access)
{
    return access->is_stored && access->itemsize == 1 && access->stride != 1;
}

static void choose_access_kinds(struct mx_program *program)
{
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        if (access->kind == MX_DIRECT &&
            (!has_block_stride(program, access) || is_bool_with_gaps(access)))
            access->kind = MX_PACKED;
    }
}

/* -- Chunks ------------------------------------------------------------------------ */

static void distribute_blocks(struct mx_program *program)
{
    intptr_t n = CHUNK_ELEMENTS / (program->length * program->inner);
    program->blocks_per_chunk = n > 0 ? n : 1;
    program->n_chunks = (size_t)((program->n_blocks + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk);
}

void mx_blocks_plan(struct mx_program *program)
{
    sort_axes(program);
    turn_axes(program);
    mx_blocks_merge_axes(program);
    cut_into_blocks(program);
    choose_access_kinds(program);
    distribute_blocks(program);
}
