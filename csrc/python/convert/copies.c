/* copies.c -- lists and dicts among the arguments, of which NumPy or compiled code gets copies.
 */
#include "python/convert/copies.h"

struct copy {
    PyObject *original, *made;
    PyObject *before; /* the items of `made` before the call, or NULL for a generator */
};

/* -- Before the call ------------------------------------------------------------------- */

/* The array of copies doubles in size when their number is a power of 2. */
static int copies_grow(struct call_args *call_args)
{
    size_t n = (size_t)call_args->n_copies;
    if (n & (n - 1))
        return 0;
    struct copy *larger =
        PyMem_Realloc(call_args->copies, (n ? 2 * n : 1) * sizeof *call_args->copies);
    if (!larger) {
        PyErr_NoMemory();
        return -1;
    }
    call_args->copies = larger;
    return 0;
}

int copies_note(struct call_args *call_args, PyObject *original, PyObject *made)
{
    if (!call_args->gives_back)
        return 0;
    PyObject *before = NULL;
    if (PyList_CheckExact(made))
        before = PyList_GetSlice(made, 0, PY_SSIZE_T_MAX);
    else if (PyDict_CheckExact(made))
        before = PyDict_Copy(made);
    if (PyErr_Occurred() || copies_grow(call_args) < 0) {
        Py_XDECREF(before);
        return -1;
    }
    call_args->copies[call_args->n_copies++] =
        (struct copy){Py_NewRef(original), Py_NewRef(made), before};
    return 0;
}

#define N_RECOGNISED 32 /* copies of one call that are recognised in its results */

PyObject *copies_original(const struct call_args *call_args, PyObject *x)
{
    for (int i = 0; i < call_args->n_copies && i < N_RECOGNISED; i++)
        if (call_args->copies[i].made == x)
            return call_args->copies[i].original;
    return NULL;
}

PyObject *copies_made(const struct call_args *call_args, PyObject *original)
{
    for (int i = 0; i < call_args->n_copies && i < N_RECOGNISED; i++)
        if (call_args->copies[i].original == original)
            return call_args->copies[i].made;
    return NULL;
}

/* -- Changes by the callee --------------------------------------------------------------- */

static bool are_same_lists(PyObject *a, PyObject *b)
{
    Py_ssize_t n = PyList_Size(a);
    bool are = n == PyList_Size(b);
    for (Py_ssize_t i = 0; are && i < n; i++)
        are = PyList_GetItem(a, i) == PyList_GetItem(b, i);
    return are;
}

static bool are_same_dicts(PyObject *a, PyObject *b)
{
    PyObject *key, *value, *other_key, *other_value;
    Py_ssize_t at = 0, other_at = 0;
    bool are = PyDict_Size(a) == PyDict_Size(b);
    while (are && PyDict_Next(a, &at, &key, &value))
        are = PyDict_Next(b, &other_at, &other_key, &other_value) && key == other_key &&
              value == other_value;
    return are;
}

static bool has_changed(const struct copy *copy)
{
    if (!copy->before)
        return false;
    return PyList_CheckExact(copy->made) ? !are_same_lists(copy->made, copy->before)
                                         : !are_same_dicts(copy->made, copy->before);
}

/* -- Where the objects of the callee come from ------------------------------------------- */

/* The dict `origins` has the program's objects, by the addresses of those that were made of
 * them.  It is needed only if a copy has changed. */
static int add_origin(PyObject *origins, PyObject *original, PyObject *made)
{
    if (original == made)
        return 0;
    PyObject *key = PyLong_FromVoidPtr(made);
    int status = key ? PyDict_SetItem(origins, key, original) : -1;
    Py_XDECREF(key);
    bool are_tuples = PyTuple_CheckExact(made) && PyTuple_CheckExact(original);
    for (Py_ssize_t i = 0; are_tuples && i < PyTuple_Size(made) && status == 0; i++)
        status = add_origin(origins, PyTuple_GetItem(original, i), PyTuple_GetItem(made, i));
    return status;
}

static int add_items(PyObject *origins, PyObject *original, PyObject *before)
{
    int status = 0;
    if (PyList_Size(original) != PyList_Size(before))
        return 0; /* the program changed it during the call */
    for (Py_ssize_t i = 0; i < PyList_Size(before) && status == 0; i++)
        status = add_origin(origins, PyList_GetItem(original, i), PyList_GetItem(before, i));
    return status;
}

static int add_values(PyObject *origins, PyObject *original, PyObject *before)
{
    PyObject *key, *made;
    Py_ssize_t at = 0;
    int status = 0;
    while (status == 0 && PyDict_Next(before, &at, &key, &made)) {
        PyObject *value = PyDict_GetItemWithError(original, key);
        if (value)
            status = add_origin(origins, value, made);
        else if (PyErr_Occurred())
            status = -1;
    }
    return status;
}

