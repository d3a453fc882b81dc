/* types.c -- the classes that the bridge tests objects for, and the tables of NumPy's C API. */
#define MX_IMPORTS_NUMPY
#include "python/base/types.h"

PyTypeObject *array_type, *ufunc_type, *np_array_type, *subclass_type, *function_type,
    *member_type, *generator_types[2], *function_class, *slot_method_class;
PyObject *method_class, *described, *is_from_package;

/* import_array() prints NumPy's exception and sets another one. */
int types_import_numpy(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return -1;
    Py_DECREF(numpy);
    import_array1(-1);
    return _import_umath();
}

static PyObject *set_package_test(PyObject *module, PyObject *test)
{
    (void)module;
    Py_XDECREF(is_from_package);
    is_from_package = Py_NewRef(test);
    Py_RETURN_NONE;
}

static PyObject *set_generators(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:set_generators", &PyType_Type, &generator_types[0],
                          &PyType_Type, &generator_types[1]))
        return NULL;
    for (int i = 0; i < 2; i++)
        Py_INCREF((PyObject *)generator_types[i]);
    Py_RETURN_NONE;
}

PyObject *types_generator_inside(PyObject *generator)
{
    PyObject *inside = PyObject_GetAttrString(generator, "_original");
    if (!inside) {
        PyErr_Clear(); /* a generator whose __init__ has not run */
        return generator;
    }
    Py_DECREF(inside); /* the generator holds it */
    return inside;
}

PyMethodDef types_methods[] = {
    {"set_generators", set_generators, METH_VARARGS,
     "set_generators(generator, state)\n--\n\n"
     "Set the classes of mxnp's random generators, whose attribute _original is NumPy's."},
    {"set_package_test", set_package_test, METH_O,
     "set_package_test(is_from_package)\n--\n\n"
     "Set the helper that returns whether a class has a method from a package."},
    {NULL, NULL, 0, NULL},
};
