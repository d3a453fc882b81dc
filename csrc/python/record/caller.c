/* caller.c -- what the bytecode of the calling frame says: see _routines/expressions.py. */
#include "python/record/caller.h"
#include "python/base/refusal.h"

static PyObject *continues, *temporaries, *names_out;

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

bool caller_names_out(void) { return ask(names_out, NULL) > 0; }

static PyObject *set_expressions(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *first, *second, *third;
    if (!PyArg_ParseTuple(args, "OOO:set_expressions", &first, &second, &third))
        return NULL;
    continues = Py_NewRef(first);
    temporaries = Py_NewRef(second);
    names_out = Py_NewRef(third);
    Py_RETURN_NONE;
}

PyMethodDef caller_methods[] = {
    {"set_expressions", set_expressions, METH_VARARGS,
     "set_expressions(goes_on, temporaries, names_out)\n--\n\nSet the functions that return "
     "whether the calling frame comes straight back to mxnp, which arguments are intermediate "
     "results, and whether `out` is a keyword of the call."},
    {NULL, NULL, 0, NULL},
};
