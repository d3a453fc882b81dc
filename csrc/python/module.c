/* module.c -- the module mxnp._bridge: arrays, and calls that cross between them and NumPy. */
#define MX_IMPORTS_NUMPY
#include "python/index/index.h"
#include "python/packages/boundary.h"
#include "python/packages/conversion.h"
#include "python/profile/profile.h"

static PyObject *set_types(PyObject *module, PyObject *args)
{
    PyTypeObject *array, *ufunc, *np_array, *object;
    PyObject *describer;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O:set_types", &PyType_Type, &array, &PyType_Type,
                          &ufunc, &PyType_Type, &np_array, &PyType_Type, &object, &describer))
        return NULL;
    Py_INCREF(describer);
    described = describer;
    Py_INCREF((PyObject *)array);
    Py_INCREF((PyObject *)ufunc);
    Py_INCREF((PyObject *)np_array);
    Py_INCREF((PyObject *)object);
    object_dtype = object;
    array_type = array;
    ufunc_type = ufunc;
    np_array_type = np_array;
    array_load_slots();
    if (boundary_load() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_package_test(PyObject *module, PyObject *test)
{
    (void)module;
    Py_XDECREF(is_from_package);
    is_from_package = Py_NewRef(test);
    Py_RETURN_NONE;
}

/* Python's own messages name a class by tp_name, which is the first field of a type behind
 * its header: "'numpy.ndarray' object has no attribute 'x'" is a NumPy message to programs
 * that read it.  The class's __module__ and __name__ are kept elsewhere and stay ours. */
static PyObject *name_like(PyObject *module, PyObject *args)
{
    PyTypeObject *type, *original;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:name_like", &PyType_Type, &type, &PyType_Type, &original))
        return NULL;
    size_t tp_name = sizeof(PyVarObject);
    *(const char **)((char *)type + tp_name) = *(const char **)((char *)original + tp_name);
    Py_INCREF((PyObject *)original); /* the text is the original's: keep it for good */
    Py_RETURN_NONE;
}

static PyObject *wrap(PyObject *module, PyObject *x)
{
    struct call_args call_args = {0};
    (void)module;
    Py_INCREF(x);
    return convert_adopt(x, &call_args, MAX_DEPTH);
}

static PyObject *standard(PyObject *module, PyObject *x)
{
    (void)module;
    return PyObject_TypeCheck(x, function_type) ? function_standard(x)
                                                : convert_standard(Py_NewRef(x), MAX_DEPTH);
}

static PyObject *unwrap_all(PyObject *module, PyObject *x)
{
    struct call_args call_args = {0};
    (void)module;
    PyObject *out = convert_unwrap(x, &call_args, MAX_DEPTH);
    struct span span;
    span_begin(&span, SPAN_EXPORT, NULL);
    if (out && convert_prepare(&call_args, true) < 0)
        Py_CLEAR(out);
    span_pop(&span);
    for (int i = 0; i < call_args.n; i++)
        queue_export(call_args.arrays[i]);
    return out;
}

static PyObject *pin(PyObject *module, PyObject *x)
{
    (void)module;
    if (is_array(x))
        root_of(x)->is_pinned = true;
    Py_RETURN_NONE;
}

#define LAYOUT \
    (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE)
#define HAS_DESCR NPY_ARR_HAS_DESCR

/* NumPy's own interface, with the dtype itself in the place of a list of its fields:
 * NumPy takes either, and the list leaves out padding and alignment.  The flags are set
 * anew: with a list NumPy has cleared them, and so the mark that there is one. */
static PyObject *exact_interface(PyObject *module, PyObject *x)
{
    (void)module;
    if (!PyObject_TypeCheck(x, np_array_type)) {
        PyErr_SetString(PyExc_TypeError, "exact_interface() takes a numpy.ndarray");
        return NULL;
    }
    PyObject *capsule = PyObject_GetAttrString(x, "__array_struct__");
    PyArrayInterface *is = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (is && is->descr) {
        PyArrayObject *array = (PyArrayObject *)x;
        Py_DECREF(is->descr);
        is->descr = Py_NewRef((PyObject *)PyArray_DESCR(array));
        is->flags = (PyArray_FLAGS(array) & LAYOUT) | HAS_DESCR;
    }
    return capsule;
}

static PyObject *start(PyObject *module, PyObject *address);

static PyMethodDef module_methods[] = {
    {"start", start, METH_O, "start(address)\n--\n\nName the core's table of functions."},
    {"exact_interface", exact_interface, METH_O,
     "exact_interface(np_array)\n--\n\nGive __array_struct__ of a NumPy array, with its very "
     "dtype."},
    {"set_types", set_types, METH_VARARGS,
     "set_types(array, ufunc, np_array, object_dtype, described)\n--\n\n"
     "Name the classes of mxnp arrays, mxnp ufuncs, NumPy arrays and NumPy's object dtype, "
     "and two helpers."},
    {"set_package_test", set_package_test, METH_O,
     "set_package_test(is_from_package)\n--\n\n"
     "Name the helper that tells whether a class has a method from a package."},
    {"set_counterparts", function_set_counterparts, METH_O,
     "set_counterparts(counterparts)\n--\n\n"
     "Name the dict from NumPy's functions to those of mxnp."},
    {"name_like", name_like, METH_VARARGS,
     "name_like(cls, original)\n--\n\n"
     "Let Python's own error messages name a class as they name another."},
    {"wrap", wrap, METH_O,
     "wrap(x)\n--\n\n"
     "Give x with NumPy arrays in it, at any depth of tuples, lists and dicts, as mxnp "
     "arrays."},
    {"unwrap", unwrap_all, METH_O,
     "unwrap(x)\n--\n\n"
     "Give x with mxnp arrays in it, at any depth of tuples and lists, as NumPy arrays."},
    {"standard", standard, METH_O,
     "standard(x)\n--\n\n"
     "Give arrays whose items and results are arrays and never NumPy scalars, or a function "
     "that gives such arrays."},
    {"pin", pin, METH_O,
     "pin(array)\n--\n\nNote that the address of its memory is known outside from now on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mxnp._bridge",
    .m_doc = "The array object, and calls that cross between it and NumPy.",
    .m_size = -1,
    .m_methods = module_methods,
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject *base,
                    PyTypeObject **out)
{
    PyObject *bases = base ? PyTuple_Pack(1, base) : NULL;
    PyObject *type = PyType_FromSpecWithBases(spec, bases);
    Py_XDECREF(bases);
    if (!type)
        return -1;
    *out = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, name, type);
}

/* The core's functions, through mxnp._engine.core; then all that is looked up in NumPy. */
static PyObject *start(PyObject *module, PyObject *address)
{
    (void)module;
    core = PyLong_AsVoidPtr(address);
    queue_load();
    PyObject *numpy = core ? PyImport_ImportModule("numpy") : NULL;
    if (!numpy || memory_load() < 0 || call_site_load(numpy) < 0 || signature_load(numpy) < 0 ||
        call_load() < 0 || failure_load() < 0 || settings_load() < 0) {
        Py_XDECREF(numpy);
        return NULL;
    }
    Py_DECREF(numpy);
    Py_RETURN_NONE;
}

PyMODINIT_FUNC PyInit__bridge(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "mxnp works in the main interpreter only: NumPy and the queue of "
                        "recorded operations are there once for a process");
        return NULL;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return NULL; /* in NumPy's words; import_array prints them and has others */
    import_array1(NULL);
    PyTypeObject *method_type, *base_type, *lookup_type, *watched_type;
    PyObject *types = PyImport_ImportModule("types");
    PyObject *numpy_class = PyObject_GetAttrString(numpy, "ndarray");
    PyObject *module = types && numpy_class ? PyModule_Create(&module_def) : NULL;
    if (!module || PyModule_AddFunctions(module, queue_methods) < 0 ||
        PyModule_AddFunctions(module, call_methods) < 0 ||
        PyModule_AddFunctions(module, selection_methods) < 0 ||
        PyModule_AddFunctions(module, index_methods) < 0 ||
        PyModule_AddFunctions(module, update_methods) < 0 ||
        PyModule_AddFunctions(module, expression_methods) < 0 ||
        PyModule_AddFunctions(module, launch_methods) < 0 ||
        PyModule_AddFunctions(module, setting_methods) < 0 ||
        PyModule_AddFunctions(module, assignment_methods) < 0 ||
        PyModule_AddFunctions(module, reduction_methods) < 0 ||
        PyModule_AddFunctions(module, watch_methods) < 0 ||
        PyModule_AddFunctions(module, profile_methods) < 0 ||
        PyModule_AddFunctions(module, boundary_methods) < 0 ||
        PyModule_AddFunctions(module, conversion_methods) < 0 ||
        PyModule_AddIntConstant(module, "FAST", SETTING_FAST) < 0 ||
        PyModule_AddIntConstant(module, "DEVICE", SETTING_DEVICE) < 0 ||
        PyModule_AddIntConstant(module, "DOUBLES", SETTING_DOUBLES) < 0 ||
        PyModule_AddIntConstant(module, "MATMUL", DEVICE_MATMUL) < 0 ||
        PyModule_AddIntConstant(module, "SELECT", DEVICE_SELECT) < 0 ||
        PyModule_AddIntConstant(module, "UPDATE", DEVICE_UPDATE) < 0 ||
        PyModule_AddIntConstant(module, "NARROW", DEVICE_NARROW) < 0 ||
        PyModule_AddIntConstant(module, "ASSIGN", MX_COPY) < 0 ||
        PyModule_AddIntConstant(module, "IN_BOUNDS", INDEX_IN_BOUNDS) < 0 ||
        PyModule_AddIntConstant(module, "PLAIN", MX_PLAIN) < 0 ||
        PyModule_AddIntConstant(module, "CLAMP", MX_CLAMP) < 0 ||
        PyModule_AddIntConstant(module, "DROP", MX_DROP) < 0 ||
        PyModule_AddIntConstant(module, "NEAREST", MX_NEAREST) < 0 ||
        PyModule_AddIntConstant(module, "MODULO", MX_MODULO) < 0 || array_load(numpy_class) < 0)
        goto failed;
    method_class = PyObject_GetAttrString(types, "MethodType");
    if (!method_class || add_type(module, "Array", &array_spec, NULL, &base_type) < 0 ||
        add_type(module, "Function", &function_spec, NULL, &function_type) < 0 ||
        add_type(module, "Method", &method_spec, function_type, &method_type) < 0 ||
        add_type(module, "Lookup", &lookup_spec, NULL, &lookup_type) < 0 ||
        add_type(module, "Watched", &watched_spec, NULL, &watched_type) < 0)
        goto failed;
    goto done;
failed:
    Py_CLEAR(module);
done:
    Py_XDECREF(numpy_class);
    Py_DECREF(numpy);
    Py_XDECREF(types);
    return module;
}
