/* An extension module that accepts only numpy.ndarray, for each way in which Python calls C. */
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* Checks that x, or a tuple, list or dict, contains an array, and only arrays of NumPy. */
static int check(PyObject *x)
{
    if (PyTuple_Check(x) || PyList_Check(x)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(x); i++)
            if (!check(PySequence_Fast_GET_ITEM(x, i)))
                return 0;
        return 1;
    }
    if (PyDict_Check(x)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(x, &at, &key, &value))
            if (!check(value))
                return 0;
        return 1;
    }
    return PyArray_Check(x) || PyLong_Check(x);
}

static PyObject *answer(PyObject *x)
{
    if (x && !check(x))
        return PyErr_Format(PyExc_TypeError, "expected numpy.ndarray");
    Py_RETURN_TRUE;
}

static int status(PyObject *x)
{
    PyObject *result = answer(x);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static PyObject *one(PyObject *self, PyObject *x) { return answer(x); }
static PyObject *none(PyObject *self, PyObject *x) { Py_RETURN_TRUE; }
static PyObject *same(PyObject *self, PyObject *x) { return Py_NewRef(x); }
static PyObject *class_of(PyObject *self, PyObject *x) { return Py_NewRef(Py_TYPE(x)); }
static PyObject *many(PyObject *self, PyObject *args) { return answer(args); }

static PyObject *named(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return status(args) < 0 ? NULL : answer(kwargs);
}

static PyObject *row(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (status(args[i]) < 0)
            return NULL;
    Py_RETURN_TRUE;
}

static PyObject *row_named(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    return row(self, args, n + (names ? PyTuple_GET_SIZE(names) : 0));
}

static PyObject *doubled(PyObject *self, PyObject *x) /* in place */
{
    if (status(x) < 0)
        return NULL;
    double *elements = PyArray_DATA((PyArrayObject *)x);
    for (npy_intp i = 0; i < PyArray_SIZE((PyArrayObject *)x); i++)
        elements[i] *= 2;
    return Py_NewRef(x);
}

static PyObject *kept; /* an array that outlives its call */

static PyObject *keep(PyObject *self, PyObject *x)
{
    Py_XSETREF(kept, Py_NewRef(x));
    return answer(x);
}

static PyObject *write_kept(PyObject *self, PyObject *unused) { return doubled(NULL, kept); }

/* -- Arrays that did not pass as arguments ------------------------------------------- */

static PyObject *ufunc_class;

/* Asks in each way whether x is an array or ufunc of NumPy, as code does before it reads x's
 * struct. */
static int told(PyObject *x)
{
    PyObject *classes = PyTuple_Pack(2, &PyArray_Type, ufunc_class);
    PyObject *class = PyObject_GetAttrString(x, "__class__");
    int is = PyObject_IsInstance(x, (PyObject *)&PyArray_Type) == 1 ||
             PyObject_IsInstance(x, ufunc_class) == 1 || PyObject_IsInstance(x, classes) == 1 ||
             class == (PyObject *)&PyArray_Type || class == ufunc_class;
    Py_XDECREF(classes);
    Py_XDECREF(class);
    return is;
}

static PyObject *found; /* the last one */

/* Steals a reference, and passes NULL. */
static PyObject *told_of(PyObject *x)
{
    if (!x)
        return NULL;
    Py_XSETREF(found, x);
    return PyBool_FromLong(told(x));
}

static PyObject *attribute(PyObject *self, PyObject *holder)
{
    return told_of(PyObject_GetAttrString(holder, "x"));
}

static PyObject *called(PyObject *self, PyObject *function)
{
    return told_of(PyObject_CallNoArgs(function));
}

static PyObject *items(PyObject *self, PyObject *iterable)
{
    PyObject *iterator = PyObject_GetIter(iterable), *x;
    PyObject *answers = iterator ? PyList_New(0) : NULL;
    while (answers && (x = PyIter_Next(iterator)))
        if (PyList_Append(answers, told_of(x)) < 0)
            Py_CLEAR(answers);
    Py_XDECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(answers);
    return answers;
}

static PyObject *variable(PyObject *self, PyObject *name)
{
    PyObject *variables = PyEval_GetLocals(), *x = PyObject_GetItem(variables, name);
    if (x && PyDict_Check(x)) {
        PyObject *item = PyMapping_GetItemString(x, "x");
        Py_SETREF(x, item);
    }
    return told_of(x);
}

/* A function that is made at run time, so that nobody else knows it. */
static PyObject *asked(PyObject *self, PyObject *args)
{
    PyObject *x, *answers = NULL;
    if (!PyArg_ParseTuple(args, "O|O", &x, &answers))
        return NULL;
    PyObject *answer = told_of(Py_NewRef(x));
    if (answers && PyList_Check(answers) && PyList_Append(answers, answer) < 0)
        return NULL;
    return answer;
}

static PyObject *made(PyObject *self, PyObject *unused)
{
    static PyMethodDef def = {"asked", asked, METH_VARARGS, NULL};
    return PyCFunction_New(&def, NULL);
}

static PyObject *get_told(PyObject *self, void *closure)
{
    return PyBool_FromLong(told(found));
}

/* -- Lists and dicts, changed in place -- */

static PyObject *reverse(PyObject *self, PyObject *list)
{
    return PyList_Reverse(list) < 0 ? NULL : Py_NewRef(list);
}

static PyObject *append(PyObject *self, PyObject *args) /* append(list, x) */
{
    if (status(PyTuple_GET_ITEM(args, 1)) < 0 ||
        PyList_Append(PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *fill(PyObject *self, PyObject *dict) /* the last value becomes the first */
{
    PyObject *keys = PyDict_Keys(dict);
    for (Py_ssize_t i = PyList_GET_SIZE(keys); i-- > 0;) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        PyObject *value = Py_NewRef(PyDict_GetItem(dict, key));
        PyDict_DelItem(dict, key);
        PyDict_SetItem(dict, key, value);
        Py_DECREF(value);
    }
    PyDict_SetItemString(dict, "number", PyList_GET_ITEM(keys, 0));
    Py_DECREF(keys);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *self, PyObject *x)
{
    if (PyDict_Check(x))
        PyDict_Clear(x);
    else
        PyList_SetSlice(x, 0, PY_SSIZE_T_MAX, NULL);
    Py_RETURN_NONE;
}

static PyObject *rotate_pairs(PyObject *self, PyObject *pairs) /* (a, b), ... to (b, a), ... */
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
        PyObject *pair = PyList_GET_ITEM(pairs, i);
        PyList_SetItem(pairs, i,
                       PyTuple_Pack(2, PyTuple_GET_ITEM(pair, 1), PyTuple_GET_ITEM(pair, 0)));
    }
    Py_RETURN_NONE;
}

static PyObject *reverse_and_fail(PyObject *self, PyObject *list)
{
    PyList_Reverse(list);
    return PyErr_Format(PyExc_KeyError, "after a change");
}

static PyObject *inside(PyObject *self, PyObject *x) /* the argument in containers */
{
    return Py_BuildValue("O(O[O]{s:O}i)", x, x, x, "x", x, 1);
}

static PyObject *remembered; /* a list of the module */

static PyObject *remember(PyObject *self, PyObject *x)
{
    if (!remembered)
        remembered = PyList_New(0);
    return PyList_Append(remembered, x) < 0 ? NULL : Py_NewRef(remembered);
}

static PyObject *check_remembered(PyObject *self, PyObject *unused)
{
    return answer(remembered);
}

#define F(f) (PyCFunction)(void (*)(void)) f
#define DEFINITIONS                                                      \
    {"one", one, METH_O, "one($self, x, /)\n--\n\nTake an array."},      \
        {"none", none, METH_NOARGS, NULL}, {"same", same, METH_O, NULL}, \
        {"many", many, METH_VARARGS, NULL},                              \
        {"named", F(named), METH_VARARGS | METH_KEYWORDS, NULL},         \
        {"row", F(row), METH_FASTCALL, NULL},                            \
    {                                                                    \
        "row_named", F(row_named), METH_FASTCALL | METH_KEYWORDS, NULL   \
    }

static PyMethodDef functions[] = {DEFINITIONS,
                                  {"doubled", doubled, METH_O, NULL},
                                  {"keep", keep, METH_O, NULL},
                                  {"class_of", class_of, METH_O, NULL},
                                  {"reverse", reverse, METH_O, NULL},
                                  {"append", append, METH_VARARGS, NULL},
                                  {"fill", fill, METH_O, NULL},
                                  {"clear", clear, METH_O, NULL},
                                  {"rotate_pairs", rotate_pairs, METH_O, NULL},
                                  {"reverse_and_fail", reverse_and_fail, METH_O, NULL},
                                  {"inside", inside, METH_O, NULL},
                                  {"remember", remember, METH_O, NULL},
                                  {"check_remembered", check_remembered, METH_NOARGS, NULL},
                                  {"write_kept", write_kept, METH_NOARGS, NULL},
                                  {"attribute", attribute, METH_O, NULL},
                                  {"called", called, METH_O, NULL},
                                  {"items", items, METH_O, NULL},
                                  {"variable", variable, METH_O, NULL},
                                  {"made", made, METH_NOARGS, NULL},
                                  {NULL}};
static PyMethodDef methods[] = {DEFINITIONS,
                                {"of_class", one, METH_O | METH_CLASS, NULL},
                                {"of_none", one, METH_O | METH_STATIC, NULL},
                                {NULL}};

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return status(args) < 0 || (kwargs && status(kwargs) < 0) ? NULL : type->tp_alloc(type, 0);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return status(args) < 0 || (kwargs && status(kwargs) < 0) ? -1 : 0;
}

