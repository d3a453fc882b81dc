/* conversion.c -- classes whose __array__ returns an mxnp array.
 *
 * NumPy's C code calls __array__ of an object that it converts, and requires a result of its
 * own class.  But a class of the program or of a package may store an mxnp array and return it.
 * Each
 * __array__ that is written in Python is therefore changed in place when its class is built, so
 * that C code that calls it receives the NumPy array inside.  So does Python code from Python
 * 3.12 on.  Before that version, the interpreter calls such a function without its vectorcall.
 */
#include "python/packages/conversion.h"
#include "python/base/types.h"
#include "python/packages/layout.h"

static PyObject *method_name, *build_class;
static PyTypeObject *function_class; /* types.FunctionType */
static vector_call call_function;    /* their vectorcall */

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

static void patch_class(PyObject *class)
{
    PyObject *dict = PyType_Check(class) ? ((struct type_struct *)class)->dict : NULL;
    PyObject *method = dict ? PyDict_GetItemWithError(dict, method_name) : NULL;
    if (!method || Py_TYPE(method) != function_class)
        return;
    vector_call *call = layout_vectorcall(method);
    if (*call == call_function)
        *call = call_and_unwrap;
}

static PyObject *build_and_patch(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    PyObject *class = PyObject_Call(build_class, args, kwargs);
    if (class)
        patch_class(class);
    return class;
}

/* Patch all classes that exist and derive from one. */
static int patch_subclasses(PyObject *class)
{
    PyObject *classes =
        PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", class);
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
    static PyMethodDef def = {"__build_class__", (PyCFunction)(void (*)(void))build_and_patch,
                              METH_VARARGS | METH_KEYWORDS, NULL};
    PyObject *original, *function;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO:patch_conversions", &original, &function))
        return NULL;
    vector_call *call = layout_is_known() ? layout_vectorcall(function) : NULL;
    if (!call)
        return Py_NewRef(original);
    function_class = Py_TYPE(function);
    call_function = *call;
    build_class = Py_NewRef(original);
    method_name = PyUnicode_InternFromString("__array__");
    if (!method_name || patch_subclasses((PyObject *)&PyBaseObject_Type) < 0)
        return NULL;
    PyObject *module = PyUnicode_FromString("builtins");
    PyObject *made = module ? PyCFunction_NewEx(&def, NULL, module) : NULL;
    Py_XDECREF(module);
    return made;
}

PyMethodDef conversion_methods[] = {
    {"patch_conversions", patch_conversions, METH_VARARGS,
     "patch_conversions(build_class, function)\n--\n\n"
     "Make NumPy accept classes whose __array__ returns an mxnp array: those that exist, and "
     "those that the returned __build_class__ makes. `function` is any function written in "
     "Python."},
    {NULL, NULL, 0, NULL},
};
