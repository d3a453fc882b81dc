/* queue.c -- what is recorded runs: before its memory is read, or when there is much of it. */
#include "python/queue.h"

#include <time.h>

#define LOOK_EVERY \
    20000000 /* nanoseconds between looks for signals; more where the GIL is busy */

const struct mx_recorder *core;
int64_t queue_recorded, queue_done;
size_t queue_kept;
Py_ssize_t queue_threshold = 16384;

/* The array that has lent what runs, until it is known whether it needs that again. */
static PyObject *lender;

/* The lock of the stream is never held while Python code runs, which may come back to the queue
 * (handlers of signals, finalizers), or while the GIL is waited for, where threads end together
 * with the interpreter.  But for forks: what their thread does then is inside already. */
static _Thread_local int forks;

static _Thread_local int64_t next_look; /* for signals, of the thread that runs the queue */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Asked by the core between chunks. */
static bool is_look_due(void) { return now() >= next_look; }

/* Lets Python handle signals.  -1 with an exception set. */
static int look_for_signals(PyThreadState *saved)
{
    int64_t begin = now();
    PyEval_RestoreThread(saved);
    int64_t waited = now() - begin;
    next_look = now() + (waited > LOOK_EVERY / 8 ? 8 * waited : LOOK_EVERY);
    return PyErr_CheckSignals();
}

static void raise_failure(int status)
{
    if (status == MX_ERROR_MEMORY)
        memory_raise_error();
    else
        PyErr_SetString(PyExc_RuntimeError, core->error_message());
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
        if (items[i].failed_by)
            failure_tell(&items[i]);
        else if (met && status == 0)
            status = place_warn(place, met, name_of(&items[i]));
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < count; i++)
        if (!items[i].is_kept) {
            core->release(&items[i]);
            place_free(items[i].place);
        }
    core->free(items);
    PyErr_Restore(type, value, traceback);
    return status;
}

int queue_enter(void)
{
    while (forks == 0 && !core->try_enter()) {
        PyThreadState *saved = PyEval_SaveThread();
        core->enter();
        core->leave();
        if (look_for_signals(saved) < 0)
            return -1;
    }
    return 0;
}

void queue_leave(void)
{
    if (forks == 0)
        core->leave();
}

/* What is known of a run that is over. */
struct outcome {
    struct mx_instruction *items;
    size_t count;
    int64_t done;
    PyObject *owner; /* a reference; what it has lent is still to be written, if it is there */
};

/* Inside, and without the GIL: nobody sees it until `done` is known outside. */
static void take_outcome(struct outcome *out)
{
    out->items = core->take_back(&out->count);
    out->done = core->done();
    out->owner = lender;
    lender = NULL;
    if (out->owner && core->kept() > 0)
        as_array(out->owner)->used = as_array(out->owner)->written = core->recorded();
}

static int tell_outcome(const struct outcome *out)
{
    queue_done = out->done > queue_done ? out->done : queue_done; /* others may have run more */
    queue_kept = core->kept();
    queue_recorded = core->recorded();
    int status = finish(out->items, out->count);
    Py_XDECREF(out->owner);
    return status;
}

/* Runs what is recorded by now, or some of it when signals are to be looked for. */
static int flush_once(void)
{
    struct outcome outcome;
    size_t count = 0;
    if (queue_enter() < 0)
        return -1;
    int status = core->prepare(&count);
    if (status != MX_OK) {
        queue_leave();
        raise_failure(status);
        return -1;
    }
    if (!lender)
        Py_XINCREF(lender = core->lender());
    PyThreadState *saved = PyEval_SaveThread();
    status = core->run(is_look_due);
    if (status == MX_OK)
        take_outcome(&outcome);
    queue_leave();
    if (status == MX_INTERRUPTED)
        return look_for_signals(saved);
    PyEval_RestoreThread(saved);
    if (status == MX_OK)
        return tell_outcome(&outcome);
    raise_failure(status);
    return -1;
}

int queue_flush(void)
{
    int64_t last = queue_recorded;
    next_look = now() + LOOK_EVERY;
    while (queue_done < last)
        if (flush_once() < 0)
            return -1;
    return queue_failures > 0 ? failure_raise_pending(false) : 0;
}

int queue_wait(PyObject *a)
{
    if (root_of(a)->failure)
        return failure_raise(a);
    if (queue_flush() < 0)
        return -1;
    return failure_raise(a);
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

int queue_write(PyObject *a)
{
    queue_end_lending(memory_of(root_of(a)->host));
    return queue_before_read(a);
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
        memory_raise_error();
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

static PyObject *raise_pending(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (failure_raise_pending(true) < 0)
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

/* Around os.fork, nobody else is inside the stream; the GIL is not held while waiting. */
static PyObject *before_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    while (forks == 0 && !core->try_enter()) {
        PyThreadState *saved = PyEval_SaveThread();
        core->enter();
        core->leave();
        PyEval_RestoreThread(saved);
    }
    forks++;
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    forks--;
    queue_leave();
    Py_RETURN_NONE;
}

PyMethodDef queue_methods[] = {
    {"flush", flush, METH_NOARGS, "flush()\n--\n\nRun everything recorded."},
    {"raise_pending", raise_pending, METH_NOARGS,
     "raise_pending()\n--\n\nRaise an error of any thread that it was not told of."},
    {"pending", pending, METH_NOARGS,
     "pending()\n--\n\nGive the number of operations recorded and not yet run."},
    {"set_threshold", set_threshold, METH_O,
     "set_threshold(size)\n--\n\nRecord operations on arrays from this size on; give the "
     "size before."},
    {"before_fork", before_fork, METH_NOARGS, "before_fork()\n--\n\nWait for running work."},
    {"after_fork", after_fork, METH_NOARGS, "after_fork()\n--\n\nLet work run again."},
    {NULL, NULL, 0, NULL},
};
