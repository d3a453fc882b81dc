/* launch.c -- kernels that a program passes to the core as text. */
#include "python/record/launch.h"
#include "python/record/failure.h"
#include "python/record/queue.h"
#include "python/record/record.h"

#define CAPSULE "mxnp.launch"

/* The launch of a kernel, with references to its strings. */
struct launch {
    struct mx_launch core;
    PyObject *texts[3]; /* bytes */
    int64_t args[];
};

static void free_launch(PyObject *capsule)
{
    struct launch *launch = PyCapsule_GetPointer(capsule, CAPSULE);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(launch->texts[i]);
    PyMem_Free(launch);
}

/* Return a new capsule with the launch, or NULL with an exception set. */
static PyObject *new_launch(PyObject *prelude, PyObject *source, PyObject *function,
                            PyObject *args, struct launch **out)
{
    size_t n = (size_t)PyTuple_Size(args);
    struct launch *launch = PyMem_Calloc(1, sizeof *launch + (n + 1) * sizeof *launch->args);
    PyObject *capsule = launch ? PyCapsule_New(launch, CAPSULE, free_launch) : PyErr_NoMemory();
    if (!capsule) {
        PyMem_Free(launch);
        return NULL;
    }
    PyObject *texts[] = {prelude, source, function};
    for (int i = 0; i < 3; i++)
        launch->texts[i] = Py_NewRef(texts[i]);
    launch->core.prelude = PyBytes_AsString(prelude);
    launch->core.source = PyBytes_AsString(source);
    launch->core.function = PyBytes_AsString(function);
    launch->core.args = launch->args;
    launch->core.n_args = n ? (int)n : 1; /* a driver cannot bind an empty buffer */
    for (size_t i = 0; i < n; i++)
        launch->args[i] = PyLong_AsLongLong(PyTuple_GetItem(args, (Py_ssize_t)i));
    if (PyErr_Occurred())
        Py_CLEAR(capsule);
    *out = launch;
    return capsule;
}

static int launch_check(const struct launch *launch)
{
    if (queue_enter() < 0)
        return -1;
    PyThreadState *saved = PyEval_SaveThread();
    int status = core->mx_launch_check(&launch->core);
    PyEval_RestoreThread(saved);
    queue_leave();
    if (status != MX_OK)
        PyErr_SetString(status == MX_ERROR_VALUE    ? PyExc_ValueError
                        : status == MX_ERROR_MEMORY ? PyExc_MemoryError
                                                    : PyExc_RuntimeError,
                        core->mx_error_message());
    return status == MX_OK ? 0 : -1;
}

/* Return the name of a kernel, which is never freed, because reports use it after the run. */
static const char *keep_name(PyObject *function)
{
    static PyObject *names;
    if (!names)
        names = PyDict_New();
    PyObject *kept = names ? PyDict_GetItemWithError(names, function) : NULL;
    if (!kept && names && !PyErr_Occurred() && PyDict_SetItem(names, function, function) == 0)
        kept = function;
    return kept ? PyBytes_AsString(kept) : NULL;
}

static bool read_arrays(PyObject *arrays, int n, struct source *sources)
{
    for (int k = 0; k < n; k++) {
        PyObject *a = PyTuple_GetItem(arrays, k);
        bool is_ours = is_array(a);
        if (is_ours && source_read_array(a, &sources[k]))
            continue;
        if (!is_ours || failure_raise(a) == 0)
            PyErr_Format(PyExc_TypeError,
                         "array %d must be an aligned mxnp array in native byte order, of a "
                         "dtype that mxnp records",
                         k);
        return false;
    }
    return true;
}

/* Set the strides of an operand to the numbers of bytes of an array before and behind its first
 * element. */
static void read_extent(struct mx_operand *operand, const PyArrayObject *np_array)
{
    operand->strides[0] = 0;
    operand->strides[1] = PyArray_SIZE(np_array) ? PyArray_ITEMSIZE(np_array) : 0;
    for (int i = 0; i < PyArray_NDIM(np_array) && operand->strides[1]; i++) {
        npy_intp reach = (PyArray_DIM(np_array, i) - 1) * PyArray_STRIDE(np_array, i);
        operand->strides[reach < 0 ? 0 : 1] += reach < 0 ? -reach : reach;
    }
}

static int launch_record(PyObject *capsule, struct launch *launch, const char *name,
                         const struct source *sources, int nin, int nout)
{
    struct mx_instruction in;
    struct mx_loop loop = {0};
    struct shape none = {0};
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    call_site_keep(site, capsule);
    record_begin(&in, &loop, MX_NO_OP, name, nin, nout, &none, 0);
    in.kind = MX_KERNEL;
    in.launch = &launch->core;
    for (int k = 0; k < nin + nout; k++) {
        in.operands[k] = (struct mx_operand){.itemsize = dtype_itemsizes[sources[k].code],
                                             .dtype = sources[k].code};
        record_memory(&in.operands[k], &sources[k], site);
        read_extent(&in.operands[k], sources[k].np_array);
    }
    int64_t sequence = record_append(&in, site);
    if (sequence < 0)
        return -1;
    for (int k = 0; k < nin + nout; k++)
        record_mark(&sources[k], sequence, k >= nin);
    return record_done(sources, nin + nout);
}

static PyObject *launch(PyObject *module, PyObject *values)
{
    (void)module;
    PyObject *prelude, *source, *function, *arrays, *args;
    struct source sources[MX_MAX_OPERANDS];
    struct launch *made;
    size_t grid[3], threads[3];
    long long work = 0;
    int nout, is_in_threadgroups, call = MX_NO_CALL;
    if (!PyArg_ParseTuple(values, "SSSO!iO!p(nnn)(nnn)|Li", &prelude, &source, &function,
                          &PyTuple_Type, &arrays, &nout, &PyTuple_Type, &args,
                          &is_in_threadgroups, &grid[0], &grid[1], &grid[2], &threads[0],
                          &threads[1], &threads[2], &work, &call))
        return NULL;
    int n = (int)PyTuple_Size(arrays);
    const char *name = keep_name(function);
    if (n > MX_MAX_OPERANDS)
        return PyErr_Format(PyExc_ValueError, "a kernel may have %d arrays, not %d",
                            MX_MAX_OPERANDS, n);
    if (!name || !read_arrays(arrays, n, sources))
        return NULL;
    PyObject *capsule = new_launch(prelude, source, function, args, &made);
    if (!capsule)
        return NULL;
    made->core.is_in_threadgroups = is_in_threadgroups;
    memcpy(made->core.grid, grid, sizeof grid);
    memcpy(made->core.threads, threads, sizeof threads);
    made->core.work = work;
    made->core.call = (enum mx_library_call)call;
    int status = launch_check(made);
    if (status == 0)
        status = launch_record(capsule, made, name, sources, n - nout, nout);
    Py_DECREF(capsule);
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef launch_methods[] = {
    {"launch", launch, METH_VARARGS,
     "launch(prelude, source, function, arrays, n_outputs, args, in_threadgroups, grid, "
     "threads, work=0, call=0)\n--\n\nRecord the launch of a kernel on arrays, the last of "
     "which are "
     "written."},
    {NULL, NULL, 0, NULL},
};
