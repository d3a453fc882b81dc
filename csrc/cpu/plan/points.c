/* points.c -- the points and rows that a gather or a scatter goes over. */
#include "cpu/plan/points.h"

#include <string.h>

#include "cpu/kernels/indices.h"

/* -- Rows -------------------------------------------------------------------------- */

/* Returns whether the elements of a row are contiguous in memory. */
static bool is_contiguous_row(const struct mx_rows *rows, const struct mx_program *program,
                              int access)
{
    intptr_t stride = program->accesses[access].itemsize;
    for (int i = rows->n_row_axes - 1; i >= 0; i--) {
        if (program->accesses[access].strides[rows->row_axes[i]] != stride)
            return false;
        stride *= program->shape[rows->row_axes[i]];
    }
    return true;
}

void mx_points_find_rows(struct mx_rows *rows, const struct mx_program *program, int indexed,
                         int other)
{
    *rows = (struct mx_rows){.n_points = 1, .size = 1};
    for (int i = 0; i < program->ndim; i++) {
        if (program->accesses[indexed].strides[i] != 0 && program->shape[i] > 1) {
            rows->row_axes[rows->n_row_axes++] = i;
            rows->size *= program->shape[i];
        } else {
            rows->point_axes[rows->n_point_axes++] = i;
            rows->n_points *= program->shape[i];
        }
    }
    rows->is_contiguous = is_contiguous_row(rows, program, indexed) &&
                          (other < 0 || is_contiguous_row(rows, program, other));
}

/* -- Points ------------------------------------------------------------------------ */

void mx_points_find(struct mx_points *points, const struct mx_rows *rows,
                    const struct mx_program *program, intptr_t first, intptr_t end)
{
    memset(points->at, 0, sizeof points->at);
    points->n = end - first;
    for (int i = rows->n_point_axes - 1; i >= 0; i--) {
        int axis = rows->point_axes[i];
        points->at[axis] = first % program->shape[axis];
        first /= program->shape[axis];
        intptr_t left = program->shape[axis] - points->at[axis];
        if (i == rows->n_point_axes - 1 && points->n > left)
            points->n = left;
    }
    if (points->n > MX_INDEX_BLOCK)
        points->n = MX_INDEX_BLOCK;
}

char *mx_points_data(const struct mx_points *points, const struct mx_program *program,
                     int access)
{
    char *data = program->accesses[access].data;
    for (int i = 0; i < program->ndim; i++)
        data += points->at[i] * program->accesses[access].strides[i];
    return data;
}

intptr_t mx_points_offsets(const struct mx_points *points, const struct mx_rows *rows,
                           const struct mx_program *program, int64_t *offsets,
                           int64_t *positions)
{
    const struct mx_indexing *indexing = &program->calls[0].instruction->indexing;
    const int *accesses = program->calls[0].accesses;
    char *indices[MX_MAX_INDICES];
    intptr_t strides[MX_MAX_INDICES];
    for (int k = 0; k < indexing->n; k++) {
        indices[k] = mx_points_data(points, program, accesses[k]);
        strides[k] = program->accesses[accesses[k]].strides[mx_points_axis(rows)];
    }
    return mx_index_offsets(indexing, indices, strides, points->n, offsets, positions);
}

/* -- Elements of a row --------------------------------------------------------------- */

intptr_t mx_points_row_offset(const struct mx_rows *rows, const struct mx_access *access,
                              const intptr_t *at)
{
    intptr_t offset = 0;
    for (int i = 0; i < rows->n_row_axes; i++)
        offset += at[i] * access->strides[rows->row_axes[i]];
    return offset;
}

void mx_points_find_in_row(const struct mx_rows *rows, const struct mx_program *program,
                           intptr_t element, intptr_t *at)
{
    for (int i = rows->n_row_axes - 1; i >= 0; i--) {
        at[i] = element % program->shape[rows->row_axes[i]];
        element /= program->shape[rows->row_axes[i]];
    }
}

bool mx_points_next_in_row(const struct mx_rows *rows, const struct mx_program *program,
                           intptr_t *at)
{
    for (int i = rows->n_row_axes - 1; i >= 0; i--) {
        if (++at[i] < program->shape[rows->row_axes[i]])
            return true;
        at[i] = 0;
    }
    return false;
}
