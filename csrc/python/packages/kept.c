/* kept.c -- lists and dicts of packages that the program changes.
 *
 * The program gets a dict from a package, such as `graph` of networkx, and puts arrays into it
 * without a call of the package.  Python tells watchers of the dict about this (since Python
 * 3.12).  What the program has put there is replaced when it calls a package next.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "python/packages/kept.h"
#include "python/convert/convert.h"
#include "python/packages/arguments.h"
#include "python/packages/crossing.h"
#include <dlfcn.h>

#define DEPTH 5 /* nested tuples, lists and dicts */

/* -- Objects that a package keeps -------------------------------------------------------- */

static PyObject *give(PyObject *x, int depth);

static int give_items(PyObject *list, int depth)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *item = Py_NewRef(PyList_GetItem(list, i)), *given = give(item, depth);
        bool is_same = given == item && PyList_GetItem(list, i) == item;
        Py_DECREF(item);
        if (!given || is_same)
            Py_XDECREF(given);
        else
            PyList_SetItem(list, i, given);
        if (!given)
            return -1;
    }
    return 0;
}

static int give_value(PyObject *dict, PyObject *key, int depth)
{
    PyObject *value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    PyObject *given = value ? give(value, depth) : NULL;
    int status = given || !PyErr_Occurred() ? 0 : -1;
    if (given && given != value)
        status = PyDict_SetItem(dict, key, given);
    Py_XDECREF(given);
    Py_XDECREF(value);
    return status;
}

static int give_values(PyObject *dict, int depth)
{
    PyObject *keys = PyDict_Keys(dict);
    int status = keys ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(keys); i++)
        status = give_value(dict, PyList_GetItem(keys, i), depth);
    Py_XDECREF(keys);
    return status;
}

/* Lists and dicts in a tuple stay the same objects, too. */
static PyObject *give_tuple(PyObject *tuple, int depth)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        PyObject *given = give(PyTuple_GetItem(tuple, i), depth);
        if (!given)
            return NULL;
        Py_DECREF(given);
    }
    return convert_export(tuple, DEPTH, true);
}

static PyObject *give(PyObject *x, int depth)
{
    int status = 0;
    if (argument_is_leaf(x))
        return Py_NewRef(x);
    if (depth > 0 && PyTuple_Check(x))
        return give_tuple(x, depth - 1);
    if (depth > 0 && PyDict_Check(x)) {
        kept_watch(x);
        status = give_values(x, depth - 1);
    } else if (depth > 0 && PyList_Check(x)) {
        status = give_items(x, depth - 1);
    } else {
        return crossing.give(x);
    }
    return status < 0 ? NULL : Py_NewRef(x);
}

PyObject *kept_give(PyObject *x) { return give(x, DEPTH); }

/* -- Containers that are lent for a call -------------------------------------------------- */

/* Exact lists and dicts are copied for a call.  A copy of another container would lack what its
 * class adds.  So the items themselves are replaced, and put back after the call. */

/* Return a new list of the keys of a container. */
static PyObject *keys_of(PyObject *container)
{
    if (PyDict_Check(container))
        return PyDict_Keys(container);
    PyObject *keys = PyList_New(0);
    Py_ssize_t n = keys ? PySequence_Size(container) : -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = PyLong_FromSsize_t(i);
        if (!key || PyList_Append(keys, key) < 0)
            n = -1;
        Py_XDECREF(key);
    }
    if (n < 0)
        Py_CLEAR(keys);
    return keys;
}

/* Return a new reference to an item, or NULL, perhaps with an exception set. */
static PyObject *kept_get(PyObject *container, PyObject *key)
{
    if (PyDict_Check(container))
        return Py_XNewRef(PyDict_GetItemWithError(container, key));
    return PySequence_GetItem(container, PyLong_AsSsize_t(key));
}

static int set(PyObject *container, PyObject *key, PyObject *item)
{
    if (PyDict_Check(container))
        return PyDict_SetItem(container, key, item);
    if (PyList_Check(container))
        return PyList_SetItem(container, PyLong_AsSsize_t(key), Py_NewRef(item));
    return PySequence_SetItem(container, PyLong_AsSsize_t(key), item);
}

/* Replace the items of a container by those that `change` returns for them, as new references.
 */
static int change_items(PyObject *container, PyObject *loans,
                        PyObject *(*change)(PyObject *loans, PyObject *item))
{
    PyObject *keys = keys_of(container);
    int status = keys ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(keys); i++) {
        PyObject *key = PyList_GetItem(keys, i), *item = kept_get(container, key);
        PyObject *changed = item ? change(loans, item) : NULL;
        if (changed && changed != item)
            status = set(container, key, changed);
        else if (!changed && PyErr_Occurred())
            status = -1;
        Py_XDECREF(changed);
        Py_XDECREF(item);
    }
    Py_XDECREF(keys);
    return status;
}

