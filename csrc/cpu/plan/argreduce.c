/* argreduce.c -- groups that are one argmax or argmin. */
#include "cpu/plan/argreduce.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/copies.h"
#include "cpu/plan/argrows.h"

static int axis_of(const struct mx_program *program)
{
    return program->calls[0].instruction->axis;
}

static bool is_packed(const struct mx_program *program)
{
    const struct mx_access *from = &program->accesses[0];
    return from->strides[axis_of(program)] != from->itemsize;
}

int mx_argreduce_plan(struct mx_program *program)
{
    int axis = axis_of(program), itemsize = program->accesses[0].itemsize;
    intptr_t n = program->shape[axis], n_units = 1;
    program->searches_rows = mx_argrows_suit(program);
    if (program->searches_rows)
        return mx_argrows_plan(program);
    intptr_t most = is_packed(program) ? MX_CACHED_BYTES / itemsize : MX_CHUNK_ELEMENTS;
    for (int i = 0; i < program->ndim; i++)
        n_units *= i == axis ? 1 : program->shape[i];
    program->length = n < most ? n : most;
    program->n_pieces = (n + program->length - 1) / program->length;
    program->n_blocks = n_units * program->n_pieces;
    program->blocks_per_chunk =
        program->length < MX_CHUNK_ELEMENTS ? MX_CHUNK_ELEMENTS / program->length : 1;
    program->n_chunks = (size_t)((program->n_blocks + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk);
    if (is_packed(program))
        program->scratch_size = (size_t)(program->length * itemsize);
    if (program->n_pieces == 1)
        return MX_OK;
    size_t size = (size_t)program->n_blocks;
    program->state = mx_alloc(size * (sizeof(intptr_t) + (size_t)itemsize));
    if (!program->state)
        return mx_fail(MX_ERROR_MEMORY, "unable to search in %zu pieces", size);
    return MX_OK;
}

/* The state holds the winning index of each piece, and behind these the winning elements. */
static intptr_t *winners_of(const struct mx_program *program)
{
    return (intptr_t *)(void *)program->state;
}

static char *value_of(const struct mx_program *program, intptr_t block)
{
    return program->state + (size_t)program->n_blocks * sizeof(intptr_t) +
           block * program->accesses[0].itemsize;
}

/* Sets data to the first element of a unit in the input, and its result in the output. */
static void find_unit(const struct mx_program *program, intptr_t unit, char **data)
{
    data[0] = program->accesses[0].data;
    data[1] = program->accesses[1].data;
    for (int i = program->ndim - 1; i >= 0; i--) {
        if (i == axis_of(program))
            continue;
        intptr_t at = unit % program->shape[i];
        unit /= program->shape[i];
        data[0] += at * program->accesses[0].strides[i];
        data[1] += at * program->accesses[1].strides[i];
    }
}

/* Returns the position of the winner among n values. */
static intptr_t argreduce_search(const struct mx_program *program, char *values, intptr_t n)
{
    const struct mx_loop *loop = &program->calls[0].instruction->loop;
    intptr_t position = 0, strides[] = {program->accesses[0].itemsize, 0};
    char *args[] = {values, (char *)&position};
    loop->function(args, &n, strides, loop->data);
    return position;
}

static void run_block(const struct mx_program *program, intptr_t block, char *scratch)
{
    const struct mx_access *from = &program->accesses[0];
    int axis = axis_of(program);
    intptr_t begin = block % program->n_pieces * program->length;
    intptr_t n = program->shape[axis] - begin, step = from->strides[axis];
    char *data[2];
    find_unit(program, block / program->n_pieces, data);
    char *values = data[0] + begin * step;
    n = n < program->length ? n : program->length;
    if (is_packed(program)) {
        intptr_t packed = from->itemsize;
        mx_copy_block(scratch, &packed, values, &step, &n, 1, from->itemsize);
        values = scratch;
    }
    intptr_t position = argreduce_search(program, values, n);
    if (program->n_pieces == 1) {
        memcpy(data[1], &position, sizeof position);
        return;
    }
    winners_of(program)[block] = begin + position;
    memcpy(value_of(program, block), values + position * from->itemsize,
           (size_t)from->itemsize);
}

void mx_argreduce_run_chunk(const struct mx_program *program, size_t chunk, char *scratch)
{
    intptr_t begin = (intptr_t)chunk * program->blocks_per_chunk;
    intptr_t end = begin + program->blocks_per_chunk;
    for (intptr_t block = begin; block < end && block < program->n_blocks; block++)
        if (program->searches_rows)
            mx_argrows_run_block(program, block, scratch);
        else
            run_block(program, block, scratch);
}

void mx_argreduce_finish(const struct mx_program *program)
{
    intptr_t n = program->n_pieces;
    if (program->searches_rows) {
        mx_argrows_finish(program);
        return;
    }
    for (intptr_t block = 0; n > 1 && block < program->n_blocks; block += n) {
        char *data[2];
        find_unit(program, block / n, data);
        intptr_t winner = argreduce_search(program, value_of(program, block), n);
        memcpy(data[1], &winners_of(program)[block + winner], sizeof(intptr_t));
    }
}
