/* gather.c -- copies the elements, or the rows of elements, that indices select. */
#include "cpu/plan/gather.h"

#include <string.h>

#include "cpu/kernels/copies.h"
#include "cpu/kernels/indices.h"
#include "cpu/plan/points.h"

/* -- Elements ---------------------------------------------------------------------- */

/* Sets out[i] to the element of table at offsets[i]. */
static void gather_take(const char *table, const int64_t *offsets, intptr_t n, char *out,
                        intptr_t stride, int itemsize)
{
#define TAKE(type)                   \
    for (intptr_t i = 0; i < n; i++) \
        *(type *)(void *)(out + i * stride) = *(const type *)(const void *)(table + offsets[i]);
    switch (itemsize) {
    case 1:
        TAKE(uint8_t)
        break;
    case 2:
        TAKE(uint16_t)
        break;
    case 4:
        TAKE(uint32_t)
        break;
    case 8:
        TAKE(uint64_t)
        break;
    default:
        for (intptr_t i = 0; i < n; i++)
            memcpy(out + i * stride, table + offsets[i], 16);
    }
#undef TAKE
}

/* Returns the number of the only index array that has a stride, or -1. */
static int only_changing(int n, const intptr_t *strides)
{
    int found = -1;
    for (int k = 0; k < n; k++) {
        if (strides[k] != 0 && found >= 0)
            return -1;
        found = strides[k] != 0 ? k : found;
    }
    return found;
}

/* Takes n elements with a kernel if only one index array, which is contiguous, has more than
 * one index.  Returns whether it did. */
static bool take_line(const struct mx_indexing *indexing, char **args, const intptr_t *strides,
                      int itemsize, intptr_t n)
{
    int changing = only_changing(indexing->n, strides), out = indexing->n + 1;
    const char *table = args[indexing->n];
    if (changing < 0 || strides[changing] != sizeof(int64_t) || strides[out] != itemsize ||
        indexing->bounds >= MX_TAKE_BOUNDS)
        return false;
    for (int k = 0; k < indexing->n; k++)
        table += k == changing ? 0 : mx_index_offset(indexing, k, args[k]);
    mx_index_kernels()->takes[indexing->bounds][mx_size_number(itemsize)](
        table, indexing->strides[changing], indexing->sizes[changing],
        (const int64_t *)(const void *)args[changing], args[out], n);
    return true;
}

void mx_gather_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                    void *data)
{
    const struct mx_instruction *in = data;
    const struct mx_indexing *indexing = &in->indexing;
    int table = in->nin - 1, out = in->nin, itemsize = in->operands[out].itemsize;
    intptr_t n = dimensions[0];
    int64_t offsets[MX_INDEX_BLOCK];
    char *indices[MX_MAX_INDICES];
    if (take_line(indexing, args, strides, itemsize, n))
        return;
    for (intptr_t at = 0; at < n; at += MX_INDEX_BLOCK) {
        intptr_t count = n - at < MX_INDEX_BLOCK ? n - at : MX_INDEX_BLOCK;
        for (int k = 0; k < indexing->n; k++)
            indices[k] = args[k] + at * strides[k];
        mx_index_offsets(indexing, indices, strides, count, offsets, NULL);
        gather_take(args[table], offsets, count, args[out] + at * strides[out], strides[out],
                    itemsize);
    }
}

/* -- Rows -------------------------------------------------------------------------- */

static const struct mx_access *access_of(const struct mx_program *program, int operand)
{
    return &program->accesses[program->calls[0].accesses[operand]];
}

static void copy_rows(const char *table, const int64_t *offsets, intptr_t n, char *out,
                      intptr_t stride, size_t nbytes)
{
    for (intptr_t i = 0; i < n; i++)
        memcpy(out + i * stride, table + offsets[i], nbytes);
}

