/* refusal.c -- exceptions with which Python or NumPy refuse arguments. */
#include "python/base/refusal.h"
#include "python/base/numpy.h"

/* -- Exceptions of signal handlers --------------------------------------------------- */

/* A search for a frame among the objects that another frame refers to. */
struct search {
    PyObject *frame;
    int depth, found;
};

static bool is_cell(PyObject *x)
{
    PyObject *name = PyType_GetName(Py_TYPE(x));
    bool is = name && PyUnicode_CompareWithASCIIString(name, "cell") == 0;
    Py_XDECREF(name);
    return is;
}

/* Count the references of an object, and of tuples and cells among them, to the frame. */
static int count_references(PyObject *x, void *arg)
{
    enum { MOST = 2 }; /* a tuple in a cell */
    struct search *search = arg;
    search->found += x == search->frame;
    if (search->depth < MOST && (PyTuple_CheckExact(x) || is_cell(x))) {
        traverseproc traverse = (traverseproc)PyType_GetSlot(Py_TYPE(x), Py_tp_traverse);
        search->depth++;
        if (traverse) /* a class of the program may have the name of a cell */
            traverse(x, count_references, search);
        search->depth--;
    }
    return 0;
}

/* Check whether a frame ran a signal handler or a trace function: its caller is one of its
 * variables.  Other functions that hold the frame of their caller count as handlers too.
 * The frame is not asked for f_locals: before Python 3.13 it keeps that dict, and with it the
 * exception that holds the frame.  A frame that has ended reports its variables and f_back to
 * the garbage collector; one that still runs reports no variables. */
static bool is_handler(PyObject *frame)
{
    traverseproc traverse = (traverseproc)PyType_GetSlot(Py_TYPE(frame), Py_tp_traverse);
    struct search search = {.frame = PyObject_GetAttrString(frame, "f_back")};
    if (search.frame && search.frame != Py_None)
        traverse(frame, count_references, &search);
    Py_XDECREF(search.frame);
    return search.found > 1; /* f_back is the first */
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
