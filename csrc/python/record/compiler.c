/* compiler.c -- calls the compiler of hot groups, which is written in Python: mxnp/_jit. */
#include "python/record/compiler.h"

static PyObject *compiler; /* called with the key as bytes */

/* Whether errors of the compiler are printed.  Otherwise they are only counted, as programs run
 * without its kernels. */
static int prints_errors;

/* Reads a list of tuples (first call, number of calls, address of the kernel). */
static int read_runs(PyObject *list, struct mx_compiled_run *runs)
{
    Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : -1;
    if (n < 0 || n > MX_MAX_COMPILED_RUNS) {
        PyErr_SetString(PyExc_TypeError, "the compiler must return a list of runs");
        return MX_COMPILER_FAILED;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        unsigned long long address;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "iiK", &runs[i].first, &runs[i].n_calls,
                              &address))
            return MX_COMPILER_FAILED;
        memcpy(&runs[i].kernel, &(uintptr_t){(uintptr_t)address}, sizeof runs[i].kernel);
    }
    return (int)n;
}

/* A mx_compiler for a thread of the core. */
static int compiler_compile(const short *key, int n, struct mx_compiled_run *runs)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *function = Py_NewRef(compiler);
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)((size_t)n * sizeof *key));
    PyObject *list = bytes ? PyObject_CallFunctionObjArgs(function, bytes, NULL) : NULL;
    int n_runs = !list             ? MX_COMPILER_FAILED
                 : list == Py_None ? MX_NO_COMPILER
                                   : read_runs(list, runs);
    if (PyErr_Occurred() && prints_errors)
        PyErr_WriteUnraisable(function);
    PyErr_Clear();
    Py_XDECREF(list);
    Py_XDECREF(bytes);
    Py_DECREF(function);
    PyGILState_Release(state);
    return n_runs;
}

struct request {
    const short *key;
    struct mx_compiled_run *runs;
    int n, n_runs;
    PyThread_type_lock is_compiled;
};

static void compile_request(void *argument)
{
    struct request *request = argument;
    request->n_runs = compiler_compile(request->key, request->n, request->runs);
    PyThread_release_lock(request->is_compiled);
}

/* A mx_compiler for a thread that flushes, with or without the GIL.  A thread of its own calls
 * the compiler: a signal's handler in the calling thread would raise its exception there, where
 * it is lost. */
static int compile_and_wait(const short *key, int n, struct mx_compiled_run *runs)
{
    struct request request = {key, runs, n, MX_COMPILER_FAILED, PyThread_allocate_lock()};
    if (!request.is_compiled)
        return MX_COMPILER_FAILED;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(request.is_compiled, WAIT_LOCK);
    if (PyThread_start_new_thread(compile_request, &request) != (unsigned long)-1)
        PyThread_acquire_lock(request.is_compiled, WAIT_LOCK);
    PyThread_release_lock(request.is_compiled);
    Py_END_ALLOW_THREADS PyGILState_Release(state);
    PyThread_free_lock(request.is_compiled);
    return request.n_runs;
}

static PyObject *set_compiler(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function;
    int is_immediate;
    if (!PyArg_ParseTuple(args, "Op", &function, &is_immediate))
        return NULL;
    Py_XDECREF(compiler);
    compiler = Py_NewRef(function);
    prints_errors = is_immediate;
    core->mx_compiled_start(function == Py_None ? NULL
                            : is_immediate      ? compile_and_wait
                                                : compiler_compile,
                            is_immediate);
    Py_RETURN_NONE;
}

static PyObject *stop_compiler(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS core->mx_compiled_stop();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyMethodDef compiler_methods[] = {
    {"set_compiler", set_compiler, METH_VARARGS,
     "set_compiler(function, is_immediate, /)\n--\n\nSet the function that compiles hot "
     "groups, or None, which forgets all groups. If it is immediate, each group is compiled "
     "before it first runs."},
    {"stop_compiler", stop_compiler, METH_NOARGS,
     "stop_compiler()\n--\n\nWait for the kernels that are being compiled, and compile no "
     "more."},
    {NULL, NULL, 0, NULL},
};
