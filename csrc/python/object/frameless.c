/* frameless.c -- functions written in Python whose frames no traceback shows.
 *
 * The program calls them directly, as it calls compiled functions of NumPy.  They have all
 * attributes of the function, also __class__, so that other code takes them for it.
 */
#include "python/object/frameless.h"
#include "python/convert/convert.h"
#include "python/packages/layout.h"
#include "python/profile/traceback.h"
#include "python/record/queue.h"

struct frameless {
    PyObject_HEAD PyObject *function;
    vector_call call; /* NULL if the function has none */
    bool flushes;     /* recorded operations run before the function, and warn */
    bool prepares;    /* it may return a function and its arguments, for a call without it */
};

static PyObject *function_of(PyObject *self) { return ((struct frameless *)self)->function; }

static int frameless_begin(PyObject *self)
{
    bool flushes = ((struct frameless *)self)->flushes && queue_recorded > queue_done;
    return flushes ? queue_flush_for("warnings") : 0;
}

/* Call what the function has returned.  A warning then names the line of the program, and not
 * the function, which is over.  A function of mxnp has adopted its result. */
static PyObject *call_prepared(PyObject *prepared)
{
    struct call_args none = {0};
    PyObject *callable = PyTuple_GetItem(prepared, 0);
    PyObject *args = PyTuple_GetSlice(prepared, 1, PyTuple_Size(prepared));
    PyObject *result = args ? PyObject_CallObject(callable, args) : NULL;
    bool is_adopted = is_function(callable);
    Py_XDECREF(args);
    Py_DECREF(prepared);
    return is_adopted ? result : convert_adopt(result, &none, MAX_DEPTH);
}

static PyObject *frameless_end(PyObject *self, PyObject *result)
{
    if (result && ((struct frameless *)self)->prepares && PyTuple_CheckExact(result))
        result = call_prepared(result);
    if (!result)
        traceback_hide_own();
    return result;
}

static PyObject *frameless_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                      PyObject *names)
{
    PyObject *function = function_of(self);
    return frameless_end(self, frameless_begin(self) < 0 ? NULL
                                                         : (*layout_vectorcall(function))(
                                                               function, args, flags, names));
}

static PyObject *frameless_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return frameless_end(self, frameless_begin(self) < 0
                                   ? NULL
                                   : PyObject_Call(function_of(self), args, kwargs));
}

static PyObject *frameless_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function;
    int flushes = 0, prepares = 0;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O|pp:frameless", &function, &flushes, &prepares))
        return NULL;
    struct frameless *self = (struct frameless *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    const vector_call *call = layout_is_known() ? layout_vectorcall(function) : NULL;
    self->function = Py_NewRef(function);
    self->call = call && *call ? frameless_vectorcall : NULL;
    self->flushes = flushes;
    self->prepares = prepares;
    return (PyObject *)self;
}

static PyObject *frameless_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (!instance || instance == Py_None)
        return Py_NewRef(self);
    return PyObject_CallFunctionObjArgs(method_class, self, instance, NULL);
}

/* It is pickled and copied by name, as functions are. */
static PyObject *frameless_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *frameless_getattr(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(function_of(self), name);
}

static int frameless_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(function_of(self), name, value);
}

static PyObject *frameless_repr(PyObject *self) { return PyObject_Repr(function_of(self)); }

static int frameless_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(function_of(self));
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int frameless_clear(PyObject *self)
{
    Py_CLEAR(((struct frameless *)self)->function);
    return 0;
}

static void frameless_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    frameless_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef frameless_methods[] = {
    {"__reduce__", frameless_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef frameless_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct frameless, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot frameless_slots[] = {
    {Py_tp_new, frameless_new},           {Py_tp_dealloc, frameless_dealloc},
    {Py_tp_traverse, frameless_traverse}, {Py_tp_clear, frameless_clear},
    {Py_tp_call, frameless_call},         {Py_tp_descr_get, frameless_get},
    {Py_tp_getattro, frameless_getattr},  {Py_tp_setattro, frameless_setattr},
    {Py_tp_repr, frameless_repr},         {Py_tp_methods, frameless_methods},
    {Py_tp_members, frameless_members},   {0, NULL},
};

PyType_Spec frameless_spec = {
    .name = "mxnp._bridge.frameless",
    .basicsize = sizeof(struct frameless),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | HAS_VECTORCALL,
    .slots = frameless_slots,
};
