/* source.h -- the arguments of an operation. */
#pragma once
#include "python/base/dtypes.h"
#include "python/base/types.h"
#include "python/record/queue.h"

/* An argument: an array, or a scalar.  Its references are borrowed. */
struct source {
    int code;                      /* the row of its dtype, or WEAK_... */
    PyObject *array;               /* NULL for a scalar */
    const PyArrayObject *np_array; /* the NumPy array inside, or a view of it */
    PyObject *scalar;              /* NULL for an array */
};

/* Read an argument.  Return false if it cannot be recorded. */
bool source_read(PyObject *x, struct source *source);
bool source_read_array(PyObject *x, struct source *source);

/* Check whether no two elements of an array share memory.  Where it is hard to tell, return
 * false. */
bool source_is_apart(const PyArrayObject *a);

/* Return the row of the dtype that the value has on its own, without another operand. */
int source_own_row(const struct source *source);

/* Return the address of the elements of an array for which nothing waits. */
static inline char *source_elements(const struct source *source)
{
    MX_ASSERT(!queue_writes(source->array));
    return data_address(source->np_array);
}

/* Check whether the source is one value that is known now. */
bool source_is_value(const struct source *source);

/* Convert the source to one value of the dtype `row`.  Return false if NumPy would raise or
 * warn. */
bool source_value(const struct source *source, int row, char *value);

/* Check whether a cast to the dtype `row` may meet a signaling NaN. */
static inline bool source_may_signal(const struct source *source, int row)
{
    return source->array && source->code != row && mx_dtype_is_inexact(source->code);
}

/* Check whether NumPy assigns the scalar to elements of this dtype without an error or a
 * warning. */
bool source_fits(const struct source *scalar, int row);
