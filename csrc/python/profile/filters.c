/* filters.c -- whether the program's filters turn floating-point warnings into errors. */
#include "python/profile/filters.h"

static PyObject *variables;    /* of the module `warnings` */
static PyObject *filters_name; /* of the list of filters in it */
static PyObject *get_filters;  /* a function that returns the list of the context, or NULL */
static PyObject *known_list;   /* the list that `known_answer` was computed from */
static PyObject *known;        /* a copy of it */
static int known_answer;

/* Return a new reference to the list of filters, or NULL, without an exception set if there is
 * none. */
static PyObject *current_filters(void)
{
    PyObject *filters = get_filters
                            ? PyObject_CallNoArgs(get_filters)
                            : Py_XNewRef(PyDict_GetItemWithError(variables, filters_name));
    if (filters && !PyList_Check(filters))
        Py_CLEAR(filters); /* Python raises an error when it issues a warning */
    return filters;
}

/* Programs may change the list in place, which Python does not count.  They insert, remove or
 * replace the first filter or the last one, so these and the number of filters are compared.
 * The copy holds references to them: an item that is the same object is the same filter. */
static bool is_known(PyObject *filters)
{
    Py_ssize_t n = PyList_Size(filters);
    return filters == known_list && PyList_Size(known) == n &&
           (n == 0 || (PyList_GetItem(filters, 0) == PyList_GetItem(known, 0) &&
                       PyList_GetItem(filters, n - 1) == PyList_GetItem(known, n - 1)));
}

/* Return 1 if a filter may turn the warning into an error, 0 if it has no effect on the answer,
 * 2 if it decides that the filters after it are not asked, or -1 with an exception set. */
static int read_filter(PyObject *filter)
{
    PyObject *action, *message, *category, *module, *line;
    if (!PyTuple_Check(filter) ||
        !PyArg_ParseTuple(filter, "UOOOO", &action, &message, &category, &module, &line)) {
        PyErr_Clear(); /* Python raises an error when it issues a warning */
        return 0;
    }
    int matches = PyObject_IsSubclass(PyExc_RuntimeWarning, category);
    if (matches < 1)
        return matches;
    if (PyUnicode_CompareWithASCIIString(action, "error") == 0)
        return 1;
    bool is_for_all = message == Py_None && module == Py_None && PyObject_Not(line) == 1;
    return is_for_all ? 2 : 0;
}

static int read_filters(PyObject *filters)
{
    int answer = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(filters) && answer == 0; i++)
        answer = read_filter(PyList_GetItem(filters, i));
    return answer == 2 ? 0 : answer;
}

/* Return the answer for a list, and note it. */
static int read_anew(PyObject *filters)
{
    PyObject *copy = PyList_GetSlice(filters, 0, PyList_Size(filters));
    int answer = copy ? read_filters(copy) : -1;
    if (answer < 0) {
        Py_XDECREF(copy);
        return -1;
    }
    PyObject *list_before = known_list, *before = known;
    known_list = Py_NewRef(filters);
    known = copy;
    known_answer = answer;
    Py_XDECREF(list_before);
    Py_XDECREF(before);
    return answer;
}

int filters_raise(void)
{
    PyObject *filters = current_filters();
    if (!filters)
        return PyErr_Occurred() ? -1 : 0;
    int answer = is_known(filters) ? known_answer : read_anew(filters);
    Py_DECREF(filters);
    return answer;
}

int filters_load(void)
{
    PyObject *module = PyImport_ImportModule("warnings");
    PyObject *flags = PySys_GetObject("flags");
    PyObject *depends = PyObject_GetAttrString(flags, "context_aware_warnings");
    variables = module ? Py_NewRef(PyModule_GetDict(module)) : NULL;
    filters_name = PyUnicode_InternFromString("filters");
    if (variables && depends && PyObject_IsTrue(depends) == 1)
        get_filters = Py_XNewRef(PyDict_GetItemString(variables, "_get_filters"));
    Py_XDECREF(depends);
    Py_XDECREF(module);
    PyErr_Clear(); /* versions of Python without the flag have one list of filters */
    return variables && filters_name ? 0 : -1;
}
