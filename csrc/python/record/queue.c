/* queue.c -- flushes of the queue, and reports of their outcomes. */
#include "python/record/queue.h"
#include "ir/ops.h"

#include <signal.h>

#include "python/base/settings.h"
#include "python/profile/call_site.h"
#include "python/profile/errstate.h"
#include "python/profile/profile.h"
#include "python/record/failure.h"
#include "python/record/memory.h"

/* Nanoseconds between checks for signals; more if other threads use the GIL. */
static int64_t signal_interval = 20000000;

/* A result of this many thresholds is large.  NumPy repeats smaller operands faster than an
 * operation is recorded. */
#define RESULT_FACTOR 4

/* The array that lends its memory to the running operations, until it is known whether the
 * operation that computes it is kept. */
static PyObject *elision_owner;

/* The lock of the stream is never held while Python code runs, because signal handlers and
 * finalizers may use the queue.  It is not held while a thread waits for the GIL either,
 * because threads may end there together with the interpreter.  Forks are an exception: what
 * their thread does is inside already. */
static _Thread_local int forks;

static _Thread_local int64_t next_check; /* for signals, in the thread that runs the queue */

/* In tests: the signal that arrives after so many chunks.  0 chunks: none arrives. */
static atomic_int chunks_until_signal, arriving_signal;

/* The core calls it between chunks. */
static bool is_check_due(void)
{
    if (atomic_load(&chunks_until_signal) > 0 &&
        atomic_fetch_sub(&chunks_until_signal, 1) == 1) {
        raise(atomic_load(&arriving_signal));
        if (signal_interval == 0)
            return true;
    }
    return mx_now() >= next_check;
}

/* Let Python handle signals.  Return 0, or -1 with an exception set. */
static int check_signals(PyThreadState *saved)
{
    int64_t begin = mx_now();
    PyEval_RestoreThread(saved);
    int64_t waited = mx_now() - begin;
    next_check = mx_now() + (waited > signal_interval / 8 ? 8 * waited : signal_interval);
    return PyErr_CheckSignals();
}

static void raise_failure(int status)
{
    failures_raised++;
    if (status == MX_ERROR_MEMORY)
        memory_raise_error();
    else
        PyErr_SetString(PyExc_RuntimeError, core->mx_error_message());
}

/* Return the name of an operation in NumPy's warnings. */
static const char *name_of(const struct mx_instruction *in)
{
    switch (in->kind) {
    case MX_REDUCE:
        return "reduce";
    case MX_SCAN:
        return "accumulate";
    case MX_SCATTER:
        return in->warns_as_at ? "at" : in->name;
    default:
        return in->name;
    }
}

bool queue_try_enter(void) { return forks > 0 || core->mx_stream_try_enter(); }

int queue_enter(void)
{
    while (!queue_try_enter()) {
        PyThreadState *saved = PyEval_SaveThread();
        core->mx_stream_enter();
        core->mx_stream_leave();
        if (check_signals(saved) < 0)
            return -1;
    }
    return 0;
}

void queue_leave(void)
{
    if (forks == 0)
        core->mx_stream_leave();
}

/* The outcome of a run. */
struct outcome {
    struct mx_instruction *items;
    size_t count;
    int64_t done;
    PyObject *owner; /* the array that lent its memory, with a reference, or NULL */
    int64_t reread;  /* operations that count as users of the owner; 0: no other than before */
    struct outcome *next;
};

/* Outcomes that were not collected yet, the latest first; `next` is the one before it.  The
 * first thread that finds the queue done collects all of them, because the thread that ran the
 * queue may still wait for the GIL. */
static _Atomic(struct outcome *) outcomes;

/* Up to three operations of this size take longer recorded than one by one, because the arrays
 * are in the cache of the second level. */
#define LIGHT_OPERATIONS 3
#define LIGHT_SIZE       (1 << 15) /* elements */

/* What would have happened to the operations of a flush one by one. */
enum weight {
    LONE,  /* it was one operation, apart from casts of its operands */
    LIGHT, /* they would not have taken longer, because they had so little work */
    HEAVY,
};

static enum weight weigh(const struct outcome *out)
{
    npy_intp nbytes = 0;
    size_t n = 0;
    for (size_t i = 0; i < out->count && n <= LIGHT_OPERATIONS; i++) {
        const struct mx_instruction *in = &out->items[i];
        bool is_cast = in->op == MX_COPY && in->operands[0].dtype != in->operands[1].dtype;
        n += !is_cast;
        nbytes += mx_element_count(in) * in->operands[in->nin].itemsize;
    }
    bool is_light = n <= LIGHT_OPERATIONS && nbytes <= LIGHT_OPERATIONS * QUEUE_LIGHT_BYTES;
    return n <= 1 ? LONE : is_light ? LIGHT : HEAVY;
}

