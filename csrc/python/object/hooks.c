/* hooks.c -- methods that report their calls, before they are made and afterwards.
 *
 * While a watcher is active, mxnp/_verify/hooks.py replaces each method that is an operation by
 * a hook.  Without a watcher, there are no hooks, so they cost nothing.  A hook calls the
 * original from C.  Warnings and errors of NumPy name the program's line as before, because no
 * Python frame of mxnp lies between.
 */
#include "python/object/hooks.h"
#include "ir/ops.h"
#include "python/base/refusal.h"
#include "python/base/state.h"
#include "python/base/types.h"
#include "python/object/checks.h"
#include "python/record/memory.h"
#include "python/record/queue.h"

#define ARGUMENTS_OFFSET \
    ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

struct hook {
    PyObject_HEAD PyObject *original; /* the method */
    PyObject *begin; /* called with the original, its arguments and keywords; it returns None or
                      * a function, which is called with the result or the exception */
    vector_call call;
    struct operation_check
        operation; /* for ROLE_FUNCTION, that of the function that is called */
    unsigned char n_checked;
};

_Thread_local bool hooks_are_inside;
static PyObject *function_hook; /* the hook that replaces Function.__call__, or NULL */

/* Report a result, whose reference is stolen, or the exception that is set.  Return what the
 * program receives. */
static PyObject *hooks_report(PyObject *end, PyObject *result)
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

static PyObject *hooks_begin(const struct hook *hook, PyObject *args, PyObject *kwargs)
{
    return PyObject_CallFunctionObjArgs(hook->begin, hook->original, args,
                                        kwargs ? kwargs : Py_None, NULL);
}

/* Ask the watchers before a call and afterwards. */
static PyObject *call_watched(const struct hook *hook, const struct call *call)
{
    PyObject *args, *kwargs, *result = NULL;
    if (checks_collect(call, &args, &kwargs) < 0)
        return NULL;
    PyObject *end = hooks_begin(hook, args, kwargs);
    if (end)
        result = PyObject_Call(hook->original, args, kwargs);
    if (end && end != Py_None)
        result = hooks_report(end, result);
    Py_XDECREF(end);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

/* Ask the watchers after a call, as if it had not been made yet.  The reference to the result
 * is stolen. */
static PyObject *ask_afterwards(const struct hook *hook, const struct call *call,
                                struct check *check, PyObject *result)
{
    PyObject *type, *error, *traceback, *args, *kwargs, *end = NULL;
    PyErr_Fetch(&type, &error, &traceback);
    checks_rewind(check);
    if (checks_collect(call, &args, &kwargs) == 0) {
        end = hooks_begin(hook, args, kwargs);
        Py_DECREF(args);
        Py_XDECREF(kwargs);
    }
    checks_restore(check);
    if (!end) {
        Py_CLEAR(result);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyErr_Restore(type, error, traceback);
    if (end != Py_None)
        result = hooks_report(end, result);
    Py_DECREF(end);
    return result;
}

/* Call the original.  That of Function.__call__ is the function, whose first argument it is. */
static PyObject *call_original(const struct hook *hook, const struct call *call)
{
    if (hook->operation.role != ROLE_FUNCTION)
        return checks_call(hook->original, call->args, call->n, call->names);
    PyObject *f = call->args[0];
    return ((struct function *)f)->call(f, call->args + 1, call->n - 1, call->names);
}

static PyObject *call_checked(const struct hook *hook, const struct call *call,
                              struct check *check)
{
    PyObject *result = call_original(hook, call);
    int is_right = checks_after(check, result);
    if (is_right < 0)
        Py_CLEAR(result);
    if (is_right == 0 || (is_right < 0 && !refusal_is_handlers()))
        result = ask_afterwards(hook, call, check, result);
    checks_end(check);
    return result;
}

/* Find out what is done about a function, once for each setting of the checks. */
static enum verdict examine(struct function *f, const struct call *call,
                            struct operation_check *operation)
{
    if (f->check_epoch != checks_epoch) {
        enum verdict verdict = checks_function((PyObject *)f);
        if (verdict == CHECK_FAILED)
            return verdict;
        f->check_epoch = checks_epoch;
        f->n_checked = 0;
        f->verdict = (unsigned char)verdict;
    }
    const struct mx_op_row *row = f->operation >= 0 ? core->mx_op_get(f->operation) : NULL;
    bool has_no_out = row && !call->names && call->n == (size_t)row->nin;
    operation->role = has_no_out ? ROLE_OPERATOR : ROLE_FUNCTION;
    operation->reference = f->wrapped;
    operation->choose = f->choose == Py_None ? NULL : f->choose;
    return (enum verdict)f->verdict;
}

static PyObject *call_reported(struct hook *hook, const struct call *call)
{
    struct operation_check operation = hook->operation;
    struct call given = *call;
    struct check check;
    unsigned char *calls = &hook->n_checked;
    if (operation.role == ROLE_FUNCTION) {
        struct function *f = (struct function *)call->args[0];
        given.args++;
        given.n--;
        enum verdict verdict = examine(f, &given, &operation);
        if (verdict == CHECK_FAILED)
            return NULL;
        if (verdict == CHECK_SKIP)
            return call_original(hook, call);
        if (verdict == CHECK_ASK)
            operation.role = ROLE_OTHER;
        calls = &f->n_checked;
    }
    switch (checks_before(&check, &operation, &given, calls)) {
    case CHECK_SKIP:
        return call_original(hook, call);
    case CHECK_CALL:
        return call_checked(hook, call, &check);
    case CHECK_FAILED:
        return NULL;
    default:
        return call_watched(hook, call);
    }
}

static PyObject *hook_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    struct hook *hook = (struct hook *)self;
    struct call call = {args, flags & ~ARGUMENTS_OFFSET, names};
    if (hooks_are_inside || call.n == 0)
        return checks_call(hook->original, args, call.n, names);
    hooks_are_inside = true;
    PyObject *result = checks_are_on() ? call_reported(hook, &call) : call_watched(hook, &call);
    hooks_are_inside = false;
    return result;
}

PyObject *hooks_call_function(PyObject *const *values, size_t n, PyObject *names)
{
    return hook_vectorcall(function_hook, values, n, names);
}

#define MOST_ARGUMENTS 64 /* arguments that are copied to the stack */

static PyObject *hook_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct hook *hook = (struct hook *)self;
    PyObject *values[MOST_ARGUMENTS], *key, *value, *names = NULL, *result;
    Py_ssize_t n = PyTuple_Size(args), m = kwargs ? PyDict_Size(kwargs) : 0, at = 0;
    if (n + m > MOST_ARGUMENTS)
        return PyObject_Call(hook->original, args, kwargs);
    for (Py_ssize_t i = 0; i < n; i++)
        values[i] = PyTuple_GetItem(args, i);
    if (m > 0 && !(names = PyTuple_New(m)))
        return NULL;
    for (Py_ssize_t i = 0; m > 0 && PyDict_Next(kwargs, &at, &key, &value); i++) {
        PyTuple_SetItem(names, i, Py_NewRef(key));
        values[n + i] = value;
    }
    result = hook_vectorcall(self, values, (size_t)n, names);
    Py_XDECREF(names);
    return result;
}

