/* arguments.h -- arguments on their way to compiled code of other packages. */
#pragma once
#include "python/convert/call_args.h"
#include "python/packages/layout.h"
#include "python/packages/owners.h"

#define CONTAINERS \
    (Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS)

/* Check for objects that have no counterpart in NumPy and hold no others.  mxnp's are of
 * classes that are not static. */
static inline bool argument_is_plain(PyObject *x)
{
    return !layout_has_flag(x, CONTAINERS | Py_TPFLAGS_HEAPTYPE) ||
           !(layout_has_flag(x, CONTAINERS) || has_counterpart(x));
}

/* Check for objects that hold no others, and so are neither callbacks nor iterators. */
static inline bool argument_is_leaf(PyObject *x)
{
    return !layout_has_flag(x, Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HEAPTYPE | HAS_VECTORCALL);
}

/* Check whether an object that is not plain has a counterpart, such as an array, or holds one
 * among the first items of tuples, lists and dicts. */
bool argument_holds_array(PyObject *x);

/* Check whether one of the arguments has or holds a counterpart. */
static inline bool arguments_have_arrays(PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!argument_is_plain(args[i]) && argument_holds_array(args[i]))
            return true;
    return false;
}

/* -- Vectorcalls ------------------------------------------------------------------- */

static inline Py_ssize_t arguments_count(PyObject *names) { return names ? Py_SIZE(names) : 0; }

/* Return the number of positional arguments of a vectorcall.  nanobind uses more flags than
 * Python, in the upper half of the number, which are passed on. */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
static inline Py_ssize_t arguments_positional(size_t flags)
{
    return (Py_ssize_t)(flags & UINT32_MAX);
}

/* Call a function with an array of arguments, first the positional ones and then those of the
 * names.  One of them is an mxnp array: those that are become NumPy arrays, also in a tuple
 * that nothing else has.  A result that is the NumPy array inside an argument is returned as
 * this argument.  With `adopts`, other NumPy arrays of the result become mxnp arrays too. */
PyObject *arguments_call_with_arrays(vector_call call, PyObject *function,
                                     PyObject *const *args, size_t flags, PyObject *names,
                                     bool adopts);

/* Call compiled code, whose arguments are plain before the i-th one.  Arrays in tuples, lists
 * and dicts are replaced too, unless the call hands these on to a function of Python. */
PyObject *arguments_call_from(Py_ssize_t i, vector_call call, PyObject *function,
                              PyObject *const *args, size_t flags, PyObject *names);

/* The same for any arguments. */
static inline PyObject *arguments_call(vector_call call, PyObject *function,
                                       PyObject *const *args, size_t flags, PyObject *names)
{
    Py_ssize_t i = 0, n = arguments_positional(flags) + arguments_count(names);
    struct noted_caller noted = owners_enter();
    while (i < n && argument_is_plain(args[i]))
        i++;
    PyObject *result = i < n ? arguments_call_from(i, call, function, args, flags, names)
                             : call(function, args, flags, names);
    owners_leave(noted);
    return result;
}

/* Steal a reference to what compiled code returned for n arguments; NULL passes through.  If
 * code of the program gets it, return it with mxnp arrays in place of NumPy arrays: of the
 * result, or of the items of a tuple that nothing else has.  Arrays among the arguments stay as
 * they are. */
PyObject *arguments_take_arrays(PyObject *result, PyObject *const *args, Py_ssize_t n);

static inline PyObject *arguments_take(PyObject *result, PyObject *const *args, Py_ssize_t n)
{
    PyTypeObject *type = result ? Py_TYPE(result) : NULL;
    return type == np_array_type || type == &PyTuple_Type
               ? arguments_take_arrays(result, args, n)
               : result;
}

/* Return how many calls have replaced arrays. */
long long arguments_converted_calls(void);

/* Steal a reference to a result; NULL passes through.  Return it with mxnp arrays in place of
 * NumPy arrays, except in lists and dicts that other code holds. */
PyObject *arguments_adopt(PyObject *result);

/* Check whether the program gets NumPy arrays from a function, or from a method of a class:
 * from NumPy's own, and from those that C code of Python and NumPy calls for an array or the
 * state of an object.  The class of other functions is NULL. */
bool arguments_keep_results(PyObject *function, PyTypeObject *class);

/* Make a tuple of the n positional arguments of a vectorcall, and a dict of the named ones, or
 * NULL if there are none.  Return 0, or -1 with an exception set. */
int arguments_collect(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **tuple,
                      PyObject **dict);

/* -- Slots ------------------------------------------------------------------------- */

/* The arguments of a slot, at most two, and the same as compiled code gets them. */
struct arguments {
    PyObject *args[2], *row[2];
    int n;
    bool are_unwrapped; /* `row` has references to what was replaced, and call_args is set */
    struct noted_caller noted;
    struct call_args call_args;
};

/* Unwrap the arguments, one of which holds an mxnp array.  Return 0, or -1 with an exception
 * set. */
int arguments_unwrap(struct arguments *arguments, PyObject *self);

/* Unwrap the arguments of an object's slot if one of them holds an mxnp array.  The object is
 * NULL for NumPy's own slots, which are not counted.  NULL stands for a missing second
 * argument.  Return 0, or -1 with an exception set. */
static inline int arguments_begin(struct arguments *arguments, PyObject *self, PyObject *first,
                                  PyObject *second)
{
    arguments->row[0] = first;
    arguments->row[1] = second;
    arguments->n = second ? 2 : 1;
    arguments->are_unwrapped = arguments_have_arrays(arguments->row, arguments->n);
    if (arguments->are_unwrapped && arguments_unwrap(arguments, self) < 0)
        return -1;
    arguments->noted = owners_enter();
    return 0;
}

/* Return the result of the call, whose reference is stolen; NULL passes through.  If it is the
 * NumPy array inside an argument, return this argument. */
PyObject *arguments_end(struct arguments *arguments, PyObject *result);

/* The same for a function that returns a status. */
int arguments_end_status(struct arguments *arguments, int status);