/* Publish the outcome of a run.  It is called inside the stream and without the GIL: no other
 * thread reads the outcome before it knows `done`. */
static enum weight take_outcome(struct outcome *out)
{
    out->items = core->mx_stream_take_back(&out->count);
    out->done = core->mx_stream_done();
    out->owner = elision_owner;
    elision_owner = NULL;
    out->reread = core->mx_stream_rematerializable() > 0 ? core->mx_stream_recorded() : 0;
    out->next = atomic_load(&outcomes);
    enum weight weight = weigh(out);
    while (!atomic_compare_exchange_weak(&outcomes, &out->next, out))
        ;
    return weight;
}

/* Reverse the list, so that the earliest outcome is first. */
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

/* Mark the array that lent its memory as used by what may compute temporaries again.  Other
 * threads may have recorded operations on it since. */
static void mark_owner(const struct outcome *out)
{
    struct array *owner = out->owner ? as_array(out->owner) : NULL;
    if (owner && owner->used < out->reread)
        owner->used = out->reread;
    if (owner && owner->written < out->reread)
        owner->written = out->reread;
}

static void report_failures(const struct outcome *out)
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

/* Issue the warnings for the conditions that an instruction met.  If a warning is an error, it
 * is raised in the thread that recorded the instruction.  Return 0, or -1 with an exception
 * set. */
static int report_warning(const struct mx_instruction *in)
{
    if (errstate_warn(in->call_site, atomic_load(&in->fpe_flags), name_of(in)) == 0)
        return 0;
    if (in->thread == core->mx_stream_thread() ||
        !PyErr_ExceptionMatches(PyExc_RuntimeWarning)) {
        failures_raised++;
        return -1;
    }
    failure_keep(in);
    return 0;
}

