/* function.c -- a NumPy callable that accepts and returns mxnp arrays. */
#include "python/object/function.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "ir/ops.h"
#include "python/base/device.h"
#include "python/base/dtypes.h"
#include "python/base/recursion.h"
#include "python/base/refusal.h"
#include "python/base/settings.h"
#include "python/convert/convert.h"
#include "python/direct/elementwise.h"
#include "python/direct/functions.h"
#include "python/object/hooks.h"
#include "python/packages/arguments.h"
#include "python/packages/disguise.h"
#include "python/packages/layout.h"
#include "python/packages/slots.h"
#include "python/profile/profile.h"
#include "python/profile/traceback.h"
#include "python/record/call.h"
#include "python/record/elide.h"
#include "python/record/expression.h"
#include "python/record/failure.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/record.h"

static PyObject *out_name, *dtype_name, *casting_name, *like_name, *overwrite_name, *size_name,
    *num_name;
static PyObject *counterparts; /* a dict from NumPy's objects to those of mxnp */
static PyObject *load_layer;   /* a function that returns the layer of a NumPy function */
static PyObject *is_refused;   /* whether NumPy's dispatcher of the function refuses a call */
static PyObject *prepare_row;  /* a function that adds what a row says to a function */
static PyObject *preparation;  /* the lock that a thread holds while it prepares a function */

/* From Python 3.12 on, a class loses its vectorcall when __call__ is set. */
static void restore_vectorcall(PyTypeObject *type)
{
    if (layout_is_known())
        ((struct type_struct *)type)->flags |= HAS_VECTORCALL;
    PyType_Modified(type);
}

/* Check whether calls in this thread have to go through the hook. */
static inline bool is_reported(void) { return calls_are_intercepted && !hooks_are_inside; }

static PyObject *set_intercepted(PyObject *module, PyObject *flag)
{
    (void)module;
    calls_are_intercepted = flag == Py_True;
    if (!calls_are_intercepted) {
        restore_vectorcall(function_type);
        restore_vectorcall(member_type);
        restore_vectorcall(ufunc_type);
        slots_set_sequence(); /* they change when methods are set and deleted */
    }
    Py_RETURN_NONE;
}

static PyObject *set_counterparts(PyObject *module, PyObject *dict)
{
    (void)module;
    Py_XDECREF(counterparts);
    counterparts = Py_NewRef(dict);
    Py_RETURN_NONE;
}

static PyObject *set_layers(PyObject *module, PyObject *args)
{
    PyObject *load, *refuses;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:set_layers", &load, &refuses))
        return NULL;
    Py_XDECREF(load_layer);
    Py_XDECREF(is_refused);
    load_layer = Py_NewRef(load);
    is_refused = Py_NewRef(refuses);
    Py_RETURN_NONE;
}

static PyObject *set_preparation(PyObject *module, PyObject *args)
{
    PyObject *function, *lock;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:set_preparation", &function, &lock))
        return NULL;
    Py_XDECREF(prepare_row);
    Py_XDECREF(preparation);
    prepare_row = Py_NewRef(function);
    preparation = Py_NewRef(lock);
    Py_RETURN_NONE;
}

static PyObject *bind_function(PyObject *module, PyObject *const *args, Py_ssize_t n);
static PyObject *make_function(PyObject *module, PyObject *const *args, Py_ssize_t n);
static PyObject *set_gpu_way(PyObject *module, PyObject *args);
static PyObject *record_ufunc(PyObject *module, PyObject *args);

static PyObject *reduce_method; /* see set_reduction */

static PyObject *set_reduction(PyObject *module, PyObject *reduce)
{
    (void)module;
    Py_XDECREF(reduce_method);
    reduce_method = Py_NewRef(reduce);
    Py_RETURN_NONE;
}

PyMethodDef function_module_methods[] = {
    {"bind_function", (PyCFunction)(void (*)(void))bind_function, METH_FASTCALL,
     "bind_function(function, wrapped, first, owner)\n--\n\n"
     "Return a function that treats its calls as another one does, with a callable of NumPy's. "
     "The "
     "recorded form gets `first` before the other arguments. The function is pickled as the "
     "method of its owner, to which it has a weak reference."},
    {"set_reduction", set_reduction, METH_O,
     "set_reduction(reduce)\n--\n\n"
     "Set the function that returns what pickles a method, from the weak reference to its "
     "owner "
     "and the callable of NumPy's."},
    {"set_intercepted", set_intercepted, METH_O,
     "set_intercepted(is_intercepted)\n--\n\n"
     "Set whether ``Function.__call__`` is replaced, so that every call has to go through it."},
    {"set_counterparts", set_counterparts, METH_O,
     "set_counterparts(counterparts)\n--\n\n"
     "Set the dict from NumPy's functions to those of mxnp."},
    {"set_preparation", set_preparation, METH_VARARGS,
     "set_preparation(prepare, lock)\n--\n\n"
     "Set the function that gets a function and the name of its row, or None if that is not "
     "known, before its first use, and a reentrant lock that is held meanwhile."},
    {"set_gpu_way", set_gpu_way, METH_VARARGS,
     "set_gpu_way(function, implementation, threshold_factor, size_rule, size_place)\n--\n\n"
     "Set what takes the place of these attributes where operations may run on a GPU."},
    {"make_function", (PyCFunction)(void (*)(void))make_function, METH_FASTCALL,
     "make_function(kind, wrapped, operation=-1)\n--\n\n"
     "Make a function of a class, whose row is found when it is prepared."},
    {"record", record_ufunc, METH_VARARGS,
     "record(ufunc, *inputs)\n--\n\n"
     "Record a ufunc of `ops.def`, or return NotImplemented if NumPy has to compute it."},
    {"set_layers", set_layers, METH_VARARGS,
     "set_layers(load, is_refused)\n--\n\n"
     "Set the functions that return NumPy's code for one of its functions, over mxnp arrays, "
     "and "
     "whether NumPy refuses a call of it before that code runs."},
    {NULL, NULL, 0, NULL},
};

/* Return the recorded form for the device of the program, and which calls are large for it. */
static inline const struct recorded_way *way_of(const struct function *f)
{
    return &f->ways[f->has_gpu_way && settings_use_gpu()];
}

/* Check for a recorded form. */
static inline bool has_form(const struct recorded_way *way)
{
    return way->implementation && way->implementation != Py_None;
}

/* Check for code of NumPy that is executed over mxnp arrays. */
static inline bool has_layer(const struct function *f)
{
    return f->layer && f->layer != Py_None;
}

static PyObject *function_vectorcall(PyObject *self, PyObject *const *values, size_t flags,
                                     PyObject *names);

/* Return a new reference to what a function of NumPy calls if no argument overrides it, or NULL
 * if that is not written in Python. */
static PyObject *implementation_of(PyObject *wrapped)
{
    PyObject *implementation = PyObject_GetAttrString(wrapped, "_implementation");
    if (implementation && Py_TYPE(implementation) != function_class)
        Py_CLEAR(implementation);
    PyErr_Clear();
    return implementation;
}

/* Prepare a function, while this thread holds the lock.  If it is interrupted, the next use
 * tries again. */
static int prepare_locked(struct function *f)
{
    if (!f->row) /* another thread was first */
        return 0;
    f->is_preparing = true;
    PyObject *done = PyObject_CallFunctionObjArgs(prepare_row, (PyObject *)f, f->row, NULL);
    f->is_preparing = false;
    if (!done)
        return -1;
    Py_DECREF(done);
    f->implementation = implementation_of(f->wrapped);
    f->call = function_vectorcall;
    Py_CLEAR(f->row);
    return 0;
}

/* Prepare a function for its first use: add its names and its ways to compute.  Return 0, or
 * -1 with an exception set. */
static int prepare(struct function *f)
{
    if (!f->row || !prepare_row) /* while mxnp is imported, nothing is used */
        return 0;
    PyObject *type, *error, *traceback;
    PyObject *held = PyObject_CallMethod(preparation, "acquire", NULL);
    if (!held)
        return -1;
    Py_DECREF(held);
    int status = f->is_preparing ? 0 : prepare_locked(f); /* by this thread: it uses it */
    PyErr_Fetch(&type, &error, &traceback);
    Py_XDECREF(PyObject_CallMethod(preparation, "release", NULL));
    PyErr_Restore(type, error, traceback);
    return status;
}

struct function *function_that_records(PyObject *original)
{
    PyObject *ours = counterparts ? PyDict_GetItemWithError(counterparts, original) : NULL;
    if (!ours) {
        PyErr_Clear();
        return NULL;
    }
    struct function *f = (struct function *)ours;
    if (!PyObject_TypeCheck(ours, function_type) || prepare(f) < 0)
        return NULL;
    return has_form(way_of(f)) || has_layer(f) ? f : NULL;
}

