/* conversion.c -- classes that take part in NumPy's protocols, or derive from mxnp.ndarray.
 *
 * NumPy's C code calls __array__ of an object that it converts, and requires a result of its
 * own class.  But a class of the program or of a package may store an mxnp array and return it.
 * Each __array__ that is written in Python is therefore changed in place when its class is
 * made or gets it, so that C code that calls it receives the NumPy array inside.  So does
 * Python code from Python 3.12 on.  Before that version, the interpreter calls such a function
 * without its vectorcall.
 *
 * NumPy passes its own functions, arrays and class to __array_ufunc__ and __array_function__.
 * Where these belong to the program, they are changed in place too: they get mxnp's, which
 * `func is np.mean` and `type(x) is np.ndarray` expect.
 *
 * mxnp.ndarray has a metaclass, and numpy.ndarray has none.  A class that derives from it and
 * has a metaclass of its own, or another base with one, gets a base class without a metaclass.
 */
#include "python/packages/conversion.h"
#include "python/convert/convert.h"
#include "python/packages/arguments.h"
#include "python/packages/slots.h"

static PyObject *method_name, *globals_name, *module_name, *build_class;
static PyObject *numpy_module, *find_function; /* returns mxnp's function for one of NumPy */
static vector_call call_function;              /* their vectorcall */

static PyObject *call_and_unwrap(PyObject *function, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    PyObject *result = call_function(function, args, flags, names);
    if (!result || !is_array(result))
        return result;
    PyObject *inside = PyObject_CallMethodObjArgs(result, method_name, NULL);
    Py_DECREF(result);
    return inside;
}

/* -- Overrides of NumPy's functions ------------------------------------------------------ */

static PyObject *take_argument(PyObject *x, struct call_args *taken, int depth);

/* Return a new reference to a tuple or list, or to a new one if items of it change. */
static PyObject *take_items(PyObject *items, struct call_args *taken, int depth)
{
    Py_ssize_t n = Py_SIZE(items);
    PyObject *copy = PyList_New(n);
    bool is_same = true;
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item = layout_items(items)[i], *given = take_argument(item, taken, depth);
        is_same &= given == item;
        if (!given || PyList_SetItem(copy, i, given) < 0)
            Py_CLEAR(copy);
    }
    PyObject *result = !copy                  ? NULL
                       : is_same              ? Py_NewRef(items)
                       : PyTuple_Check(items) ? PyList_AsTuple(copy)
                                              : Py_NewRef(copy);
    Py_XDECREF(copy);
    return result;
}

/* Return a new reference to a copy of a dict of named arguments. */
static PyObject *take_named(PyObject *named, struct call_args *taken, int depth)
{
    PyObject *copy = PyDict_Copy(named), *key, *value;
    Py_ssize_t at = 0;
    while (copy && PyDict_Next(named, &at, &key, &value)) {
        PyObject *given = take_argument(value, taken, depth);
        if (!given || PyDict_SetItem(copy, key, given) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(given);
    }
    return copy;
}

/* Return a new reference to the object that an override gets in place of x.  The arrays that
 * are made for it are noted. */
static PyObject *take_argument(PyObject *x, struct call_args *taken, int depth)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == np_array_type) {
        PyObject *a = convert_adopt_array(Py_NewRef(x), taken);
        for (int i = 0; a && i < taken->n; i++)
            if (taken->arrays[i] == a)
                return a;
        if (a)
            call_args_add(taken, a);
        return a;
    }
    if (x == (PyObject *)np_array_type)
        return Py_NewRef((PyObject *)array_type);
    if (depth > 0 && (type == &PyTuple_Type || type == &PyList_Type))
        return take_items(x, taken, depth - 1);
    return depth > 0 && type == &PyDict_Type ? take_named(x, taken, depth - 1) : Py_NewRef(x);
}

/* Return a new reference to what the caller gets for a result: NumPy's array for an output that
 * it passed, also in a tuple. */
