/* attributes.c -- attributes that the program sets on objects of packages.
 *
 * The interpreter sets an attribute without a call, unless the class has a slot of its own for
 * this.  A class gets one if its code reads an attribute that the program's code sets.
 * mxnp/_interop/door.py decides which classes these are.
 */
#include "python/packages/attributes.h"
#include "python/base/refusal.h"
#include "python/packages/arguments.h"
#include "python/packages/crossing.h"
#include "python/packages/layout.h"
#include "python/packages/owners.h"
#include "python/packages/slots.h"

static PyObject *reads_attribute; /* of door.py: whether code of a class reads an attribute */

/* Check whether a package should get a NumPy array in place of an attribute's value.  Return 1,
 * 0, or -1 with an exception set. */
static int is_given(PyObject *self, PyObject *name, PyObject *value)
{
    int is_own = is_array(value) ? 1 : owners_is_program();
    if (is_own <= 0)
        return is_own;
    PyObject *reads =
        PyObject_CallFunctionObjArgs(reads_attribute, (PyObject *)Py_TYPE(self), name, NULL);
    int status = reads ? reads == Py_True : refusal_drop();
    Py_XDECREF(reads);
    return status;
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
    int is = !value || argument_is_leaf(value) ? 0 : is_given(self, name, value);
    PyObject *given = is > 0 ? crossing.give(value) : is == 0 ? Py_XNewRef(value) : NULL;
    if (value && !given)
        return -1;
    int status = PyObject_GenericSetAttr(self, name, given);
    Py_XDECREF(given);
    return status;
}

/* -- object.__setattr__ and object.__delattr__ -------------------------------------------- */

/* They refuse objects of a class whose slot is another one than theirs.  So the functions that
 * they share with all other classes are replaced where Python has them.  With functions of
 * their own, subclasses of `object` would inherit no slot. */
typedef PyObject *(*wrapper_call)(PyObject *self, PyObject *args, void *wrapped);
static wrapper_call call_set, call_delete;
static bool is_watching; /* whether a class has such a slot */

static bool has_slot(PyTypeObject *class)
{
    struct type_struct *each = (struct type_struct *)class;
    while (each && each->setattro != (void *)set_attribute)
        each = (struct type_struct *)each->base;
    return each;
}

static PyObject *attributes_wrap(wrapper_call original, PyObject *self, PyObject *args,
                                 void *wrapped)
{
    bool is_set = original == call_set;
    if (!is_watching || wrapped != (void *)PyObject_GenericSetAttr ||
        PyTuple_Size(args) != 1 + is_set || !has_slot(Py_TYPE(self)))
        return original(self, args, wrapped);
    if (set_attribute(self, PyTuple_GetItem(args, 0),
                      is_set ? PyTuple_GetItem(args, 1) : NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *wrap_set(PyObject *self, PyObject *args, void *wrapped)
{
    return attributes_wrap(call_set, self, args, wrapped);
}

static PyObject *wrap_delete(PyObject *self, PyObject *args, void *wrapped)
{
    return attributes_wrap(call_delete, self, args, wrapped);
}

static bool replace_wrapper(const char *name, wrapper_call *original, wrapper_call replacement)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, name);
    struct slot_descriptor *descriptor = (struct slot_descriptor *)found;
    Py_XDECREF(found); /* which stays in the class */
    if (!found || descriptor->wrapped != (void *)PyObject_GenericSetAttr)
        return false;
    *original = descriptor->base->wrapper;
    descriptor->base->wrapper = replacement;
    return true;
}

/* -- Names in code ------------------------------------------------------------------------ */

enum { MANY_WRAPPERS = 64 }; /* functions around one another, which may be a circle */

static PyObject *code_string, *names_string, *constants_string, *wrapped_string, *update_string;

static int make_strings(void)
{
    if (update_string)
        return 0;
    code_string = PyUnicode_InternFromString("__code__");
    names_string = PyUnicode_InternFromString("co_names");
    constants_string = PyUnicode_InternFromString("co_consts");
    wrapped_string = PyUnicode_InternFromString("__wrapped__");
    update_string = PyUnicode_InternFromString("update");
    return PyErr_Occurred() ? -1 : 0;
}

/* Add the names in code, and in the functions in it, to a set.  Return 0, or -1 with an
 * exception set. */
static int add_names(PyObject *names, PyObject *code)
{
    PyObject *own = PyObject_GetAttr(code, names_string);
    PyObject *constants = own ? PyObject_GetAttr(code, constants_string) : NULL;
    PyObject *done =
        constants ? PyObject_CallMethodObjArgs(names, update_string, own, NULL) : NULL;
    int status = done ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_Size(constants); i++)
        if (Py_TYPE(PyTuple_GetItem(constants, i)) == Py_TYPE(code))
            status = add_names(names, PyTuple_GetItem(constants, i));
    Py_XDECREF(own);
    Py_XDECREF(constants);
    Py_XDECREF(done);
    return status;
}

