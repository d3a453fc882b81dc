/* hooks.c -- methods that report their calls, before they are made and afterwards.
 *
 * While a watcher is active, mxnp/_verify/hooks.py replaces each method that is an operation by
 * a hook.  Without a watcher, there are no hooks, so they cost nothing.  A hook calls the
 * original from C.  Warnings and errors of NumPy name the program's line as before, because no
 * Python frame of mxnp lies between.
 */
#include "python/object/hooks.h"
#include "python/base/types.h"
#include "python/record/queue.h"

struct hook {
    PyObject_HEAD PyObject *original; /* the method */
    PyObject *begin; /* called with the original, its arguments and keywords; it returns None or
                      * a function, which is called with the result or the exception */
};

/* Whether this thread is in a call of a hook: the calls inside are not reported. */
static _Thread_local bool is_inside;

/* Report a result, whose reference is stolen, or the exception that is set.  Return what the
 * program receives. */
static PyObject *report(PyObject *end, PyObject *result)
{
    PyObject *type = NULL, *error = NULL, *traceback = NULL;
    if (!result) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error && traceback)
            PyException_SetTraceback(error, traceback);
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(end, result ? result : Py_None,
                                                    error ? error : Py_None, NULL);
    if (answer == Py_None) {
        PyErr_Restore(type, error, traceback);
    } else {
        if (answer) /* an exception: raised in C, its traceback shows only the program */
            PyErr_SetObject((PyObject *)Py_TYPE(answer), answer);
        Py_CLEAR(result);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
    }
    Py_XDECREF(answer);
    return result;
}

static PyObject *hook_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct hook *hook = (struct hook *)self;
    if (is_inside)
        return PyObject_Call(hook->original, args, kwargs);
    is_inside = true;
    PyObject *result = NULL,
             *end = PyObject_CallFunctionObjArgs(hook->begin, hook->original, args,
                                                 kwargs ? kwargs : Py_None, NULL);
    if (end)
        result = PyObject_Call(hook->original, args, kwargs);
    if (end && end != Py_None)
        result = report(end, result);
    Py_XDECREF(end);
    is_inside = false;
    return result;
}

static PyObject *hook_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", NULL};
    PyObject *original, *begin;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:Hook", names, &original, &begin))
        return NULL;
    struct hook *self = (struct hook *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->original = Py_NewRef(original);
    self->begin = Py_NewRef(begin);
    return (PyObject *)self;
}

static PyObject *hook_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (!instance || instance == Py_None)
        return Py_NewRef(self);
    return PyObject_CallFunctionObjArgs(method_class, self, instance, NULL);
}

/* The name, docstring and signature are those of the original. */
static PyObject *hook_getattr(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        value = PyObject_GetAttr(((struct hook *)self)->original, name);
    }
    return value;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct hook *)self)->original);
    Py_VISIT(((struct hook *)self)->begin);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int hook_clear(PyObject *self)
{
    Py_CLEAR(((struct hook *)self)->original);
    Py_CLEAR(((struct hook *)self)->begin);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    hook_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot hook_slots[] = {
    {Py_tp_new, hook_new},           {Py_tp_dealloc, hook_dealloc},
    {Py_tp_traverse, hook_traverse}, {Py_tp_clear, hook_clear},
    {Py_tp_call, hook_call},         {Py_tp_descr_get, hook_get},
    {Py_tp_getattro, hook_getattr},  {0, NULL},
};

PyType_Spec hook_spec = {
    .name = "mxnp._bridge.Hook",
    .basicsize = sizeof(struct hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = hook_slots,
};

/* The NumPy array does not count as exported, because the caller drops its reference before the
 * program continues. */
static PyObject *peek(PyObject *module, PyObject *a)
{
    (void)module;
    if (!is_array(a)) {
        PyErr_SetString(PyExc_TypeError, "peek() takes an mxnp array");
        return NULL;
    }
    return queue_before_write(a) < 0 ? NULL : Py_NewRef(as_array(a)->np_array);
}

PyMethodDef hook_methods[] = {
    {"peek", peek, METH_O,
     "peek(array)\n--\n\nCompute the array, and return the NumPy array inside for temporary "
     "use."},
    {NULL, NULL, 0, NULL},
};