static bool is_large(PyObject *a, int threshold_factor)
{
    return queue_writes(a) ||
           queue_weight(np_array_of(a)) / threshold_factor >= queue_threshold;
}

/* Check whether one of the arguments, or of the items of a list or tuple to this depth, is
 * large enough to be recorded. */
static bool has_large(PyObject *args, int depth, int threshold_factor)
{
    bool is_list = PyList_CheckExact(args);
    Py_ssize_t n = is_list ? PyList_Size(args) : PyTuple_Size(args);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = is_list ? PyList_GetItem(args, i) : PyTuple_GetItem(args, i);
        if (is_array(x) ? is_large(x, threshold_factor)
                        : depth > 0 && (PyList_CheckExact(x) || PyTuple_CheckExact(x)) &&
                              has_large(x, depth - 1, threshold_factor))
            return true;
    }
    return false;
}

/* Check whether one of the arguments has more than two axes. */
static bool has_stack(PyObject *args)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
        PyObject *x = PyTuple_GetItem(args, i);
        if (is_array(x) && PyArray_NDIM(np_array_of(x)) > 2)
            return true;
    }
    return false;
}

/* Check for a sine or cosine of a short array that takes NumPy longer than recording it: NumPy
 * needs 8.8 ns for an element, and mxnp's own loops a sixth of that. */
static bool is_costly(int op, PyObject *x)
{
    return (op == MX_OP_sin || op == MX_OP_cos) && is_array(x) &&
           PyArray_TYPE(np_array_of(x)) == NPY_DOUBLE &&
           PyArray_SIZE(np_array_of(x)) >= queue_threshold / 32;
}

/* Check whether the function is a ufunc, and the result of two small arrays is large. */
static bool has_large_result(const struct function *f, PyObject *args)
{
    return f->operation >= 0 && PyTuple_Size(args) == 2 &&
           queue_takes_result(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1));
}

/* Check whether an argument is the shape of a large array, or the side or the diagonal of a
 * large square. */
static bool has_large_shape(PyObject *args, Py_ssize_t at, int threshold_factor, bool is_square)
{
    PyObject *shape = PyTuple_Size(args) > at ? PyTuple_GetItem(args, at) : NULL;
    if (is_square && shape && is_array(shape) && PyArray_NDIM(np_array_of(shape)) == 1) {
        double n = (double)PyArray_SIZE(np_array_of(shape));
        return n * n / threshold_factor >= (double)queue_threshold;
    }
    bool is_tuple = shape && PyTuple_CheckExact(shape);
    double size = 1;
    for (Py_ssize_t i = 0; shape && i < (is_tuple ? PyTuple_Size(shape) : 1); i++) {
        PyObject *n = is_tuple ? PyTuple_GetItem(shape, i) : shape;
        if (!PyLong_CheckExact(n))
            return false;
        size *= (double)PyLong_AsLongLong(n);
    }
    PyErr_Clear();
    size = is_square ? size * size : size;
    return shape && size / threshold_factor >= (double)queue_threshold;
}

/* Check whether the third argument, `num`, is a large number. */
static bool has_large_count(PyObject *args, PyObject *kwargs, int threshold_factor)
{
    bool is_named = kwargs && PyTuple_Size(args) < 3;
    PyObject *count = is_named ? convert_keyword(kwargs, &num_name, "num") : NULL;
    if (!count || !PyLong_CheckExact(count))
        return has_large_shape(args, 2, threshold_factor, false);
    double size = PyLong_AsDouble(count);
    PyErr_Clear(); /* it is too large for a double */
    return size / threshold_factor >= (double)queue_threshold;
}

/* Check whether the grid of all arrays among the arguments is large. */
static bool has_large_grid(PyObject *args, int threshold_factor)
{
    double size = 1;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
        if (is_array(PyTuple_GetItem(args, i)))
            size *= (double)PyArray_SIZE(np_array_of(PyTuple_GetItem(args, i)));
    return size / threshold_factor >= (double)queue_threshold;
}

/* Check whether the arguments are those of a large range: [start,] stop[, step]. */
static bool has_large_range(PyObject *args)
{
    Py_ssize_t n = PyTuple_Size(args);
    double numbers[3] = {0, 0, 1};
    for (Py_ssize_t i = 0; i < n && i < 3; i++) {
        PyObject *number = PyTuple_GetItem(args, i);
        if (!PyLong_CheckExact(number) && !PyFloat_CheckExact(number))
            return false;
        numbers[i] = PyFloat_AsDouble(number);
    }
    PyErr_Clear();
    double length = n == 1 ? numbers[0] : (numbers[1] - numbers[0]) / numbers[2];
    return length > 1 && length >= (double)queue_threshold && length <= INT32_MAX;
}

/* Check whether NumPy takes as long as a way that divides calls among threads, as there is one
 * thread. */
static inline bool lacks_threads(const struct recorded_way *way)
{
    char rule = way->size_rule;
    return (rule == 'w' || rule == 'm' || rule == 'p') && core->mx_thread_pool_size() == 1;
}

/* Check whether an argument is the size of many random numbers, or a large array for them. */
static bool is_many(const struct recorded_way *way, PyObject *x)
{
    bool is_tuple = PyTuple_CheckExact(x);
    double size = 1;
    if (!is_tuple && !PyLong_CheckExact(x))
        return is_array(x) && is_large(x, way->threshold_factor);
    for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_Size(x) : 1); i++) {
        PyObject *n = is_tuple ? PyTuple_GetItem(x, i) : x;
        size = PyLong_CheckExact(n) ? size * (double)PyLong_AsLongLong(n) : NAN;
    }
    PyErr_Clear(); /* a length overflows */
    return size / way->threshold_factor >= (double)queue_threshold;
}

/* Check whether a call draws many numbers: their size is the argument at `size_place` or, if
 * that is negative, all arguments. */
static bool draws_many(const struct recorded_way *way, PyObject *args, PyObject *kwargs)
{
    if (way->size_place < 0)
        return is_many(way, args);
    PyObject *size = PyTuple_Size(args) > way->size_place
                         ? PyTuple_GetItem(args, way->size_place)
                     : kwargs ? convert_keyword(kwargs, &size_name, "size")
                              : NULL;
    PyObject *out = kwargs ? convert_keyword(kwargs, &out_name, "out") : NULL;
    return (size && is_many(way, size)) || (out && is_many(way, out));
}

/* Check whether a call without a tuple of arguments may draw many numbers, where any keyword
 * may be the size. */
static bool may_draw_many(const struct recorded_way *way, PyObject *const *args, size_t n,
                          size_t all)
{
    if (lacks_threads(way))
        return false;
    double size = 1;
    for (size_t i = 0; way->size_place < 0 && i < n; i++)
        size *= PyLong_CheckExact(args[i]) ? (double)PyLong_AsLongLong(args[i]) : 0;
    PyErr_Clear();
    bool may = way->size_place < 0
                   ? size / way->threshold_factor >= (double)queue_threshold
                   : (size_t)way->size_place < n && is_many(way, args[way->size_place]);
    for (size_t i = n; i < all && !may; i++)
        may = is_many(way, args[i]);
    return may;
}

/* Check whether a keyword argument is large.  Recorded forms have large arrays first. */
static bool has_large_keyword(PyObject *kwargs, int threshold_factor)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (is_array(value) && is_large(value, threshold_factor))
            return true;
    return false;
}

static int count_args(PyObject *args, PyObject *kwargs)
{
    return (int)(PyTuple_Size(args) + (kwargs ? PyDict_Size(kwargs) : 0));
}

/* Check whether a call reduces an array to one number in one thread: NumPy takes less time
 * then, unless the array waits. */
static bool is_number_of_one_thread(PyObject *args, PyObject *kwargs)
{
    return core->mx_thread_pool_size() == 1 && count_args(args, kwargs) == 1 &&
           !settings_use_gpu();
}

/* Check whether the argument at a place is a large array. */
static bool has_large_at(PyObject *args, int place, int threshold_factor)
{
    PyObject *x = PyTuple_Size(args) > place ? PyTuple_GetItem(args, place) : NULL;
    return x && is_array(x) && is_large(x, threshold_factor);
}