/* Issue all warnings.  After an error in this thread, only errors of other threads are kept. */
static int report_warnings(const struct outcome *out, int status)
{
    for (size_t i = 0; i < out->count; i++) {
        const struct mx_instruction *in = &out->items[i];
        if (!atomic_load(&in->fpe_flags) || in->failed_by ||
            (status < 0 && in->thread == core->mx_stream_thread()))
            continue;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (report_warning(in) == 0) {
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
            core->mx_stream_release(&out->items[i]);
            call_site_free(out->items[i].call_site);
        }
    core->mx_free(out->items);
    Py_XDECREF(out->owner);
    PyMem_Free(out);
    PyErr_Restore(type, value, traceback);
}

/* Outcomes whose failures are attached to the arrays, but whose warnings are not issued yet,
 * the earliest first. */
static struct outcome *unreported;

/* Issue the warnings of the outcomes.  Signals are handled before: an interrupt that arrived
 * while the queue ran would be raised by the first Python code, which is that of a warning, and
 * the warning would be lost. */
static int report_unreported(void)
{
    int status = 0;
    while (unreported) {
        if (status == 0 && PyErr_CheckSignals() < 0)
            return -1;
        struct outcome *out = unreported;
        if (!out)
            break; /* a handler has used the queue */
        unreported = out->next;
        status = report_warnings(out, status);
        release_outcome(out);
    }
    return status;
}

/* Set or remove the mark of an array on a device, when all operations up to `done` have run. If
 * it is not known whether they are all that use the array, it waits for the last one. */
static void set_mark(int64_t *mark, bool is_away, int64_t done)
{
    bool has_run = *mark <= done || *mark == QUEUE_AWAY_DONE || queue_recorded <= done;
    if (is_away)
        *mark = has_run ? QUEUE_AWAY_DONE : QUEUE_AWAY;
    else if (queue_is_away(*mark))
        *mark = has_run ? 0 : queue_recorded;
}

static void mark_place(struct array *root, enum mx_place place, int64_t done)
{
    if (root->written == INT64_MAX)
        return; /* it has failed */
    set_mark(&root->used, place != MX_HERE, done);
    set_mark(&root->written, place == MX_AWAY, done);
}

/* Store the addresses of memory that was allocated while the queue ran, and mark the arrays
 * whose elements are on the device. */
static void note_places(int64_t done)
{
    for (struct mx_buffer *buffer; (buffer = core->mx_coherence_take_changed());) {
        if (buffer->published && mx_buffer_is_allocated(buffer))
            core->mx_buffer_publish(buffer);
        if (buffer->owner)
            mark_place(buffer->owner, core->mx_coherence_place(buffer), done);
        core->mx_buffer_release(buffer);
    }
    queue_away = core->mx_coherence_count();
    queue_edited = core->mx_coherence_edited_count();
}

/* Collect the outcomes.  Failures are attached to arrays before these count as written.
 * Warnings, which may run Python code, come last. */
static int report_outcomes(void)
{
    struct outcome **end = &unreported;
    while (*end)
        end = &(*end)->next;
    *end = in_order(atomic_exchange(&outcomes, NULL));
    int64_t done = queue_done;
    for (struct outcome *out = *end; out; out = out->next) {
        mark_owner(out);
        report_failures(out);
        count_costs(out);
        done = out->done > done ? out->done : done;
    }
    note_places(done);
    queue_done = done;
    queue_rematerializable = core->mx_stream_rematerializable();
    queue_recorded = core->mx_stream_recorded();
    return report_unreported();
}

/* -- Operations whose results are needed immediately --------------------------------- */

#define FEW_FLUSHES  8         /* that run one operation each, before others are expected */
#define LEAST_SIZE   (1 << 14) /* elements; smaller arrays are recorded in tests only */
#define RECORD_EVERY 32        /* of the operations that could run immediately, on average */
#define RECORD_STEPS 16        /* different distances, so that each of an expression is met */

static int n_lone_flushes;  /* of one operation, since the last flush of several */
static int n_light_flushes; /* of one or of few bytes, since the last other flush */
static int until_recorded = RECORD_EVERY,
           n_recorded; /* of the operations that could run immediately */
static bool is_eager = true;
static bool records_next; /* an operation that could run immediately is to be recorded */

bool queue_may_be_passed(npy_intp size)
{
    return queue_is_idle() && !profile_is_on && size >= LEAST_SIZE && size <= MX_MOST_DIRECT &&
           !settings_are_fast() && !settings_use_gpu();
}

/* Check whether this is not one of the operations that are recorded nevertheless. */
static bool is_not_due(void)
{
    if (until_recorded-- > 0)
        return true;
    n_recorded = (n_recorded + 5) % RECORD_STEPS;
    until_recorded = RECORD_EVERY - RECORD_STEPS / 2 + n_recorded;
    return false;
}

bool queue_is_eager(npy_intp size)
{
    if (records_next)
        return records_next = false;
    return n_lone_flushes >= FEW_FLUSHES && is_eager && queue_may_be_passed(size) &&
           is_not_due();
}

bool queue_is_eager_first(npy_intp size, npy_intp nbytes)
{
    bool is_light = size <= LIGHT_SIZE && nbytes <= QUEUE_LIGHT_BYTES;
    if ((is_light ? n_light_flushes : n_lone_flushes) < FEW_FLUSHES || !is_eager ||
        !queue_may_be_passed(size))
        return false;
    records_next = !is_not_due();
    return !records_next;
}

static int count_up(int n, bool goes_on) { return !goes_on ? 0 : n < FEW_FLUSHES ? n + 1 : n; }

static void note_flush(enum weight weight)
{
    n_lone_flushes = count_up(n_lone_flushes, weight == LONE);
    n_light_flushes = count_up(n_light_flushes, weight != HEAVY);
}

static PyObject *set_eager(PyObject *module, PyObject *value)
{
    (void)module;
    bool before = is_eager;
    is_eager = PyObject_IsTrue(value) > 0;
    n_lone_flushes = n_light_flushes = n_recorded = 0;
    until_recorded = RECORD_EVERY;
    records_next = false;
    return PyBool_FromLong(before);
}

/* -- Flushes ---------------------------------------------------------------------------- */

/* Run what is recorded by now, or a part of it if a check for signals is due. */
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
    int status = core->mx_stream_prepare(&count);
    if (status != MX_OK) {
        queue_leave();
        PyMem_Free(outcome);
        raise_failure(status);
        return -1;
    }
    if (!elision_owner)
        Py_XINCREF(elision_owner = core->mx_stream_elision_owner());
    PyThreadState *saved = PyEval_SaveThread();
    status = core->mx_stream_run(is_check_due);
    enum weight weight = status == MX_OK ? take_outcome(outcome) : HEAVY;
    queue_leave();
    if (status == MX_INTERRUPTED) {
        int signals = check_signals(saved);
        PyMem_Free(outcome);
        return signals;
    }
    PyEval_RestoreThread(saved);
    note_flush(weight);
    if (status == MX_OK)
        return report_outcomes();
    PyMem_Free(outcome);
    raise_failure(status);
    return -1;
}

