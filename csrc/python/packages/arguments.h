/* crossing.h -- arguments on their way to compiled code of other packages. */
#pragma once
#include "python/convert/convert.h"

/* Whether one of the arguments is an array, or another object that NumPy has too, or holds one
 * in tuples, lists and dicts. */
bool crossing_is_needed(PyObject *const *args, Py_ssize_t n);

/* The arguments as compiled code gets them, in *out, and what is recorded for them has run.  0,
 * or -1 with an exception set and nothing to release. */
int crossing_begin(PyObject *const *args, Py_ssize_t n, PyObject **out,
                   struct call_args *call_args);

/* Takes the result of the call (NULL passes through): the array if it is the NumPy array of
 * one. */
PyObject *crossing_end(struct call_args *call_args, PyObject *result);

void crossing_release(PyObject **args, Py_ssize_t n);

static inline Py_ssize_t crossing_count(PyObject *names)
{
    return names ? PyTuple_Size(names) : 0;
}

/* The number of positional arguments of a vectorcall.  Beside Python's own flag, nanobind has
 * some in the upper half of the number, which are handed on. */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
static inline Py_ssize_t crossing_number(size_t flags)
{
    return (Py_ssize_t)(flags & UINT32_MAX);
}

/* Calls with a row of arguments, first those by position and then those with names, as compiled
 * code gets them if that is needed. */
typedef PyObject *(*row_call)(const void *context, PyObject *const *args, size_t flags,
                              PyObject *names);
PyObject *crossing_call(row_call call, const void *context, PyObject *const *args, size_t flags,
                        PyObject *names);