static PyObject *hook_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", "", "", "", NULL};
    PyObject *original, *begin, *reference = Py_None;
    int role = ROLE_OTHER, is_reflected = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|iOp:Hook", names, &original, &begin,
                                     &role, &reference, &is_reflected))
        return NULL;
    struct hook *self = (struct hook *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->original = Py_NewRef(original);
    self->begin = Py_NewRef(begin);
    self->call = hook_vectorcall;
    self->operation.role = (enum role)role;
    self->operation.reference = Py_NewRef(reference);
    self->operation.is_reflected = is_reflected;
    if (role == ROLE_FUNCTION) {
        Py_XDECREF(function_hook);
        function_hook = Py_NewRef((PyObject *)self);
    }
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
    Py_VISIT(((struct hook *)self)->operation.reference);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int hook_clear(PyObject *self)
{
    Py_CLEAR(((struct hook *)self)->original);
    Py_CLEAR(((struct hook *)self)->begin);
    Py_CLEAR(((struct hook *)self)->operation.reference);
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

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct hook, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, hook_new},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear},
    {Py_tp_call, hook_call},
    {Py_tp_descr_get, hook_get},
    {Py_tp_getattro, hook_getattr},
    {Py_tp_members, hook_members},
    {0, NULL},
};

PyType_Spec hook_spec = {
    .name = "mxnp._bridge.Hook",
    .basicsize = sizeof(struct hook),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR | HAS_VECTORCALL,
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
    return Py_XNewRef(memory_is_lent(a) ? queue_to_read(a) : queue_to_write(a));
}

PyMethodDef hook_methods[] = {
    {"peek", peek, METH_O,
     "peek(array)\n--\n\nCompute the array, and return the NumPy array inside for temporary "
     "use."},
    {NULL, NULL, 0, NULL},
};
