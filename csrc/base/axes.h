#pragma once
/* axes.h -- sorts the axes of a pass over memory into the order of memory, and merges them. */
#include "base/base.h"

/* References to the axes; the caller owns them. */
struct mx_axes {
    int *ndim;
    intptr_t *shape;
    unsigned *reduced; /* axes that are reduced over, one bit each */
    int n_views;
    intptr_t **strides; /* of each view: bytes along each axis */
};

/* Sorts the axes by the strides of the first n views, smallest last.  Axes with equal strides
 * keep their order. */
void mx_axes_sort(const struct mx_axes *axes, int n);

void mx_axes_swap(const struct mx_axes *axes, int i, int j);

/* Removes axes of one element, and merges an axis with the next where no view has a gap between
 * them.  At least one axis remains. */
void mx_axes_merge(const struct mx_axes *axes);
