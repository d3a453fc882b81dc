/* hooks.c -- calls that somebody is told of: before they are made, and after.
 *
 * While operations are watched, Python puts one of these into the place of each method that is
 * one (see mxnp/_verify/hooks.py); when nobody watches, there is nothing of it on any path.  It
 * calls the original from C: no frame of ours comes between the program and NumPy, whose
 * warnings and errors name the program's line as ever.
 */
#include "python/object/hooks.h"
#include "python/base/types.h"
#include "python/record/queue.h"

struct hook {
    PyObject_HEAD PyObject *original; /* the method */
    PyObject *begin; /* called with the original, its arguments and keywords: gives None, or
                      * what is to be called with the result or the exception */
};

/* Whether this thread is in a watched call: what that calls in turn is not watched. */
static _Thread_local bool is_inside;

/* Takes a result, or the exception that is set; gives what the program gets. */
static PyObject *tell(PyObject *end, PyObject *result)
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
        if (answer) /* an exception: raised here, it has the program's frames only */
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
        result = tell(end, result);
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

/* Name, text and signature are the original's. */
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

/* The NumPy array of an array whose elements are there.  It does not count as exported: the
 * caller lets go of it before the program goes on. */
static PyObject *peek(PyObject *module, PyObject *a)
{
    (void)module;
    if (!is_array(a)) {
        PyErr_SetString(PyExc_TypeError, "an mxnp array is needed");
        return NULL;
    }
    return queue_before_write(a) < 0 ? NULL : Py_NewRef(as_array(a)->np_array);
}

PyMethodDef hook_methods[] = {
    {"peek", peek, METH_O,
     "peek(array)\n--\n\nGive the NumPy array inside, for a moment, once it is computed."},
    {NULL, NULL, 0, NULL},
};
