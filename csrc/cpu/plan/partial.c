/* partial.c -- the result of one reduction so far, over the blocks of one unit and segment. */
#include "cpu/plan/partial.h"

#include <string.h>

#include "cpu/kernels/copies.h"

static const _Alignas(16) char zero[16];

static int output_itemsize(const struct mx_call *call)
{
    return call->instruction->operands[call->instruction->nin].itemsize;
}

size_t mx_partial_levels_size(const struct mx_program *program, const struct mx_call *call)
{
    const struct mx_reduce_plan *plan = program->reduce;
    if (!plan->is_row_kept)
        return MX_LEVELS * MX_FAN * 16;
    size_t size = (size_t)(program->length * plan->n_row_levels * output_itemsize(call));
    return (size + MX_CACHE_LINE - 1) & ~(size_t)(MX_CACHE_LINE - 1);
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

/* -- Rows -------------------------------------------------------------------------- */

/* Adds a row to the sum on a level.  A complete sum is added to the level above, the last of
 * which is the row of results. */
static void push_row(const struct mx_program *program, const struct mx_instruction *in,
                     struct mx_partial *partial, int level, char *data, intptr_t stride,
                     intptr_t n, int itemsize)
{
    bool is_first = partial->counts[level] == 0;
    bool is_last = level == program->reduce->n_row_levels;
    char *row =
        is_last ? partial->target : partial->levels + level * program->length * itemsize;
    intptr_t step = is_last ? partial->stride : itemsize;
    MX_ASSERT(level <= program->reduce->n_row_levels && n <= program->length);
    partial->counts[level] = is_last ? 1 : partial->counts[level] + 1;
    if (is_first && !in->begins_with_zero) {
        mx_copy_block(row, &step, data, &stride, &n, 1, itemsize);
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

/* -- Blocks ------------------------------------------------------------------------ */

void mx_partial_add_block(const struct mx_program *program, const struct mx_call *call,
                          char *data, intptr_t stride, intptr_t n, struct mx_partial *partial)
{
    const struct mx_loop *loop = &call->instruction->loop;
    int itemsize = output_itemsize(call);
    MX_ASSERT(n > 0);
    if (program->reduce->is_row_kept) {
        push_row(program, call->instruction, partial, 0, data, stride, n, itemsize);
        return;
    }
    _Alignas(16) char value[16] = {0};
    if (call->instruction->begins_with_zero) {
        mx_partial_fold(loop, value, data, stride, n);
    } else {
        memcpy(value, data, (size_t)itemsize);
        mx_partial_fold(loop, value, data + stride, stride, n - 1);
    }
    if (program->reduce->n_strips == 1)
        memcpy(partial->target, value, (size_t)itemsize);
    else
        push(loop, partial, 0, value, itemsize);
}

void mx_partial_finish(const struct mx_program *program, const struct mx_call *call,
                       struct mx_partial *partial, intptr_t n)
{
    const struct mx_instruction *in = call->instruction;
    if (program->reduce->is_row_kept)
        finish_rows(program, in, partial, n, output_itemsize(call));
    else if (program->reduce->n_strips > 1)
        finish_levels(&in->loop, partial, output_itemsize(call));
}
