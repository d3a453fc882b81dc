/* shape.h -- the shape of an operation. */
#pragma once
#include "ir/instruction.h"
#include "python/record/source.h"

struct shape {
    int ndim;
    npy_intp dims[MX_MAX_NDIM * 2];
};

/* Broadcast the shape with that of the source.  Return false if they do not match. */
bool shape_broadcast(struct shape *shape, const struct source *source);

/* Check whether the source can be broadcast to the shape. */
bool shape_takes(const struct shape *shape, const struct source *source);

struct shape shape_of(const PyArrayObject *np_array);
npy_intp shape_size(const struct shape *shape);

/* Compute strides with the axes in this order in memory, outermost first; NULL is C order. */
void shape_strides(const struct shape *shape, const int *order, int itemsize,
                   npy_intp *strides);

/* Check whether an array is so large that NumPy allocates it, so that a MemoryError is raised
 * immediately. */
bool shape_is_too_large(const struct shape *shape);
