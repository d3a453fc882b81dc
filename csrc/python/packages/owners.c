/* owners.c -- whose code is running: the program's, a package's, or neither's.
 *
 * The name of the module in the globals of code tells.  mxnp/_interop/door.py finds out once to
 * whom a module belongs.
 */
#include "python/packages/owners.h"
#include "python/base/refusal.h"

/* The frame that called compiled code of a package in this thread, or NULL.  Compiled code has
 * no frame, so its own calls seem to come from there. */
static _Thread_local void *compiled_caller;

struct noted_caller owners_enter(void)
{
    void **place = &compiled_caller, *former = *place;
    *place = layout_running_frame();
    return (struct noted_caller){place, former};
}

#define N_CALLERS 64

/* The names of the modules of callers, and their owners. */
static struct caller {
    PyObject *name;
    int owner;
} callers[N_CALLERS];

static struct caller *find_caller(PyObject *name)
{
    return &callers[(size_t)name / sizeof(PyObject) % N_CALLERS];
}

static PyObject *find_owner; /* of door.py: by the name of a module, and its globals if known */
static PyObject *owners;     /* by the name of a module */
static PyObject *name_string;

bool owners_have_asked;

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
    owners_have_asked |= owner == ASKED_PACKAGE;
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
    struct caller *caller = find_caller(name);
    if (name && name == caller->name)
        return caller->owner;
    int owner = globals ? owners_of_module(name, globals) : NOBODY;
    if (owner >= 0 && name && PyUnicode_CheckExact(name)) {
        PyObject *former = caller->name;
        *caller = (struct caller){Py_NewRef(name), owner};
        Py_XDECREF(former);
    }
    return owner;
}

void owners_forget(void)
{
    for (int i = 0; i < N_CALLERS; i++)
        Py_CLEAR(callers[i].name);
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
