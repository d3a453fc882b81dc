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
static PyObject *divide(const struct division *row, PyObject *const *args, Py_ssize_t n,
                        PyObject *names)
{
    is_dividing = true;
    PyObject *result = call_counted(row, args, n, names);
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
    struct division row = *(struct division *)table_find(&divisions, function, 0);
    Py_ssize_t n = arguments_positional(flags);
    bool is_asked_for = divides_all || calls_with_arrays > 0;
    if (is_asked_for && !is_dividing && is_large(args, n, row.least)) {
        PyObject *result = divide(&row, args, n, names);
        if (result || PyErr_Occurred())
            return result;
    }
    return row.whole ? row.whole(function, args, flags, names)
                     : callable_call_packed(function, args, n, names);
}

/* A call of the function that stands for one without a vectorcall, which is its `self`. */
static PyObject *division_call_self(PyObject *function, PyObject *const *args, Py_ssize_t n,
                                    PyObject *names)
{
    return division_call(function, args, (size_t)n, names);
}

static PyMethodDef stand_in = {"divided", (PyCFunction)(void (*)(void))division_call_self,
                               METH_FASTCALL | METH_KEYWORDS, NULL};

static int divide_calls_of(PyObject *function, PyObject *divide, Py_ssize_t least)
{
    vector_call *call = callable_innermost(function);
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
    return call != NULL;
}

static PyObject *divide_calls(PyObject *self, PyObject *args)
{
    PyObject *function, *divide;
    Py_ssize_t least;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOn:divide_calls", &function, &divide, &least))
        return NULL;
    int is_in_place = layout_is_known() ? divide_calls_of(function, divide, least) : 1;
    if (is_in_place < 0)
        return NULL;
    return is_in_place ? Py_NewRef(function) : PyCFunction_NewEx(&stand_in, function, NULL);
}

static PyObject *divide_all(PyObject *self, PyObject *flag)
{
    (void)self;
    divides_all = flag == Py_True;
    Py_RETURN_NONE;
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
     "Set whether calls of packages are divided that carry no arrays of mxnp."},
    {"call_whole", call_whole, METH_VARARGS,
     "call_whole(function, args, kwargs)\n--\n\n"
     "Call a function whose calls of packages are not divided."},
    {"divide_calls", divide_calls, METH_VARARGS,
     "divide_calls(function, divide, least)\n--\n\n"
     "Pass calls of a compiled function to another function first, if an array among their "
     "arguments has at least so many elements. It returns NotImplemented for calls that it "
     "leaves to the compiled function, and may call that for parts of the arguments. An "
     "exception that it raises for arguments leaves the call to the compiled function, and one "
     "that it returns is raised. Return the function, which is changed in place, or another "
     "one that has it as ``__self__``."},
    {NULL, NULL, 0, NULL},
};