static PyObject *find_origins(const struct call_args *call_args)
{
    PyObject *origins = PyDict_New();
    int status = origins ? 0 : -1;
    for (int i = 0; i < call_args->n && status == 0; i++)
        status = add_origin(origins, call_args->arrays[i],
                            as_array(call_args->arrays[i])->unprepared);
    for (int i = 0; i < call_args->n_copies && status == 0; i++) {
        const struct copy *c = &call_args->copies[i];
        status = add_origin(origins, c->original, c->made);
        if (status == 0 && c->before)
            status = PyList_CheckExact(c->before) ? add_items(origins, c->original, c->before)
                                                  : add_values(origins, c->original, c->before);
    }
    if (status < 0)
        Py_CLEAR(origins);
    return origins;
}

/* -- After the call ---------------------------------------------------------------------- */

static PyObject *restored(PyObject *origins, PyObject *x);

/* Return a new list with the items of a list or tuple restored. */
static PyObject *restored_items(PyObject *origins, PyObject *x)
{
    PyObject *items = PySequence_List(x);
    for (Py_ssize_t i = 0; items && i < PyList_Size(items); i++) {
        PyObject *item = restored(origins, PyList_GetItem(items, i));
        if (!item)
            Py_CLEAR(items);
        else
            PyList_SetItem(items, i, item);
    }
    return items;
}

/* Return a new reference to a tuple with the items restored, which is the same object if none
 * of them differs. */
static PyObject *restored_tuple(PyObject *origins, PyObject *tuple)
{
    PyObject *items = restored_items(origins, tuple), *made = NULL;
    bool differs = false;
    for (Py_ssize_t i = 0; items && i < PyTuple_Size(tuple); i++)
        differs |= PyList_GetItem(items, i) != PyTuple_GetItem(tuple, i);
    if (items)
        made = differs ? PyList_AsTuple(items) : Py_NewRef(tuple);
    Py_XDECREF(items);
    return made;
}

/* Return a new reference to the program's object for one of the callee, which may be another
 * mxnp array around the same NumPy array. */
static PyObject *restored(PyObject *origins, PyObject *x)
{
    PyObject *key = PyLong_FromVoidPtr(is_array(x) ? as_array(x)->unprepared : x);
    PyObject *original = key ? PyDict_GetItemWithError(origins, key) : NULL;
    Py_XDECREF(key);
    if (original || PyErr_Occurred())
        return Py_XNewRef(original);
    return PyTuple_CheckExact(x) ? restored_tuple(origins, x) : Py_NewRef(x);
}

static int give_back_list(PyObject *origins, PyObject *original, PyObject *made)
{
    PyObject *items = restored_items(origins, made);
    int status = items ? PyList_SetSlice(original, 0, PY_SSIZE_T_MAX, items) : -1;
    Py_XDECREF(items);
    return status;
}

static int give_back_dict(PyObject *origins, PyObject *original, PyObject *made)
{
    PyObject *key, *x, *values = PyDict_New();
    Py_ssize_t at = 0;
    int status = values ? 0 : -1;
    while (status == 0 && PyDict_Next(made, &at, &key, &x)) {
        PyObject *value = restored(origins, x);
        status = value ? PyDict_SetItem(values, key, value) : -1;
        Py_XDECREF(value);
    }
    if (status == 0) {
        PyDict_Clear(original);
        status = PyDict_Update(original, values);
    }
    Py_XDECREF(values);
    return status;
}

static int give_back(struct call_args *call_args)
{
    int status = 0;
    for (int i = 0; i < call_args->n_copies && status == 0; i++) {
        const struct copy *c = &call_args->copies[i];
        if (!has_changed(c))
            continue;
        if (!call_args->origins && !(call_args->origins = find_origins(call_args)))
            return -1;
        status = PyList_CheckExact(c->made)
                     ? give_back_list(call_args->origins, c->original, c->made)
                     : give_back_dict(call_args->origins, c->original, c->made);
    }
    return status;
}

static void copies_release(struct call_args *call_args)
{
    for (int i = 0; i < call_args->n_copies; i++) {
        Py_DECREF(call_args->copies[i].original);
        Py_DECREF(call_args->copies[i].made);
        Py_XDECREF(call_args->copies[i].before);
    }
    PyMem_Free(call_args->copies);
    call_args->copies = NULL;
    call_args->n_copies = 0;
}

PyObject *copies_end(struct call_args *call_args, PyObject *result)
{
    if (!call_args->copies)
        return result;
    PyObject *type, *value, *traceback; /* of the callee, which may change a list and fail */
    PyErr_Fetch(&type, &value, &traceback);
    int status = give_back(call_args);
    copies_release(call_args);
    if (type)
        PyErr_Restore(type, value, traceback);
    else if (status < 0)
        Py_CLEAR(result);
    return result;
}
