/* axes.c -- sorts the axes of a pass over memory into the order of memory, and merges them. */
#include "base/axes.h"

/* Returns the sum of the strides of the first n views along an axis. */
static intptr_t weight(const struct mx_axes *axes, int axis, int n)
{
    intptr_t total = 0;
    for (int v = 0; v < n; v++) {
        intptr_t stride = axes->strides[v][axis];
        total += stride < 0 ? -stride : stride;
    }
    return total;
}

void mx_axes_swap(const struct mx_axes *axes, int i, int j)
{
    intptr_t length = axes->shape[i];
    axes->shape[i] = axes->shape[j];
    axes->shape[j] = length;
    for (int v = 0; v < axes->n_views; v++) {
        intptr_t *strides = axes->strides[v], stride = strides[i];
        strides[i] = strides[j];
        strides[j] = stride;
    }
    unsigned bits = *axes->reduced;
    if ((bits >> i & 1) != (bits >> j & 1))
        *axes->reduced = bits ^ (1u << i | 1u << j);
}

void mx_axes_sort(const struct mx_axes *axes, int n)
{
    for (int i = 1; i < *axes->ndim; i++)
        for (int j = i; j > 0 && weight(axes, j - 1, n) < weight(axes, j, n); j--)
            mx_axes_swap(axes, j - 1, j);
}

static void axes_drop(const struct mx_axes *axes, int axis)
{
    int last = --*axes->ndim;
    for (int i = axis; i < last; i++)
        axes->shape[i] = axes->shape[i + 1];
    for (int v = 0; v < axes->n_views; v++)
        for (int i = axis; i < last; i++)
            axes->strides[v][i] = axes->strides[v][i + 1];
    unsigned below = (1u << axis) - 1;
    *axes->reduced = (*axes->reduced & below) | (*axes->reduced >> 1 & ~below);
}

/* Returns whether an axis and the next can be merged: in all views, rows along the next axis
 * follow each other without a gap. */
static bool can_merge_with_next(const struct mx_axes *axes, int axis)
{
    if ((*axes->reduced >> axis & 1) != (*axes->reduced >> (axis + 1) & 1))
        return false;
    for (int v = 0; v < axes->n_views; v++)
        if (axes->strides[v][axis] != axes->strides[v][axis + 1] * axes->shape[axis + 1])
            return false;
    return true;
}

void mx_axes_merge(const struct mx_axes *axes)
{
    for (int i = 0; i < *axes->ndim; i++)
        MX_ASSERT(axes->shape[i] > 0);
    for (int i = *axes->ndim - 1; i >= 0; i--)
        if (axes->shape[i] == 1)
            axes_drop(axes, i);
    for (int i = *axes->ndim - 2; i >= 0; i--) {
        if (!can_merge_with_next(axes, i))
            continue;
        axes->shape[i + 1] *= axes->shape[i];
        axes_drop(axes, i);
    }
    if (*axes->ndim > 0)
        return;
    *axes->ndim = 1;
    axes->shape[0] = 1;
    for (int v = 0; v < axes->n_views; v++)
        axes->strides[v][0] = 0;
}