/* Check whether a call is large, for the recorded form or for the layer. */
static bool is_for_queue(const struct function *f, const struct recorded_way *way,
                         int threshold_factor, PyObject *args, PyObject *kwargs)
{
    if (lacks_threads(way))
        return false;
    switch (way->size_rule) {
    case 's':
    case 'n':
        return has_large_shape(args, 0, threshold_factor, way->size_rule == 'n');
    case 't':
        return has_large_count(args, kwargs, threshold_factor);
    case 'g':
        return has_large_grid(args, threshold_factor);
    case 'r':
        return has_large_range(args);
    case 'd':
    case 'p':
        return draws_many(way, args, kwargs);
    case 'q':
        return true;
    case 'i':
        return has_large_at(args, way->size_place, threshold_factor);
    case 'm':
        return has_stack(args) && has_large(args, 0, threshold_factor);
    case 'o':
        return has_large(args, 2,
                         is_number_of_one_thread(args, kwargs) ? INT_MAX : threshold_factor);
    default:
        return has_large(args, 2, threshold_factor) ||
               (has_layer(f) && has_large_keyword(kwargs, threshold_factor));
    }
}

/* Check whether an array or a NumPy scalar has a dtype. */
static bool has_dtype(PyObject *x, PyArray_Descr *dtype)
{
    if (is_array(x))
        return PyArray_EquivTypes(PyArray_DESCR(np_array_of(x)), dtype);
    if (!PyArray_IsScalar(x, Number))
        return false;
    PyArray_Descr *own = PyArray_DescrFromScalar(x);
    bool is_same = own && PyArray_EquivTypes(own, dtype);
    Py_XDECREF((PyObject *)own);
    return is_same;
}

/* Return a borrowed reference to a dtype, or to that of one of NumPy's classes, or NULL. */
static PyArray_Descr *read_dtype(PyObject *dtype)
{
    static const int known[] = {NPY_DOUBLE, NPY_FLOAT, NPY_INTP, NPY_INT};
    if (PyArray_DescrCheck(dtype))
        return (PyArray_Descr *)dtype;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        PyArray_Descr *own = PyArray_DescrFromType(known[i]);
        Py_XDECREF((PyObject *)own); /* NumPy holds it */
        if (own && (PyObject *)own->typeobj == dtype)
            return own;
    }
    return NULL;
}

static bool is_unsafe(PyObject *casting)
{
    return PyUnicode_CheckExact(casting) &&
           PyUnicode_CompareWithASCIIString(casting, "unsafe") == 0;
}

/* Check whether the argument `dtype` is the one that the operation computes in anyway. */
static bool is_own_dtype(int op, PyObject *args, int nin, PyArray_Descr *dtype)
{
    if (!dtype ||
        (op != MX_OP_add && op != MX_OP_subtract && op != MX_OP_multiply && op != MX_OP_square))
        return false;
    for (int i = 0; i < nin; i++)
        if (!has_dtype(PyTuple_GetItem(args, i), dtype))
            return false;
    return true;
}

/* Read outputs passed by position or as out=.  Return false if there are other keywords. */
static bool read_outs(int op, PyObject *args, PyObject *kwargs, int nin, int nout,
                      PyObject **outs)
{
    Py_ssize_t n = PyTuple_Size(args);
    if (n > nin && (op == MX_OP_maximum || op == MX_OP_minimum))
        return false; /* NumPy warns that a third argument may be meant as an axis */
    for (int j = 0; j < nout; j++)
        outs[j] = nin + j < n ? PyTuple_GetItem(args, nin + j) : NULL;
    if (n < nin || n > nin + nout)
        return false;
    if (!kwargs || PyDict_Size(kwargs) == 0)
        return true;
    PyObject *given = convert_keyword(kwargs, &dtype_name, "dtype");
    PyArray_Descr *dtype = given ? read_dtype(given) : NULL;
    if (given && !is_own_dtype(op, args, nin, dtype))
        return false;
    PyObject *out = convert_keyword(kwargs, &out_name, "out");
    PyObject *casting = dtype ? convert_keyword(kwargs, &casting_name, "casting") : NULL;
    if (casting && (!out || !is_unsafe(casting) || !has_dtype(out, dtype)))
        return false; /* nothing is cast if all operands have the dtype */
    if (PyDict_Size(kwargs) > !!out + !!dtype + !!casting || (out && n > nin))
        return false;
    if (!out)
        return true;
    if (PyTuple_CheckExact(out)) {
        for (int j = 0; j < nout && PyTuple_Size(out) == nout; j++)
            outs[j] = PyTuple_GetItem(out, j);
        if (PyTuple_Size(out) != nout)
            return false;
    } else if (nout == 1) {
        outs[0] = out;
    } else {
        return false;
    }
    for (int j = 0; j < nout; j++)
        if (outs[j] == Py_None)
            outs[j] = NULL;
    return true;
}

/* Compute a call that could be recorded, but whose result is expected to be needed immediately.
 * Return 1 with the result, 0 or -1 with an exception set. */
static int compute_eagerly(const struct function *f, PyObject *const *inputs, int nin,
                           PyObject *out, PyObject **result)
{
    if (!queue_is_idle() || profile_is_on || is_reported())
        return 0;
    if (!out)
        return elementwise_call(f->operation, inputs, nin, result);
    if (!is_array(out))
        return 0;
    root_of(out)->version++;
    return elementwise_call_into(f->operation, inputs, nin, out, result);
}

/* Return 1 with the result, 0 if NumPy has to compute, or -1 with an exception set. */
static int record(const struct function *f, PyObject *args, PyObject *kwargs, PyObject **result)
{
    const struct mx_op_row *row = core->mx_op_get(f->operation);
    PyObject *inputs[3], *outs[2], *results[2];
    if (!read_outs(f->operation, args, kwargs, row->nin, row->nout, outs))
        return 0;
    for (int i = 0; i < row->nin; i++)
        inputs[i] = PyTuple_GetItem(args, i);
    int status = call_ufunc((PyObject *)(uintptr_t)f, f->operation, inputs, row->nin, outs,
                            row->nout, results);
    if (status == 0 && row->nout == 1)
        return compute_eagerly(f, inputs, row->nin, outs[0], result);
    if (status < 1)
        return status;
    *result = row->nout == 1 ? results[0] : PyTuple_Pack(2, results[0], results[1]);
    if (row->nout == 2) {
        Py_DECREF(results[0]);
        Py_DECREF(results[1]);
    }
    return *result ? 1 : -1;
}

static PyObject *record_ufunc(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *f = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None, *result = NULL;
    if (!PyObject_TypeCheck(f, function_type) || ((struct function *)f)->operation < 0) {
        PyErr_SetString(PyExc_TypeError, "record() takes a ufunc of ops.def");
        return NULL;
    }
    PyObject *inputs = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
    int status = inputs ? record((struct function *)f, inputs, NULL, &result) : -1;
    Py_XDECREF(inputs);
    return record_result(status, result);
}

/* Return a new tuple of the arguments of a ufunc with `out`, its only keyword, behind the
 * inputs, which avoids a dict.  Return NULL if that has another meaning. */
static PyObject *with_out_last(const struct function *f, PyObject *args, PyObject *kwargs)
{
    if (f->operation < 0 || f->operation == MX_OP_maximum || f->operation == MX_OP_minimum ||
        PyDict_Size(kwargs) != 1)
        return NULL;
    const struct mx_op_row *row = core->mx_op_get(f->operation);
    PyObject *out = convert_keyword(kwargs, &out_name, "out");
    if (!out || !is_array(out) || row->nout != 1 || PyTuple_Size(args) != row->nin)
        return NULL;
    if (row->nin == 1)
        return PyTuple_Pack(2, PyTuple_GetItem(args, 0), out);
    return PyTuple_Pack(3, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), out);
}

/* Check whether NumPy has to handle a call whose recorded form returned a result, or raised:
 * NumPy's exception counts.  Exceptions of recorded operations and of the program's own code,
 * such as a signal handler, are raised only once, as are those of NumPy's code in a layer,
 * which may have issued warnings. */
static bool is_left_to_numpy(PyObject *result, unsigned long failures_before, bool is_layer)
{
    if (result)
        return result == Py_NotImplemented;
    return failures_raised == failures_before && PyErr_ExceptionMatches(PyExc_Exception) &&
           !PyErr_ExceptionMatches(PyExc_MemoryError) &&
           !PyErr_ExceptionMatches(device_type_error) && !refusal_is_handlers() &&
           (is_layer ? traceback_ends_in_own() : traceback_ends_inside());
}

/* Return the factor from which a call is large for the recorded form or the layer. */
static inline int least_factor(const struct function *f, const struct recorded_way *way)
{
    bool is_layers =
        has_layer(f) && (!has_form(way) || f->layer_factor < way->threshold_factor);
    return is_layers ? f->layer_factor : way->threshold_factor;
}

/* Return a new tuple of an object and the arguments of a call. */
static PyObject *put_first(PyObject *first, PyObject *args)
{
    PyObject *one = PyTuple_Pack(1, first), *all = one ? PySequence_Concat(one, args) : NULL;
    Py_XDECREF(one);
    return all;
}