static PyObject *subscript(PyObject *self, PyObject *key) { return answer(key); }

static int assign(PyObject *self, PyObject *key, PyObject *value)
{
    return status(key) < 0 || (value && status(value) < 0) ? -1 : 0;
}

static int contains(PyObject *self, PyObject *x) { return status(x) < 0 ? -1 : 1; }
static PyObject *compare(PyObject *self, PyObject *x, int op) { return answer(x); }

static PyTypeObject type;

static PyObject *add(PyObject *a, PyObject *b)
{
    return answer(PyObject_TypeCheck(a, &type) ? b : a);
}

static PyObject *get(PyObject *self, void *closure) { return PyUnicode_FromString(closure); }
static int set(PyObject *self, PyObject *value, void *closure) { return status(value); }

static PyGetSetDef attributes[] = {
    {"value", get, set, NULL, "closure"}, {"told", get_told, NULL, NULL, NULL}, {NULL}};
static PyNumberMethods number = {.nb_add = add, .nb_inplace_add = add};
static PyMappingMethods mapping = {.mp_subscript = subscript, .mp_ass_subscript = assign};
static PySequenceMethods sequence = {.sq_contains = contains};

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled.Taker",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = new,
    .tp_init = init,
    .tp_call = named,
    .tp_as_number = &number,
    .tp_as_mapping = &mapping,
    .tp_as_sequence = &sequence,
    .tp_richcompare = compare,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_methods = methods,
    .tp_getset = attributes,
};

