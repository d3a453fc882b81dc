/* crossing.c -- arguments on their way to compiled code of other packages. */
#include "python/packages/crossing.h"

#define DEPTH \
    4 /* nested tuples, lists and dicts of an argument in which arrays are looked for */

static bool holds_array(PyObject *x, int depth);

static bool any_holds_array(PyObject *const *items, Py_ssize_t n, int depth)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (holds_array(items[i], depth))
            return true;
    return false;
}

static bool sequence_holds_array(PyObject *x, int depth)
{
    bool is_list = PyList_CheckExact(x);
    Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
    for (Py_ssize_t i = 0; i < n; i++)
        if (holds_array(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i), depth))
            return true;
    return false;
}

static bool dict_holds_array(PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value))
        if (holds_array(value, depth))
            return true;
    return false;
}

/* Whether NumPy's counterpart is to take the place of x, or of something in it. */
static bool holds_array(PyObject *x, int depth)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type || type == ufunc_type || x == (PyObject *)array_type)
        return true;
    if (depth == 0)
        return false;
    if (type == &PyTuple_Type || type == &PyList_Type)
        return sequence_holds_array(x, depth - 1);
    return type == &PyDict_Type && dict_holds_array(x, depth - 1);
}

bool crossing_is_needed(PyObject *const *args, Py_ssize_t n)
{
    return any_holds_array(args, n, DEPTH + 1);
}

PyObject *crossing_end(struct call_args *call_args, PyObject *result)
{
    convert_mark_exported(call_args);
    for (int i = 0; result && i < call_args->n; i++)
        if (as_array(call_args->arrays[i])->np_array == result) {
            Py_DECREF(result);
            return Py_NewRef(call_args->arrays[i]);
        }
    return result;
}

static void begin_call(struct call_args *call_args)
{
    call_args_begin(call_args);
    call_args->into_dicts = true;
}

void crossing_release(PyObject **items, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        Py_XDECREF(items[i]);
}

int crossing_begin(PyObject *const *args, Py_ssize_t n, PyObject **out,
                   struct call_args *call_args)
{
    begin_call(call_args);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(out[i] = convert_unwrap(args[i], call_args, DEPTH + 1))) {
            crossing_release(out, i);
            return -1;
        }
    if (convert_prepare(call_args, true) == 0)
        return 0;
    crossing_release(out, n);
    return -1;
}

#define N_INLINE 16 /* arguments of a call that need no memory of their own */

static PyObject *call_crossed(row_call call, const void *context, PyObject *const *args,
                              size_t flags, PyObject *names)
{
    PyObject *inlined[N_INLINE], *result = NULL;
    Py_ssize_t all = crossing_number(flags) + crossing_count(names);
    PyObject **row = all <= N_INLINE ? inlined : PyMem_Malloc((size_t)all * sizeof(PyObject *));
    struct call_args call_args;
    if (!row)
        return PyErr_NoMemory();
    if (crossing_begin(args, all, row, &call_args) == 0) {
        result = crossing_end(&call_args, call(context, row, flags & ~ARGUMENTS_OFFSET, names));
        crossing_release(row, all);
    }
    if (row != inlined)
        PyMem_Free(row);
    return result;
}

PyObject *crossing_call(row_call call, const void *context, PyObject *const *args, size_t flags,
                        PyObject *names)
{
    if (!crossing_is_needed(args, crossing_number(flags) + crossing_count(names)))
        return call(context, args, flags, names);
    return call_crossed(call, context, args, flags, names);
}
