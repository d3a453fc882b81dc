/* division.c -- compiled functions of packages, whose large calls a function divides.
 *
 * The function is changed in place.  It keeps its identity, and names that were bound before
 * mean the changed function too.  Small calls, and those that are left to the function, have no
 * frame of Python around them, so their warnings and tracebacks stay the same.
 */
#include "python/packages/division.h"
#include "python/base/table.h"
#include "python/packages/arguments.h"
#include "python/packages/callables.h"
#include "python/profile/profile.h"
#include "python/profile/traceback.h"

struct division {
    struct table_key function;
    vector_call whole;
    ternaryfunc slot; /* in the row of a class */
    PyObject *divide;
    Py_ssize_t least; /* elements of an array that makes a call large */
};
static struct table divisions = {.row_size = sizeof(struct division)};

static bool divides_all;               /* also calls that carry no arrays of mxnp */
static _Thread_local bool is_dividing; /* then calls are parts of a call */

static bool is_large(PyObject *const *args, Py_ssize_t n, Py_ssize_t least)
{
    Py_ssize_t i = 0;
    while (i < n &&
           !(PyArray_CheckExact(args[i]) && PyArray_SIZE((PyArrayObject *)args[i]) >= least))
        i++;
    return i < n;
}

/* Check whether a call is divided. */
static inline bool is_divided(PyObject *const *args, Py_ssize_t n, Py_ssize_t least)
{
    return is_large(args, n, least) && !is_dividing && (divides_all || calls_with_arrays > 0);
}

/* Call the function that divides a call.  A report counts the call, unless it is a part of one
 * that is counted. */
static PyObject *call_counted(const struct division *row, PyObject *const *args, Py_ssize_t n,
                              PyObject *names)
{
    struct span span = {.is_on = profile_is_on && !profile_innermost()};
    if (span.is_on)
        profile_begin(&span, SPAN_PACKAGE, (struct span_name){row->divide, NULL});
    PyObject *result = callable_call_packed(row->divide, args, n, names);
    if (span.is_on && span.threads > 0 && result != Py_NotImplemented) {
        span.is_numpys = true;
        profile_end(&span, args, n, 1, result);
    } else
        span_pop(&span);
    return result;
}

/* Return the result of a divided call, or NULL without an exception if the function is to be
 * called: it then raises the exception of its arguments, or issues its warnings. */
static PyObject *divide(struct division row, PyObject *const *args, Py_ssize_t n,
                        PyObject *names)
{
    is_dividing = true;
    PyObject *result = call_counted(&row, args, n, names);
    is_dividing = false;
    bool is_error = result && PyExceptionInstance_Check(result);
    if (is_error)
        PyErr_SetObject((PyObject *)Py_TYPE(result), result);
    if (is_error || result == Py_NotImplemented)
        Py_CLEAR(result);
    else if (!result && PyErr_ExceptionMatches(PyExc_Exception) && traceback_ends_inside())
        PyErr_Clear();
    return result;
}

static PyObject *division_call(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    const struct division *row = table_find(&divisions, function, 0);
    vector_call whole = row->whole;
    Py_ssize_t n = arguments_positional(flags);
    if (is_divided(args, n, row->least)) {
        PyObject *result = divide(*row, args, n, names);
        if (result || PyErr_Occurred())
            return result;
    }
    return whole ? whole(function, args, flags, names)
                 : callable_call_packed(function, args, n, names);
}

/* Functions of Cython for several dtypes have no vectorcall.  So their class gets this slot,
 * which divides calls without names. */
static PyObject *division_call_slot(PyObject *function, PyObject *args, PyObject *named)
{
    const struct division *row = table_find(&divisions, function, 0);
    ternaryfunc slot = ((struct division *)table_find(&divisions, Py_TYPE(function), 0))->slot;
    PyObject *const *items = layout_items(args);
    if (row->divide && !(named && PyDict_Size(named) > 0) &&
        is_divided(items, Py_SIZE(args), row->least)) {
        PyObject *result = divide(*row, items, Py_SIZE(args), NULL);
        if (result || PyErr_Occurred())
            return result;
    }
    return slot(function, args, named);
}

/* Divide the calls of a class.  Return 0, or -1 with an exception set. */
static int replace_slot(PyTypeObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    struct division *row = table_add(&divisions, class, 0);
    if (row && !row->slot) {
        Py_INCREF((PyObject *)class);
        row->slot = (ternaryfunc)type->call;
        type->call = division_call_slot;
    }
    return row ? 0 : -1;
}

/* Return 0, or -1 with an exception set. */
static int divide_calls_of(PyObject *function, PyObject *divide, Py_ssize_t least)
{
    vector_call *call = callable_innermost(function);
    if (!call && replace_slot(Py_TYPE(function)) < 0)
        return -1;
    struct division *row = table_add(&divisions, function, 0);
    if (!row)
        return -1;
    if (!row->divide)
        Py_INCREF(function); /* never freed, as modules are not */
    if (call && *call != division_call) {
        row->whole = *call;
        *call = division_call;
    }
    PyObject *former = row->divide;
    row->divide = Py_NewRef(divide);
    Py_XDECREF(former);
    row->least = least;
    return 0;
}

static PyObject *divide_calls(PyObject *self, PyObject *args)
{
    PyObject *function, *divide;
    Py_ssize_t least;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOn:divide_calls", &function, &divide, &least))
        return NULL;
    if (layout_is_known() && divide_calls_of(function, divide, least) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *divide_all(PyObject *self, PyObject *flag)
{
    (void)self;
    bool before = divides_all;
    divides_all = flag == Py_True;
    return PyBool_FromLong(before);
}

static PyObject *call_whole(PyObject *self, PyObject *args)
{
    PyObject *function, *given, *named;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO!O!:call_whole", &function, &PyTuple_Type, &given,
                          &PyDict_Type, &named))
        return NULL;
    bool was_dividing = is_dividing;
    is_dividing = true;
    PyObject *result = PyObject_Call(function, given, named);
    is_dividing = was_dividing;
    return result;
}

PyMethodDef division_methods[] = {
    {"divide_all", divide_all, METH_O,
     "divide_all(flag)\n--\n\n"
     "Set whether calls of packages are divided that carry no arrays of mxnp. Return whether "
     "they were."},
    {"call_whole", call_whole, METH_VARARGS,
     "call_whole(function, args, kwargs)\n--\n\n"
     "Call a function whose calls of packages are not divided."},
    {"divide_calls", divide_calls, METH_VARARGS,
     "divide_calls(function, divide, least)\n--\n\n"
     "Pass calls of a compiled function to another function first, if an array among their "
     "arguments has at least so many elements. It returns NotImplemented for calls that it "
     "leaves to the compiled function, and may call that for parts of the arguments. An "
     "exception that it raises for arguments leaves the call to the compiled function, and one "
     "that it returns is raised. The function is changed in place."},
    {NULL, NULL, 0, NULL},
};
