/* arrays.c -- comparisons and copies of small arrays. */
#include "python/direct/arrays.h"

struct extent arrays_extent(const char *data, int ndim, const npy_intp *shape,
                            const npy_intp *strides, npy_intp itemsize)
{
    struct extent extent = {data, data + itemsize};
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp length = (shape[axis] - 1) * strides[axis];
        if (shape[axis] == 0)
            return (struct extent){data, data};
        extent.low += length < 0 ? length : 0;
        extent.high += length < 0 ? 0 : length;
    }
    return extent;
}

void arrays_copy(const struct view *to, const char *from, const npy_intp *from_strides,
                 npy_intp itemsize)
{
    if (to->ndim == 0) {
        memcpy(to->data, from, (size_t)itemsize);
        return;
    }
    mx_loop_function copy = core->mx_copy_loop((int)itemsize);
    int last = to->ndim - 1;
    npy_intp index[DIRECT_NDIM] = {0};
    intptr_t n = to->shape[last], strides[] = {from_strides[last], to->strides[last]};
    char *args[] = {(char *)(uintptr_t)from, to->data};
    for (int axis = last; axis >= 0;) {
        char *both[] = {args[0], args[1]};
        if (strides[0] == itemsize && strides[1] == itemsize)
            memcpy(args[1], args[0], (size_t)(n * itemsize));
        else
            copy(both, &n, strides, NULL);
        for (axis = last - 1; axis >= 0; axis--) {
            args[0] += from_strides[axis];
            args[1] += to->strides[axis];
            if (++index[axis] < to->shape[axis])
                break;
            args[0] -= from_strides[axis] * to->shape[axis];
            args[1] -= to->strides[axis] * to->shape[axis];
            index[axis] = 0;
        }
    }
}
