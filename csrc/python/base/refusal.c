/* refusal.c -- exceptions with which Python or NumPy refuse arguments. */
#include "python/base/refusal.h"
#include "python/base/numpy.h"

/* -- Exceptions of signal handlers --------------------------------------------------- */

/* Check whether a frame is one of the values, or of the items of a tuple among them. */
static bool has_frame(PyObject *values, PyObject *frame)
{
    bool is_tuple = PyTuple_CheckExact(values), has = false;
    Py_ssize_t n = is_tuple ? PyTuple_Size(values) : PyList_Size(values);
    for (Py_ssize_t i = 0; i < n && !has; i++) {
        PyObject *x = is_tuple ? PyTuple_GetItem(values, i) : PyList_GetItem(values, i);
        has = x == frame || (!is_tuple && PyTuple_CheckExact(x) && has_frame(x, frame));
    }
    return has;
}

/* Check whether a frame runs a signal handler or a trace function: its caller is one of its
 * variables.  Other functions that hold the frame of their caller count as handlers too. */
static bool is_handler(PyObject *frame)
{
    PyObject *caller = PyObject_GetAttrString(frame, "f_back");
    PyObject *names = PyObject_GetAttrString(frame, "f_locals");
    PyObject *values = names ? PyMapping_Values(names) : NULL;
    bool is = caller && caller != Py_None && values && has_frame(values, caller);
    Py_XDECREF(values);
    Py_XDECREF(names);
    Py_XDECREF(caller);
    return is;
}

static bool passes_handler(PyObject *traceback)
{
    bool passes = false;
    Py_XINCREF(traceback);
    while (traceback && traceback != Py_None && !passes) {
        PyObject *frame = PyObject_GetAttrString(traceback, "tb_frame");
        PyObject *next = PyObject_GetAttrString(traceback, "tb_next");
        passes = frame && is_handler(frame);
        Py_XDECREF(frame);
        Py_DECREF(traceback);
        traceback = next;
    }
    Py_XDECREF(traceback);
    return passes;
}

bool refusal_is_handlers(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool is = passes_handler(traceback);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is;
}

static PyObject *raise_handlers(PyObject *module, PyObject *error)
{
    (void)module;
    PyObject *traceback = PyException_GetTraceback(error);
    bool is = passes_handler(traceback);
    Py_XDECREF(traceback);
    PyErr_Clear();
    if (!is)
        Py_RETURN_NONE;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    return NULL;
}

/* -- Refusals ------------------------------------------------------------------------ */

int refusal_drop(void)
{
    PyObject *const refusals[] = {
        PyExc_TypeError,      PyExc_ValueError,   PyExc_LookupError, PyExc_ArithmeticError,
        PyExc_AttributeError, PyExc_RuntimeError, PyExc_MemoryError};
    if (!PyErr_Occurred())
        return 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (PyErr_ExceptionMatches(refusals[i]) && !refusal_is_handlers()) {
            PyErr_Clear();
            return 0;
        }
    return -1;
}

PyMethodDef refusal_methods[] = {
    {"raise_handlers", raise_handlers, METH_O,
     "raise_handlers(error)\n--\n\nRaise an exception again if a signal handler of the program "
     "raised it. Call it where an exception that refuses arguments is dropped."},
    {NULL, NULL, 0, NULL},
};
