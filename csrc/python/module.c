/* module.c -- the module mxnp._bridge: the array object, and calls between mxnp and NumPy. */
#include "python/access/indexing.h"
#include "python/access/parts.h"
#include "python/access/selection.h"
#include "python/access/update.h"
#include "python/base/device.h"
#include "python/base/refusal.h"
#include "python/base/settings.h"
#include "python/base/state.h"
#include "python/base/types.h"
#include "python/base/workers.h"
#include "python/convert/convert.h"
#include "python/direct/draws.h"
#include "python/direct/functions.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/direct/sorting.h"
#include "python/direct/stacks.h"
#include "python/object/array.h"
#include "python/object/checks.h"
#include "python/object/frameless.h"
#include "python/object/function.h"
#include "python/object/hooks.h"
#include "python/object/left_operators.h"
#include "python/object/lookup.h"
#include "python/packages/attributes.h"
#include "python/packages/conversion.h"
#include "python/packages/disguise.h"
#include "python/packages/division.h"
#include "python/packages/door.h"
#include "python/packages/imports.h"
#include "python/packages/iterators.h"
#include "python/packages/layout.h"
#include "python/packages/operators.h"
#include "python/packages/owners.h"
#include "python/packages/patching.h"
#include "python/packages/slots.h"
#include "python/profile/call_site.h"
#include "python/profile/errstate.h"
#include "python/profile/profile.h"
#include "python/profile/traceback.h"
#include "python/record/assignment.h"
#include "python/record/call.h"
#include "python/record/caller.h"
#include "python/record/compiler.h"
#include "python/record/device_export.h"
#include "python/record/elide.h"
#include "python/record/failure.h"
#include "python/record/launch.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/reduction.h"
#include "python/record/signature.h"
#include "python/record/wrapper.h"

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *set_types(PyObject *module, PyObject *args)
{
    PyTypeObject *array, *ufunc, *np_array, *subclass;
    PyObject *describer;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O:set_types", &PyType_Type, &array, &PyType_Type,
                          &ufunc, &PyType_Type, &np_array, &PyType_Type, &subclass, &describer))
        return NULL;
    array_type = (PyTypeObject *)Py_NewRef((PyObject *)array);
    ufunc_type = (PyTypeObject *)Py_NewRef((PyObject *)ufunc);
    np_array_type = (PyTypeObject *)Py_NewRef((PyObject *)np_array);
    subclass_type = (PyTypeObject *)Py_NewRef((PyObject *)subclass);
    described = Py_NewRef(describer);
    array_load_slots();
    left_operators_load();
    if (layout_is_known()) {
        struct type_struct *type = (struct type_struct *)array, *base = (void *)type->base;
        ((struct type_struct *)ufunc)->flags |= HAS_VECTORCALL;
        slots_set_sequence();
        /* The class has no members of its own that Python would have to free. */
        type->dealloc = base->dealloc;
        /* Python looks methods up faster if their class cannot change. */
        ((struct type_struct *)member_type)->flags |= Py_TPFLAGS_IMMUTABLETYPE;
    }
    if (array_own_attributes() < 0 || patching_load() < 0 || disguise_load() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Python's own messages name a class by tp_name, the first field of a type after its header.
 * Programs that read "'numpy.ndarray' object has no attribute 'x'" expect NumPy's name there.
 * The class keeps its own __module__ and __name__, which are stored elsewhere. */
static PyObject *name_like(PyObject *module, PyObject *args)
{
    PyTypeObject *type, *original;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:name_like", &PyType_Type, &type, &PyType_Type, &original))
        return NULL;
    size_t tp_name = sizeof(PyVarObject);
    *(const char **)((char *)type + tp_name) = *(const char **)((char *)original + tp_name);
    Py_INCREF((PyObject *)original); /* it owns the string, and is never freed */
    Py_RETURN_NONE;
}

static PyObject *module_wrap(PyObject *module, PyObject *x)
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
    (void)module;
    return convert_export(x, MAX_DEPTH, false);
}

