/* loans.c -- lists and dicts among the arguments of compiled code. */
#include "python/convert/loans.h"

struct loan {
    PyObject *container;
    Py_ssize_t n, at; /* the length of the container, and the place in a list */
    PyObject *key;    /* in a dict, or NULL */
    PyObject *given, *own;
};

/* Return a borrowed reference to what is at the place, or NULL. */
static PyObject *item_at(const struct loan *loan)
{
    PyObject *list = loan->container;
    if (!loan->key)
        return loan->at < PyList_Size(list) ? PyList_GetItem(list, loan->at) : NULL;
    PyObject *item = PyDict_GetItemWithError(list, loan->key);
    if (!item)
        PyErr_Clear();
    return item;
}

static int put(const struct loan *loan, PyObject *item)
{
    return loan->key ? PyDict_SetItem(loan->container, loan->key, item)
                     : PyList_SetItem(loan->container, loan->at, Py_NewRef(item));
}

/* The array of loans doubles in size when their number is a power of 2. */
static int loans_grow(struct call_args *call_args)
{
    size_t n = (size_t)call_args->n_loans;
    if (n & (n - 1))
        return 0;
    struct loan *larger =
        PyMem_Realloc(call_args->loans, (n ? 2 * n : 1) * sizeof *call_args->loans);
    if (!larger) {
        PyErr_NoMemory();
        return -1;
    }
    call_args->loans = larger;
    return 0;
}

static Py_ssize_t length(PyObject *container)
{
    return PyList_CheckExact(container) ? PyList_Size(container) : PyDict_Size(container);
}

int loans_lend(struct call_args *call_args, PyObject *container, Py_ssize_t i, PyObject *key,
               PyObject *given)
{
    struct loan loan = {container, length(container), i, key, given, NULL};
    loan.own = item_at(&loan);
    if (!loan.own || loans_grow(call_args) < 0)
        return loan.own ? -1 : 0; /* another thread has removed it */
    Py_INCREF(container);
    Py_XINCREF(key);
    Py_INCREF(given);
    Py_INCREF(loan.own);
    call_args->loans[call_args->n_loans++] = loan;
    return put(&loan, given);
}

/* -- After the call ---------------------------------------------------------------------- */

/* Put the program's object back, if what the callee got is still there.  Return 1 if so, 0 if
 * the container has changed, or -1 with an exception set. */
static int take_back(const struct loan *loan)
{
    if (item_at(loan) != loan->given)
        return 0;
    int status = put(loan, loan->own);
    return status < 0 ? -1 : loan->n == length(loan->container);
}

/* Note the program's object for one that the callee got.  For tuples, note their items too,
 * which the callee may have put into other tuples. */
static int add_origin(PyObject *origins, PyObject *given, PyObject *own)
{
    if (given == own)
        return 0;
    PyObject *key = PyLong_FromVoidPtr(given);
    int status = key ? PyDict_SetItem(origins, key, own) : -1;
    Py_XDECREF(key);
    for (Py_ssize_t i = 0; PyTuple_CheckExact(own) && i < PyTuple_Size(own) && status == 0; i++)
        status = add_origin(origins, PyTuple_GetItem(given, i), PyTuple_GetItem(own, i));
    return status;
}

/* Return a new dict of the program's objects, by the addresses of those that the callee got. */
static PyObject *find_origins(const struct call_args *call_args)
{
    PyObject *origins = PyDict_New();
    int status = origins ? 0 : -1;
    for (int i = 0; i < call_args->n && status == 0; i++)
        status = add_origin(origins, as_array(call_args->arrays[i])->unprepared,
                            call_args->arrays[i]);
    for (int i = 0; i < call_args->n_loans && status == 0; i++)
        status = add_origin(origins, call_args->loans[i].given, call_args->loans[i].own);
    if (status < 0)
        Py_CLEAR(origins);
    return origins;
}

static PyObject *restored(PyObject *origins, PyObject *x);

/* Return a new reference to a tuple with its items restored, which is the same object if none
 * of them differs. */
static PyObject *restored_tuple(PyObject *origins, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_Size(tuple);
    PyObject *made = PyTuple_New(n);
    bool differs = false;
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *item = restored(origins, PyTuple_GetItem(tuple, i));
        differs |= item != PyTuple_GetItem(tuple, i);
        if (!item)
            Py_CLEAR(made);
        else
            PyTuple_SetItem(made, i, item);
    }
    if (!made || differs)
        return made;
    Py_DECREF(made);
    return Py_NewRef(tuple);
}

/* Return a new reference to the program's object for one that the callee left, which may be
 * another mxnp array around the same NumPy array. */
static PyObject *restored(PyObject *origins, PyObject *x)
{
    PyObject *key = PyLong_FromVoidPtr(is_array(x) ? as_array(x)->unprepared : x);
    PyObject *own = key ? PyDict_GetItemWithError(origins, key) : NULL;
    Py_XDECREF(key);
    if (own || PyErr_Occurred())
        return Py_XNewRef(own);
    return PyTuple_CheckExact(x) ? restored_tuple(origins, x) : Py_NewRef(x);
}

/* Restore the item at a place.  Return 0, or -1 with an exception set. */
static int restore(const struct loan *place, PyObject *item, PyObject *origins)
{
    PyObject *own = restored(origins, item);
    int status = !own ? -1 : own == item ? 0 : put(place, own);
    Py_XDECREF(own);
    return status;
}

static int restore_all(PyObject *container, PyObject *origins)
{
    struct loan place = {.container = container};
    Py_ssize_t at = 0;
    PyObject *item;
    int status = 0;
    if (PyList_CheckExact(container)) {
        for (; status == 0 && place.at < PyList_Size(container); place.at++)
            status = restore(&place, PyList_GetItem(container, place.at), origins);
        return status;
    }
    while (status == 0 && PyDict_Next(container, &at, &place.key, &item))
        status = restore(&place, item, origins);
    return status;
}

/* Put the program's objects back where the callee has moved them. */
static int restore_moved(const struct call_args *call_args)
{
    PyObject *origins = find_origins(call_args), *last = NULL;
    int status = origins ? 0 : -1;
    for (int i = 0; i < call_args->n_loans && status == 0; i++) {
        PyObject *container = call_args->loans[i].container;
        if (container != last)
            status = restore_all(container, origins);
        last = container;
    }
    Py_XDECREF(origins);
    return status;
}

PyObject *loans_end(struct call_args *call_args, PyObject *result)
{
    int status = 1;
    PyObject *type, *value, *traceback; /* of the callee, which may change a list and fail */
    if (!call_args->n_loans)
        return result;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < call_args->n_loans && status >= 0; i++) {
        int is_back = take_back(&call_args->loans[i]);
        status = is_back < 0 ? -1 : status && is_back;
    }
    if (status == 0)
        status = restore_moved(call_args);
    for (int i = 0; i < call_args->n_loans; i++) {
        struct loan *loan = &call_args->loans[i];
        Py_DECREF(loan->container);
        Py_XDECREF(loan->key);
        Py_DECREF(loan->given);
        Py_DECREF(loan->own);
    }
    PyMem_Free(call_args->loans);
    call_args->loans = NULL;
    call_args->n_loans = 0;
    if (type)
        PyErr_Restore(type, value, traceback);
    else if (status < 0)
        Py_CLEAR(result);
    return result;
}
