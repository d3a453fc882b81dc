/* copies.h -- lists and dicts among the arguments, of which NumPy or compiled code gets copies.
 *
 * A copy holds NumPy arrays in place of mxnp arrays.  The callee may change it: it shuffles a
 * list, or fills a dict.  After the call, the program's own object is changed likewise.
 */
#pragma once
#include "python/convert/call_args.h"

/* Note that the callee gets `made` in place of `original`, a list, a dict or a generator.  Do
 * nothing if the call does not give back.  Return 0, or -1 with an exception set. */
int copies_note(struct call_args *call_args, PyObject *original, PyObject *made);

/* Return a borrowed reference to the list, dict or generator of the program in whose place the
 * callee got x, or NULL. */
PyObject *copies_original(const struct call_args *call_args, PyObject *x);

/* Return a borrowed reference to the copy that the callee gets of a list or dict, or NULL. */
PyObject *copies_made(const struct call_args *call_args, PyObject *original);

/* After the call, give changed copies back, and release all.  Steal a reference to the result
 * and return it, or NULL with an exception set.  NULL passes through.  convert_mark_exported()
 * has to follow. */
PyObject *copies_end(struct call_args *call_args, PyObject *result);