static PyObject *give_back(PyObject *x, struct call_args *taken, bool is_result)
{
    for (int i = 0; is_array(x) && i < taken->nout; i++)
        if (as_array(x)->unprepared == taken->outs[i])
            return Py_NewRef(taken->outs[i]);
    if (!is_result || !PyTuple_CheckExact(x))
        return Py_NewRef(x);
    PyObject *given = PyTuple_New(Py_SIZE(x));
    for (Py_ssize_t i = 0; given && i < Py_SIZE(x); i++)
        PyTuple_SetItem(given, i, give_back(layout_items(x)[i], taken, false));
    return given;
}

/* Note the outputs: of a ufunc by name, and of a function in the dict of named arguments. */
static void note_outputs(struct call_args *taken, PyObject *const *args, Py_ssize_t n,
                         PyObject *names)
{
    Py_ssize_t n_named = arguments_count(names);
    for (Py_ssize_t i = 0; i < n_named; i++)
        if (PyUnicode_CompareWithASCIIString(layout_items(names)[i], "out") == 0)
            convert_note_out(taken, args[n - n_named + i]);
    if (n_named == 0 && PyDict_CheckExact(args[n - 1]))
        convert_note_out(taken, args[n - 1]);
}

/* Run the operations on the arrays that were made for a call, whose memory is the caller's.
 * Steal a reference to the result and return it, or NULL with an exception set. */
static PyObject *end_override(PyObject *result, struct call_args *taken)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int status = convert_prepare(taken, true);
    if (type)
        PyErr_Restore(type, value, traceback);
    if (status < 0)
        Py_CLEAR(result);
    PyObject *given = result ? give_back(result, taken, true) : NULL;
    Py_XDECREF(result);
    convert_end_call(taken);
    return given;
}

/* Check whether a function is the program's, whose module does not have NumPy itself among its
 * variables: it compares with mxnp's objects.  Return 1, 0, or -1 with an exception set. */
static int expects_ours(PyObject *function)
{
    PyObject *globals = PyObject_GetAttr(function, globals_name), *key, *value;
    PyObject *name = globals ? PyDict_GetItemWithError(globals, module_name) : NULL;
    int owner = globals ? owners_of_module(name, globals) : -1;
    bool is_ours = owner == PROGRAM;
    Py_ssize_t at = 0;
    while (is_ours && PyDict_Next(globals, &at, &key, &value))
        is_ours = value != numpy_module;
    Py_XDECREF(globals);
    return owner < 0 ? -1 : is_ours;
}

/* Call a method (self, function, ...) of the program with mxnp's objects.  A class method gets
 * the class before them. */
static PyObject *call_override(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names), made = 0;
    Py_ssize_t place = n > 1 && args[0] == (PyObject *)Py_TYPE(args[1]) ? 2 : 1;
    int is_ours = n > 1 ? expects_ours(function) : 0;
    if (is_ours <= 0)
        return is_ours < 0 ? NULL : call_function(function, args, flags, names);
    PyObject **row = PyMem_Malloc((size_t)n * sizeof *row), *result = NULL;
    struct call_args taken;
    call_args_begin(&taken);
    for (; row && made < n; made++) {
        bool is_function = made == place && arguments_positional(flags) > place;
        row[made] = made < place ? Py_NewRef(args[made])
                    : is_function
                        ? PyObject_CallFunctionObjArgs(find_function, args[made], NULL)
                        : take_argument(args[made], &taken, MAX_DEPTH);
        if (!row[made])
            break;
    }
    if (made == n) {
        note_outputs(&taken, args, n, names);
        result = call_function(function, row, flags & ~ARGUMENTS_OFFSET, names);
    } else if (!row)
        PyErr_NoMemory();
    result = end_override(result, &taken);
    while (made > 0)
        Py_DECREF(row[--made]);
    PyMem_Free(row);
    return result;
}

/* -- Methods of classes ------------------------------------------------------------------ */

static struct protocol {
    const char *text;
    vector_call replacement;
    PyObject *name; /* the text */
} protocols[] = {
    {"__array__", call_and_unwrap, NULL},
    {"__array_ufunc__", call_override, NULL},
    {"__array_function__", call_override, NULL},
};
enum { N_PROTOCOLS = sizeof protocols / sizeof *protocols };

