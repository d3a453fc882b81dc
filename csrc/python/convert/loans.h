/* loans.h -- lists and dicts among the arguments of compiled code.
 *
 * A list or dict is the program's own object, which the callee may keep, change or pass on.  So
 * it stays the same object, and NumPy arrays take the places of its mxnp arrays until the call
 * ends.
 */
#pragma once
#include "python/convert/call_args.h"

/* Lend the i-th item of a list, or the value of a dict's key: put `given` in its place.  Return
 * 0, or -1 with an exception set. */
int loans_lend(struct call_args *call_args, PyObject *container, Py_ssize_t i, PyObject *key,
               PyObject *given);

/* After the call, put the program's objects back, also where the callee has moved them in these
 * lists and dicts.  Steal a reference to the result and return it, or NULL with an exception
 * set.  NULL passes through.  convert_mark_exported() has to follow. */
PyObject *loans_end(struct call_args *call_args, PyObject *result);
