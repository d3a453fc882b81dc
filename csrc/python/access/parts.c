/* parts.c -- where Python keeps the parts of a key. */
#include "python/access/parts.h"

uintptr_t parts_least, parts_span;
size_t parts_items;
bool parts_has_slices;

/* Check whether the small integers are at equal distances. */
static void find_integers(void)
{
    uintptr_t first = 0;
    bool are_regular = true;
    for (int i = 0; i < PARTS_INTEGERS; i++) {
        PyObject *integer = PyLong_FromLong(PARTS_LEAST + i);
        uintptr_t address = (uintptr_t)integer;
        Py_XDECREF(integer);
        first = i == 0 ? address : first;
        are_regular = are_regular && address == first + (uintptr_t)i * PARTS_DISTANCE;
    }
    parts_least = first;
    parts_span = are_regular ? PARTS_INTEGERS * PARTS_DISTANCE : 0;
}

/* Look for the items behind the length of a tuple, and behind its hash. */
static void find_items(PyObject *one, PyObject *other)
{
    PyObject *tuple = PyTuple_Pack(2, one, other);
    for (size_t at = sizeof(PyVarObject);
         tuple && !parts_items && at <= sizeof(PyVarObject) + 8; at += 8) {
        PyObject **items = (PyObject **)((char *)tuple + at);
        if (items[0] == one && items[1] == other)
            parts_items = at;
    }
    Py_XDECREF(tuple);
}

static void find_ends(PyObject *start, PyObject *stop, PyObject *step)
{
    PyObject *slice = PySlice_New(start, stop, step);
    const struct parts_slice *s = (const struct parts_slice *)slice;
    parts_has_slices = s && s->start == start && s->stop == stop && s->step == step;
    Py_XDECREF(slice);
}

void parts_load(void)
{
    find_integers();
    find_items(Py_True, Py_Ellipsis);
    find_ends(Py_True, Py_Ellipsis, Py_False);
    PyErr_Clear();
}
