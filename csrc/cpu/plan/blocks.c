/* blocks.c -- sorts the axes of a program into the order of memory, and cuts them into blocks.
 */
#include "cpu/plan/blocks.h"

#include "base/axes.h"
#include "cpu/plan/order.h"
#include "cpu/threads/thread_pool.h"
#include "ir/ops.h"

#define CACHE_BYTES   24576 /* of the first-level cache, for the operands of a block */
#define MIN_BLOCK     1024  /* elements */
#define MAX_BLOCK     4096
#define WIDE_ROW      2048 /* elements of a row that is reduced with few others in a block */
#define NARROW_ROW    1024 /* the same, if other operations compute the row */
#define LEAST_ROWS    8    /* of a block, which adds each row to the results in memory */
#define FEW_CALLS     4    /* of a program: their operands fit the second-level cache then */
#define MIN_PIECE     4096 /* elements of a wide row; fewer if many operations compute it */
#define SHORT_AXIS    48   /* innermost axes up to this length become part of larger blocks */
#define LEAST_COLUMNS 48   /* of a part of a row that a thread reduces */
#define VECTORS       64   /* elements: compiled kernels compute this many without a rest */

/* -- Axes -------------------------------------------------------------------------- */

static bool has_strides(const struct mx_access *access)
{
    return access->kind == MX_DIRECT || access->is_ordered;
}

/* Returns the axes, with the strides of all operands that are in memory, and of all whose order
 * matters, which come first. */
static struct mx_axes axes_of(struct mx_program *program, intptr_t **strides)
{
    struct mx_axes axes = {&program->ndim, program->shape, &program->reduced, 0, strides};
    for (int is_ordered = 1; is_ordered >= 0; is_ordered--)
        for (int a = 0; a < program->n_accesses; a++)
            if (has_strides(&program->accesses[a]) &&
                program->accesses[a].is_ordered == is_ordered)
                strides[axes.n_views++] = program->accesses[a].strides;
    return axes;
}

/* Sorts the axes by the inputs of sums that keep NumPy's order or, without any, by all. */
static void sort_axes(struct mx_program *program)
{
    intptr_t *strides[program->n_accesses];
    struct mx_axes axes = axes_of(program, strides);
    int n_ordered = 0;
    for (int a = 0; a < program->n_accesses; a++)
        n_ordered += program->accesses[a].is_ordered;
    mx_axes_sort(&axes, n_ordered ? n_ordered : axes.n_views);
}

static bool has_ranges(const struct mx_program *program)
{
    for (int c = 0; c < program->n_calls; c++)
        if (program->calls[c].instruction->kind == MX_ARANGE)
            return true;
    return false;
}

/* Reverses each axis along which the strides of all operands are negative.  NumPy's reductions
 * do not: of several complex NaN, the first one is the extreme. */
