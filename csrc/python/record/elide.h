/* elide.h -- arguments that lend their memory to a call.
 *
 * An array that only the arguments of a call refer to lends its memory for the time of the
 * call, so that the operation that computes it need not write it: see scheduler/stream.h.
 */
#pragma once
#include "python/base/numpy.h"

/* Let the array that the caller passes on, among the first two arguments, lend its memory.
 * Return the buffer, which memory_end_elision() takes, or NULL.  An exception may be set, which
 * is that of a signal handler. */
struct mx_buffer *elide_argument(PyObject *callee, PyObject *args);

/* The same for the first input of a ufunc or operator that is gone once the call is over. */
struct mx_buffer *elide_input(PyObject *callee, PyObject *const *inputs, int n);

/* Return the operand, an array of mxnp or NumPy, into which NumPy writes the result of an
 * operator, or NULL if the order of its result in memory does not depend on it.  It is large,
 * and nothing else refers to it. */
PyObject *elide_into(int op, PyObject *left, PyObject *right);

/* Return the operand into which NumPy writes the result of an operator if that has another byte
 * order than the machine, or NULL.  `right` is NULL if there is one operand. */
PyObject *elide_swapped(int op, PyObject *left, PyObject *right);

/* Check whether NumPy multiplies the operands of `left * right` in the other order.  It does so
 * to write the product into a large right operand that nothing else refers to.  The order
 * determines the last bits of complex products. */
bool elide_exchanges(PyObject *left, PyObject *right);

void elide_load(void);
