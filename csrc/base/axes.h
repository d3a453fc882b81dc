#pragma once
/* axes.h -- the axes of a pass over memory, put in the order of memory and made fewer. */
#include "base/base.h"

/* They belong to whoever makes the pass. */
struct mx_axes {
    int *ndim;
    intptr_t *shape;
    unsigned *reduced; /* axes that are reduced over, one bit each */
    int n_views;
    intptr_t **strides; /* of each view, bytes along each axis */
};

/* The axis along which memory moves least becomes the last; C order where it is the same. */
void mx_axes_sort(const struct mx_axes *axes);

void mx_axes_swap(const struct mx_axes *axes, int i, int j);

/* Drops axes of one element, and puts an axis together with the next where it leads into that.
 * At least one is left. */
void mx_axes_merge(const struct mx_axes *axes);
