/* patching.c -- compiled functions of other packages receive NumPy arrays.
 *
 * An extension module that was compiled against NumPy reads the struct of numpy.ndarray, and
 * refuses objects of another type.  After it is imported, its callables are changed in place:
 * an mxnp array among the arguments, also in tuples, lists and dicts, is replaced by the NumPy
 * array inside.  The objects keep their identity, types, names, documentation and signatures.
 */
#include "python/packages/patching.h"
#include "python/packages/callables.h"
#include "python/packages/layout.h"
#include "python/packages/unbound.h"

static PyObject *dot;
static bool is_known; /* whether the structs of this Python are known: see layout.h */

/* Steal a reference to a module's name.  Return a new reference to its first part, or NULL.  Of
 * NumPy, whose random generators are patched and nothing else, take the first two parts. */
static PyObject *package_of_name(PyObject *name)
{
    PyObject *parts = name && PyUnicode_Check(name) ? PyUnicode_Split(name, dot, 2) : NULL;
    PyObject *first = parts ? PyList_GetItem(parts, 0) : NULL, *package;
    if (first && PyList_Size(parts) > 1 &&
        PyUnicode_CompareWithASCIIString(first, "numpy") == 0)
        package = PyUnicode_FromFormat("numpy.%U", PyList_GetItem(parts, 1));
    else
        package = Py_XNewRef(first);
    Py_XDECREF(parts);
    Py_XDECREF(name);
    return package;
}

static PyObject *package_of(PyObject *x)
{
    PyObject *package = package_of_name(PyObject_GetAttrString(x, "__module__"));
    PyErr_Clear();
    return package;
}

/* Check whether x is a builtin of Python, rather than an object whose __module__ is missing. */
static bool is_builtin(PyObject *x)
{
    PyObject *name = PyObject_GetAttrString(x, "__name__");
    PyObject *found = name ? PyDict_GetItemWithError(PyEval_GetBuiltins(), name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return found == x;
}

/* A module whose values are patched. */
struct owner {
    PyObject *module, *package; /* see package_of_name() */
    PyObject *place;            /* the package from which it is imported, or NULL */
    const char *name;           /* by which it may call itself otherwise */
};

static bool is_package_of(const struct owner *owner, PyObject *package)
{
    return PyUnicode_Compare(package, owner->package) == 0 ||
           (owner->place && PyUnicode_Compare(package, owner->place) == 0);
}

/* Check whether another module than this one has a name. */
static bool is_other_module(PyObject *name, PyObject *module)
{
    PyObject *found = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
    return found && found != module;
}

/* Check whether the value of a module was made by its package, rather than imported from
 * another one.  The __module__ of some values is missing, or a module that cannot be imported,
 * or lacks the package. */
static bool is_made_by(PyObject *x, const struct owner *owner)
{
    PyObject *package = package_of(x);
    bool is_made = !package || is_package_of(owner, package) ||
                   (PyUnicode_CompareWithASCIIString(package, "builtins") == 0
                        ? !is_builtin(x)
                        : !is_other_module(package, owner->module));
    Py_XDECREF(package);
    PyErr_Clear();
    return is_made;
}

static bool is_submodule(PyObject *x, const struct owner *owner)
{
    const char *name = PyModule_Check(x) ? PyModule_GetName(x) : NULL;
    size_t length = strlen(owner->name);
    PyErr_Clear();
    return name && strncmp(name, owner->name, length) == 0 && name[length] == '.';
}

/* -- Functions behind decorators ------------------------------------------------------- */

#define DECORATORS 8 /* of one function, one around the other */

static int patch_decorated(PyObject *x, const struct owner *owner, int depth);

/* Patch the function in an attribute of x, if it has the attribute. */
static int patch_inside(PyObject *x, const char *attribute, const struct owner *owner,
                        int depth)
{
    PyObject *function = PyObject_GetAttrString(x, attribute);
    int status = 0;
    PyErr_Clear();
    if (function && callable_is_function(function))
        status = is_made_by(function, owner) ? callable_patch(function) : 0;
    else if (function && depth > 0)
        status = patch_decorated(function, owner, depth - 1);
    Py_XDECREF(function);
    return status;
}

/* Patch the functions to which x refers: as what it wraps, or as variables of a function around
 * it. */
static int patch_decorated(PyObject *x, const struct owner *owner, int depth)
{
    if (!callable_is_decorated(x))
        return 0;
    int status = patch_inside(x, "__wrapped__", owner, depth);
    PyObject *cells = PyObject_GetAttrString(x, "__closure__");
    PyErr_Clear();
    bool has_cells = cells && PyTuple_CheckExact(cells);
    for (Py_ssize_t i = 0; has_cells && i < PyTuple_Size(cells) && status == 0; i++)
        status = patch_inside(PyTuple_GetItem(cells, i), "cell_contents", owner, depth);
    Py_XDECREF(cells);
    return status;
}

/* -- Modules --------------------------------------------------------------------------- */

static int patch_member(PyTypeObject *type, PyObject *name, PyObject *member,
                        const struct owner *owner)
{
    return callable_is_decorated(member) ? patch_decorated(member, owner, DECORATORS)
                                         : callable_patch_member(type, name, member);
}

static int patch_type(PyTypeObject *type, const struct owner *owner)
{
    PyObject *name, *member, *dict = ((struct type_struct *)type)->dict;
    PyObject *members = dict ? PyDict_Copy(dict) : PyDict_New();
    int status = members ? callable_patch_class(type) : -1;
    Py_ssize_t at = 0;
    while (status == 0 && PyDict_Next(members, &at, &name, &member))
        status = patch_member(type, name, member, owner);
    Py_XDECREF(members);
    return status;
}

static int patch_module(PyObject *module);

static int patch_value(PyObject *x, const struct owner *owner)
{
    if (is_submodule(x, owner))
        return patch_module(x);
    if (callable_is_decorated(x))
        return patch_decorated(x, owner, DECORATORS);
    bool is_type = PyType_Check(x);
    if (!(is_type || callable_is_function(x)) || !is_made_by(x, owner))
        return 0;
    return is_type ? patch_type((PyTypeObject *)x, owner) : callable_patch(x);
}

static int patch_values(PyObject *values, const struct owner *owner)
{
    int status = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(values) && status == 0; i++)
        status = patch_value(PyList_GetItem(values, i), owner);
    return status;
}

