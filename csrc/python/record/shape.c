/* shape.c -- the shape of an operation. */
#include "python/record/shape.h"

bool shape_broadcast(struct shape *shape, const struct source *source)
{
    if (source->scalar)
        return true;
    int ndim = PyArray_NDIM(source->np_array);
    const npy_intp *dims = PyArray_DIMS(source->np_array);
    if (ndim > shape->ndim) {
        int more = ndim - shape->ndim;
        memmove(shape->dims + more, shape->dims, (size_t)shape->ndim * sizeof *shape->dims);
        for (int i = 0; i < more; i++)
            shape->dims[i] = 1;
        shape->ndim = ndim;
    }
    npy_intp *last = shape->dims + shape->ndim - ndim;
    for (int i = 0; i < ndim; i++) {
        if (last[i] == 1)
            last[i] = dims[i];
        else if (dims[i] != 1 && dims[i] != last[i])
            return false;
    }
    return true;
}

bool shape_takes(const struct shape *shape, const struct source *source)
{
    struct shape broadcasted = *shape;
    return shape_broadcast(&broadcasted, source) && broadcasted.ndim == shape->ndim &&
           memcmp(broadcasted.dims, shape->dims, (size_t)shape->ndim * sizeof *shape->dims) ==
               0;
}

struct shape shape_of(const PyArrayObject *np_array)
{
    struct shape shape = {.ndim = PyArray_NDIM(np_array)};
    const npy_intp *dims = PyArray_DIMS((PyArrayObject *)(uintptr_t)np_array);
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = dims[i];
    return shape;
}

npy_intp shape_size(const struct shape *shape)
{
    npy_intp size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    return size;
}

void shape_strides(const struct shape *shape, const int *order, int itemsize, npy_intp *strides)
{
    npy_intp stride = itemsize;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        int axis = order ? order[i] : i;
        strides[axis] = stride;
        stride *= shape->dims[axis];
    }
}

bool shape_is_too_large(const struct shape *shape)
{
    double size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= (double)shape->dims[i];
    return size > (double)((npy_intp)1 << 31);
}