int queue_flush(void)
{
    int64_t last = queue_recorded, before = queue_done, begin = mx_now();
    bool waits = before < last;
    int status = 0;
    next_check = begin + signal_interval;
    while (queue_done < last && status == 0)
        status = flush_once();
    if (status == 0)
        status = report_unreported();
    if (waits && profile_is_on)
        profile_waited(begin, queue_done - before);
    if (status < 0)
        return -1;
    return queue_failures > 0 ? failure_raise_pending(false) : 0;
}

int queue_call_locked(int (*function)(struct mx_buffer *), struct mx_buffer *buffer)
{
    if (queue_enter() < 0)
        return -1;
    PyThreadState *saved = PyEval_SaveThread();
    int status = function(buffer);
    queue_leave();
    PyEval_RestoreThread(saved);
    note_places(queue_done);
    if (status == MX_OK)
        return 0;
    raise_failure(status);
    return -1;
}

static int bring_to_read(struct mx_buffer *buffer)
{
    char *data;
    return core->mx_coherence_read(buffer, &data);
}

static int bring_to_write(struct mx_buffer *buffer)
{
    char *data;
    return core->mx_coherence_write(buffer, true, &data);
}

static int bring_all(struct mx_buffer *unused)
{
    (void)unused;
    return core->mx_coherence_fetch_all(false);
}

/* Other threads may record and run operations on the array whenever this one waits.  An array
 * that is lent is lent no longer, because its elements are needed. */
static int queue_wait_for(PyObject *a, bool writes)
{
    struct array *root = root_of(a);
    int64_t *mark = writes ? &root->used : &root->written;
    if (root->failure)
        return failure_raise(a);
    memory_end_elision(memory_of(root->unprepared));
    do {
        bool is_reread = writes && queue_rematerializable > 0 && queue_may_reread(a);
        if (*mark != QUEUE_AWAY_DONE || is_reread) {
            if (queue_flush() < 0 || failure_raise(a) < 0)
                return -1;
        }
        if (!queue_is_away(*mark))
            return 0;
        struct mx_buffer *buffer = memory_of(root->unprepared);
        if (queue_call_locked(writes ? bring_to_write : bring_to_read, buffer) < 0)
            return -1;
        if (mx_coherence_is_lent(buffer))
            return 0; /* the next read copies again */
        mark_place(root, core->mx_coherence_place(buffer), queue_done);
    } while (*mark > queue_done);
    return 0;
}

int queue_wait(PyObject *a) { return queue_wait_for(a, false); }

int queue_wait_to_write(PyObject *a) { return queue_wait_for(a, true); }

static int return_edited(struct mx_buffer *unused)
{
    (void)unused;
    return core->mx_coherence_return();
}

void queue_return_edited(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (queue_call_locked(return_edited, NULL) < 0)
        PyErr_WriteUnraisable(NULL); /* the processor keeps what it wrote */
    PyErr_Restore(type, value, traceback);
}

int queue_flush_and_bring(void)
{
    int status = queue_flush();
    return status == 0 && queue_away > 0 ? queue_call_locked(bring_all, NULL) : status;
}

bool queue_may_reread(PyObject *a)
{
    const struct array *root = root_of(a);
    struct mx_buffer *buffer = root->is_exported ? NULL : memory_of(root->unprepared);
    return !buffer || core->mx_stream_may_reread(buffer);
}

void queue_drop_rematerializable(void)
{
    size_t count;
    struct mx_instruction *items = core->mx_stream_drop_rematerializable(&count);
    if (!items)
        return;
    queue_rematerializable = 0;
    if (!atomic_load(&outcomes)) /* otherwise arrays may have failures that are not attached */
        queue_done = core->mx_stream_done();
    for (size_t i = 0; i < count; i++)
        call_site_free(items[i].call_site);
    core->mx_free(items);
}

