/* arguments.h -- arguments on their way to compiled code of other packages. */
#pragma once
#include "python/convert/call_args.h"

/* Check for the classes of most arguments, which are passed on as they are. */
static inline bool argument_is_plain(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type == np_array_type || type == &PyUnicode_Type || type == &PyLong_Type ||
           type == &PyFloat_Type || type == &PyBool_Type || x == Py_None;
}

/* Check whether one of the arguments has a counterpart in NumPy, such as an array, or holds one
 * in tuples, lists and dicts. */
bool arguments_have_arrays(PyObject *const *args, Py_ssize_t n);

/* -- Vectorcalls ------------------------------------------------------------------- */

static inline Py_ssize_t arguments_count(PyObject *names)
{
    return names ? PyTuple_Size(names) : 0;
}

/* Return the number of positional arguments of a vectorcall.  nanobind uses more flags than
 * Python, in the upper half of the number, which are passed on. */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
static inline Py_ssize_t arguments_positional(size_t flags)
{
    return (Py_ssize_t)(flags & UINT32_MAX);
}

/* Call a function with an array of arguments, first the positional ones and then those of the
 * names.  If one of them holds an mxnp array, all are unwrapped, and a result that is the NumPy
 * array inside an argument is returned as this argument. */
PyObject *arguments_call(vector_call call, PyObject *function, PyObject *const *args,
                         size_t flags, PyObject *names);

/* The same for arguments that hold an mxnp array.  With `adopts`, other NumPy arrays of the
 * result become mxnp arrays too. */
PyObject *arguments_call_unwrapped(vector_call call, PyObject *function, PyObject *const *args,
                                   size_t flags, PyObject *names, bool adopts);

/* Return how many calls have replaced arrays. */
long long arguments_converted_calls(void);

/* Steal a reference to a result; NULL passes through.  Return it with mxnp arrays in place of
 * NumPy arrays, except in lists and dicts that other code holds. */
PyObject *arguments_adopt(PyObject *result);

/* Return a new tuple of n arguments. */
PyObject *arguments_pack(PyObject *const *args, Py_ssize_t n);

/* Set *dict to a new dict of named arguments, or to NULL if there are no names.  Return 0, or
 * -1 with an exception set. */
int arguments_pack_named(PyObject *const *args, PyObject *names, PyObject **dict);

/* -- Slots ------------------------------------------------------------------------- */

/* The arguments of a slot, at most two, and the same as compiled code gets them. */
struct arguments {
    PyObject *row[2];
    int n;
    bool are_unwrapped; /* `row` has references, and call_args is set */
    struct call_args call_args;
};

/* Unwrap the arguments of an object's slot if one of them holds an mxnp array.  The object is
 * NULL for NumPy's own slots, which are not counted.  NULL stands for a missing second
 * argument. Return 0, or -1 with an exception set. */
int arguments_begin(struct arguments *arguments, PyObject *self, PyObject *first,
                    PyObject *second);

/* Return the result of the call, whose reference is stolen; NULL passes through.  If it is the
 * NumPy array inside an argument, return this argument. */
PyObject *arguments_end(struct arguments *arguments, PyObject *result);

/* The same for a function that returns a status. */
int arguments_end_status(struct arguments *arguments, int status);
