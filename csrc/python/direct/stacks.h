/* stacks.h -- products of stacks of small matrices by kernels of the core. */
#pragma once
#include "python/base/types.h"

/* An operand as n matrices at equal distances, each (rows, columns). */
struct stack {
    const char *data;
    npy_intp n, step, rows, columns, row, column;
    int ndim; /* of the axes before the last two */
    const npy_intp *shape;
};

/* Read an array in memory, which has elements.  Return false if its first axes are not one axis
 * with equal steps, or it is not aligned. */
bool stacks_read(PyArrayObject *np_array, struct stack *stack);

/* Return a new NumPy array whose elements are not set, or NULL with an exception set. */
PyObject *stacks_new_result(int row, int ndim, const npy_intp *shape);

/* Call a function of the core that writes `out` on all threads, without the lock of the
 * interpreter.  Return 1, 0 if it returns false, or -1 with an exception set. */
int stacks_run(PyObject *const *operands, int nin, bool (*compute)(const void *),
               const void *job, PyObject *out, const char *name);

/* Multiply stacks in memory.  Return 1 with a new reference in *result, 0 if NumPy has to
 * multiply them, or -1 with an exception set. */
int stacks_multiply(PyObject *a, PyObject *b, PyObject **result);

PyObject *stacks_function(void);            /* numpy.matmul, borrowed */
const struct mx_loop *stacks_loop(int row); /* of numpy.matmul, or NULL */

extern PyMethodDef stacks_methods[];

int stacks_load(PyObject *numpy); /* -1 with an exception set */
