/* mode.c -- strict or fast: of the process, unless a context has its own. */
#include "python/record.h"

static bool is_fast;
static PyObject *get_of_context; /* of the context variable, once a context has been used */

bool mode_is_fast(void)
{
    if (!get_of_context)
        return is_fast;
    PyObject *mode = PyObject_CallNoArgs(get_of_context);
    bool fast = mode && mode != Py_None ? mode == Py_True : is_fast;
    Py_XDECREF(mode);
    PyErr_Clear();
    return fast;
}

static PyObject *set_fast(PyObject *module, PyObject *fast)
{
    (void)module;
    is_fast = fast == Py_True;
    Py_RETURN_NONE;
}

static PyObject *use_context(PyObject *module, PyObject *get)
{
    (void)module;
    Py_XDECREF(get_of_context);
    get_of_context = Py_NewRef(get);
    Py_RETURN_NONE;
}

static PyObject *is_fast_now(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mode_is_fast());
}

PyMethodDef mode_methods[] = {
    {"set_fast", set_fast, METH_O, "set_fast(fast)\n--\n\nSet the mode of the process."},
    {"use_context", use_context, METH_O,
     "use_context(get)\n--\n\nAsk this function for the mode from now on: True, False or "
     "None, that of the process."},
    {"is_fast", is_fast_now, METH_NOARGS, "is_fast()\n--\n\nTell the mode."},
    {NULL, NULL, 0, NULL},
};