static void run_rows(const struct mx_program *program, const struct mx_rows *rows, size_t chunk)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const int *accesses = program->calls[0].accesses;
    const struct mx_access *to = access_of(program, in->nin);
    intptr_t first = (intptr_t)chunk * program->length, end = first + program->length;
    struct mx_points points;
    end = end < rows->n_points ? end : rows->n_points;
    for (; first < end; first += points.n) {
        int64_t offsets[MX_INDEX_BLOCK];
        mx_points_find(&points, rows, program, first, end);
        mx_points_offsets(&points, rows, program, offsets, NULL);
        copy_rows(mx_points_data(&points, program, accesses[in->nin - 1]), offsets, points.n,
                  mx_points_data(&points, program, accesses[in->nin]),
                  to->strides[mx_points_axis(rows)], (size_t)(rows->size * to->itemsize));
    }
}

/* -- Lines ------------------------------------------------------------------------- */

/* If rows are not contiguous, their first elements are a line, the second ones are the next,
 * and so on.  A chunk has some points of some lines. */

#define TOGETHER 8 /* lines that are taken together: often they share cache lines */

/* Returns whether a kernel takes the points of a line. */
static bool has_kernel(const struct mx_program *program, const struct mx_rows *rows)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_access *to = access_of(program, in->nin);
    int axis = mx_points_axis(rows);
    return in->indexing.n == 1 && rows->n_point_axes == 1 &&
           in->indexing.bounds < MX_TAKE_BOUNDS &&
           access_of(program, 0)->strides[axis] == sizeof(int64_t) &&
           to->strides[axis] == to->itemsize;
}

/* The chunks of a line come after each other, so that the part of the table that it is taken
 * from stays in the cache. */
static void plan_lines(struct mx_program *program, const struct mx_rows *rows)
{
    intptr_t least = has_kernel(program, rows) ? MX_CHUNK_ELEMENTS : MX_INDEX_BLOCK;
    intptr_t length = MX_CHUNK_ELEMENTS / rows->size;
    length = length > least ? length : least;
    program->length = length < rows->n_points ? length : rows->n_points;
    program->n_pieces = (rows->n_points + program->length - 1) / program->length;
    program->blocks_per_chunk = MX_CHUNK_ELEMENTS / program->length;
    program->n_blocks = rows->size;
    program->n_chunks = (size_t)((rows->size + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk * program->n_pieces);
}

#define TAKE_LINES(type, n_lines)                               \
    for (intptr_t i = 0; i < n; i++)                            \
        for (intptr_t k = 0; k < (n_lines); k++)                \
            *(type *)(void *)(out + i * stride + k * to_step) = \
                *(const type *)(const void *)(table + offsets[i] + k * from_step);

/* Takes n elements of several lines that are from_step bytes apart in the table. */
static void take_lines(const char *table, intptr_t from_step, const int64_t *offsets,
                       intptr_t n, char *out, intptr_t stride, intptr_t to_step,
                       intptr_t n_lines, int itemsize)
{
    if (itemsize == 8 && n_lines == TOGETHER) {
        TAKE_LINES(uint64_t, TOGETHER)
    } else if (itemsize == 8) {
        TAKE_LINES(uint64_t, n_lines)
    } else if (itemsize == 4 && n_lines == TOGETHER) {
        TAKE_LINES(uint32_t, TOGETHER)
    } else {
        for (intptr_t k = 0; k < n_lines; k++)
            gather_take(table + k * from_step, offsets, n, out + k * to_step, stride, itemsize);
    }
}

/* Takes points of some lines, the first of which is at `at`. */
static void take_scattered_rows(const struct mx_program *program, const struct mx_rows *rows,
                                const char *table, const int64_t *offsets, intptr_t n,
                                char *out, const intptr_t *first_line, intptr_t n_lines)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_access *from = access_of(program, in->nin - 1);
    const struct mx_access *to = access_of(program, in->nin);
    int last = rows->n_row_axes - 1, axis = rows->row_axes[last];
    intptr_t at[MX_MAX_NDIM], count;
    memcpy(at, first_line, sizeof at);
    for (; n_lines > 0; n_lines -= count, mx_points_next_in_row(rows, program, at)) {
        count = program->shape[axis] - at[last];
        count = count < n_lines ? count : n_lines;
        count = count < TOGETHER ? count : TOGETHER;
        take_lines(table + mx_points_row_offset(rows, from, at), from->strides[axis], offsets,
                   n, out + mx_points_row_offset(rows, to, at),
                   to->strides[mx_points_axis(rows)], to->strides[axis], count, to->itemsize);
        at[last] += count - 1;
    }
}