static PyObject *call_queued(struct function *f, PyObject *args, PyObject *kwargs)
{
    PyObject *self = (PyObject *)f;
    bool is_plain = expression_takes(args, kwargs);
    if (!is_plain && expression_close() < 0)
        return NULL;
    struct mx_buffer *elided = elide_argument(self, args);
    if (!elided && PyErr_Occurred()) /* raised by a signal handler */
        return NULL;
    if (is_plain)
        expression_enter();
    PyObject *given = f->first ? put_first(f->first, args) : Py_NewRef(args);
    PyObject *result = given ? PyObject_Call(way_of(f)->implementation, given, kwargs) : NULL;
    Py_XDECREF(given);
    if (elided && result && is_array(result) &&
        memory_of(root_of(result)->unprepared) == elided) {
        memory_end_elision(elided); /* the result is the argument, or a view of it */
        elided = NULL;
    }
    if (is_plain && expression_leave(self, result, NULL, 0) < 0)
        Py_CLEAR(result);
    memory_end_elision(elided);
    return result;
}

/* -- NumPy's own code, executed over mxnp arrays ------------------------------------------ */

/* Check for an argument that NumPy's code treats as it treats NumPy arrays and numbers.  The
 * arrays are added to `arrays`, unless it is NULL. */
static bool suits_layer(PyObject *x, int levels, struct call_args *arrays)
{
    if (PyTuple_CheckExact(x) || PyList_CheckExact(x)) {
        bool is_list = PyList_CheckExact(x), suits = levels > 0;
        Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
        for (Py_ssize_t i = 0; suits && i < n; i++)
            suits = suits_layer(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i),
                                levels - 1, arrays);
        return suits;
    }
    bool is_own = Py_TYPE(x) == array_type;
    if (!is_own && Py_TYPE(x) != np_array_type)
        return x == Py_None || PyBool_Check(x) || PyLong_CheckExact(x) ||
               PyFloat_CheckExact(x) || PyComplex_CheckExact(x) || PyUnicode_CheckExact(x) ||
               PyArray_DescrCheck(x) ||
               (PyArray_IsScalar(x, Number) && is_static(Py_TYPE(x))) ||
               PyArray_IsScalar(x, Bool) || (PyType_Check(x) && is_static((PyTypeObject *)x));
    const PyArrayObject *np_array = is_own ? np_array_of(x) : (PyArrayObject *)x;
    if (is_own && arrays)
        call_args_add(arrays, x);
    return dtype_row(PyArray_TYPE(np_array)) >= 0 && PyArray_ISNOTSWAPPED(np_array) &&
           !(is_own && as_array(x)->is_standard);
}

static bool is_given(PyObject *kwargs, PyObject **key, const char *name)
{
    PyObject *value = convert_keyword(kwargs, key, name);
    return value && value != Py_None && value != Py_False;
}

static bool suit_layer(PyObject *args, PyObject *kwargs, struct call_args *arrays)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (kwargs && (is_given(kwargs, &out_name, "out") || is_given(kwargs, &like_name, "like") ||
                   is_given(kwargs, &overwrite_name, "overwrite_input")))
        return false; /* NumPy could not repeat a call that fails, or calls other code */
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (!suits_layer(value, 2, arrays))
            return false;
    return suits_layer(args, 3, arrays);
}

/* Steal a reference to a result, in which NumPy arrays become mxnp arrays. */
static PyObject *adopt_from_layer(PyObject *result, PyObject *args, PyObject *kwargs)
{
    struct call_args arrays;
    if (!result || is_array(result))
        return result;
    call_args_begin(&arrays);
    suit_layer(args, kwargs, &arrays);
    result = convert_adopt(result, &arrays, MAX_DEPTH);
    convert_end_call(&arrays);
    return result;
}

/* Execute NumPy's code for the function over the mxnp arrays.  There is no frame of mxnp, so
 * that levels of warnings have NumPy's meaning.  Return NULL if NumPy has to be called, without
 * an exception or with one. */
static PyObject *run_layer(struct function *f, PyObject *args, PyObject *kwargs)
{
    if (!suit_layer(args, kwargs, NULL))
        return NULL;
    if (f->layer == Py_True) {
        PyObject *layer = PyObject_CallFunctionObjArgs(load_layer, f->wrapped, NULL);
        if (!layer) /* because of an interrupt: the next call tries again */
            return NULL;
        Py_DECREF(f->layer);
        f->layer = layer;
    }
    bool is_plain = expression_takes(args, kwargs);
    if (!has_layer(f) || PyErr_Occurred() || (!is_plain && expression_close() < 0))
        return NULL;
    if (is_plain)
        expression_enter();
    span_note_layer();
    PyObject *result = PyObject_Call(f->layer, args, kwargs);
    if (is_plain && expression_leave((PyObject *)f, result, NULL, 0) < 0)
        Py_CLEAR(result);
    return adopt_from_layer(result, args, kwargs);
}

/* Check whether an argument has no arrays inside, so that it is passed on as it is. */
static inline bool is_plain(PyObject *x)
{
    return x == Py_None || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
           PyUnicode_CheckExact(x) || (PyArray_IsScalar(x, Generic) && is_static(Py_TYPE(x)));
}

/* Check for an object that the dispatcher of a function takes as its first argument.  Some
 * dispatchers refuse numbers. */
static bool passes_dispatcher(PyObject *first)
{
    return (is_array(first) && PyArray_NDIM(np_array_of(first)) > 0) ||
           PyTuple_CheckExact(first) || PyList_CheckExact(first) || PyUnicode_CheckExact(first);
}

/* Return 1 if NumPy's dispatcher of a function refuses a call, 0, or -1 with the exception of a
 * handler that ran. */
static int ask_dispatcher(const struct function *f, PyObject *args, PyObject *kwargs)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(is_refused, f->wrapped, args,
                                                    kwargs ? kwargs : Py_None, NULL);
    Py_XDECREF(answer);
    return answer ? answer == Py_True : refusal_drop();
}

/* Check whether an error was raised in place of that of NumPy's dispatcher, which comes
 * before the code of the function.  An exception of a handler that runs here replaces it. */
static bool comes_too_late(const struct function *f, PyObject *args, PyObject *kwargs)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_Occurred() ||
        (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)))
        return false;
    PyErr_Fetch(&type, &value, &traceback);
    int status = ask_dispatcher(f, args, kwargs);
    if (status < 0) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return false;
    }
    PyErr_Restore(type, value, traceback);
    return status > 0;
}

/* Call one of the ways in which mxnp computes a call.  Return 1 with the result, 0 if it leaves
 * the call to the next way, or -1 with an exception set. */
static int try_way(PyObject *(*way)(struct function *, PyObject *, PyObject *),
                   struct function *f, PyObject *args, PyObject *kwargs, PyObject **result)
{
    unsigned long failures_before = failures_raised;
    *result = way(f, args, kwargs);
    if (!*result && !PyErr_Occurred())
        return 0;
    bool is_layer = way == run_layer && !comes_too_late(f, args, kwargs);
    if (!is_left_to_numpy(*result, failures_before, is_layer))
        return *result ? 1 : -1;
    Py_CLEAR(*result);
    PyErr_Clear();
    return 0;
}

/* Check whether the dispatcher may refuse a call of a layer, and reads no object of the program
 * when it is asked. */
static bool may_be_refused(PyObject *args, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyTuple_Size(args) > 0)
        return is_plain(PyTuple_GetItem(args, 0));
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (!is_plain(value) && !passes_dispatcher(value))
            return false;
    return true;
}

/* Run the layer of a function, which has no dispatcher, unless NumPy's refuses the call. */
static int try_layer(struct function *f, PyObject *args, PyObject *kwargs, PyObject **result)
{
    int status = may_be_refused(args, kwargs) ? ask_dispatcher(f, args, kwargs) : 0;
    return status == 0 ? try_way(run_layer, f, args, kwargs, result) : status < 0 ? -1 : 0;
}

int function_record(struct function *f, PyObject *args, PyObject *kwargs, PyObject **result)
{
    const struct recorded_way *way = way_of(f);
    int status = 0;
    *result = NULL;
    if (f->operation >= 0 &&
        (has_large(args, 0, 1) || has_large_result(f, args) ||
         (PyTuple_Size(args) > 0 && is_costly(f->operation, PyTuple_GetItem(args, 0)))))
        status = record(f, args, kwargs, result);
    if (status == 0 && has_form(way) &&
        is_for_queue(f, way, way->threshold_factor, args, kwargs))
        status = try_way(call_queued, f, args, kwargs, result);
    if (status == 0 && has_layer(f) && is_for_queue(f, way, f->layer_factor, args, kwargs))
        status = try_layer(f, args, kwargs, result);
    return status;
}

