/* types.c -- the classes that the bridge tests objects for, and the tables of NumPy's C API. */
#define MX_IMPORTS_NUMPY
#include "python/base/types.h"

PyTypeObject *array_type, *ufunc_type, *np_array_type, *object_dtype, *function_type,
    *member_type;
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

PyMethodDef types_methods[] = {
    {"set_package_test", set_package_test, METH_O,
     "set_package_test(is_from_package)\n--\n\n"
     "Set the helper that returns whether a class has a method from a package."},
    {NULL, NULL, 0, NULL},
};
