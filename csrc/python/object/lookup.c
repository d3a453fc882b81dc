/* lookup.c -- the __getattr__ of a mirrored module. */
#include "python/object/lookup.h"

struct lookup {
    PyObject_HEAD PyObject *original; /* NumPy's module */
    PyObject *convert; /* called with the mirrored module, the name and NumPy's value */
    PyObject *module;
    PyObject *deferred; /* names of mxnp, and functions that load them */
};

static PyObject *lookup_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"module", "original", "convert", "deferred", NULL};
    PyObject *module, *original, *convert, *deferred;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!:Lookup", names, &module, &original,
                                     &convert, &PyDict_Type, &deferred))
        return NULL;
    struct lookup *self = (struct lookup *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->module = Py_NewRef(module);
    self->original = Py_NewRef(original);
    self->convert = Py_NewRef(convert);
    self->deferred = Py_NewRef(deferred);
    return (PyObject *)self;
}

/* It is written in C so that NumPy's warning about a deprecated name names the program's line.
 */
static PyObject *lookup_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct lookup *lookup = (struct lookup *)self;
    PyObject *name;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "U:__getattr__", &name))
        return NULL;
    PyObject *load = PyDict_GetItemWithError(lookup->deferred, name);
    if (load) {
        PyObject *own = PyObject_CallNoArgs(load);
        if (own && PyObject_SetAttr(lookup->module, name, own) < 0)
            Py_CLEAR(own);
        return own;
    }
    PyObject *value = PyObject_GetAttr(lookup->original, name);
    if (!value)
        return NULL;
    PyObject *out =
        PyObject_CallFunctionObjArgs(lookup->convert, lookup->module, name, value, NULL);
    Py_DECREF(value);
    return out;
}

static void lookup_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct lookup *lookup = (struct lookup *)self;
    Py_XDECREF(lookup->module);
    Py_XDECREF(lookup->original);
    Py_XDECREF(lookup->convert);
    Py_XDECREF(lookup->deferred);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot lookup_slots[] = {
    {Py_tp_new, lookup_new},
    {Py_tp_dealloc, lookup_dealloc},
    {Py_tp_call, lookup_call},
    {0, NULL},
};

PyType_Spec lookup_spec = {
    .name = "mxnp._bridge.Lookup",
    .basicsize = sizeof(struct lookup),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = lookup_slots,
};