PyObject *function_run(struct function *f, PyObject *args, PyObject *kwargs)
{
    PyObject *result = NULL;
    if (prepare(f) < 0)
        return NULL;
    if (function_record(f, args, kwargs, &result) != 0)
        return result;
    if (!f->choose || f->choose == Py_None || (f->choose_rule == 'k' && !kwargs) ||
        (f->choose_rule == 'n' && count_args(args, kwargs) < f->choose_from)) {
        PyObject *all = kwargs ? with_out_last(f, args, kwargs) : NULL;
        result = all ? convert_call(f, f->wrapped, all, NULL)
                     : convert_call(f, f->wrapped, args, kwargs);
        Py_XDECREF(all);
        return result;
    }
    unsigned long failures_before = failures_raised;
    PyObject *chosen = PyObject_Call(f->choose, args, kwargs);
    if (!chosen) {
        if (!is_left_to_numpy(chosen, failures_before, false))
            return NULL;
        PyErr_Clear();
        return convert_call(f, f->wrapped, args, kwargs);
    }
    bool has_args = PyTuple_CheckExact(chosen) && PyTuple_Size(chosen) == 2;
    result = has_args
                 ? convert_call(f, PyTuple_GetItem(chosen, 0), PyTuple_GetItem(chosen, 1), NULL)
                 : convert_call(f, chosen, args, kwargs);
    Py_DECREF(chosen);
    return result;
}

/* Steal a reference to a result of a default dtype.  Return it in a dtype that the device
 * supports. */
static PyObject *narrow_result(PyObject *result, PyObject *args, PyObject *kwargs)
{
    PyObject *narrow, *named = kwargs ? Py_NewRef(kwargs) : PyDict_New();
    PyObject *all = named ? PyTuple_Pack(3, result, args, named) : NULL;
    Py_XDECREF(named);
    int status = device_call(DEVICE_NARROW, all, &narrow);
    if (status == 0)
        return result;
    Py_DECREF(result);
    return narrow;
}

/* Do the same as function_run(), and count the call.  A method of an object of the program,
 * such as a random generator, may be freed soon, so only its name is kept. */
static PyObject *call_counted(struct function *f, PyObject *args, PyObject *kwargs)
{
    struct span span;
    struct span_name name = {.function = (PyObject *)f};
    bool is_kept = f->dict || f->is_member;
    PyObject *own = is_kept ? NULL : PyObject_GetAttrString(f->wrapped, "__name__");
    if (own && PyUnicode_CheckExact(own)) {
        PyUnicode_InternInPlace(&own);
        name.function = own;
    }
    PyErr_Clear();
    profile_begin(&span, SPAN_OPERATION, name);
    PyObject *result = function_run(f, args, kwargs);
    profile_end_call(&span, args, least_factor(f, way_of(f)), result);
    Py_XDECREF(own);
    return result;
}

/* Check whether results are arrays, never NumPy scalars. */
static bool returns_standard(const struct function *f, PyObject *args)
{
    if (!f->adopts || !f->is_member)
        return f->is_standard;
    return PyTuple_Size(args) > 0 && is_standard(PyTuple_GetItem(args, 0));
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct function *f = (struct function *)self;
    PyObject *result =
        profile_is_on ? call_counted(f, args, kwargs) : function_run(f, args, kwargs);
    if (!result)
        traceback_hide_own();
    if (result && f->is_maker && settings_narrow_doubles() && device_has(DEVICE_NARROW))
        result = narrow_result(result, args, kwargs);
    return returns_standard(f, args) ? convert_standard(result, MAX_DEPTH) : result;
}

/* -- Calls without a tuple of arguments ------------------------------------------------ */

#define ARGUMENTS_OFFSET \
    ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

/* Check whether nothing is asked of a call that only function_call does. */
static inline bool is_usual(const struct function *f)
{
    return !(profile_is_on | is_reported() | f->is_standard) &&
           !(f->is_maker && settings_narrow_doubles());
}

/* Check whether calls with many random numbers are large. */
static inline bool is_draw(const struct recorded_way *way)
{
    return way->size_rule == 'd' || way->size_rule == 'p';
}

/* Check whether only calls with large arrays are large. */
static inline bool needs_large_array(const struct recorded_way *way)
{
    return memchr("aowmi", way->size_rule, 5) != NULL;
}

/* Return the size from which calls of a function are recorded, or left to NumPy. */
static inline Py_ssize_t least_large(const struct function *f)
{
    if (f->operation >= 0 || queue_threshold > MX_MOST_DIRECT)
        return queue_threshold;
    const struct recorded_way *way = way_of(f);
    if (!has_form(way) && !has_layer(f))
        return MX_MOST_DIRECT + 1;
    Py_ssize_t least = queue_threshold * (needs_large_array(way) ? least_factor(f, way) : 1);
    return least <= MX_MOST_DIRECT ? least : MX_MOST_DIRECT + 1;
}

/* Check whether all arrays are smaller than `least`, and nothing waits for them. */
static inline bool are_small(PyObject *const *args, size_t n, Py_ssize_t least)
{
    bool is_idle = queue_is_idle();
    for (size_t i = 0; i < n; i++)
        if (is_array(args[i]) &&
            (queue_weight(np_array_of(args[i])) >= least || as_array(args[i])->is_standard ||
             (!is_idle && !queue_is_free(args[i]))))
            return false;
    return true;
}

/* Check whether a call is computed immediately: its arrays are small, or their results are
 * expected to be needed immediately. */
static inline bool are_immediate(const struct function *f, PyObject *const *args, size_t n)
{
    Py_ssize_t least = least_large(f);
    return are_small(args, n, least) ||
           (least <= MX_MOST_DIRECT && are_small(args, n, MX_MOST_DIRECT + 1) &&
            (f->passes_queue ? queue_may_be_passed(least) : queue_is_eager(least)));
}

/* Check whether a number of an array that is in memory would not be recorded.  Extremes have
 * the same bits either way, so they are also recorded if the number is not computed directly.
 */
static bool is_little(const struct function *f, PyObject *a)
{
    npy_intp weight = queue_weight(np_array_of(a));
    return weight / way_of(f)->threshold_factor < queue_threshold &&
           (way_of(f)->size_rule != 'o' || weight <= MX_MOST_DIRECT);
}

/* Run the queue for an array that a number is computed of, if one in memory would not be
 * recorded: the program needs the number, and this takes less time than a recorded reduction.
 * Return 0, or -1 with an exception set. */
static int run_for_number(const struct function *f, PyObject *const *args, size_t n,
                          PyObject *names)
{
    bool runs = n == 1 && !names && is_array(args[0]) && queue_computes(args[0]) &&
                is_little(f, args[0]) && f->gives_number(args, n) && !settings_are_fast() &&
                !settings_use_gpu();
    return runs ? queue_wait(args[0]) : 0;
}

/* Check whether there is one keyword, of this name. */
__attribute__((noinline)) static bool is_only(PyObject *names, const char *name)
{
    return PyTuple_Size(names) == 1 &&
           PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), name) == 0;
}

/* Compute a call of a ufunc with one output, which may be `out`. */
__attribute__((noinline)) static int call_ufunc_direct(const struct function *f,
                                                       PyObject *const *args, size_t n,
                                                       PyObject *names, PyObject **result)
{
    const struct mx_op_row *row = core->mx_op_get(f->operation);
    if (row->nout != 1 || n != (size_t)row->nin || is_costly(f->operation, args[0]) ||
        (n == 2 && queue_takes_result(args[0], args[1])))
        return 0;
    if (!names)
        return elementwise_call(f->operation, args, (int)n, result);
    if (!is_only(names, "out") || !is_array(args[n]) || !queue_is_free(args[n]) ||
        queue_accepts(args[n]))
        return 0;
    root_of(args[n])->version++;
    return elementwise_call_into(f->operation, args, (int)n, args[n], result);
}

/* Compute a call of a ufunc that is recorded unless its result is expected to be needed. */
static int call_ufunc_eager(const struct function *f, PyObject *const *args, size_t n,
                            PyObject *names, PyObject **result)
{
    const struct mx_op_row *row = core->mx_op_get(f->operation);
    if (names || row->nout != 1 || n != (size_t)row->nin || is_costly(f->operation, args[0]) ||
        !are_small(args, n, MX_MOST_DIRECT + 1))
        return 0;
    return elementwise_call_eager(f->operation, args, (int)n, result);
}

