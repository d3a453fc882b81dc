#pragma once
/* points.h -- the points and rows that a gather or a scatter goes over.
 *
 * An indexed operand has strides along some axes: a row consists of the elements along them.
 * The other axes are those of the points, each of which the indices send to one row.
 */
#include "cpu/plan/plan.h"

struct mx_rows {
    int n_point_axes, n_row_axes;
    int point_axes[MX_MAX_NDIM], row_axes[MX_MAX_NDIM];
    intptr_t n_points, size; /* elements of a row */
    bool is_contiguous;      /* rows are contiguous, in the indexed operand and in the other */
};

/* Finds the rows of the access `indexed`; `other` is the access that their elements go to or
 * come from, or -1 if that is a single value. */
void mx_points_find_rows(struct mx_rows *rows, const struct mx_program *program, int indexed,
                         int other);

/* Up to MX_INDEX_BLOCK points, which differ only in their place on the last point axis. */
struct mx_points {
    intptr_t n;
    intptr_t at[MX_MAX_NDIM]; /* the first point, on each axis of the program; 0 on row axes */
};

/* Finds the points from number `first` on, but none from number `end` on. */
void mx_points_find(struct mx_points *points, const struct mx_rows *rows,
                    const struct mx_program *program, intptr_t first, intptr_t end);

/* Returns the address of the first point in an operand. */
char *mx_points_data(const struct mx_points *points, const struct mx_program *program,
                     int access);

/* Returns the axis along which points lie. */
static inline int mx_points_axis(const struct mx_rows *rows)
{
    return rows->n_point_axes ? rows->point_axes[rows->n_point_axes - 1] : 0;
}

/* Calls mx_index_offsets for the indices of the points. */
intptr_t mx_points_offsets(const struct mx_points *points, const struct mx_rows *rows,
                           const struct mx_program *program, int64_t *offsets,
                           int64_t *positions);

/* Returns the bytes from the first element of a row to the one at `at`. */
intptr_t mx_points_row_offset(const struct mx_rows *rows, const struct mx_access *access,
                              const intptr_t *at);

/* Sets *at to element number `element` of a row. */
void mx_points_find_in_row(const struct mx_rows *rows, const struct mx_program *program,
                           intptr_t element, intptr_t *at);

/* Moves *at to the next element of a row, in C order over the row axes.  Returns false after
 * the last element. */
bool mx_points_next_in_row(const struct mx_rows *rows, const struct mx_program *program,
                           intptr_t *at);