bool queue_has_large_result(const PyArrayObject *a, const PyArrayObject *b)
{
    double size = 1;
    for (int i = 1; i <= PyArray_NDIM(a) || i <= PyArray_NDIM(b); i++) {
        npy_intp m = i <= PyArray_NDIM(a) ? PyArray_DIM(a, PyArray_NDIM(a) - i) : 1;
        npy_intp n = i <= PyArray_NDIM(b) ? PyArray_DIM(b, PyArray_NDIM(b) - i) : 1;
        size *= (double)(n == 1 ? m : n);
    }
    bool is_narrow = PyArray_ITEMSIZE(a) == 1 && PyArray_ITEMSIZE(b) == 1;
    return size / (is_narrow ? 8 : 1) >= RESULT_FACTOR * (double)queue_threshold;
}

int queue_before_view(PyObject *a)
{
    if (!queue_writes(a))
        return 0;
    struct mx_buffer *buffer = memory_of(root_of(a)->unprepared);
    if (buffer && core->mx_buffer_publish(buffer) != MX_OK) {
        memory_raise_error();
        return -1;
    }
    return 0;
}

/* -- Methods of the module --------------------------------------------------------- */

int queue_flush_for(const char *reason)
{
    struct span span;
    span_begin(&span, profile_kind(reason), NULL);
    int status = queue_flush();
    span_pop(&span);
    return status;
}

static PyObject *flush(PyObject *module, PyObject *args)
{
    (void)module;
    const char *reason = "synchronize";
    if (!PyArg_ParseTuple(args, "|s:flush", &reason) || queue_flush_for(reason) < 0)
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

static PyObject *set_signal_interval(PyObject *module, PyObject *nanoseconds)
{
    (void)module;
    int64_t before = signal_interval, after = PyLong_AsLongLong(nanoseconds);
    if (after == -1 && PyErr_Occurred())
        return NULL;
    signal_interval = after;
    return PyLong_FromLongLong(before);
}

static PyObject *raise_signal_after(PyObject *module, PyObject *args)
{
    (void)module;
    int number, chunks;
    if (!PyArg_ParseTuple(args, "ii", &number, &chunks))
        return NULL;
    atomic_store(&arriving_signal, number);
    atomic_store(&chunks_until_signal, chunks);
    Py_RETURN_NONE;
}

/* No other thread is inside the stream or the compiler during os.fork.  The GIL is released
 * while it waits. */
static PyObject *before_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS core->mx_compiled_pause();
    Py_END_ALLOW_THREADS while (forks == 0 && !core->mx_stream_try_enter())
    {
        PyThreadState *saved = PyEval_SaveThread();
        core->mx_stream_enter();
        core->mx_stream_leave();
        PyEval_RestoreThread(saved);
    }
    forks++;
    core->mx_coherence_fetch_all(
        true); /* what cannot be copied raises an error when it is read */
    note_places(queue_done);
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    forks--;
    queue_leave();
    core->mx_compiled_resume();
    Py_RETURN_NONE;
}

PyMethodDef queue_methods[] = {
    {"flush", flush, METH_VARARGS,
     "flush(why=\"synchronize\", /)\n--\n\nRun everything that is recorded. Reports show the "
     "reason."},
    {"raise_pending", raise_pending, METH_NOARGS,
     "raise_pending()\n--\n\nRaise an error of any thread that was not raised yet."},
    {"pending", pending, METH_NOARGS,
     "pending()\n--\n\nReturn the number of recorded operations that have not run."},
    {"set_threshold", set_threshold, METH_O,
     "set_threshold(size)\n--\n\nRecord operations on arrays from this size on. Return the "
     "previous size."},
    {"get_threshold", get_threshold, METH_NOARGS, "get_threshold()\n--\n\nReturn this size."},
    {"set_eager", set_eager, METH_O,
     "set_eager(value)\n--\n\nSet whether operations run immediately if the last flushes "
     "ran one each. Return the previous value."},
    {"set_signal_interval", set_signal_interval, METH_O,
     "set_signal_interval(nanoseconds)\n--\n\nCheck for signals at this interval while the "
     "queue "
     "runs. Return the previous interval."},
    {"raise_signal_after", raise_signal_after, METH_VARARGS,
     "raise_signal_after(number, chunks, /)\n--\n\nRaise a signal when the queue has run so "
     "many "
     "chunks of work, in tests. If the interval is 0, it is handled there."},
    {"before_fork", before_fork, METH_NOARGS,
     "before_fork()\n--\n\nWait until no thread runs the queue, and keep others out."},
    {"after_fork", after_fork, METH_NOARGS,
     "after_fork()\n--\n\nLet threads run the queue again."},
    {NULL, NULL, 0, NULL},
};
