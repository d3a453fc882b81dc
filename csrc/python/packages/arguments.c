/* arguments.c -- arguments on their way to compiled code of other packages. */
#include "python/packages/arguments.h"
#include "python/convert/convert.h"
#include "python/convert/loans.h"
#include "python/profile/profile.h"

#define DEPTH 4  /* tuples, lists and dicts in an argument that are searched for arrays */
#define FEW   64 /* their items that are looked at for an array */

static bool holds_array(PyObject *x, int depth, int *left);

static bool sequence_holds_array(PyObject *x, int depth, int *left)
{
    PyObject *const *items = layout_items(x);
    for (Py_ssize_t i = 0; i < Py_SIZE(x) && (*left)-- > 0; i++)
        if (!argument_is_plain(items[i]) && holds_array(items[i], depth, left))
            return true;
    return false;
}

static bool dict_holds_array(PyObject *dict, int depth, int *left)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value) && (*left)-- > 0)
        if (!argument_is_plain(value) && holds_array(value, depth, left))
            return true;
    return false;
}

/* Check whether x, or an object in it, is replaced by its counterpart in NumPy. */
static bool holds_array(PyObject *x, int depth, int *left)
{
    PyTypeObject *type = Py_TYPE(x);
    if (has_counterpart(x))
        return true;
    if (depth == 0)
        return false;
    if (layout_has_flag(x, Py_TPFLAGS_TUPLE_SUBCLASS) || type == &PyList_Type)
        return sequence_holds_array(x, depth - 1, left);
    return type == &PyDict_Type && dict_holds_array(x, depth - 1, left);
}

bool argument_holds_array(PyObject *x)
{
    int left = FEW;
    return holds_array(x, DEPTH + 1, &left);
}

/* Release what stands in the row in place of arguments, to which the caller has references. */
static void arguments_release(PyObject *const *args, PyObject **row, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (row[i] != args[i])
            Py_DECREF(row[i]);
}

/* Steal a reference to the result; NULL passes through.  Return it with the program's own
 * objects in place of those that the callee got, and release the arguments. */
static PyObject *arguments_end_call(struct call_args *call_args, PyObject *const *args,
                                    PyObject **row, Py_ssize_t n, PyObject *result)
{
    result = loans_end(call_args, convert_adopt(result, call_args, DEPTH));
    arguments_release(args, row, n); /* what the callee keeps has other references */
    convert_mark_exported(call_args);
    call_args_end(call_args);
    return result;
}

/* -- Counts ------------------------------------------------------------------------ */

static long long n_converted;

long long arguments_converted_calls(void) { return n_converted; }

/* Return a new reference to the function that a report names.  For a method that was looked up
 * in an object, this is the method of its class, which is the same at each call. */