/* The same for a function, and those that it wraps. */
static int add_names_of(PyObject *names, PyObject *function)
{
    int status = 0;
    Py_INCREF(function);
    for (int i = 0; i < MANY_WRAPPERS && status == 0 && Py_TYPE(function) == function_class;
         i++) {
        PyObject *code = PyObject_GetAttr(function, code_string);
        PyObject *wrapped = PyObject_HasAttr(function, wrapped_string)
                                ? PyObject_GetAttr(function, wrapped_string)
                                : Py_NewRef(Py_None);
        status = code && wrapped ? add_names(names, code) : -1;
        Py_XDECREF(code);
        Py_DECREF(function);
        function = wrapped ? wrapped : Py_NewRef(Py_None);
    }
    Py_DECREF(function);
    return status;
}

/* -- Methods of the module ---------------------------------------------------------------- */

static PyObject *set_reader(PyObject *self, PyObject *function)
{
    (void)self;
    Py_XDECREF(reads_attribute);
    reads_attribute = Py_NewRef(function);
    bool is_set = call_delete ||
                  (layout_is_known() && replace_wrapper("__setattr__", &call_set, wrap_set) &&
                   replace_wrapper("__delattr__", &call_delete, wrap_delete));
    return PyBool_FromLong(is_set);
}

static PyObject *watch_attributes(PyObject *self, PyObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    (void)self;
    if (!PyType_Check(class))
        return PyErr_Format(PyExc_TypeError, "watch_attributes() takes a class");
    if (call_delete && type->flags & Py_TPFLAGS_HEAPTYPE &&
        type->setattro == (void *)PyObject_GenericSetAttr) {
        is_watching = true;
        if (slot_replace((PyTypeObject *)class, type->setattro, (void *)set_attribute) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *names_in(PyObject *self, PyObject *functions)
{
    PyObject *names = make_strings() < 0 ? NULL : PySet_New(NULL);
    int status = names ? 0 : -1;
    (void)self;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(functions); i++)
        status = add_names_of(names, PyList_GetItem(functions, i));
    if (status < 0)
        Py_CLEAR(names);
    return names;
}

PyMethodDef attributes_methods[] = {
    {"names_in", names_in, METH_O,
     "names_in(functions)\n--\n\n"
     "Return the names in the code of a list of functions, also of functions in them or behind "
     "decorators."},
    {"set_reader", set_reader, METH_O,
     "set_reader(function)\n--\n\n"
     "Set the function that tells whether code of a class reads an attribute. Return False if "
     "attributes cannot be watched."},
    {"watch_attributes", watch_attributes, METH_O,
     "watch_attributes(class)\n--\n\n"
     "Put NumPy arrays in place of mxnp arrays that the program sets as attributes."},
    {NULL, NULL, 0, NULL},
};