static setattrofunc set_attribute; /* type.__setattr__ */

/* Check for a staticmethod or classmethod. */
static bool wraps_function(PyObject *method)
{
    const struct type_struct *type = (struct type_struct *)Py_TYPE(method);
    return !(type->flags & Py_TPFLAGS_HEAPTYPE) &&
           (strcmp(type->name, "staticmethod") == 0 || strcmp(type->name, "classmethod") == 0);
}

static void patch_method(PyObject *method, vector_call replacement)
{
    PyObject *function =
        wraps_function(method) ? PyObject_GetAttrString(method, "__func__") : Py_NewRef(method);
    vector_call *call =
        function && Py_TYPE(function) == function_class ? layout_vectorcall(function) : NULL;
    if (call && *call == call_function)
        *call = replacement;
    Py_XDECREF(function);
}

static void patch_class(PyObject *class)
{
    PyObject *dict = PyType_Check(class) ? ((struct type_struct *)class)->dict : NULL;
    for (int i = 0; dict && i < N_PROTOCOLS; i++) {
        PyObject *method = PyDict_GetItemWithError(dict, protocols[i].name);
        if (method)
            patch_method(method, protocols[i].replacement);
    }
}

/* type.__setattr__, which adds methods to classes that exist. */
static int set_and_patch(PyObject *class, PyObject *name, PyObject *value)
{
    for (int i = 0; value && i < N_PROTOCOLS; i++)
        if (name == protocols[i].name) /* names are interned */
            patch_method(value, protocols[i].replacement);
    return set_attribute(class, name, value);
}

/* Put the function in place of type.__setattr__ and type.__delattr__. */
static int patch_set_attribute(void)
{
    static const char *const names[] = {"__setattr__", "__delattr__"};
    set_attribute = (setattrofunc)((struct type_struct *)&PyType_Type)->setattro;
    for (int i = 0; i < 2; i++) {
        PyObject *method = PyObject_GetAttrString((PyObject *)&PyType_Type, names[i]);
        if (!method)
            return -1;
        ((struct slot_descriptor *)method)->wrapped = (void *)set_and_patch;
        Py_DECREF(method);
    }
    return slot_replace(&PyType_Type, (void *)set_attribute, (void *)set_and_patch);
}

/* -- Classes that derive from mxnp.ndarray --------------------------------------------- */

static PyObject *plain_base; /* the base class without a metaclass */
static newfunc make_class;   /* type.__new__ */

/* Check whether Python finds the metaclass of a class among these two. */
static bool are_related(PyTypeObject *a, PyTypeObject *b)
{
    return PyType_IsSubtype(a, b) || PyType_IsSubtype(b, a);
}

/* Check whether the bases, which are the items of a tuple from `first` on, have mxnp.ndarray
 * among them, whose metaclass does not agree with the others. */
static bool has_conflict(PyTypeObject *metaclass, PyObject *bases, Py_ssize_t first)
{
    PyTypeObject *own = Py_TYPE((PyObject *)array_type);
    bool derives = false, agrees = are_related(metaclass, own);
    for (Py_ssize_t i = first; i < PyTuple_Size(bases); i++) {
        PyObject *base = PyTuple_GetItem(bases, i);
        if (base == (PyObject *)array_type)
            derives = true;
        else if (PyType_Check(base))
            agrees &= are_related(Py_TYPE(base), own);
    }
    return derives && !agrees;
}

/* Return a new tuple with the base class in place of mxnp.ndarray. */
static PyObject *with_plain_base(PyObject *items)
{
    PyObject *made = PyTuple_New(PyTuple_Size(items));
    for (Py_ssize_t i = 0; made && i < PyTuple_Size(items); i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        item = item == (PyObject *)array_type ? plain_base : item;
        PyTuple_SetItem(made, i, Py_NewRef(item));
    }
    return made;
}