static PyTypeObject derived = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled.Derived",
    .tp_base = &type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
};

static PyObject *make(PyObject *class, PyObject *const *args, size_t n, PyObject *names)
{
    PyObject *done = row(NULL, args, PyVectorcall_NARGS(n));
    Py_XDECREF(done);
    return done ? ((PyTypeObject *)class)->tp_alloc((PyTypeObject *)class, 0) : NULL;
}

static PyTypeObject quick = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled.Quick",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = new,
    .tp_vectorcall = make,
};

/* An object that shows another class than its own. */
static PyObject *show_class(PyObject *self, void *unused)
{
    return Py_NewRef((PyObject *)&PyLong_Type);
}

static PyGetSetDef shown_attributes[] = {{"__class__", show_class}, {NULL}};

static PyTypeObject shown = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled.Shown",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_getset = shown_attributes,
};

/* -- Objects of f2py, which copy an array, and take the result of a conversion for a copy -- */

static PyObject *call_fortran(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *x = PyTuple_GET_ITEM(args, 0);
    int copies = PyArray_Check(x) ? NPY_ARRAY_ENSURECOPY : 0;
    PyObject *own = PyArray_FROMANY(x, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY | copies);
    PyObject *result = own ? doubled(NULL, own) : NULL;
    Py_XDECREF(own);
    return result ? Py_BuildValue("(NO)", result, x) : NULL;
}