static int patch_module(PyObject *module)
{
    PyObject *spec = PyObject_GetAttrString(module, "__spec__");
    PyObject *place = spec ? PyObject_GetAttrString(spec, "name") : NULL;
    PyErr_Clear();
    struct owner owner = {module, package_of_name(PyModule_GetNameObject(module)),
                          package_of_name(place), PyModule_GetName(module)};
    PyObject *values = owner.package ? PyDict_Values(PyModule_GetDict(module)) : NULL;
    int status = values ? patch_values(values, &owner) : -1;
    Py_XDECREF(values);
    Py_XDECREF(owner.package);
    Py_XDECREF(owner.place);
    Py_XDECREF(spec);
    return status;
}

static PyObject *module_patch(PyObject *self, PyObject *module)
{
    (void)self;
    if (!PyModule_Check(module))
        return PyErr_Format(PyExc_TypeError, "patch_module() takes a module");
    if (is_known && patch_module(module) < 0)
        return NULL;
    return PyBool_FromLong(is_known);
}

static PyObject *method_patch(PyObject *self, PyObject *args)
{
    PyObject *type, *name;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!U:patch_method", &PyType_Type, &type, &name))
        return NULL;
    PyObject *dict = PyObject_GetAttrString(type, "__dict__");
    PyObject *method = dict ? PyObject_GetItem(dict, name) : NULL;
    int status = method ? 0 : -1;
    if (method && is_known)
        status = callable_patch_member((PyTypeObject *)type, name, method);
    Py_XDECREF(method);
    Py_XDECREF(dict);
    return status < 0 ? NULL : PyBool_FromLong(is_known);
}

static PyObject *classes_patch(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_known && unbound_patch() < 0)
        return NULL;
    return PyBool_FromLong(is_known);
}

PyMethodDef patching_methods[] = {
    {"patch_module", module_patch, METH_O,
     "patch_module(module)\n--\n\n"
     "Make the compiled functions and types of an extension module receive NumPy arrays in "
     "place of mxnp arrays. Return False if the structs of this Python are unknown, so nothing "
     "was changed."},
    {"patch_method", method_patch, METH_VARARGS,
     "patch_method(type, name)\n--\n\n"
     "Do the same for one method of a compiled type."},
    {"patch_array_classes", classes_patch, METH_NOARGS,
     "patch_array_classes()\n--\n\n"
     "Let the members of ``numpy.ndarray`` and ``mxnp.ndarray``, called as functions, accept "
     "arrays of both. Return False likewise."},
    {NULL, NULL, 0, NULL},
};

int patching_load(void)
{
    int status = callable_load();
    is_known = status > 0;
    dot = PyUnicode_InternFromString(".");
    return status < 0 || !dot ? -1 : 0;
}