/* Compute a call.  Return 1 with the result, 0, or -1 with an exception set. */
static inline int call_direct(const struct function *f, PyObject *const *args, size_t n,
                              PyObject *names, PyObject **result)
{
    /* A ufunc has no loop here for the dtypes of which `choose` decides. */
    if (f->operation >= 0)
        return !is_usual(f) ? 0
               : are_small(args, n, queue_threshold)
                   ? call_ufunc_direct(f, args, n, names, result)
                   : call_ufunc_eager(f, args, n, names, result);
    /* A form of the table takes only calls that `choose` leaves to NumPy's function. */
    if (!f->direct || !is_usual(f))
        return 0;
    if (f->gives_number && !queue_is_idle() && run_for_number(f, args, n, names) < 0)
        return -1;
    if (!are_immediate(f, args, n))
        return f->glance && !names && are_small(args, n, NPY_MAX_INTP)
                   ? f->glance(args, n, result)
                   : 0;
    if (!names)
        return f->direct(args, n, result);
    bool has_axis = f->takes_axis && n == 1 && is_only(names, "axis");
    return has_axis ? f->direct(args, 2, result) : 0;
}

#define MAX_PLAIN 8 /* arguments */

/* Check for an item of a tuple or list that call_plain() takes: no function of the program, and
 * no array that is large. */
static bool is_plain_item(PyObject *x, int depth, Py_ssize_t least);

/* Check for a short tuple or list of such items. */
static bool is_plain_container(PyObject *x, int depth, Py_ssize_t least)
{
    bool is_list = PyList_CheckExact(x);
    if (depth <= 0 || !(is_list || PyTuple_CheckExact(x)))
        return false;
    Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x), i = 0;
    while (
        i < n && n <= MAX_PLAIN &&
        is_plain_item(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i), depth - 1, least))
        i++;
    return i == n;
}

static bool is_plain_item(PyObject *x, int depth, Py_ssize_t least)
{
    return is_array(x) ? are_small(&x, 1, least)
                       : is_plain(x) || Py_TYPE(x) == np_array_type ||
                             is_plain_container(x, depth, least);
}

/* Check for an argument that call_plain() takes: an array, a plain argument, the ufunc of one
 * of its methods, or a short tuple or list. */
static inline bool is_taken(const struct function *f, PyObject *x, Py_ssize_t least)
{
    return is_array(x) || is_plain(x) ||
           (f->is_member && PyObject_TypeCheck(x, function_type)) ||
           is_plain_container(x, f->depth, least);
}

/* Return a new reference to what NumPy's function gets for such an argument. */
static inline PyObject *plain_value(const struct function *f, PyObject *x,
                                    struct call_args *call_args)
{
    if (is_array(x)) {
        call_args_add(call_args, x);
        return Py_NewRef((PyObject *)queue_ready(x));
    }
    if (f->is_member && PyObject_TypeCheck(x, function_type))
        return Py_NewRef(((struct function *)x)->wrapped);
    return is_plain(x) ? Py_NewRef(x) : convert_unwrap(x, call_args, f->depth);
}

/* Return the elements of an array, or the product of the numbers in a shape or its absolute
 * value, which is not below the elements that it asks for. */
static double bound_elements(PyObject *x)
{
    double bound = 1;
    if (is_array(x))
        return (double)PyArray_SIZE(np_array_of(x));
    if (PyLong_CheckExact(x)) {
        double number = PyLong_AsDouble(x);
        return number == -1 && PyErr_Occurred() ? INFINITY : fabs(number);
    }
    for (Py_ssize_t i = 0; PyTuple_CheckExact(x) && i < PyTuple_Size(x); i++)
        bound *= fmax(1, bound_elements(PyTuple_GetItem(x, i)));
    return bound;
}

/* Check whether the recorded form or the layer of a function may take a call, of which no array
 * is large. */
static bool may_record_sizes(const struct function *f, PyObject *const *args, size_t n,
                             size_t all)
{
    const struct recorded_way *way = way_of(f);
    if (!(has_form(way) || has_layer(f)) || needs_large_array(way))
        return false;
    if (is_draw(way))
        return may_draw_many(way, args, n, all);
    if (!memchr("sntg", way->size_rule, 4))
        return true;
    double bound = 1;
    for (size_t i = 0; i < all; i++)
        bound *= fmax(1, bound_elements(args[i]));
    PyErr_Clear(); /* a number is too large for a double */
    return bound * (way->size_rule == 'n' ? bound : 1) >= (double)queue_threshold;
}

/* Check whether a ufunc of two outputs, which is recorded otherwise, is left to NumPy because
 * its results are expected to be needed immediately. */
static bool is_eager_pair(const struct function *f, PyObject *const *args, size_t n)
{
    return f->operation >= 0 && n > 0 && core->mx_op_get(f->operation)->nout == 2 &&
           are_small(args, n, MX_MOST_DIRECT + 1) && is_array(args[0]) &&
           queue_is_eager_first(array_size(np_array_of(args[0])), NPY_MAX_INTP);
}

/* Check for a tuple, a list, or an array of so many axes. */
static bool has_axes(PyObject *const *args, size_t n, int axes)
{
    size_t i = 0;
    while (i < n && !PyTuple_CheckExact(args[i]) && !PyList_CheckExact(args[i]) &&
           !(is_array(args[i]) && PyArray_NDIM(np_array_of(args[i])) >= axes))
        i++;
    return i < n;
}

/* Check whether `choose` is asked for arguments that call_plain() takes. */
static bool is_choosing(const struct function *f, PyObject *const *args, size_t n, size_t all)
{
    if (!f->choose)
        return false;
    switch (f->choose_rule) {
    case 'k':
        return all > n;
    case 'x':
        return has_axes(args, all, f->choose_from);
    default:
        return all >= (size_t)f->choose_from;
    }
}

/* Check for arguments that call_plain() takes.  A tuple or list as `out` is noted otherwise,
 * and where objects are stored the items of a list are kept. */
static bool are_taken(const struct function *f, PyObject *const *args, size_t n,
                      PyObject *names)
{
    size_t all = n + (names ? (size_t)PyTuple_Size(names) : 0);
    Py_ssize_t least = least_large(f);
    bool has_container = f->stores, stores_objects = false;
    for (size_t i = 0; i < all; i++) {
        if (!is_taken(f, args[i], least))
            return false;
        has_container |= PyTuple_CheckExact(args[i]) || PyList_CheckExact(args[i]);
        stores_objects |=
            convert_holds_objects(args[i]) || convert_is_object_dtype(args[i], MAX_DEPTH);
    }
    for (size_t i = n; has_container && i < all; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i - n), "out") == 0)
            return false;
    return !(has_container && stores_objects);
}

/* Return what is called for NumPy's function.  None of the arguments overrides it, and to ask
 * them takes longer than the rest of the call. */
static PyObject *callable_of(const struct function *f, PyObject *const *args, size_t n)
{
    bool is_taken = f->implementation && n > 0 && passes_dispatcher(args[0]);
    return is_taken ? f->implementation : f->wrapped;
}

/* Call NumPy's function after its implementation raised an exception, if its dispatcher refuses
 * the call.  Otherwise return NULL with the exception. */
