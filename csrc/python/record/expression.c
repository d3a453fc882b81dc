/* expression.c -- operations on shared memory wait for the rest of their expression.
 *
 * Code outside of mxnp may write shared memory at any time, so an operation on it has to run
 * before such code does.  A call that records an operation on shared memory therefore runs it
 * before it returns, unless the program passes the result to mxnp right away.
 * mxnp/_routines/expressions.py finds that out from the bytecode of the calling frame.
 */
#include "python/record/expression.h"
#include "python/base/types.h"
#include "python/profile/profile.h"
#include "python/record/caller.h"
#include "python/record/elide.h"
#include "python/record/memory.h"
#include "python/record/queue.h"

/* Operations wait from this many thresholds on.  For smaller arrays, reading the frame costs
 * more than it saves. */
#define SIZE_FACTOR 8

/* The number of nested calls in this thread that run only code of mxnp and NumPy. */
static _Thread_local int depth;

void expression_enter(void) { depth++; }

bool expression_defer(Py_ssize_t size)
{
    bool can_wait = depth > 0 && size / SIZE_FACTOR >= queue_threshold;
    if (can_wait)
        expression_last = queue_recorded;
    return can_wait;
}

int expression_close(void)
{
    if (!expression_is_open())
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct span span;
    span_begin(&span, SPAN_SHARED, NULL);
    int status = queue_flush();
    span_pop(&span);
    if (type)
        PyErr_Restore(type, value, traceback);
    return status;
}

int expression_leave(PyObject *callee, PyObject *result, PyObject *const *inputs, int n)
{
    if (--depth > 0 || !expression_is_open())
        return 0;
    if (result && is_array(result) && caller_continues(callee))
        return 0;
    struct mx_buffer *elided =
        result && !PyErr_Occurred() ? elide_input(callee, inputs, n) : NULL;
    int status = expression_close();
    memory_end_elision(elided);
    return result && PyErr_Occurred() ? -1 : status;
}

static bool is_plain(PyObject *x, int levels);

static bool are_plain(PyObject *items, bool is_list, int levels)
{
    Py_ssize_t n = is_list ? PyList_Size(items) : PyTuple_Size(items);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_plain(is_list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i), levels))
            return false;
    return true;
}

/* Check whether using x as an argument runs only code of mxnp and NumPy.  A list may contain
 * itself, so nested lists count as other objects below a certain depth. */
static bool is_plain(PyObject *x, int levels)
{
    if (PyTuple_CheckExact(x) || PyList_CheckExact(x))
        return levels > 0 && are_plain(x, PyList_CheckExact(x), levels - 1);
    if (PyType_Check(x)) /* as a dtype */
        return is_static((PyTypeObject *)x);
    return is_array(x) || x == Py_None || PyBool_Check(x) || PyLong_CheckExact(x) ||
           PyFloat_CheckExact(x) || PyComplex_CheckExact(x) || PyUnicode_CheckExact(x) ||
           PyArray_DescrCheck(x) || (PyArray_IsScalar(x, Generic) && is_static(Py_TYPE(x)));
}

bool expression_takes(PyObject *args, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (!is_plain(value, MAX_DEPTH))
            return false;
    return is_plain(args, MAX_DEPTH);
}