/* type.__new__, which metaclasses call. */
static PyObject *make_and_resolve(PyTypeObject *metaclass, PyObject *args, PyObject *kwargs)
{
    PyObject *bases = PyTuple_Size(args) == 3 ? PyTuple_GetItem(args, 1) : NULL;
    bool resolves = bases && PyTuple_Check(bases) && has_conflict(metaclass, bases, 0);
    PyObject *plain = resolves ? with_plain_base(bases) : NULL;
    PyObject *all =
        !resolves ? Py_NewRef(args)
        : plain   ? PyTuple_Pack(3, PyTuple_GetItem(args, 0), plain, PyTuple_GetItem(args, 2))
                  : NULL;
    PyObject *class = all ? make_class(metaclass, all, kwargs) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(plain);
    if (class)
        patch_class(class);
    return class;
}

/* Class statements, which choose the metaclass first: (function, name, *bases), metaclass=...
 */
static PyObject *build_and_resolve(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    PyObject *given = kwargs ? PyDict_GetItemString(kwargs, "metaclass") : NULL;
    bool is_type = given && PyType_Check(given);
    bool is_function = given && !is_type; /* which chooses itself */
    PyTypeObject *metaclass = is_type ? (PyTypeObject *)given : &PyType_Type;
    PyObject *all = !is_function && has_conflict(metaclass, args, 2) ? with_plain_base(args)
                                                                     : Py_NewRef(args);
    PyObject *class = all ? PyObject_Call(build_class, all, kwargs) : NULL;
    Py_XDECREF(all);
    return class;
}

/* Patch all classes that exist and derive from one. */
static int patch_subclasses(PyObject *class)
{
    PyObject *classes = layout_subclasses(class);
    int status = classes ? 0 : -1;
    for (Py_ssize_t i = 0; classes && i < PyList_Size(classes) && status == 0; i++) {
        patch_class(PyList_GetItem(classes, i));
        status = patch_subclasses(PyList_GetItem(classes, i));
    }
    Py_XDECREF(classes);
    return status;
}

/* Return the new __build_class__, or the original if the structs of this Python are unknown. */
static PyObject *patch_conversions(PyObject *self, PyObject *args)
{
    static PyMethodDef def = {"__build_class__", (PyCFunction)(void (*)(void))build_and_resolve,
                              METH_VARARGS | METH_KEYWORDS, NULL};
    PyObject *original, *function, *base, *numpy, *find;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO!OO:patch_conversions", &original, &function, &PyType_Type,
                          &base, &numpy, &find))
        return NULL;
    vector_call *call = layout_is_known() ? layout_vectorcall(function) : NULL;
    if (!call)
        return Py_NewRef(original);
    call_function = *call;
    build_class = Py_NewRef(original);
    plain_base = Py_NewRef(base);
    numpy_module = Py_NewRef(numpy);
    find_function = Py_NewRef(find);
    for (int i = 0; i < N_PROTOCOLS; i++)
        if (!(protocols[i].name = PyUnicode_InternFromString(protocols[i].text)))
            return NULL;
    method_name = protocols[0].name;
    make_class = (newfunc)((struct type_struct *)&PyType_Type)->new;
    if (patch_set_attribute() < 0 ||
        slot_replace(&PyType_Type, (void *)make_class, (void *)make_and_resolve) < 0)
        return NULL;
    globals_name = PyUnicode_InternFromString("__globals__");
    module_name = PyUnicode_InternFromString("__name__");
    if (!globals_name || !module_name || patch_subclasses((PyObject *)&PyBaseObject_Type) < 0)
        return NULL;
    PyObject *module = PyUnicode_FromString("builtins");
    PyObject *made = module ? PyCFunction_NewEx(&def, NULL, module) : NULL;
    Py_XDECREF(module);
    return made;
}

PyMethodDef conversion_methods[] = {
    {"patch_conversions", patch_conversions, METH_VARARGS,
     "patch_conversions(build_class, function, base, numpy, find)\n--\n\n"
     "Make NumPy accept classes whose __array__ returns an mxnp array, present and future, and "
     "return a new __build_class__. `function` is any function written in "
     "Python. `base` takes the place of mxnp.ndarray in classes with a metaclass. `find` "
     "returns "
     "mxnp's function for a function of NumPy, for the overrides of the program."},
    {NULL, NULL, 0, NULL},
};
