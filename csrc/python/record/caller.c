/* caller.c -- what the bytecode of the calling frame says: see _routines/expressions.py. */
#include "python/record/caller.h"
#include "python/base/refusal.h"

static PyObject *continues, *temporaries;

/* Call one of the functions; return 0 if it fails.  An exception that is set is that of a
 * signal handler.  SystemError is dropped, too: sys._getframe() returns NULL without a
 * MemoryError if Python cannot allocate the frame. */
static long ask(PyObject *question, PyObject *callee)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(question, callee ? callee : Py_None, NULL);
    long number = answer ? PyLong_AsLong(answer) : 0;
    Py_XDECREF(answer);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_SystemError))
        PyErr_Clear();
    return refusal_drop() < 0 ? 0 : number;
}

bool caller_continues(PyObject *callee) { return ask(continues, callee) > 0; }

long caller_temporaries(PyObject *callee) { return ask(temporaries, callee); }

static PyObject *set_expressions(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *first, *second;
    if (!PyArg_ParseTuple(args, "OO:set_expressions", &first, &second))
        return NULL;
    continues = Py_NewRef(first);
    temporaries = Py_NewRef(second);
    Py_RETURN_NONE;
}

PyMethodDef caller_methods[] = {
    {"set_expressions", set_expressions, METH_VARARGS,
     "set_expressions(goes_on, temporaries)\n--\n\nSet the functions that return whether the "
     "calling frame comes straight back to mxnp, and which arguments are intermediate "
     "results."},
    {NULL, NULL, 0, NULL},
};
