/* gather.c -- copies the elements, or the rows of elements, that indices select. */
#include "cpu/plan/gather.h"

#include <string.h>

#include "cpu/kernels/copies.h"
#include "cpu/kernels/indices.h"
#include "cpu/plan/points.h"

#define CHUNK_ELEMENTS 16384

/* -- Elements ---------------------------------------------------------------------- */

/* Sets out[i] to the element of table at offsets[i]. */
static void take(const char *table, const int64_t *offsets, intptr_t n, char *out,
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

void mx_gather_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                    void *data)
{
    const struct mx_instruction *in = data;
    const struct mx_indexing *indexing = &in->indexing;
    int table = in->nin - 1, out = in->nin, itemsize = in->operands[out].itemsize;
    intptr_t n = dimensions[0];
    int64_t offsets[MX_INDEX_BLOCK];
    char *indices[MX_MAX_INDICES];
    if (indexing->n == 1 && strides[0] == sizeof(int64_t) && strides[out] == itemsize &&
        indexing->bounds < MX_TAKE_BOUNDS) {
        mx_index_kernels()->takes[indexing->bounds][mx_index_size_number(itemsize)](
            args[table], indexing->strides[0], indexing->sizes[0],
            (const int64_t *)(const void *)args[0], args[out], n);
        return;
    }
    for (intptr_t at = 0; at < n; at += MX_INDEX_BLOCK) {
        intptr_t count = n - at < MX_INDEX_BLOCK ? n - at : MX_INDEX_BLOCK;
        for (int k = 0; k < indexing->n; k++)
            indices[k] = args[k] + at * strides[k];
        mx_index_offsets(indexing, indices, strides, count, offsets, NULL);
        take(args[table], offsets, count, args[out] + at * strides[out], strides[out],
             itemsize);
    }
}

/* -- Rows -------------------------------------------------------------------------- */

/* -- Rows -------------------------------------------------------------------------- */

void mx_gather_plan(struct mx_program *program)
{
    struct mx_rows rows;
    const int *accesses = program->calls[0].accesses;
    int table = program->calls[0].instruction->nin - 1;
    mx_points_find_rows(&rows, program, accesses[table], accesses[table + 1]);
    intptr_t length = CHUNK_ELEMENTS / rows.size;
    program->length = length > 1 ? length : 1;
    program->n_blocks = rows.n_points;
    program->n_chunks = (size_t)((rows.n_points + program->length - 1) / program->length);
}

static void copy_rows(const char *table, const int64_t *offsets, intptr_t n, char *out,
                      intptr_t stride, size_t nbytes)
{
    for (intptr_t i = 0; i < n; i++)
        memcpy(out + i * stride, table + offsets[i], nbytes);
}

/* Copies the first element of all rows, then the second of all, and so on. */
static void take_scattered_rows(const struct mx_program *program, const struct mx_rows *rows,
                                const char *table, const int64_t *offsets, intptr_t n,
                                char *out, intptr_t stride)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const int *accesses = program->calls[0].accesses;
    const struct mx_access *from = &program->accesses[accesses[in->nin - 1]];
    const struct mx_access *to = &program->accesses[accesses[in->nin]];
    intptr_t at[MX_MAX_NDIM] = {0};
    do
        take(table + mx_points_row_offset(rows, from, at), offsets, n,
             out + mx_points_row_offset(rows, to, at), stride, to->itemsize);
    while (mx_points_next_in_row(rows, program, at));
}

void mx_gather_run_chunk(const struct mx_program *program, size_t chunk)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const int *accesses = program->calls[0].accesses;
    int table = in->nin - 1, out = in->nin;
    struct mx_rows rows;
    struct mx_points points;
    mx_points_find_rows(&rows, program, accesses[table], accesses[out]);
    intptr_t first = (intptr_t)chunk * program->length, end = first + program->length;
    end = end < rows.n_points ? end : rows.n_points;
    intptr_t stride = program->accesses[accesses[out]].strides[mx_points_axis(&rows)];
    for (; first < end; first += points.n) {
        int64_t offsets[MX_INDEX_BLOCK];
        mx_points_find(&points, &rows, program, first, end);
        mx_points_offsets(&points, &rows, program, offsets, NULL);
        const char *from = mx_points_data(&points, program, accesses[table]);
        char *to = mx_points_data(&points, program, accesses[out]);
        int itemsize = in->operands[out].itemsize;
        if (rows.is_contiguous)
            copy_rows(from, offsets, points.n, to, stride, (size_t)(rows.size * itemsize));
        else
            take_scattered_rows(program, &rows, from, offsets, points.n, to, stride);
    }
}