static void turn_axes(struct mx_program *program)
{
    if (program->n_reductions > 0)
        return;
    for (int i = 0; i < program->ndim; i++) {
        bool backwards = false, forwards = has_ranges(program);
        for (int a = 0; a < program->n_accesses; a++) {
            const struct mx_access *access = &program->accesses[a];
            intptr_t stride = has_strides(access) ? access->strides[i] : 0;
            backwards |= stride < 0;
            forwards |= stride > 0;
        }
        if (!backwards || forwards)
            continue;
        for (int a = 0; a < program->n_accesses; a++) {
            struct mx_access *access = &program->accesses[a];
            if (access->kind == MX_DIRECT) {
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
        if (!access->is_in_registers &&
            (access->kind == MX_SCRATCH || access->strides[program->ndim - 1] != 0))
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
        if (program->shape[i] > program->shape[longest] &&
            (program->order == MX_ANY_ORDER || !mx_is_reduced(program, i)))
            longest = i;
    if (program->shape[last] < MX_LONG_ROW && longest != last) {
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

static bool only_reduces(const struct mx_program *program)
{
    return program->n_calls == program->n_reductions;
}

/* Returns the most elements of a row that is reduced with others in a block. */
static intptr_t widest_row(const struct mx_program *program)
{
    return only_reduces(program) ? WIDE_ROW : NARROW_ROW;
}

/* Returns whether blocks have several rows, which reductions go through themselves. */
static bool takes_rows(const struct mx_program *program)
{
    int last = program->ndim - 1;
    if (program->order != MX_ROW_BY_ROW && program->order != MX_FOLDED_ROWS)
        return program->order == MX_SHORT_ROWS;
    return last > 0 && mx_is_reduced(program, last - 1) &&
           program->shape[last] <= widest_row(program);
}

static intptr_t round_up(intptr_t n, intptr_t step) { return (n + step - 1) / step * step; }

/* Returns the length of the parts into which n columns are cut, so that threads reduce a part
 * each and the rows of a part fit the kernel.  All parts begin on a cache line if the first one
 * does, and only the last one may be shorter. */
static intptr_t length_of_parts(const struct mx_program *program, intptr_t n, int threads)
{
    intptr_t widest = widest_row(program), step = MX_CACHE_LINE / largest_itemsize(program);
    intptr_t n_parts = round_up(n > 2 * widest ? (n + widest - 1) / widest : 1, threads);
    n_parts = n_parts < n / LEAST_COLUMNS ? n_parts : n / LEAST_COLUMNS;
    return n_parts < 2 ? n : round_up((n + n_parts - 1) / n_parts, step);
}

/* Makes two axes of the innermost one, if it is kept: the parts of the rows, outside of the
 * axis that is reduced over, and the columns of a part.  Threads share the parts of rows that
 * are added in NumPy's order.  Rows that are much too wide for the kernel are cut in any case,
 * and those that are reduced in another order in the same way for any number of threads. */
static void share_columns(struct mx_program *program)
{
    int last = program->ndim - 1;
    bool is_in_order = program->order == MX_ROW_BY_ROW;
    if (!(is_in_order || program->order == MX_FOLDED_ROWS) || last == 0 ||
        !mx_is_reduced(program, last - 1) || program->ndim == MX_MAX_NDIM ||
        program->shape[last] * program->shape[last - 1] < MX_SHARED_ELEMENTS)
        return;
    intptr_t n = program->shape[last];
    intptr_t length = length_of_parts(program, n, is_in_order ? mx_thread_pool_size() : 1);
    if (length >= n)
        return;
    intptr_t n_parts = (n + length - 1) / length;
    program->shape[last + 1] = length;
    program->shape[last] = program->shape[last - 1];
    program->shape[last - 1] = n_parts;
    program->reduced ^= 3U << (last - 1);
    program->ndim++;
    program->parts = last - 1;
    program->last_part = n - (n_parts - 1) * length;
    for (int a = 0; a < program->n_accesses; a++) {
        intptr_t *strides = program->accesses[a].strides;
        strides[last + 1] = strides[last];
        strides[last] = strides[last - 1];
        strides[last - 1] = strides[last + 1] * length;
    }
}

/* Returns the length of the pieces in which threads share a row of n results, each of which is
 * added in the same order however the row is cut. */
static intptr_t share_row(const struct mx_program *program, intptr_t n)
{
    intptr_t n_units = 1, least = MIN_PIECE / (1 + program->n_calls / 3);
    for (int i = 0; i < program->ndim - 1; i++)
        n_units *= mx_is_reduced(program, i) ? 1 : program->shape[i];
    intptr_t length = n * n_units / mx_thread_pool_size() + 1;
    return length > least ? length : least;
}

/* Cuts the split axis into pieces of about the same length, which is at most `length` and, if
 * it is the length of several pieces, a multiple of `step`. */
static void cut_pieces(struct mx_program *program, intptr_t length, intptr_t step)
{
    intptr_t n = program->shape[program->split];
    program->n_pieces = (n + length - 1) / length;
    program->length = (n + program->n_pieces - 1) / program->n_pieces;
    if (program->n_pieces > 1)
        program->length = (program->length + step - 1) / step * step;
    program->n_pieces = (n + program->length - 1) / program->length;
    MX_ASSERT(program->length > 0 && (program->n_pieces - 1) * program->length < n &&
              n <= program->n_pieces * program->length);
    program->n_blocks = program->n_pieces;
    for (int i = 0; i < program->split; i++)
        program->n_blocks *= program->shape[i];
}

/* Returns whether a program reduces bools that it computes with one call, as any(x > y) does.
 */
static bool reduces_bools(const struct mx_program *program)
{
    const struct mx_call *last = &program->calls[program->n_calls - 1];
    return program->n_calls == 2 && last->instruction->kind == MX_REDUCE &&
           program->n_reductions == 1 && program->accesses[last->accesses[0]].itemsize == 1;
}

static void cut_into_blocks(struct mx_program *program)
{
    bool reduces = program->n_reductions > 0;
    program->order = mx_order_of(program);
    share_columns(program);
    bool has_rows = takes_rows(program);
    MX_ASSERT(has_rows || program->parts < 0); /* parts are no wider than the rows of blocks */
    if (program->order == MX_FOLDED_ROWS && !has_rows)
        program->order = MX_ANY_ORDER; /* rows are so long that NumPy's loop reduces them */
    if (reduces && !has_rows)
        choose_reduced_row(program);
    program->split = program->ndim - 1;
    program->inner = 1;
    while (!reduces && program->split > 0 &&
           program->inner * program->shape[program->split] <= SHORT_AXIS)
        program->inner *= program->shape[program->split--];
    if (has_rows)
        program->inner = program->shape[program->split--];
    bool keeps_row = reduces && !has_rows && !mx_is_reduced(program, program->split);
    intptr_t size = block_size(program);
    if (keeps_row && program->n_calls <= 2)
        size = MX_CACHED_BYTES /
               largest_itemsize(program); /* long rows, so that memory is read sequentially */
    else if (program->n_calls == 1 && (program->inner == 1 || has_rows))
        size = MX_CHUNK_ELEMENTS; /* a single loop uses no element twice */
    else if (reduces_bools(program))
        size = MX_CHUNK_ELEMENTS; /* only bools are used twice */
    intptr_t length = size / program->inner, n = program->shape[program->split];
    if (has_rows && program->order != MX_SHORT_ROWS && program->n_calls <= FEW_CALLS &&
        length < LEAST_ROWS)
        length = LEAST_ROWS;
    if (program->order == MX_ROW_BY_ROW && !has_rows) {
        intptr_t piece = share_row(program, n);
        length = piece < length ? piece : length;
    }
    cut_pieces(program, length > 0 ? length : 1, 1);
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

/* Returns whether an access is this operand of a call of an operation. */
static bool is_operand_of(const struct mx_program *program, int access, int op, int operand)
{
    for (int c = 0; c < program->n_calls; c++)
        if (program->calls[c].instruction->op == op &&
            program->calls[c].accesses[operand] == access)
            return true;
    return false;
}

/* Returns whether an access is an output of negative with gaps.  NumPy's loop reads an input
 * with gaps of some widths as if it had none unless the output has none: in NumPy 2.4 and 2.5,
 * numpy.negative(x[:, 0], out=y[:, 0]) of float32 arrays of four columns is -x[0]. */
static bool is_negated_with_gaps(const struct mx_program *program, int access)
{
    return program->accesses[access].stride != program->accesses[access].itemsize &&
           is_operand_of(program, access, MX_OP_negative, 1);
}

/* Returns whether only reductions use an access.  They go through the rows of a block
 * themselves. */
static bool is_only_reduced(const struct mx_program *program, int access)
{
    for (int c = 0; c < program->n_calls; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            if (program->calls[c].accesses[k] == access &&
                program->calls[c].instruction->kind != MX_REDUCE)
                return false;
    return true;
}

/* Returns whether calls can read the rows of an access where they are. */
static bool has_adjacent_columns(const struct mx_program *program,
                                 const struct mx_access *access)
{
    return program->parts >= 0 && !access->is_stored && access->stride == access->itemsize;
}

/* Returns whether small elements of an input are reversed.  NumPy's loops read them one by one,
 * and vectors reverse them.  Casts of numbers that the other dtype lacks depend on the loop. */
static bool is_reversed(const struct mx_program *program, int access)
{
    const struct mx_access *input = &program->accesses[access];
    return !input->is_stored && input->stride == -input->itemsize && input->itemsize <= 4 &&
           !is_operand_of(program, access, MX_COPY, 0);
}

static void choose_access_kinds(struct mx_program *program)
{
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        access->stride = access->strides[program->ndim - 1];
        if (mx_has_rows(program) && is_only_reduced(program, a))
            continue;
        if (access->kind != MX_DIRECT ||
            (has_block_stride(program, access) && !is_bool_with_gaps(access) &&
             !is_negated_with_gaps(program, a) && !is_reversed(program, a)))
            continue;
        if (has_adjacent_columns(program, access))
            program->computes_rows = true;
        else
            access->kind = MX_PACKED;
    }
}

/* -- Chunks ------------------------------------------------------------------------ */

static void distribute_blocks(struct mx_program *program)
{
    intptr_t n = MX_CHUNK_ELEMENTS / (program->length * program->inner);
    program->blocks_per_chunk = n > 0 ? n : 1;
    program->n_chunks = (size_t)((program->n_blocks + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk);
}

void mx_blocks_enlarge(struct mx_program *program)
{
    intptr_t length = block_size(program) / program->inner;
    if (program->n_reductions > 0 || length < program->length)
        return;
    cut_pieces(program, length, program->inner == 1 ? VECTORS : 1);
    distribute_blocks(program);
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
