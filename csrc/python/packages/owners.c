/* owners.c -- whose code is running: the program's, a package's, or neither's.
 *
 * The name of the module in the globals of code tells.  mxnp/_interop/door.py finds out once to
 * whom a module belongs.
 */
#include "python/packages/owners.h"
#include "python/base/refusal.h"

_Thread_local void *compiled_caller;

/* The name of the last caller's module, and its owner. */
static PyObject *last_name;
static int last_owner;

static PyObject *find_owner; /* of door.py: by the name of a module, and its globals if known */
static PyObject *owners;     /* by the name of a module */
static PyObject *name_string;

int owners_of_module(PyObject *name, PyObject *globals)
{
    if (!name || !PyUnicode_CheckExact(name))
        return globals ? PROGRAM : NOBODY; /* code that was passed to exec() with a dict */
    PyObject *known = PyDict_GetItemWithError(owners, name);
    if (known)
        return (int)PyLong_AsLong(known);
    PyObject *found =
        PyObject_CallFunctionObjArgs(find_owner, name, globals ? globals : Py_None, NULL);
    int owner = found ? (int)PyLong_AsLong(found) : refusal_drop();
    if (found && PyDict_SetItem(owners, name, found) < 0)
        owner = -1;
    Py_XDECREF(found);
    return owner;
}

int owners_of_caller(void)
{
    if (compiled_caller && compiled_caller == layout_running_frame())
        return PACKAGE;
    PyObject *globals = find_owner ? PyEval_GetGlobals() : NULL;
    PyObject *name = globals ? PyDict_GetItemWithError(globals, name_string) : NULL;
    if (name && name == last_name)
        return last_owner;
    int owner = globals ? owners_of_module(name, globals) : NOBODY;
    if (owner >= 0 && name && PyUnicode_CheckExact(name)) {
        PyObject *former = last_name;
        last_name = Py_NewRef(name);
        last_owner = owner;
        Py_XDECREF(former);
    }
    return owner;
}

void owners_forget(void)
{
    Py_CLEAR(last_name);
    if (owners)
        PyDict_Clear(owners);
}

static PyObject *set_owners(PyObject *self, PyObject *function)
{
    (void)self;
    owners = PyDict_New();
    name_string = PyUnicode_InternFromString("__name__");
    if (!owners || !name_string)
        return NULL;
    layout_find_frame();
    find_owner = Py_NewRef(function);
    Py_RETURN_NONE;
}

PyMethodDef owners_methods[] = {
    {"set_owners", set_owners, METH_O,
     "set_owners(function)\n--\n\n"
     "Set the function of _interop/door.py that tells to whom a module belongs."},
    {NULL, NULL, 0, NULL},
};