static PyTypeObject fortran;

static PyObject *get_fortran(PyObject *self, char *name) /* a function, made on demand */
{
    if (strcmp(name, "function") == 0)
        return PyObject_New(PyObject, &fortran);
    return PyErr_Format(PyExc_AttributeError, "%s", name);
}

static PyTypeObject fortran = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fortran",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = (destructor)PyObject_Free,
    .tp_getattr = get_fortran,
    .tp_call = call_fortran,
};

/* -- Arrays that compiled code returns -- */

static PyObject *give(PyObject *self, PyObject *unused)
{
    npy_intp n = 3;
    return PyArray_ZEROS(1, &n, NPY_DOUBLE, 0);
}

static PyObject *give_tuple(PyObject *self, PyObject *unused)
{
    return Py_BuildValue("(NiN)", give(NULL, NULL), 1, give(NULL, NULL));
}

static PyObject *give_inside(PyObject *self, PyObject *unused)
{
    return Py_BuildValue("([N]{s:N}(N))", give(NULL, NULL), "x", give(NULL, NULL),
                         give(NULL, NULL));
}

static PyObject *stored; /* a tuple of the module */

static PyObject *give_stored(PyObject *self, PyObject *unused)
{
    if (!stored)
        stored = give_tuple(NULL, NULL);
    return Py_NewRef(stored);
}

static PyObject *give_kept(PyObject *self, PyObject *unused)
{
    return Py_NewRef(PyTuple_GET_ITEM(give_stored(NULL, NULL), 0));
}

static PyObject *give_last(PyObject *self, PyObject *args) /* itself, and in a tuple */
{
    PyObject *last = PyTuple_GET_ITEM(args, PyTuple_GET_SIZE(args) - 1);
    return PyTuple_GET_SIZE(args) > 1 ? Py_BuildValue("(O)", last) : Py_NewRef(last);
}

static PyObject *gets_numpys(PyObject *self, PyObject *function)
{
    PyObject *result = PyObject_CallNoArgs(function);
    return result ? PyBool_FromLong(PyArray_CheckExact(result)) : NULL;
}

static PyObject *give_by_subscript(PyObject *self, PyObject *key) { return give(NULL, NULL); }

static PyObject *give_by_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return PyTuple_GET_SIZE(args) ? give_last(NULL, args) : give_tuple(NULL, NULL);
}

static PyObject *get_calling(PyObject *self, void *closure) /* calls a method of its own */
{
    PyObject *method = PyObject_GetAttrString(self, closure);
    PyObject *result = method ? gets_numpys(NULL, method) : NULL;
    Py_XDECREF(method);
    return result;
}

static PyObject *get_item(PyObject *self, void *closure) { return give_kept(NULL, NULL); }

#define GIVING                                                                              \
    {"give", give, METH_NOARGS}, {"give_for", give, METH_O},                                \
        {"give_tuple", give_tuple, METH_NOARGS}, {"give_inside", give_inside, METH_NOARGS}, \
        {"give_stored", give_stored, METH_NOARGS}, {"give_kept", give_kept, METH_NOARGS},   \
        {"give_last", give_last, METH_VARARGS},                                             \
    {                                                                                       \
        "gets_numpys", gets_numpys, METH_O                                                  \
    }

static PyMethodDef giving_functions[] = {GIVING, {NULL}};
static PyMethodDef giving_methods[] = {GIVING, {"__array__", give, METH_VARARGS}, {NULL}};
static PyGetSetDef giving_attributes[] = {
    {"calling", get_calling, NULL, NULL, "give"}, {"item", get_item}, {NULL}};
static PyNumberMethods giving_number = {.nb_add = give_by_subscript};
static PyMappingMethods giving_mapping = {.mp_subscript = give_by_subscript};

static PyTypeObject giver = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled.Giver",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_call = give_by_call,
    .tp_as_number = &giving_number,
    .tp_as_mapping = &giving_mapping,
    .tp_methods = giving_methods,
    .tp_getset = giving_attributes,
};

static void negate(char **args, const npy_intp *n, const npy_intp *steps, void *data)
{
    for (npy_intp i = 0; i < *n; i++)
        *(double *)(args[1] + i * steps[1]) = -*(double *)(args[0] + i * steps[0]);
}

