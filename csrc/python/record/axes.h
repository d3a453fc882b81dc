/* axes.h -- strides along the axes of an operation, and the order of axes in memory. */
#pragma once
#include "python/record/shape.h"

/* Compute the strides of a source along the axes of the shape. */
void axes_strides(const struct source *source, const struct shape *shape, intptr_t *strides);

/* Check whether an operand with these strides is repeated along some axes but not along all. */
bool axes_repeat_some(const npy_intp *lengths, const intptr_t *strides, int ndim);

/* Set Fortran order. */
void axes_reverse(int ndim, int *order);

/* Find the order of axes in memory of a new result, outermost first, as NumPy's iterator
 * chooses it.  It leaves an axis of one element where it is, so a result in Fortran order may
 * have other strides than its operands. */
void axes_order(const struct source *sources, int n, const struct shape *shape, int *order);

/* Check whether all arrays among the sources have the shape of the result and are in Fortran
 * order only.  NumPy's ufuncs use no iterator for these, and the result is in Fortran order. */
bool axes_are_fortran(const struct source *sources, int n, const struct shape *shape);

/* Find the order of axes in memory of a copy, as numpy.empty_like chooses it: the longest
 * strides first, and C order among equal ones. */
void axes_sort(const struct source *source, int *order);