/* Takes the points from number `first` on, but none from number `end` on. */
static void take_with_kernel(const struct mx_program *program, const struct mx_rows *rows,
                             intptr_t first, intptr_t end, intptr_t *at, intptr_t n_lines)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_access *from = access_of(program, in->nin - 1);
    const struct mx_access *to = access_of(program, in->nin);
    char *indices = access_of(program, 0)->data + first * (intptr_t)sizeof(int64_t);
    const intptr_t strides[] = {sizeof(int64_t), 0, to->itemsize};
    for (; n_lines > 0; n_lines--, mx_points_next_in_row(rows, program, at)) {
        char *args[] = {indices, from->data + mx_points_row_offset(rows, from, at),
                        to->data + mx_points_row_offset(rows, to, at) + first * to->itemsize};
        bool is_taken = take_line(&in->indexing, args, strides, to->itemsize, end - first);
        MX_ASSERT(is_taken);
    }
}

static void run_lines(const struct mx_program *program, const struct mx_rows *rows,
                      size_t chunk)
{
    const int *accesses = program->calls[0].accesses;
    int table = program->calls[0].instruction->nin - 1;
    intptr_t first = (intptr_t)chunk % program->n_pieces * program->length;
    intptr_t line = (intptr_t)chunk / program->n_pieces * program->blocks_per_chunk;
    intptr_t end = first + program->length, n_lines = rows->size - line, at[MX_MAX_NDIM];
    end = end < rows->n_points ? end : rows->n_points;
    n_lines = n_lines < program->blocks_per_chunk ? n_lines : program->blocks_per_chunk;
    mx_points_find_in_row(rows, program, line, at);
    if (has_kernel(program, rows)) {
        take_with_kernel(program, rows, first, end, at, n_lines);
        return;
    }
    struct mx_points points;
    for (; first < end; first += points.n) {
        int64_t offsets[MX_INDEX_BLOCK];
        mx_points_find(&points, rows, program, first, end);
        mx_points_offsets(&points, rows, program, offsets, NULL);
        take_scattered_rows(program, rows, mx_points_data(&points, program, accesses[table]),
                            offsets, points.n,
                            mx_points_data(&points, program, accesses[table + 1]), at, n_lines);
    }
}

/* -- Chunks ------------------------------------------------------------------------ */

static void find_rows(struct mx_rows *rows, const struct mx_program *program)
{
    const int *accesses = program->calls[0].accesses;
    int table = program->calls[0].instruction->nin - 1;
    mx_points_find_rows(rows, program, accesses[table], accesses[table + 1]);
}

void mx_gather_plan(struct mx_program *program)
{
    struct mx_rows rows;
    find_rows(&rows, program);
    if (!rows.is_contiguous) {
        plan_lines(program, &rows);
        return;
    }
    intptr_t length = MX_CHUNK_ELEMENTS / rows.size;
    program->length = length > 1 ? length : 1;
    program->n_blocks = rows.n_points;
    program->n_chunks = (size_t)((rows.n_points + program->length - 1) / program->length);
}

void mx_gather_run_chunk(const struct mx_program *program, size_t chunk)
{
    struct mx_rows rows;
    find_rows(&rows, program);
    if (rows.is_contiguous)
        run_rows(program, &rows, chunk);
    else
        run_lines(program, &rows, chunk);
}