/* Loans are a tuple: the containers, and a dict of the items that they got, and had before, by
 * the addresses of the former. */
static PyObject *lend_item(PyObject *loans, PyObject *item)
{
    PyObject *given =
        argument_is_leaf(item) ? Py_NewRef(item) : convert_export(item, DEPTH, true);
    if (!given || given == item)
        return given;
    PyObject *address = PyLong_FromVoidPtr(given);
    PyObject *pair = address ? PyTuple_Pack(2, given, item) : NULL;
    if (!pair || PyDict_SetItem(PyTuple_GetItem(loans, 1), address, pair) < 0)
        Py_CLEAR(given);
    Py_XDECREF(pair);
    Py_XDECREF(address);
    return given;
}

static PyObject *take_back_item(PyObject *loans, PyObject *item)
{
    PyObject *address = PyLong_FromVoidPtr(item);
    PyObject *pair =
        address ? PyDict_GetItemWithError(PyTuple_GetItem(loans, 1), address) : NULL;
    Py_XDECREF(address);
    return pair               ? Py_NewRef(PyTuple_GetItem(pair, 1))
           : PyErr_Occurred() ? NULL
                              : Py_NewRef(item);
}

static int change_all(PyObject *loans, PyObject *(*change)(PyObject *loans, PyObject *item))
{
    PyObject *containers = PyTuple_GetItem(loans, 0);
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(containers); i++)
        status = change_items(PyList_GetItem(containers, i), loans, change);
    return status;
}

PyObject *kept_lend(PyObject *containers)
{
    PyObject *items = PyDict_New();
    PyObject *loans = items ? PyTuple_Pack(2, containers, items) : NULL;
    Py_XDECREF(items);
    if (loans && change_all(loans, lend_item) < 0) {
        kept_take_back(loans, NULL);
        loans = NULL;
    }
    return loans;
}

PyObject *kept_take_back(PyObject *loans, PyObject *result)
{
    PyObject *type, *value, *traceback; /* of the callee */
    PyErr_Fetch(&type, &value, &traceback);
    int status = change_all(loans, take_back_item);
    Py_DECREF(loans);
    if (type)
        PyErr_Restore(type, value, traceback);
    else if (status < 0)
        Py_CLEAR(result);
    return result;
}

/* -- Watched dicts ----------------------------------------------------------------------- */

enum { ADDED, MODIFIED, DELETED, CLONED }; /* events */

typedef int (*listener)(int event, PyObject *dict, PyObject *key, PyObject *value);
static int (*watch)(int id, PyObject *dict);
static int watcher = -1; /* -1 until the first dict is watched, and -2 if none can be */

static PyObject *pending; /* a list of dicts and keys */
Py_ssize_t kept_n_pending;

static int note(PyObject *dict, PyObject *key, PyObject *value)
{
    if (argument_is_leaf(value))
        return 0;
    if (PyDict_Check(value))
        kept_watch(value);
    if (!crossing.is_callback(value) && !arguments_have_arrays(&value, 1))
        return 0;
    PyObject *pair = PyTuple_Pack(2, dict, key);
    int status = pair ? PyList_Append(pending, pair) : -1;
    kept_n_pending += status == 0;
    Py_XDECREF(pair);
    return status;
}

/* Python calls this before it changes a dict, so no code of others may run here. */
static int hear(int event, PyObject *dict, PyObject *key, PyObject *value)
{
    PyObject *name;
    Py_ssize_t at = 0;
    int status = 0;
    if (value && (event == ADDED || event == MODIFIED))
        return note(dict, key, value);
    while (event == CLONED && status == 0 && PyDict_Next(key, &at, &name, &value))
        status = note(dict, name, value);
    return status;
}

static void kept_start(void)
{
    int (*add)(listener);
    watcher = -2;
    *(void **)&add = dlsym(RTLD_DEFAULT, "PyDict_AddWatcher");
    *(void **)&watch = dlsym(RTLD_DEFAULT, "PyDict_Watch");
    pending = add && watch ? PyList_New(0) : NULL;
    if (pending && (watcher = add(hear)) < 0)
        watcher = -2;
    PyErr_Clear();
}

void kept_watch(PyObject *dict)
{
    if (watcher == -1)
        kept_start();
    if (watcher >= 0 && watch(watcher, dict) < 0)
        PyErr_Clear();
}

int kept_settle_pending(void)
{
    PyObject *pairs = PyList_GetSlice(pending, 0, PY_SSIZE_T_MAX);
    int status = pairs ? PyList_SetSlice(pending, 0, PY_SSIZE_T_MAX, NULL) : -1;
    kept_n_pending = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(pairs); i++) {
        PyObject *pair = PyList_GetItem(pairs, i);
        status = give_value(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), DEPTH);
    }
    Py_XDECREF(pairs);
    return status;
}
