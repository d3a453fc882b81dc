/* queue.c -- what is recorded runs: before its memory is read, or when there is much of it. */
#include "python/queue.h"

#include <signal.h>
#include <time.h>

#define SIGNALS_EVERY 20000000 /* nanoseconds between looks for an interrupt */

const struct mx_recorder *core;
int64_t queue_recorded, queue_done;
size_t queue_kept;
Py_ssize_t queue_threshold = 16384;

/* The array that has lent what runs, until it is known whether it needs that again. */
static PyObject *lender;

/* Of the thread that runs the queue, while it has not the GIL. */
static _Thread_local PyThreadState *state;
static _Thread_local int64_t looked_at;
static _Thread_local bool is_interrupt_due; /* met, and its handler has not been called */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Asked by the core between chunks: whether Python has an interrupt for us.  Its handler has
 * to wait until the queue is left, because it may need the queue itself, or fork. */
static bool is_interrupted(void)
{
    int64_t time = now();
    if (is_interrupt_due || time - looked_at < SIGNALS_EVERY)
        return is_interrupt_due;
    looked_at = time;
    PyEval_RestoreThread(state);
    is_interrupt_due = PyOS_InterruptOccurred();
    state = PyEval_SaveThread();
    return is_interrupt_due;
}

/* Calls the handler of the interrupt that was met, as Python would have; it may raise. */
static void handle_interrupt(void)
{
    PyObject *type, *value, *traceback, *result = NULL;
    is_interrupt_due = false;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *module = PyImport_ImportModule("signal");
    PyObject *handler = module ? PyObject_CallMethod(module, "getsignal", "i", SIGINT) : NULL;
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    if (handler && !PyCallable_Check(handler)) /* ignored, or left to the system */
        result = Py_NewRef(Py_None);
    else if (handler)
        result = PyObject_CallFunction(handler, "iO", SIGINT, frame ? frame : Py_None);
    Py_XDECREF(module);
    Py_XDECREF(handler);
    if (result) {
        Py_DECREF(result);
        PyErr_Restore(type, value, traceback);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static void raise_failure(int status)
{
    if (status == MX_INTERRUPTED)
        return; /* its handler may raise */
    PyErr_SetString(status == MX_ERROR_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError,
                    core->error_message());
}

/* What NumPy's warnings call it. */
static const char *name_of(const struct mx_instruction *in)
{
    return in->kind == MX_REDUCE ? "reduce" : in->kind == MX_SCAN ? "accumulate" : in->name;
}

/* Tells of what was met and lets go of what was kept. */
static int finish(struct mx_instruction *items, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        struct place *place = items[i].place;
        int met = atomic_load(&items[i].raised);
        if (met && status == 0)
            status = place_warn(place, met, name_of(&items[i]));
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < count; i++)
        if (!items[i].is_kept)
            place_free(items[i].place);
    core->free(items);
    PyErr_Restore(type, value, traceback);
    return status;
}

/* After a run: what was lent is still to be written, if its owner is there.  Gives the
 * reference to it. */
static PyObject *settle_lender(void)
{
    PyObject *owner = lender;
    lender = NULL;
    queue_kept = core->kept();
    if (owner && queue_kept > 0) {
        queue_recorded = core->recorded();
        as_array(owner)->used = as_array(owner)->written = queue_recorded;
    }
    return owner;
}

/* Runs what is recorded by now. */
static int flush_once(void)
{
    struct mx_instruction *items = NULL;
    PyObject *owner = NULL;
    size_t count = 0;
    if (!core->try_enter()) {
        PyThreadState *saved = PyEval_SaveThread();
        core->enter();
        PyEval_RestoreThread(saved);
    }
    int status = core->prepare(&count);
    if (status == MX_OK) {
        if (!lender)
            Py_XINCREF(lender = core->lender());
        looked_at = now();
        state = PyEval_SaveThread();
        status = core->run(is_interrupted);
        PyEval_RestoreThread(state);
    }
    if (status == MX_OK) {
        items = core->take_back(&count);
        queue_done = core->done();
        owner = settle_lender();
    }
    core->leave();
    if (status != MX_OK)
        raise_failure(status);
    else
        finish(items, count);
    Py_XDECREF(owner);
    if (is_interrupt_due) /* even without MX_INTERRUPTED: the last chunk was begun */
        handle_interrupt();
    return PyErr_Occurred() ? -1 : 0;
}

int queue_flush(void)
{
    int64_t last = queue_recorded;
    while (queue_done < last)
        if (flush_once() < 0)
            return -1;
    return 0;
}

/* One reference is the caller's own and one that of the arguments.  Where there are borrowed
 * references nothing can be told from the number. */
static bool is_passed_along(PyObject *a)
{
    return Py_REFCNT(a) == 2 && Py_Version < 0x030e0000;
}

struct mx_buffer *queue_lend(PyObject *args)
{
    PyObject *a = NULL; /* the first, or that of a method of a ufunc */
    for (Py_ssize_t i = 0; i < 2 && i < PyTuple_Size(args) && !a; i++)
        if (is_array(PyTuple_GetItem(args, i)))
            a = PyTuple_GetItem(args, i);
    if (!a || !is_passed_along(a) || !is_unwritten(a))
        return NULL;
    const struct array *array = as_array(a);
    if (array->base || array->is_exported || array->n_exports > 0 || array->is_pinned)
        return NULL;
    struct mx_buffer *buffer = memory_of(array->host);
    if (buffer)
        buffer->lender = a;
    return buffer;
}

void queue_drop_kept(void)
{
    size_t count;
    struct mx_instruction *items = core->drop_kept(&count);
    if (!items)
        return;
    queue_kept = 0;
    queue_done = core->done();
    for (size_t i = 0; i < count; i++)
        place_free(items[i].place);
    core->free(items);
}

int queue_before_view(PyObject *a)
{
    if (!is_unwritten(a))
        return 0;
    struct mx_buffer *buffer = memory_of(root_of(a)->host);
    if (buffer && core->buffer_place(buffer) != MX_OK) {
        PyErr_SetString(PyExc_MemoryError, core->error_message());
        return -1;
    }
    return 0;
}

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *flush(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (queue_flush() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *pending(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(queue_recorded - queue_done);
}

static PyObject *set_threshold(PyObject *module, PyObject *size)
{
    (void)module;
    Py_ssize_t before = queue_threshold, after = PyNumber_AsSsize_t(size, NULL);
    if (after == -1 && PyErr_Occurred())
        return NULL;
    queue_threshold = after;
    return PyLong_FromSsize_t(before);
}

/* Around os.fork, nobody is inside the stream; the GIL is not held while waiting. */
static PyObject *before_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyThreadState *saved = PyEval_SaveThread();
    core->enter();
    PyEval_RestoreThread(saved);
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    core->leave();
    Py_RETURN_NONE;
}

PyMethodDef queue_methods[] = {
    {"flush", flush, METH_NOARGS, "flush()\n--\n\nRun everything recorded."},
    {"pending", pending, METH_NOARGS,
     "pending()\n--\n\nGive the number of operations recorded and not yet run."},
    {"set_threshold", set_threshold, METH_O,
     "set_threshold(size)\n--\n\nRecord operations on arrays from this size on; give the "
     "size before."},
    {"before_fork", before_fork, METH_NOARGS, "before_fork()\n--\n\nWait for running work."},
    {"after_fork", after_fork, METH_NOARGS, "after_fork()\n--\n\nLet work run again."},
    {NULL, NULL, 0, NULL},
};