static PyObject *pin(PyObject *module, PyObject *x)
{
    (void)module;
    if (is_array(x))
        root_of(x)->is_address_taken = true;
    Py_RETURN_NONE;
}

static PyObject *clear_recycled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    recycle_clear();
    wrapper_clear();
    Py_RETURN_NONE;
}

#define LAYOUT \
    (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE)
#define HAS_DESCR NPY_ARR_HAS_DESCR

/* Return NumPy's own interface, with the dtype itself instead of a list of its fields.  NumPy
 * accepts both, but the list omits padding and alignment.  NumPy clears the flags if there is a
 * list, so they are set again. */
static PyObject *exact_interface(PyObject *module, PyObject *x)
{
    (void)module;
    if (!PyObject_TypeCheck(x, np_array_type)) {
        PyErr_SetString(PyExc_TypeError, "exact_interface() takes a numpy.ndarray");
        return NULL;
    }
    PyObject *capsule = PyObject_GetAttrString(x, "__array_struct__");
    PyArrayInterface *is = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    PyArrayObject *array = (PyArrayObject *)x;
    if (is && (is->descr || PyDataType_METADATA(PyArray_DESCR(array)))) {
        Py_XDECREF(is->descr);
        is->descr = Py_NewRef((PyObject *)PyArray_DESCR(array));
        is->flags = (PyArray_FLAGS(array) & LAYOUT) | HAS_DESCR;
    }
    return capsule;
}

/* Set the table of the core's functions, and look up what the bridge needs of NumPy. */
static PyObject *module_start(PyObject *module, PyObject *address)
{
    (void)module;
    core = PyLong_AsVoidPtr(address);
    PyObject *numpy = core ? PyImport_ImportModule("numpy") : NULL;
    elide_load();
    if (!numpy || device_load() < 0 || call_site_load() < 0 || errstate_load(numpy) < 0 ||
        memory_load() < 0 || failure_load() < 0 || signature_load(numpy) < 0 ||
        call_load() < 0 || recycle_load() < 0 || scalars_load() < 0 || stacks_load(numpy) < 0 ||
        functions_load() < 0) {
        Py_XDECREF(numpy);
        return NULL;
    }
    parts_load();
    Py_DECREF(numpy);
    Py_RETURN_NONE;
}

/* Return whether this is the first call in the process. */
static PyObject *module_load_once(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    static bool is_loaded;
    bool is_first = !is_loaded;
    is_loaded = true;
    return PyBool_FromLong(is_first);
}

static PyMethodDef module_methods[] = {
    {"start", module_start, METH_O, "start(address)\n--\n\nSet the core's table of functions."},
    {"load_once", module_load_once, METH_NOARGS,
     "load_once()\n--\n\nReturn whether this is the first call in the process."},
    {"set_types", set_types, METH_VARARGS,
     "set_types(array, ufunc, np_array, subclass, described)\n--\n\n"
     "Set the classes of mxnp arrays, mxnp ufuncs and NumPy arrays, the base of classes "
     "derived "
     "from the first, and the function that checks whether a buffer format describes a dtype "
     "exactly."},
    {"name_like", name_like, METH_VARARGS,
     "name_like(cls, original)\n--\n\n"
     "Let Python's own error messages use the name of another class for a class."},
    {"wrap", module_wrap, METH_O,
     "wrap(x)\n--\n\n"
     "Return x with mxnp arrays in place of NumPy arrays, at any depth of tuples, lists and "
     "dicts."},
    {"unwrap", unwrap_all, METH_O,
     "unwrap(x)\n--\n\n"
     "Return x with NumPy arrays in place of mxnp arrays, at any depth of tuples and lists."},
    {"standard", standard, METH_O,
     "standard(x)\n--\n\n"
     "Return arrays whose items and results are arrays and never NumPy scalars, or a function "
     "that returns such arrays."},
    {"clear_recycled", clear_recycled, METH_NOARGS,
     "clear_recycled()\n--\n\nRelease the small arrays that are kept for the next results."},
    {"pin", pin, METH_O,
     "pin(array)\n--\n\nNote that other code knows the address of its memory from now on."},
    {"exact_interface", exact_interface, METH_O,
     "exact_interface(np_array)\n--\n\n"
     "Return __array_struct__ of a NumPy array, with its exact dtype."},
    {NULL, NULL, 0, NULL},
};