static PyObject *named_function(PyObject *function)
{
    PyObject *self = PyCFunction_Check(function) ? PyCFunction_GetSelf(function) : NULL;
    if (!self || PyModule_Check(self) || PyType_Check(self))
        return Py_NewRef(function);
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    PyObject *method = name ? PyObject_GetAttr((PyObject *)Py_TYPE(self), name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return method ? method : Py_NewRef(function);
}

/* Wait for the operations on the arrays, and count the call for the report. */
__attribute__((noinline)) static int prepare_counted(PyObject *function, Py_ssize_t n,
                                                     struct call_args *call_args)
{
    struct span span;
    PyObject *named = named_function(function);
    profile_begin(&span, SPAN_PACKAGE, (struct span_name){named, NULL});
    int status = convert_prepare(call_args, true);
    if (status == 0)
        profile_converted(&span, call_args->arrays, call_args->places, call_args->n, n);
    else
        profile_pop(&span);
    Py_DECREF(named);
    return status;
}

static inline int arguments_prepare(PyObject *function, Py_ssize_t n,
                                    struct call_args *call_args)
{
    n_converted += function && call_args->n > 0;
    return profile_is_on && function ? prepare_counted(function, n, call_args)
                                     : convert_prepare(call_args, true);
}

/* Check for a function of Python among the arguments.  Compiled code then mostly hands lists
 * and tuples on to it, which knows them as its own. */
static bool has_callback(PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    while (i < n && !is_callback(args[i]))
        i++;
    return i < n;
}

/* The same for a tuple of arguments and a dict of named ones. */
static bool has_packed_callback(PyObject *const *args, Py_ssize_t n)
{
    PyObject *kwargs = n == 2 ? args[1] : NULL;
    return PyTuple_CheckExact(args[0]) && (!kwargs || PyDict_CheckExact(kwargs)) &&
           convert_has_callback(args[0], kwargs);
}

/* Put the arguments into `row`, with new references to those that are unwrapped, also in
 * tuples, lists and dicts of this depth, and wait for the operations on their arrays.  The
 * others get no further reference, because packages count them: pandas, to see whether an
 * object has a name. Return 0, or -1 with an exception set and nothing to release. */
static int unwrap_all(PyObject *function, PyObject *const *args, Py_ssize_t n, PyObject **row,
                      struct call_args *call_args, int depth)
{
    Py_ssize_t i = 0;
    call_args->is_package = true;
    for (; i < n; i++) {
        call_args->place = (int)i;
        row[i] = convert_unwrap(args[i], call_args, depth);
        if (!row[i])
            break;
        if (row[i] == args[i])
            Py_DECREF(args[i]);
    }
    if (i == n && arguments_prepare(function, n, call_args) == 0)
        return 0;
    arguments_end_call(call_args, args, row, i, NULL);
    return -1;
}

/* -- Vectorcalls ------------------------------------------------------------------- */

#define N_INLINE 16 /* arguments of a call that need no allocated memory */

static PyObject *call_unwrapped(vector_call call, PyObject *function, PyObject *const *args,
                                size_t flags, PyObject *names, struct call_args *call_args,
                                int depth)
{
    PyObject *inlined[N_INLINE], *result = NULL;
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    PyObject **row = n <= N_INLINE ? inlined : PyMem_Malloc((size_t)n * sizeof(PyObject *));
    if (!row)
        return PyErr_NoMemory();
    if (unwrap_all(function, args, n, row, call_args, depth) == 0) {
        result = call(function, row, flags & ~ARGUMENTS_OFFSET, names);
        result = arguments_end_call(call_args, args, row, n, result);
    }
    if (row != inlined)
        PyMem_Free(row);
    return result;
}

PyObject *arguments_call_with_arrays(vector_call call, PyObject *function,
                                     PyObject *const *args, size_t flags, PyObject *names,
                                     bool adopts)
{
    struct call_args call_args;
    call_args_begin(&call_args);
    call_args.gives = true;
    call_args.keeps_others = !adopts;
    return call_unwrapped(call, function, args, flags, names, &call_args, 1);
}

PyObject *arguments_call_from(Py_ssize_t i, vector_call call, PyObject *function,
                              PyObject *const *args, size_t flags, PyObject *names)
{
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    struct call_args call_args;
    if (!arguments_have_arrays(args + i, n - i))
        return call(function, args, flags, names);
    call_args_begin(&call_args);
    call_args.keeps_others = true;
    return call_unwrapped(call, function, args, flags, names, &call_args,
                          has_callback(args, n) ? 0 : DEPTH + 1);
}

PyObject *arguments_adopt(PyObject *result)
{
    struct call_args none;
    call_args_begin(&none);
    none.is_package = true;
    return convert_adopt(result, &none, DEPTH);
}

/* Check for a NumPy array, or a tuple that contains one and that nothing else has. */
static bool is_fresh(PyObject *result)
{
    Py_ssize_t i = 0, n = Py_TYPE(result) == &PyTuple_Type ? Py_SIZE(result) : 0;
    if (Py_TYPE(result) == np_array_type || Py_REFCNT(result) > 1)
        return Py_TYPE(result) == np_array_type;
    while (i < n && Py_TYPE(layout_items(result)[i]) != np_array_type)
        i++;
    return i < n;
}

PyObject *arguments_take_arrays(PyObject *result, PyObject *const *args, Py_ssize_t n)
{
    struct call_args call_args;
    int is_own = is_fresh(result) ? owners_is_program() : 0;
    if (is_own < 0)
        Py_CLEAR(result);
    if (is_own <= 0)
        return result;
    call_args_begin(&call_args);
    call_args.is_package = true;
    for (Py_ssize_t i = 0; i < n; i++)
        if (args[i])
            convert_note_out(&call_args, args[i]);
    return convert_adopt(result, &call_args, 1);
}

static bool begins_with(PyObject *text, const char *beginning)
{
    const char *found =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    return found && strncmp(found, beginning, strlen(beginning)) == 0;
}

bool arguments_keep_results(PyObject *function, PyTypeObject *class)
{
    static const char *const special[] = {"__array", "__reduce", "__getstate", "__getnewargs"};
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    PyErr_Clear();
    PyObject *module =
        PyObject_GetAttrString(class ? (PyObject *)class : function, "__module__");
    bool keeps = begins_with(module, "numpy.") || class == np_array_type;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        keeps |= begins_with(name, special[i]);
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
    return keeps;
}

int arguments_collect(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject **tuple,
                      PyObject **dict)
{
    Py_ssize_t n_named = arguments_count(names);
    *dict = n_named ? PyDict_New() : NULL;
    *tuple = n_named && !*dict ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; *tuple && i < n; i++)
        PyTuple_SetItem(*tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; *tuple && i < n_named; i++)
        if (PyDict_SetItem(*dict, PyTuple_GetItem(names, i), args[n + i]) < 0)
            Py_CLEAR(*tuple);
    if (!*tuple)
        Py_CLEAR(*dict);
    return *tuple ? 0 : -1;
}

/* -- Slots ------------------------------------------------------------------------- */

int arguments_unwrap(struct arguments *arguments, PyObject *self)
{
    PyObject **args = arguments->args;
    memcpy(args, arguments->row, sizeof arguments->args);
    PyObject *class = !self || PyType_Check(self) ? self : (PyObject *)Py_TYPE(self);
    /* A class of NumPy's scalars may make elements of the items of a list. */
    bool makes = class && PyType_IsSubtype((PyTypeObject *)class, &PyGenericArrType_Type);
    int depth = makes || has_packed_callback(args, arguments->n) ? 1 : DEPTH + 1;
    call_args_begin(&arguments->call_args);
    arguments->call_args.keeps_others = true;
    return unwrap_all(class, args, arguments->n, arguments->row, &arguments->call_args, depth);
}

PyObject *arguments_end(struct arguments *arguments, PyObject *result)
{
    struct call_args *call_args = &arguments->call_args;
    owners_leave(arguments->noted);
    return arguments->are_unwrapped ? arguments_end_call(call_args, arguments->args,
                                                         arguments->row, arguments->n, result)
                                    : result;
}

int arguments_end_status(struct arguments *arguments, int status)
{
    owners_leave(arguments->noted);
    if (!arguments->are_unwrapped)
        return status;
    PyObject *result = arguments_end(arguments, status < 0 ? NULL : Py_NewRef(Py_None));
    Py_XDECREF(result);
    return result ? status : -1;
}