static PyObject *call_refused(const struct function *f, PyObject *const *values, size_t n,
                              PyObject *names)
{
    PyObject *args, *kwargs, *type, *error, *traceback, *result = NULL;
    PyErr_Fetch(&type, &error, &traceback);
    int status = arguments_collect(values, (Py_ssize_t)n, names, &args, &kwargs);
    PyErr_Restore(type, error, traceback);
    if (status == 0 && comes_too_late(f, args, kwargs)) {
        PyErr_Clear();
        result = PyObject_Call(f->wrapped, args, kwargs);
    }
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

/* Call NumPy's function with arrays, plain arguments, and short tuples and lists of them,
 * without a tuple of the arguments.  Return 1 with the result, or NULL if that is an exception,
 * or 0 if it is another call. */
static int call_plain(const struct function *f, PyObject *const *args, size_t n,
                      PyObject *names, PyObject **result)
{
    PyObject *values[MAX_PLAIN];
    struct call_args call_args;
    size_t all = n + (names ? (size_t)PyTuple_Size(names) : 0), taken = 0;
    if (all > MAX_PLAIN || !queue_is_idle() || !is_usual(f) || is_choosing(f, args, n, all) ||
        may_record_sizes(f, args, n, all) ||
        (!are_small(args, all, least_large(f)) && !is_eager_pair(f, args, all)) ||
        !layout_is_known() ||
        (f->operation >= 0 && n == 2 && queue_takes_result(args[0], args[1])) ||
        (f->operation >= 0 && n > 0 && is_costly(f->operation, args[0])))
        return 0;
    PyObject *callable = callable_of(f, args, n);
    vector_call *call = layout_vectorcall(callable);
    if (!call || !*call || !are_taken(f, args, n, names))
        return 0;
    *result = NULL;
    if (recursion_enter() < 0)
        return 1;
    call_args_begin(&call_args);
    call_args.keeps_others = f->keeps_others;
    while (taken < all && (values[taken] = plain_value(f, args[taken], &call_args)))
        taken++;
    if (taken == all)
        *result = (*call)(callable, values, n, names);
    if (taken == all && !*result && callable != f->wrapped)
        *result = call_refused(f, values, n, names);
    recursion_leave();
    if (f->adopts)
        *result = convert_adopt(*result, &call_args, MAX_DEPTH);
    while (taken > 0)
        Py_DECREF(values[--taken]);
    convert_end_call(&call_args);
    return 1;
}

/* This function is separate because it needs many registers, which take time to save. */
__attribute__((noinline)) static PyObject *
call_indirect(PyObject *self, PyObject *const *values, size_t n, PyObject *names)
{
    PyObject *result, *args, *kwargs;
    if (call_plain((struct function *)self, values, n, names, &result) != 0)
        return result;
    if (arguments_collect(values, (Py_ssize_t)n, names, &args, &kwargs) < 0)
        return NULL;
    ternaryfunc call =
        is_reported() ? (ternaryfunc)PyType_GetSlot(Py_TYPE(self), Py_tp_call) : function_call;
    result = call(self, args, kwargs);
    Py_XDECREF(kwargs);
    Py_DECREF(args);
    return result;
}

/* Call a function through the hook, without a tuple of its arguments. */
static PyObject *call_reported(PyObject *self, PyObject *const *values, size_t n,
                               PyObject *names)
{
    PyObject *all[MAX_PLAIN + 1] = {self};
    size_t m = n + (names ? (size_t)PyTuple_Size(names) : 0);
    if (m > MAX_PLAIN)
        return call_indirect(self, values, n, names);
    memcpy(all + 1, values, m * sizeof *values);
    return hooks_call_function(all, n + 1, names);
}

static PyObject *function_vectorcall(PyObject *self, PyObject *const *values, size_t flags,
                                     PyObject *names)
{
    PyObject *result = NULL;
    size_t n = flags & ~ARGUMENTS_OFFSET;
    if (is_reported())
        return call_reported(self, values, n, names);
    if (expression_is_open()) /* another form closes it, or looks at what follows this call */
        return call_indirect(self, values, n, names);
    if (((struct function *)self)->direct == functions_asarray && n == 1 && !names &&
        is_array(values[0]) && !as_array(values[0])->is_standard &&
        is_usual((struct function *)self))
        return Py_NewRef(values[0]);
    int status = call_direct((struct function *)self, values, n, names, &result);
    return status != 0 ? result : call_indirect(self, values, n, names);
}

/* Call a function for the first time. */
static PyObject *call_first(PyObject *self, PyObject *const *values, size_t flags,
                            PyObject *names)
{
    return prepare((struct function *)self) < 0
               ? NULL
               : function_vectorcall(self, values, flags, names);
}

/* Make a function that has a row, or the name of none, or without a row. */
static struct function *make_of_type(PyTypeObject *type, PyObject *wrapped, PyObject *row,
                                     int operation)
{
    struct function *self = (struct function *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->wrapped = Py_NewRef(wrapped);
    self->row = Py_XNewRef(row);
    self->call = row ? call_first : function_vectorcall;
    self->adopts = true;
    self->choose_rule = 'n';
    self->operation = operation;
    self->ways[0].threshold_factor = self->ways[1].threshold_factor = self->layer_factor = 1;
    self->depth = MAX_DEPTH;
    return self;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "adopts", "keeps_others", "row", "is_member", NULL};
    PyObject *wrapped, *row = NULL;
    int adopts = 1, keeps_others = 0, is_member = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$ppUp:Function", names, &wrapped, &adopts,
                                     &keeps_others, &row, &is_member))
        return NULL;
    struct function *self = make_of_type(type, wrapped, row, -1);
    if (self) {
        self->adopts = adopts;
        self->keeps_others = keeps_others;
        self->is_member = is_member;
    }
    return (PyObject *)self;
}

static PyObject *make_function(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    long operation = n == 3 ? PyLong_AsLong(args[2]) : -1;
    if (operation == -1 && PyErr_Occurred())
        return NULL;
    if (n < 2 || !PyType_Check(args[0]) ||
        !PyType_IsSubtype((PyTypeObject *)args[0], function_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class of functions, and a function");
        return NULL;
    }
    return (PyObject *)make_of_type((PyTypeObject *)args[0], args[1], Py_None, (int)operation);
}

/* Return a new function that treats its calls as another one does. */
static struct function *copy_function(const struct function *f, PyObject *wrapped)
{
    struct function *copy = (struct function *)PyType_GenericAlloc(Py_TYPE((PyObject *)f), 0);
    if (!copy)
        return NULL;
    copy->call = f->call;
    copy->direct = f->direct;
    copy->takes_axis = f->takes_axis;
    copy->wrapped = Py_NewRef(wrapped);
    copy->implementation = wrapped == f->wrapped ? Py_XNewRef(f->implementation) : NULL;
    copy->choose = Py_XNewRef(f->choose);
    copy->choose_from = f->choose_from;
    copy->choose_rule = f->choose_rule;
    copy->layer = Py_XNewRef(f->layer);
    copy->layer_factor = f->layer_factor;
    for (int i = 0; i < 2; i++) {
        copy->ways[i] = f->ways[i];
        Py_XINCREF(f->ways[i].implementation);
    }
    copy->has_gpu_way = f->has_gpu_way;
    copy->operation = f->operation;
    copy->adopts = f->adopts;
    copy->keeps_others = f->keeps_others;
    copy->is_maker = f->is_maker;
    copy->is_view = f->is_view;
    copy->depth = f->depth;
    copy->stores = f->stores;
    copy->dict = f->dict ? PyDict_Copy(f->dict) : NULL;
    if (f->dict && !copy->dict)
        Py_CLEAR(copy);
    return copy;
}

PyObject *function_standard(PyObject *function)
{
    if (prepare((struct function *)function) < 0)
        return NULL;
    const struct function *f = (struct function *)function;
    struct function *copy = copy_function(f, f->wrapped);
    if (copy)
        copy->is_standard = true;
    return (PyObject *)copy;
}

static PyObject *set_gpu_way(PyObject *module, PyObject *args)
{
    PyObject *function, *implementation;
    int factor, place, rule;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OiCi:set_gpu_way", function_type, &function, &implementation,
                          &factor, &rule, &place))
        return NULL;
    struct function *f = (struct function *)function;
    Py_XDECREF(f->ways[1].implementation);
    f->ways[1] = (struct recorded_way){Py_NewRef(implementation), factor, (char)rule, place};
    f->has_gpu_way = true;
    Py_RETURN_NONE;
}

static PyObject *bind_function(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 4 || !PyObject_TypeCheck(args[0], function_type)) {
        PyErr_SetString(PyExc_TypeError, "bind_function() takes a function and three objects");
        return NULL;
    }
    struct function *f = (struct function *)args[0];
    struct function *copy = prepare(f) < 0 ? NULL : copy_function(f, args[1]);
    if (!copy)
        return NULL;
    copy->first = Py_NewRef(args[2]);
    if (!(copy->owner = PyWeakref_NewRef(args[3], NULL)))
        Py_CLEAR(copy);
    return (PyObject *)copy;
}

/* The hash and equality are those of the NumPy function.  So a program's table of overrides,
 * whose keys are np.add or np.concatenate, has the entry that NumPy looks for. */
static PyObject *function_richcompare(PyObject *a, PyObject *b, int op)
{
    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *y = b;
    if (PyObject_TypeCheck(b, function_type))
        y = ((struct function *)b)->wrapped;
    return PyObject_RichCompare(((struct function *)a)->wrapped, y, op);
}

static Py_hash_t function_hash(PyObject *self)
{
    return PyObject_Hash(((struct function *)self)->wrapped);
}

static PyObject *function_repr(PyObject *self)
{
    return PyObject_Repr(((struct function *)self)->wrapped);
}

/* It is pickled and copied by name, as functions are, or by its owner and its name. */
static PyObject *function_reduce(PyObject *self, PyObject *unused)
{
    struct function *f = (struct function *)self;
    (void)unused;
    if (f->owner)
        return PyObject_CallFunctionObjArgs(reduce_method, f->owner, f->wrapped, NULL);
    return PyObject_GetAttrString(self, "__qualname__");
}

/* Attributes that the wrapper lacks, such as a signature, are those of the NumPy function. */
static PyObject *function_getattr(PyObject *self, PyObject *name)
{
    if (prepare((struct function *)self) < 0)
        return NULL;
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        value = PyObject_GetAttr(((struct function *)self)->wrapped, name);
    }
    return value;
}

