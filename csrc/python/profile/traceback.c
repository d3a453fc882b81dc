/* traceback.c -- tracebacks without the frames of mxnp.
 *
 * Much of NumPy is compiled, and its frames are in no traceback.  The Python code of mxnp that
 * takes its place is not in one either, so that the last line of a traceback is the program's,
 * or NumPy's.
 */
#include "python/profile/traceback.h"
#include "python/profile/call_site.h"

static bool shows_own;

/* Check the package of the code that an entry of a traceback runs. */
static bool is_in(PyObject *traceback, bool (*test)(const char *))
{
    PyObject *frame = PyObject_GetAttrString(traceback, "tb_frame");
    bool is = frame && test(call_site_package(frame));
    Py_XDECREF(frame);
    return is;
}

/* Steal a reference to a traceback.  Return the first entry from there that is kept, or NULL.
 */
static PyObject *skip_own(PyObject *traceback)
{
    while (traceback && traceback != Py_None && is_in(traceback, call_site_is_own)) {
        PyObject *next = PyObject_GetAttrString(traceback, "tb_next");
        Py_DECREF(traceback);
        traceback = next;
    }
    if (traceback == Py_None)
        Py_CLEAR(traceback);
    return traceback;
}

static PyObject *without_own(PyObject *traceback)
{
    PyObject *first = skip_own(traceback), *last = Py_XNewRef(first);
    while (last) {
        PyObject *next = skip_own(PyObject_GetAttrString(last, "tb_next"));
        PyObject_SetAttrString(last, "tb_next", next ? next : Py_None);
        Py_DECREF(last);
        last = next;
    }
    PyErr_Clear(); /* what cannot be read or changed stays */
    return first;
}

void traceback_hide_own(void)
{
    PyObject *type, *value, *traceback;
    if (shows_own)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    if (traceback) {
        PyErr_NormalizeException(&type, &value, &traceback);
        traceback = without_own(traceback);
        if (value && PyExceptionInstance_Check(value))
            PyException_SetTraceback(value, traceback ? traceback : Py_None);
    }
    PyErr_Restore(type, value, traceback);
}

/* Check the package of the code in which the exception was raised.  Without a traceback, that
 * is compiled code. */
static bool ends_in(bool (*test)(const char *))
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *last = Py_XNewRef(traceback), *next;
    while (last && (next = PyObject_GetAttrString(last, "tb_next")) != NULL) {
        if (next == Py_None) {
            Py_DECREF(next);
            break;
        }
        Py_DECREF(last);
        last = next;
    }
    bool is = !last || is_in(last, test);
    Py_XDECREF(last);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is;
}

bool traceback_ends_inside(void) { return ends_in(call_site_is_library); }

bool traceback_ends_in_own(void) { return ends_in(call_site_is_own); }

static PyObject *show_own_frames(PyObject *module, PyObject *value)
{
    (void)module;
    bool before = shows_own;
    int shows = PyObject_IsTrue(value);
    if (shows < 0)
        return NULL;
    shows_own = shows;
    return PyBool_FromLong(before);
}

PyMethodDef traceback_methods[] = {
    {"show_own_frames", show_own_frames, METH_O,
     "show_own_frames(value)\n--\n\nSet whether tracebacks show the frames of mxnp. Return the "
     "previous value."},
    {NULL, NULL, 0, NULL},
};
