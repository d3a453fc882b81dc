/* conversion.c -- classes whose __array__ returns an mxnp array, or that derive from its class.
 *
 * NumPy's C code calls __array__ of an object that it converts, and requires a result of its
 * own class.  But a class of the program or of a package may store an mxnp array and return it.
 * Each __array__ that is written in Python is therefore changed in place when its class is
 * built, so that C code that calls it receives the NumPy array inside.  So does Python code
 * from Python 3.12 on.  Before that version, the interpreter calls such a function without its
 * vectorcall.
 *
 * mxnp.ndarray has a metaclass, and numpy.ndarray has none.  A class that derives from it and
 * has a metaclass of its own, or another base with one, gets a base class without a metaclass.
 */
#include "python/packages/conversion.h"
#include "python/base/types.h"
#include "python/packages/layout.h"
#include "python/packages/slots.h"

static PyObject *method_name, *build_class;
static vector_call call_function; /* their vectorcall */

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
    if (!bases || !PyTuple_Check(bases) || !has_conflict(metaclass, bases, 0))
        return make_class(metaclass, args, kwargs);
    PyObject *plain = with_plain_base(bases);
    PyObject *all =
        plain ? PyTuple_Pack(3, PyTuple_GetItem(args, 0), plain, PyTuple_GetItem(args, 2))
              : NULL;
    PyObject *class = all ? make_class(metaclass, all, kwargs) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(plain);
    return class;
}

/* Class statements, which choose the metaclass first: (function, name, *bases), metaclass=...
 */
static PyObject *build_and_patch(PyObject *self, PyObject *args, PyObject *kwargs)
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
    if (class)
        patch_class(class);
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
    static PyMethodDef def = {"__build_class__", (PyCFunction)(void (*)(void))build_and_patch,
                              METH_VARARGS | METH_KEYWORDS, NULL};
    PyObject *original, *function, *base;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO!:patch_conversions", &original, &function, &PyType_Type,
                          &base))
        return NULL;
    vector_call *call = layout_is_known() ? layout_vectorcall(function) : NULL;
    if (!call)
        return Py_NewRef(original);
    call_function = *call;
    build_class = Py_NewRef(original);
    plain_base = Py_NewRef(base);
    make_class = (newfunc)((struct type_struct *)&PyType_Type)->new;
    if (slot_replace(&PyType_Type, (void *)make_class, (void *)make_and_resolve) < 0)
        return NULL;
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
     "patch_conversions(build_class, function, base)\n--\n\n"
     "Make NumPy accept classes whose __array__ returns an mxnp array: those that exist, and "
     "those that the returned __build_class__ makes. `function` is any function written in "
     "Python. `base` takes the place of mxnp.ndarray in classes with a metaclass."},
    {NULL, NULL, 0, NULL},
};
