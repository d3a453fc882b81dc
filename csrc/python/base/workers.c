/* workers.c -- threads of Python that wait for calls.
 *
 * A thread that has run a call waits for the next one: to start a thread takes as long as many
 * calls.  The global interpreter lock guards the list of idle threads, and is not held by a
 * thread that waits.
 */
#include "python/base/workers.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "api/recorder.h"

#define SPIN_NS      50000  /* until a thread sleeps, as in thread_pool.c */
#define LONG_SPIN_NS 300000 /* if the next call lately came within that time */
#define REMEMBERED   8      /* pauses between calls that are remembered */
#define MOST         64     /* threads, as mxnp.set_num_threads allows */

struct worker {
    struct worker *next;    /* in the list of idle ones */
    struct worker *earlier; /* that was started before */
    _Atomic(PyObject *) call;
    atomic_ulong giver;     /* the thread that gave the last call */
    atomic_bool is_running; /* that call has begun and not ended */
    fenv_t environment;     /* rounding in the thread that gives the call */
    sigset_t signals;       /* which that thread blocks */
    pthread_mutex_t lock;
    pthread_cond_t given;
};
static struct worker *idle, *latest;
static int started;
static int forks;       /* that led to this process */
static int64_t ended;   /* when the last ones had, or 0 */
static atomic_int busy; /* > 0 if one of the last pauses was short */

static bool has_call(struct worker *worker) { return atomic_load(&worker->call); }

/* Check for threads, up to the latest, that run a call of the calling thread. */
static bool all_have_ended(struct worker *worker)
{
    while (worker && !(atomic_load(&worker->is_running) &&
                       atomic_load(&worker->giver) == PyThread_get_thread_ident()))
        worker = worker->earlier;
    return !worker;
}

static bool spin_until(bool (*is_over)(struct worker *), struct worker *worker)
{
    int64_t end = mx_now() + (atomic_load(&busy) > 0 ? LONG_SPIN_NS : SPIN_NS);
    do {
        for (int i = 0; i < 32; i++) {
            if (is_over(worker))
                return true;
            mx_relax();
        }
    } while (mx_now() < end);
    return false;
}

/* Join the idle threads, and wait for a call.  Meanwhile the thread gets no signals: those of
 * the program may have blocked them. */
static void wait_for_call(struct worker *worker)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    worker->next = idle;
    idle = worker;
    PyThreadState *saved = PyEval_SaveThread();
    if (!spin_until(has_call, worker)) {
        pthread_mutex_lock(&worker->lock);
        while (!has_call(worker))
            pthread_cond_wait(&worker->given, &worker->lock);
        pthread_mutex_unlock(&worker->lock);
    }
    fesetenv(&worker->environment);
    pthread_sigmask(SIG_SETMASK, &worker->signals, NULL);
    PyEval_RestoreThread(saved);
}

static void run_call(PyObject *call)
{
    PyObject *start, *function, *args;
    PyObject *result = PyArg_ParseTuple(call, "OOO!", &start, &function, &PyTuple_Type, &args)
                           ? PyObject_CallObject(function, args)
                           : NULL;
    if (!result)
        PyErr_WriteUnraisable(call);
    Py_XDECREF(result);
}

static PyObject *serve_calls(PyObject *capsule, PyObject *unused)
{
    struct worker *worker = PyCapsule_GetPointer(capsule, NULL);
    int before = forks;
    (void)unused;
    while (true) {
        PyObject *call = atomic_exchange(&worker->call, NULL);
        atomic_store(&worker->is_running, true);
        run_call(call);
        atomic_store(&worker->is_running, false);
        Py_DECREF(call);
        if (forks != before)
            Py_RETURN_NONE; /* the call has forked the process that it ends */
        wait_for_call(worker);
    }
}

static void set_call(struct worker *worker, PyObject *call)
{
    atomic_store(&worker->giver, PyThread_get_thread_ident());
    atomic_store(&worker->call, Py_NewRef(call));
}

/* Start a thread with a call.  No signal handler runs between the count and the start. */
static PyObject *start_worker(PyObject *start, PyObject *call)
{
    static PyMethodDef method = {"serve_calls", serve_calls, METH_NOARGS, NULL};
    struct worker *worker = PyMem_Calloc(1, sizeof *worker);
    if (!worker)
        return PyErr_NoMemory();
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->given, NULL);
    set_call(worker, call);
    started++;
    PyObject *capsule = PyCapsule_New(worker, NULL, NULL);
    PyObject *serve = capsule ? PyCFunction_New(&method, capsule) : NULL;
    PyObject *result = serve ? PyObject_CallFunction(start, "O()", serve) : NULL;
    bool has_started = result;
    if (has_started) {
        worker->earlier = latest;
        latest = worker;
    } else {
        started--;
        Py_DECREF(call);
        PyMem_Free(worker);
    }
    Py_XDECREF(result);
    Py_XDECREF(serve);
    Py_XDECREF(capsule);
    return has_started ? Py_NewRef(Py_True) : NULL;
}

/* Note how long the pause before a call was.  Functions of several passes have short ones. */
static void note_pause(void)
{
    if (ended > 0 && mx_now() - ended < LONG_SPIN_NS)
        atomic_store(&busy, REMEMBERED);
    else if (ended > 0 && atomic_load(&busy) > 0)
        atomic_fetch_sub(&busy, 1);
    ended = 0;
}

static PyObject *give_call(PyObject *self, PyObject *call)
{
    struct worker *worker = idle;
    (void)self;
    note_pause();
    if (!worker && started < MOST)
        return start_worker(PyTuple_GetItem(call, 0), call);
    if (!worker)
        Py_RETURN_FALSE;
    idle = worker->next;
    fegetenv(&worker->environment);
    pthread_sigmask(SIG_BLOCK, NULL, &worker->signals);
    pthread_mutex_lock(&worker->lock);
    set_call(worker, call);
    pthread_cond_signal(&worker->given);
    pthread_mutex_unlock(&worker->lock);
    Py_RETURN_TRUE;
}

static PyObject *await_calls(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    struct worker *workers = latest;
    PyThreadState *saved = PyEval_SaveThread();
    bool have_ended = spin_until(all_have_ended, workers);
    PyEval_RestoreThread(saved);
    ended = mx_now();
    return PyBool_FromLong(have_ended);
}

static PyObject *forget_workers(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    idle = latest = NULL;
    started = 0;
    forks++;
    Py_RETURN_NONE;
}

PyMethodDef workers_methods[] = {
    {"give_call", give_call, METH_VARARGS,
     "give_call(start, function, args)\n--\n\n"
     "Let a thread that waits call a function, or a new one, which ``start`` starts. If there "
     "are too many, none gets the call. Return whether one does."},
    {"await_calls", await_calls, METH_NOARGS,
     "await_calls()\n--\n\n"
     "Wait some microseconds until no thread runs a call of this one. Return whether none "
     "does."},
    {"forget_workers", forget_workers, METH_NOARGS,
     "forget_workers()\n--\n\nForget the threads, which a forked process does not have."},
    {NULL, NULL, 0, NULL},
};
