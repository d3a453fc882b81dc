/* queue.c -- what is recorded runs: before its memory is read, or when there is much of it. */
#include "python/record/queue.h"
#include "python/profile/call_site.h"
#include "python/profile/errstate.h"
#include "python/profile/profile.h"
#include "python/record/failure.h"
#include "python/record/memory.h"

/* Nanoseconds between looks for signals; more where the GIL is busy. */
static int64_t look_every = 20000000;

/* The array that has lent what runs, until it is known whether it needs that again. */
static PyObject *elision_owner;

/* The lock of the stream is never held while Python code runs, which may come back to the queue
 * (handlers of signals, finalizers), or while the GIL is waited for, where threads end together
 * with the interpreter.  But for forks: what their thread does then is inside already. */
static _Thread_local int forks;

static _Thread_local int64_t next_look; /* for signals, of the thread that runs the queue */

/* Asked by the core between chunks. */
static bool is_look_due(void) { return mx_now() >= next_look; }

/* Lets Python handle signals.  -1 with an exception set. */
static int look_for_signals(PyThreadState *saved)
{
    int64_t begin = mx_now();
    PyEval_RestoreThread(saved);
    int64_t waited = mx_now() - begin;
    next_look = mx_now() + (waited > look_every / 8 ? 8 * waited : look_every);
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
    struct outcome *next;
};

/* Those that nobody has told of, the latest first: each has the one before it in `next`.
 * Whoever finds that the queue has run takes all of them: the thread that ran it may still wait
 * for the GIL. */
static _Atomic(struct outcome *) outcomes;

/* Inside, and without the GIL: nobody sees it until `done` is known outside. */
static void take_outcome(struct outcome *out)
{
    out->items = core->take_back(&out->count);
    out->done = core->done();
    out->owner = elision_owner;
    elision_owner = NULL;
    if (out->owner && core->rematerializable() > 0)
        as_array(out->owner)->used = as_array(out->owner)->written = core->recorded();
    out->next = atomic_load(&outcomes);
    while (!atomic_compare_exchange_weak(&outcomes, &out->next, out))
        ;
}

/* The earliest first. */
static struct outcome *in_order(struct outcome *last)
{
    struct outcome *first = NULL;
    while (last) {
        struct outcome *earlier = last->next;
        last->next = first;
        first = last;
        last = earlier;
    }
    return first;
}

static void tell_failures(const struct outcome *out)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].failed_by)
            failure_report(&out->items[i]);
}

static void count_costs(const struct outcome *out)
{
    for (size_t i = 0; i < out->count && profile_is_on; i++)
        if (out->items[i].cost.group > 0)
            profile_ran(&out->items[i]);
}

/* Warns of what an instruction met.  If that is an error, it is one of the thread that recorded
 * the instruction.  -1 with an exception set. */
static int tell_warning(const struct mx_instruction *in)
{
    if (errstate_warn(in->call_site, atomic_load(&in->fpe_flags), name_of(in)) == 0)
        return 0;
    if (in->thread == core->thread() || !PyErr_ExceptionMatches(PyExc_RuntimeWarning))
        return -1;
    failure_keep(in);
    return 0;
}

/* After an error of this thread, only others are told of theirs. */
static int tell_warnings(const struct outcome *out, int status)
{
    for (size_t i = 0; i < out->count; i++) {
        const struct mx_instruction *in = &out->items[i];
        if (!atomic_load(&in->fpe_flags) || in->failed_by ||
            (status < 0 && in->thread == core->thread()))
            continue;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (tell_warning(in) == 0) {
            PyErr_Restore(type, value, traceback);
            continue;
        }
        status = -1;
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    return status;
}

static void release_outcome(struct outcome *out)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < out->count; i++)
        if (!out->items[i].is_rematerializable) {
            core->release(&out->items[i]);
            call_site_free(out->items[i].call_site);
        }
    core->free(out->items);
    Py_XDECREF(out->owner);
    PyMem_Free(out);
    PyErr_Restore(type, value, traceback);
}

/* Those whose arrays know of their failures; their warnings are still to be told, the earliest
 * first. */
static struct outcome *untold;

/* Signals are looked for before: an interrupt that came while the queue ran would be raised by
 * the first Python code there is, which is that of a warning, and lose it. */
static int tell_untold(void)
{
    int status = 0;
    while (untold) {
        if (status == 0 && PyErr_CheckSignals() < 0)
            return -1;
        struct outcome *out = untold;
        if (!out)
            break; /* a handler has used the queue */
        untold = out->next;
        status = tell_warnings(out, status);
        release_outcome(out);
    }
    return status;
}

/* Arrays know of their failures before anybody takes them for written; warnings, which may run
 * Python code, come last. */