/* Check for an attribute that no row sets. */
static bool is_apart(PyObject *name)
{
    static const char *const names[] = {"choose", "choose_from", "choose_rule", "is_maker",
                                        "is_view"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
            return true;
    return false;
}

/* Check whether the objects of a class have a dict of their own. */
static bool has_dict(PyTypeObject *type)
{
    PyObject *offset = PyObject_GetAttrString((PyObject *)type, "__dictoffset__");
    bool has = offset && PyObject_IsTrue(offset) == 1;
    Py_XDECREF(offset);
    return has;
}

/* Find what a class or its bases define for a name. */
static PyObject *find_member(PyTypeObject *type, PyObject *name)
{
    PyObject *mro = PyObject_GetAttrString((PyObject *)type, "__mro__"), *member = NULL;
    Py_ssize_t n = mro ? PyTuple_Size(mro) : 0;
    for (Py_ssize_t i = 0; i < n && !member; i++) {
        PyObject *names = PyObject_GetAttrString(PyTuple_GetItem(mro, i), "__dict__");
        member = names ? PyObject_GetItem(names, name) : NULL;
        PyErr_Clear();
        Py_XDECREF(names);
    }
    Py_XDECREF(mro);
    return member;
}

/* Check whether the NumPy function refuses that an attribute is set.  One that its class
 * computes is tried with the value that it has. */
static bool refuses_attribute(PyObject *self, PyObject *name)
{
    PyObject *wrapped = ((struct function *)self)->wrapped, *value = NULL;
    PyObject *member = find_member(Py_TYPE(wrapped), name);
    bool refuses = !has_dict(Py_TYPE(wrapped)) &&
                   (member || !PyObject_HasAttr((PyObject *)Py_TYPE(self), name));
    if (member && PyObject_HasAttrString(member, "__set__")) {
        value = PyObject_GetAttr(wrapped, name);
        refuses = value && PyObject_SetAttr(wrapped, name, value) < 0;
    }
    Py_XDECREF(member);
    Py_XDECREF(value);
    PyErr_Clear();
    return refuses;
}

static int function_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    struct function *f = (struct function *)self;
    if (is_apart(name) || f->is_preparing)
        return PyObject_GenericSetAttr(self, name, value);
    if (prepare(f) < 0)
        return -1;
    bool is_missing = !value && !PyObject_HasAttr(self, name);
    return is_missing || refuses_attribute(self, name)
               ? PyObject_SetAttr(f->wrapped, name, value)
               : PyObject_GenericSetAttr(self, name, value);
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct function *f = (struct function *)self;
    Py_VISIT(f->wrapped);
    Py_VISIT(f->implementation);
    Py_VISIT(f->choose);
    Py_VISIT(f->ways[0].implementation);
    Py_VISIT(f->ways[1].implementation);
    Py_VISIT(f->layer);
    Py_VISIT(f->first);
    Py_VISIT(f->dict);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int function_clear(PyObject *self)
{
    struct function *f = (struct function *)self;
    Py_CLEAR(f->choose);
    Py_CLEAR(f->ways[0].implementation);
    Py_CLEAR(f->ways[1].implementation);
    Py_CLEAR(f->layer);
    Py_CLEAR(f->first);
    Py_CLEAR(f->dict);
    return 0;
}

static void function_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct function *f = (struct function *)self;
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->wrapped);
    Py_XDECREF(f->implementation);
    Py_XDECREF(f->row);
    Py_XDECREF(f->choose);
    Py_XDECREF(f->ways[0].implementation);
    Py_XDECREF(f->ways[1].implementation);
    Py_XDECREF(f->layer);
    Py_XDECREF(f->first);
    Py_XDECREF(f->owner);
    Py_XDECREF(f->dict);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMemberDef function_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct function, wrapped), READONLY,
     "The NumPy callable."},
    {"choose", T_OBJECT, offsetof(struct function, choose), 0,
     "None, or a function that returns the NumPy callable for the arguments of a call, or a "
     "tuple of that and of other arguments."},
    {"choose_from", T_INT, offsetof(struct function, choose_from), 0,
     "How many arguments, or axes, `choose_rule` counts."},
    {"choose_rule", T_CHAR, offsetof(struct function, choose_rule), 0,
     "Which calls `choose` is asked for: \"n\" those with so many arguments, \"k\" those with "
     "a keyword, \"x\" those with an array of so many axes, a tuple or a list."},
    {"implementation", T_OBJECT, offsetof(struct function, ways[0].implementation), 0,
     "None, or a function that is called first when an array is large. It records the "
     "operation, or returns NotImplemented."},
    {"gpu_implementation", T_OBJECT, offsetof(struct function, ways[1].implementation), 0,
     "The same where operations may run on a GPU, if set_gpu_way() was called."},
    {"layer", T_OBJECT, offsetof(struct function, layer), 0,
     "None, or NumPy's code for the function, which is executed over mxnp arrays after "
     "`implementation`. True until it is loaded."},
    {"threshold_factor", T_INT, offsetof(struct function, ways[0].threshold_factor), 0,
     "An array of this many thresholds is large for `implementation`."},
    {"layer_factor", T_INT, offsetof(struct function, layer_factor), 0,
     "An array of this many thresholds is large for `layer`."},
    {"size_rule", T_CHAR, offsetof(struct function, ways[0].size_rule), 0,
     "What has to be large: \"a\" an argument, \"s\" the shape in the first argument, \"n\" "
     "the square of that number or of the size of an array, \"t\" the number in the third "
     "argument or in `num`, \"g\" the grid of all arrays, \"r\" a range, \"w\" an argument "
     "if there are several threads, \"m\" the same if an argument has three axes, \"o\" an "
     "argument if several threads reduce it to one number, \"i\" the argument at "
     "`size_place`, \"d\" the size of a draw, \"p\" the same if there are several threads. "
     "With \"q\", "
     "`implementation` decides."},
    {"size_place", T_INT, offsetof(struct function, ways[0].size_place), 0,
     "With the rules \"d\" and \"p\", the place of the size among the arguments, or -1 if they "
     "are the "
     "size."},
    {"operation", T_INT, offsetof(struct function, operation), 0,
     "The row of a ufunc in ops.def, or -1."},
    {"is_maker", T_BOOL, offsetof(struct function, is_maker), 0,
     "Whether results have a default dtype unless the call passes one."},
    {"depth", T_INT, offsetof(struct function, depth), 0,
     "The levels of tuples and lists among the arguments whose arrays become NumPy's."},
    {"stores", T_BOOL, offsetof(struct function, stores), 0,
     "Whether an array of objects stores the arguments after it as they are."},
    {"is_view", T_BOOL, offsetof(struct function, is_view), 0,
     "Whether results are views if the elements need not be read."},
    {"is_member", T_BOOL, offsetof(struct function, is_member), 0,
     "Whether it is a method or an attribute of its first argument."},
    {"is_standard", T_BOOL, offsetof(struct function, is_standard), READONLY,
     "Whether results are arrays, never NumPy scalars."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct function, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* The class of the NumPy callable, for isinstance: numpy.ufunc, for instance. */
static PyObject *function_shown_class(PyObject *self, void *unused)
{
    (void)unused;
    return disguise_class(self);
}

/* Set what computes small arrays, by its name in direct/functions.c. */
static int function_set_direct(PyObject *self, PyObject *name, void *unused)
{
    (void)unused;
    struct function *f = (struct function *)self;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : "";
    if (text && functions_attach(f, text))
        return 0;
    if (text)
        PyErr_Format(PyExc_ValueError, "direct/functions.c has no row '%s'", text);
    return -1;
}

static PyGetSetDef function_getset[] = {
    {"direct", NULL, function_set_direct, "The name of what computes small arrays.", NULL},
    {"__class__", function_shown_class, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new},           {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse}, {Py_tp_clear, function_clear},
    {Py_tp_call, function_call},         {Py_tp_repr, function_repr},
    {Py_tp_hash, function_hash},         {Py_tp_richcompare, function_richcompare},
    {Py_tp_getattro, function_getattr},  {Py_tp_setattro, function_setattr},
    {Py_tp_members, function_members},   {Py_tp_methods, function_methods},
    {Py_tp_getset, function_getset},     {0, NULL},
};

PyType_Spec function_spec = {
    .name = "mxnp._bridge.Function",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | HAS_VECTORCALL,
    .slots = function_slots,
};

/* Method is a Function that binds, as functions written in Python do. */
static PyObject *method_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (!instance || instance == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyObject_CallFunctionObjArgs(method_class, self, instance, NULL);
}

static PyType_Slot method_slots[] = {
    {Py_tp_descr_get, method_get},
    {0, NULL},
};

PyType_Spec method_spec = {
    .name = "mxnp._bridge.Method",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_METHOD_DESCRIPTOR |
             HAS_VECTORCALL,
    .slots = method_slots,
};