/* Copies the first element of each row. */
static void first(char **args, const npy_intp *n, const npy_intp *steps, void *data)
{
    for (npy_intp i = 0; i < *n; i++)
        *(double *)(args[1] + i * steps[1]) = *(double *)(args[0] + i * steps[0]);
}

static int add_giving(PyObject *module)
{
    static PyUFuncGenericFunction row_loops[] = {first};
    static PyUFuncGenericFunction loops[] = {negate};
    static const char types[] = {NPY_DOUBLE, NPY_DOUBLE};
    static void *data[1];
    PyObject *ufunc =
        PyUFunc_FromFuncAndData(loops, data, types, 1, 1, 1, PyUFunc_None, "negate", NULL, 0);
    PyObject *row_ufunc = PyUFunc_FromFuncAndDataAndSignature(
        row_loops, data, types, 1, 1, 1, PyUFunc_None, "first", NULL, 0, "(n)->()");
    return PyModule_AddFunctions(module, giving_functions) < 0 ||
                   PyModule_AddType(module, &giver) < 0 ||
                   PyModule_AddObjectRef(module, "row_ufunc", row_ufunc) < 0
               ? -1
               : PyModule_AddObjectRef(module, "ufunc", ufunc);
}

/* -- Functions behind decorators -- */

static const char decorators[] =
    "import functools\n"
    "def by_name(function):\n"
    "    @functools.wraps(function)\n"
    "    def call(*args): return function(*args)\n"
    "    return call\n"
    "def by_closure(function): return lambda *args: function(*args)\n"
    "def by_cache(function): return functools.lru_cache(functools.wraps(function)(\n"
    "    lambda *args: function(args[0].x)))\n";

static PyMethodDef hidden = {"hidden", one, METH_O, NULL};

static int add_decorated(PyObject *module)
{
    static const char *const names[] = {"by_name", "by_closure", "by_cache"};
    PyObject *dict = PyModule_GetDict(module);
    PyObject *done = PyRun_String(decorators, Py_file_input, dict, dict);
    for (size_t i = 0; done && i < 3; i++) {
        PyObject *function = PyCFunction_New(&hidden, NULL);
        PyObject *decorated =
            PyObject_CallFunctionObjArgs(PyDict_GetItemString(dict, names[i]), function, NULL);
        PyDict_SetItemString(dict, names[i], decorated);
        Py_DECREF(function);
    }
    return done ? 0 : -1;
}

static int execute(PyObject *made)
{
    if (PyType_Ready(&type) < 0 || PyType_Ready(&derived) < 0 || PyType_Ready(&quick) < 0 ||
        PyModule_AddFunctions(made, functions) < 0 || PyModule_AddType(made, &type) < 0 ||
        PyModule_AddType(made, &derived) < 0 || PyModule_AddType(made, &quick) < 0 ||
        PyModule_AddType(made, &shown) < 0)
        return -1;
    Py_SET_TYPE(&fortran, &PyType_Type); /* f2py does no more for its type */
    PyModule_AddObject(made, "fortran", PyObject_New(PyObject, &fortran));
    if (add_decorated(made) < 0 || add_giving(made) < 0)
        return -1;
    /* The dict of a module also has the names that it imported. */
    PyObject *math = PyImport_ImportModule("math");
    PyModule_AddObject(made, "sqrt", PyObject_GetAttrString(math, "sqrt"));
    ufunc_class = PyObject_GetAttrString(PyImport_ImportModule("numpy"), "ufunc");
    return PyModule_AddObjectRef(made, "integer", (PyObject *)&PyLong_Type);
}

#ifndef NAME
#define NAME "compiled"
#endif
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, NAME};

#ifdef IN_PHASES
static PyModuleDef_Slot phases[] = {{Py_mod_exec, execute}, {0, NULL}};

PyMODINIT_FUNC PyInit_compiled(void)
{
    import_array();
    import_umath();
    module.m_slots = phases;
    return PyModuleDef_Init(&module);
}
#else
PyMODINIT_FUNC PyInit_compiled(void)
{
    import_array();
    import_umath();
    module.m_size = -1;
    PyObject *made = PyModule_Create(&module);
    return made && execute(made) < 0 ? NULL : made;
}
#endif
