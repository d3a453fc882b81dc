/* partial.c -- the result of one reduction so far, over the blocks of one unit and segment. */
#include "cpu/plan/partial.h"

#include <string.h>

#include "base/conditions.h"
#include "cpu/kernels/copies.h"
#include "cpu/kernels/rows.h"
#include "cpu/plan/order.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

static const _Alignas(16) char zero[16];

/* -0.0 + x is x, also for x = -0.0. */
static const uint16_t minus_zero_float16 = 0x8000;
static const float minus_zero_float32[2] = {-0.0f, -0.0f};
static const double minus_zero_float64[2] = {-0.0, -0.0};

static int output_itemsize(const struct mx_call *call)
{
    return call->instruction->operands[call->instruction->nin].itemsize;
}

size_t mx_partial_levels_size(const struct mx_program *program, const struct mx_call *call)
{
    const struct mx_reduce_plan *plan = program->reduce;
    if (!plan->is_row_kept && !mx_has_rows(program))
        return MX_LEVELS * MX_FAN * 16;
    intptr_t n = mx_has_rows(program) ? program->inner : program->length * plan->n_row_levels;
    size_t size = (size_t)(n * output_itemsize(call));
    return (size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
}

/* Returns the value with which a reduction begins, or NULL if it begins with an element. */
static const void *initial_value(const struct mx_instruction *in)
{
    int dtype = in->operands[in->nin].dtype;
    if (in->begins_with_zero)
        return zero;
    if (!in->keeps_order || in->op != MX_OP_add)
        return NULL;
    if (dtype == MX_DTYPE_float16)
        return &minus_zero_float16;
    bool is_float32 = dtype == MX_DTYPE_float32 || dtype == MX_DTYPE_complex64;
    return is_float32 ? (const void *)minus_zero_float32 : (const void *)minus_zero_float64;
}

/* -- Single values ----------------------------------------------------------------- */

void mx_partial_fold(const struct mx_loop *loop, char *value, char *data, intptr_t stride,
                     intptr_t n)
{
    char *args[] = {value, data, value};
    intptr_t strides[] = {0, stride, 0};
    if (n > 0)
        loop->function(args, &n, strides, loop->data);
}

/* Reduces the values that wait on a level to the first of them, which is returned. */
static char *fold_level(const struct mx_loop *loop, struct mx_partial *partial, int level,
                        int itemsize)
{
    char *values = partial->levels + level * MX_FAN * itemsize;
    mx_partial_fold(loop, values, values + itemsize, itemsize, partial->counts[level] - 1);
    partial->counts[level] = 0;
    return values;
}

/* Adds a value to a level.  A full level is reduced to one value on the next level; the last
 * level keeps that value itself. */
static void push(const struct mx_loop *loop, struct mx_partial *partial, int level,
                 const char *value, int itemsize)
{
    char *values = partial->levels + level * MX_FAN * itemsize;
    MX_ASSERT(level < MX_LEVELS && partial->counts[level] < MX_FAN);
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
    MX_ASSERT(partial->counts[MX_LEVELS - 1] > 0);
    memcpy(partial->target, fold_level(loop, partial, MX_LEVELS - 1, itemsize),
           (size_t)itemsize);
}

/* -- Pairs of leaves --------------------------------------------------------------- */

/* Adds the sum of the leaf of a strip to the stack, and joins the sums that are complete.  The
 * sum of a whole row is added to that of the rows before it. */
static void push_leaf(const struct mx_program *program, const struct mx_loop *loop,
                      struct mx_partial *partial, intptr_t strip, const char *value,
                      int itemsize)
{
    const struct mx_reduce_plan *plan = program->reduce;
    intptr_t leaf = strip % plan->n_leaves;
    bool is_row_before = strip >= plan->n_leaves && leaf == plan->n_leaves - 1;
    MX_ASSERT(partial->depth < MX_LEVELS * MX_FAN);
    char *top = partial->levels + partial->depth++ * itemsize;
    memcpy(top, value, (size_t)itemsize);
    for (int j = plan->leaves[leaf].n_joins + is_row_before; j > 0; j--) {
        top -= itemsize;
        partial->depth--;
        mx_partial_fold(loop, top, top + itemsize, itemsize, 1);
    }
}

void mx_partial_join_leaves(const struct mx_program *program, const struct mx_call *call,
                            const char *sums, char *result)
{
    _Alignas(16) char stack[MX_LEVELS * MX_FAN * 16];
    struct mx_partial partial = {.levels = stack};
    int itemsize = output_itemsize(call);
    for (intptr_t strip = 0; strip < program->reduce->n_strips; strip++)
        push_leaf(program, &call->instruction->loop, &partial, strip, sums + strip * itemsize,
                  itemsize);
    MX_ASSERT(partial.depth == 1);
    memcpy(result, stack, (size_t)itemsize);
}

/* -- Rows -------------------------------------------------------------------------- */

/* Adds a row to the sum on a level.  A complete sum is added to the level above, the last of
 * which is the row of results. */
static void push_row(const struct mx_program *program, const struct mx_instruction *in,
                     struct mx_partial *partial, int level, char *data, intptr_t stride,
                     intptr_t n, int itemsize)
{
    const void *initial = initial_value(in);
    bool is_first = partial->counts[level] == 0;
    bool is_last = level == program->reduce->n_row_levels;
    char *row =
        is_last ? partial->target : partial->levels + level * program->length * itemsize;
    intptr_t step = is_last ? partial->stride : itemsize;
    MX_ASSERT(level <= program->reduce->n_row_levels && n <= program->length);
    partial->counts[level] = is_last ? 1 : partial->counts[level] + 1;
    if (is_first && !initial) {
        mx_copy_block(row, &step, data, &stride, &n, 1, itemsize);
        return;
    }
    char *args[] = {is_first ? (char *)initial : row, data, row};
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

/* The rows of a block. */
struct rows {
    char *data;
    intptr_t stride, step; /* from row to row, and from element to element */
    intptr_t n, length;
};

static struct rows rows_of(const struct mx_program *program, const struct mx_call *call,
                           char *data, const struct mx_position *at)
{
    const struct mx_access *from = &program->accesses[call->accesses[0]];
    bool is_direct = from->kind == MX_DIRECT;
    intptr_t size = from->itemsize, length = mx_inner(program, at);
    return (struct rows){
        .data = data,
        .stride = is_direct ? from->strides[program->split] : length * size,
        .step = is_direct ? from->strides[program->ndim - 1] : size,
        .n = at->length,
        .length = length,
    };
}

/* Clears the conditions that a kernel met, if NumPy's loop does. */
static void clear_conditions(const struct mx_instruction *in)
{
    if (in->loop.clears)
        mx_conditions_clear();
}

/* Copies the row with which a reduction begins to the row of results. */
static void begin_row(const struct mx_partial *partial, const char *first, intptr_t step,
                      intptr_t length, int itemsize)
{
    mx_copy_block(partial->levels, &(intptr_t){itemsize}, first, &step, &length, 1, itemsize);
}

/* Adds the rows of a block to the row of results so far. */
static void push_rows(const struct mx_instruction *in, struct mx_partial *partial,
                      struct rows rows, bool is_first)
{
    const struct mx_row_kernels *kernels = mx_rows_kernels(in);
    intptr_t itemsize = in->operands[in->nin].itemsize;
    intptr_t strides[] = {itemsize, rows.step, itemsize};
    const void *initial = initial_value(in);
    if (is_first)
        begin_row(partial, initial ? initial : rows.data, initial ? 0 : rows.step, rows.length,
                  (int)itemsize);
    if (is_first && !initial) {
        rows.data += rows.stride;
        rows.n--;
    }
    if (kernels && rows.step == itemsize) {
        kernels->add(partial->levels, rows.data, rows.stride, rows.n, rows.length);
        clear_conditions(in);
        return;
    }
    for (intptr_t r = 0; r < rows.n; r++) {
        char *args[] = {partial->levels, rows.data + r * rows.stride, partial->levels};
        in->loop.function(args, &rows.length, strides, in->loop.data);
    }
}

/* Reduces a row of n elements to one value. */
static void reduce_row(const struct mx_instruction *in, char *row, intptr_t step, intptr_t n,
                       char *value)
{
    const struct mx_row_kernels *kernels = in->keeps_order ? mx_rows_kernels(in) : NULL;
    int itemsize = in->operands[in->nin].itemsize;
    const void *initial = initial_value(in);
    if (kernels && step == itemsize) {
        kernels->reduce(row, 0, 1, n, initial, value, 0);
        return;
    }
    memcpy(value, initial ? initial : row, (size_t)itemsize);
    mx_partial_fold(&in->loop, value, initial ? row : row + step, step, initial ? n : n - 1);
}

/* Reduces each row of a block to one result. */
static void reduce_rows(const struct mx_instruction *in, const struct mx_partial *partial,
                        struct rows rows)
{
    const struct mx_row_kernels *kernels = mx_rows_kernels(in);
    int itemsize = in->operands[in->nin].itemsize;
    const void *initial = initial_value(in);
    if (kernels && kernels->reduce && rows.step == itemsize &&
        (in->keeps_order || rows.length * itemsize <= MX_SHORT_ROW)) {
        kernels->reduce(rows.data, rows.stride, rows.n, rows.length, initial, partial->target,
                        partial->stride);
        clear_conditions(in);
        return;
    }
    for (intptr_t r = 0; r < rows.n; r++) {
        _Alignas(16) char value[16];
        char *row = rows.data + r * rows.stride;
        reduce_row(in, row, rows.step, rows.length, value);
        memcpy(partial->target + r * partial->stride, value, (size_t)itemsize);
    }
}

/* -- Any and all ------------------------------------------------------------------- */

static bool is_any(const struct mx_call *call)
{
    return call->instruction->op == MX_OP_logical_or;
}

void mx_partial_decide(const struct mx_call *call, struct mx_partial *partial)
{
    partial->target[0] = is_any(call);
}

/* -- Blocks ------------------------------------------------------------------------ */

void mx_partial_add_block(const struct mx_program *program, const struct mx_call *call,
                          char *data, intptr_t stride, const struct mx_position *at, intptr_t n,
                          struct mx_partial *partial)
{
    const struct mx_instruction *in = call->instruction;
    const struct mx_reduce_plan *plan = program->reduce;
    const struct mx_loop *loop = &in->loop;
    int itemsize = output_itemsize(call);
    MX_ASSERT(n > 0);
    if (program->order == MX_SHORT_ROWS) {
        reduce_rows(in, partial, rows_of(program, call, data, at));
        return;
    }
    if (mx_has_rows(program)) {
        push_rows(in, partial, rows_of(program, call, data, at), partial->counts[0]++ == 0);
        return;
    }
    if (plan->is_row_kept) {
        push_row(program, in, partial, 0, data, stride, n, itemsize);
        return;
    }
    _Alignas(16) char value[16];
    reduce_row(in, data, stride, n, value);
    partial->is_decided = (value[0] != 0) == is_any(call);
    if (plan->n_strips == 1)
        memcpy(partial->target, value, (size_t)itemsize);
    else if (program->order == MX_PAIRWISE && plan->n_segments > 1)
        memcpy(partial->target + at->strip * itemsize, value, (size_t)itemsize);
    else if (program->order == MX_PAIRWISE)
        push_leaf(program, loop, partial, at->strip, value, itemsize);
    else
        push(loop, partial, 0, value, itemsize);
}

void mx_partial_add_squares(const struct mx_program *program, const struct mx_call *call,
                            char *data, const char *means, char *scratch,
                            const struct mx_position *at, struct mx_partial *partial)
{
    const struct mx_square_kernels *kernels = call->squares;
    const struct mx_call *sum = call + 2;
    struct rows rows = rows_of(program, call, data, at);
    int itemsize = output_itemsize(sum);
    switch (program->order) {
    case MX_SHORT_ROWS:
        kernels->reduce(rows.data, rows.stride, rows.n, rows.length, means, scratch);
        mx_copy_block(partial->target, &partial->stride, scratch, &(intptr_t){itemsize},
                      &rows.n, 1, itemsize);
        return;
    case MX_ROW_BY_ROW:
        if (partial->counts[0]++ == 0)
            begin_row(partial, initial_value(sum->instruction), 0, rows.length, itemsize);
        kernels->add(partial->levels, rows.data, rows.stride, rows.n, rows.length, means);
        return;
    default:
        kernels->reduce(data, 0, 1, at->length * program->inner, means, scratch);
        mx_partial_add_block(program, sum, scratch, itemsize, at, 1, partial);
    }
}

void mx_partial_count_rows(const struct mx_program *program, const struct mx_call *call,
                           const char *data, const struct mx_position *at,
                           const struct mx_partial *partial)
{
    MX_ASSERT(program->order == MX_SHORT_ROWS);
    for (intptr_t r = 0; r < at->length; r++)
        call->count(data + r * program->inner, partial->target + r * partial->stride,
                    program->inner);
}

void mx_partial_finish(const struct mx_program *program, const struct mx_call *call,
                       struct mx_partial *partial, const struct mx_position *at)
{
    const struct mx_instruction *in = call->instruction;
    int itemsize = output_itemsize(call);
    intptr_t n = mx_inner(program, at);
    if (program->order == MX_SHORT_ROWS)
        return;
    if (mx_has_rows(program))
        mx_copy_block(partial->target, &partial->stride, partial->levels, &(intptr_t){itemsize},
                      &n, 1, itemsize);
    else if (program->reduce->is_row_kept)
        finish_rows(program, in, partial, at->length, itemsize);
    else if (program->order == MX_PAIRWISE && program->reduce->n_segments == 1 &&
             program->reduce->n_strips > 1)
        memcpy(partial->target, partial->levels, (size_t)itemsize);
    else if (program->order == MX_ANY_ORDER && program->reduce->n_strips > 1)
        finish_levels(&in->loop, partial, itemsize);
}
