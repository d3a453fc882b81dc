#pragma once
/* gather.h -- elements that indices find, or whole rows of them. */
#include "cpu/plan/program.h"

/* A loop over indices, the elements they find and the output; its data is the instruction. */
void mx_gather_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                    void *data);

/* The axes of a gather or a scatter whose indexed operand has strides: a row is what lies
 * along them, and the other axes are those of the points that indices find. */
struct mx_rows {
    int n_point_axes, n_row_axes;
    int point_axes[MX_MAX_NDIM], row_axes[MX_MAX_NDIM];
    intptr_t n_points, size; /* elements of a row */
    bool is_contiguous;      /* a row, in the indexed operand and in the other one */
};

/* Finds them; `other` is what the elements go to or come from, or -1 if that is one value. */
void mx_rows_find(struct mx_rows *rows, const struct mx_program *program, int indexed,
                  int other);

/* Up to MX_INDEX_BLOCK points from the given one on, all along the last of their axes. */
struct mx_points {
    intptr_t n;
    intptr_t at[MX_MAX_NDIM]; /* on each axis of the program; 0 on those of rows */
};
void mx_points_find(struct mx_points *points, const struct mx_rows *rows,
                    const struct mx_program *program, intptr_t first, intptr_t end);

/* Where an operand has the first of the points. */
char *mx_points_data(const struct mx_points *points, const struct mx_program *program,
                     int access);

/* The axis that points lie along. */
static inline int mx_points_axis(const struct mx_rows *rows)
{
    return rows->n_point_axes ? rows->point_axes[rows->n_point_axes - 1] : 0;
}

/* mx_index_offsets of the points. */
intptr_t mx_points_offsets(const struct mx_points *points, const struct mx_rows *rows,
                           const struct mx_program *program, int64_t *offsets, int64_t *places);

/* How far an element of a row is from its first one. */
intptr_t mx_row_offset(const struct mx_rows *rows, const struct mx_access *access,
                       const intptr_t *at);

/* Goes to the next element of a row: *at counts along its axes; false after the last. */
bool mx_row_next(const struct mx_rows *rows, const struct mx_program *program, intptr_t *at);

/* Plans the chunks of a program whose only call gathers rows. */
void mx_gather_plan(struct mx_program *program);
void mx_gather_run_chunk(const struct mx_program *program, size_t chunk);
