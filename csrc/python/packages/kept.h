/* kept.h -- lists and dicts of packages that the program changes. */
#pragma once
#include "python/base/types.h"

/* Return a new reference to what a package keeps of an object of the program, or NULL with an
 * exception set.  Lists and dicts stay the same objects: their items are replaced. */
PyObject *kept_give(PyObject *x);

/* Watch what the program puts into a dict of a package. */
void kept_watch(PyObject *dict);

/* Replace what the program put into watched dicts.  Return 0, or -1 with an exception set. */
int kept_settle_pending(void);

/* Replace the items of containers, a list of objects of subclasses of list, dict and deque,
 * until a call ends.  Return what kept_take_back() needs, or NULL with an exception set. */
PyObject *kept_lend(PyObject *containers);

/* Steal references to the result of the call and to what kept_lend() returned.  Give the
 * program its own items again, and return the result, or NULL with an exception set. */
PyObject *kept_take_back(PyObject *loans, PyObject *result);

extern Py_ssize_t kept_n_pending;

static inline int kept_settle(void) { return kept_n_pending ? kept_settle_pending() : 0; }