/* -- The module -------------------------------------------------------------------- */

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mxnp._bridge",
    .m_doc = "The array object, and calls between mxnp and NumPy.",
    .m_size = -1,
    .m_methods = module_methods,
};

static int add_methods(PyObject *module)
{
    PyMethodDef *const all[] = {
        types_methods,      settings_methods,  device_methods,        profile_methods,
        assignment_methods, call_methods,      call_site_methods,     caller_methods,
        launch_methods,     compiler_methods,  device_export_methods, queue_methods,
        reduction_methods,  indexing_methods,  selection_methods,     sorting_methods,
        stacks_methods,     update_methods,    patching_methods,      door_methods,
        owners_methods,     operators_methods, conversion_methods,    function_module_methods,
        hook_methods,       checks_methods,    traceback_methods,     attributes_methods,
        iterators_methods,  draws_methods,     division_methods,      refusal_methods,
        workers_methods,    imports_methods,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (PyModule_AddFunctions(module, all[i]) < 0)
            return -1;
    return 0;
}

static int add_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } all[] = {
        {"FAST", SETTING_FAST},
        {"FIRST_CALLS", FIRST_CALLS},
        {"DEVICE", SETTING_DEVICE},
        {"DOUBLES", SETTING_DOUBLES},
        {"MATMUL", DEVICE_MATMUL},
        {"SELECT", DEVICE_SELECT},
        {"UPDATE", DEVICE_UPDATE},
        {"RANGE", DEVICE_RANGE},
        {"NARROW", DEVICE_NARROW},
        {"ASSIGN", MX_COPY},
        {"IN_BOUNDS", INDEXING_IN_BOUNDS},
        {"PLAIN", MX_PLAIN},
        {"CLAMP", MX_CLAMP},
        {"DROP", MX_DROP},
        {"NEAREST", MX_NEAREST},
        {"MODULO", MX_MODULO},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (PyModule_AddIntConstant(module, all[i].name, all[i].value) < 0)
            return -1;
    return 0;
}

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

static int add_types(PyObject *module)
{
    PyTypeObject *unused;
    return add_type(module, "Array", &array_spec, NULL, &unused) < 0 ||
                   add_type(module, "Function", &function_spec, NULL, &function_type) < 0 ||
                   add_type(module, "Method", &method_spec, function_type, &member_type) < 0 ||
                   add_type(module, "Lookup", &lookup_spec, NULL, &unused) < 0 ||
                   add_type(module, "Hook", &hook_spec, NULL, &unused) < 0 ||
                   add_type(module, "frameless", &frameless_spec, NULL, &unused) < 0
               ? -1
               : 0;
}

/* Look up what the types need before they are made.  Return 0, or -1 with an exception set. */
static int module_load(void)
{
    if (types_import_numpy() < 0)
        return -1;
    PyObject *types = PyImport_ImportModule("types");
    PyObject *function = types ? PyObject_GetAttrString(types, "FunctionType") : NULL;
    function_class = (PyTypeObject *)function;
    method_class = function ? PyObject_GetAttrString(types, "MethodType") : NULL;
    PyObject *slot = method_class ? PyObject_GetAttrString(types, "MethodWrapperType") : NULL;
    slot_method_class = (PyTypeObject *)slot;
    Py_XDECREF(types);
    return slot ? array_load((PyObject *)&PyArray_Type) : -1;
}

PyMODINIT_FUNC PyInit__bridge(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "mxnp works in the main interpreter only, because NumPy and the queue "
                        "of recorded operations exist once in a process");
        return NULL;
    }
    PyObject *module = module_load() < 0 ? NULL : PyModule_Create(&module_def);
    if (module &&
        (add_methods(module) < 0 || add_constants(module) < 0 || add_types(module) < 0))
        Py_CLEAR(module);
    return module;
}