static int tell_outcomes(void)
{
    struct outcome **end = &untold;
    while (*end)
        end = &(*end)->next;
    *end = in_order(atomic_exchange(&outcomes, NULL));
    int64_t done = queue_done;
    for (struct outcome *out = *end; out; out = out->next) {
        tell_failures(out);
        count_costs(out);
        done = out->done > done ? out->done : done;
    }
    queue_done = done;
    queue_rematerializable = core->rematerializable();
    queue_recorded = core->recorded();
    return tell_untold();
}

/* Runs what is recorded by now, or some of it when signals are to be looked for. */
static int flush_once(void)
{
    size_t count = 0;
    struct outcome *outcome = PyMem_Calloc(1, sizeof *outcome);
    if (!outcome) {
        PyErr_NoMemory();
        return -1;
    }
    if (queue_enter() < 0) {
        PyMem_Free(outcome);
        return -1;
    }
    int status = core->prepare(&count);
    if (status != MX_OK) {
        queue_leave();
        PyMem_Free(outcome);
        raise_failure(status);
        return -1;
    }
    if (!elision_owner)
        Py_XINCREF(elision_owner = core->elision_owner());
    PyThreadState *saved = PyEval_SaveThread();
    status = core->run(is_look_due);
    if (status == MX_OK)
        take_outcome(outcome);
    queue_leave();
    if (status == MX_INTERRUPTED) {
        int signals = look_for_signals(saved);
        PyMem_Free(outcome);
        return signals;
    }
    PyEval_RestoreThread(saved);
    if (status == MX_OK)
        return tell_outcomes();
    PyMem_Free(outcome);
    raise_failure(status);
    return -1;
}

int queue_flush(void)
{
    int64_t last = queue_recorded, before = queue_done, begin = mx_now();
    bool waits = before < last;
    int status = 0;
    next_look = begin + look_every;
    while (queue_done < last && status == 0)
        status = flush_once();
    if (status == 0)
        status = tell_untold();
    if (waits && profile_is_on)
        profile_waited(begin, queue_done - before);
    if (status < 0)
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

int queue_materialize(PyObject *a)
{
    memory_end_elision(memory_of(root_of(a)->np_array));
    return queue_before_read(a);
}

bool queue_may_reread(PyObject *a)
{
    const struct array *root = root_of(a);
    struct mx_buffer *buffer = root->is_exported ? NULL : memory_of(root->np_array);
    return !buffer || core->may_reread(buffer);
}

void queue_drop_rematerializable(void)
{
    size_t count;
    struct mx_instruction *items = core->drop_rematerializable(&count);
    if (!items)
        return;
    queue_rematerializable = 0;
    if (!atomic_load(&outcomes)) /* or arrays may have failures that they do not know of */
        queue_done = core->done();
    for (size_t i = 0; i < count; i++)
        call_site_free(items[i].call_site);
    core->free(items);
}

int queue_before_view(PyObject *a)
{
    if (!queue_writes(a))
        return 0;
    struct mx_buffer *buffer = memory_of(root_of(a)->np_array);
    if (buffer && core->buffer_allocate(buffer) != MX_OK) {
        memory_raise_error();
        return -1;
    }
    return 0;
}

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *flush(PyObject *module, PyObject *why)
{
    (void)module;
    struct span span;
    const char *word = "synchronize";
    if (!PyArg_ParseTuple(why, "|s:flush", &word))
        return NULL;
    span_begin(&span, profile_kind(word), NULL);
    int status = queue_flush();
    span_pop(&span);
    if (status < 0)
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

static PyObject *get_threshold(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromSsize_t(queue_threshold);
}

static PyObject *set_look_every(PyObject *module, PyObject *nanoseconds)
{
    (void)module;
    int64_t before = look_every, after = PyLong_AsLongLong(nanoseconds);
    if (after == -1 && PyErr_Occurred())
        return NULL;
    look_every = after;
    return PyLong_FromLongLong(before);
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
    {"flush", flush, METH_VARARGS,
     "flush(why=\"synchronize\", /)\n--\n\nRun everything recorded; a report says why."},
    {"raise_pending", raise_pending, METH_NOARGS,
     "raise_pending()\n--\n\nRaise an error of any thread that it was not told of."},
    {"pending", pending, METH_NOARGS,
     "pending()\n--\n\nGive the number of operations recorded and not yet run."},
    {"set_threshold", set_threshold, METH_O,
     "set_threshold(size)\n--\n\nRecord operations on arrays from this size on; give the "
     "size before."},
    {"get_threshold", get_threshold, METH_NOARGS, "get_threshold()\n--\n\nGive that size."},
    {"set_look_every", set_look_every, METH_O,
     "set_look_every(nanoseconds)\n--\n\nLook for signals so often while the queue runs; give "
     "the time before."},
    {"before_fork", before_fork, METH_NOARGS, "before_fork()\n--\n\nWait for running work."},
    {"after_fork", after_fork, METH_NOARGS, "after_fork()\n--\n\nLet work run again."},
    {NULL, NULL, 0, NULL},
};
