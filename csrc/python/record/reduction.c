/* reduction.c -- reductions, scans and searches along axes as instructions for the core. */
#include "python/record/reduction.h"
#include "python/base/settings.h"
#include "python/profile/errstate.h"
#include "python/record/axes.h"
#include "python/record/queue.h"
#include "python/record/record.h"
#include "python/record/signature.h"

#define LONG_LINE 64 /* elements */
#define LARGE     16 /* times the threshold: for smaller arrays, recording takes too long */

#define FEW_THREADS 2

struct reduction {
    const struct mx_loop *loop;
    int op;
    const char *name;
    int row, result, fpe_mask; /* rows of the loop's input, and of the result */
    bool begins_with_zero;
    unsigned axes; /* reduced over, one bit each */
    struct source input;
    struct shape shape;
};

/* Return 1, 0, or -1 with an exception set. */
static int read_shape(struct reduction *r)
{
    r->shape = (struct shape){0};
    shape_broadcast(&r->shape, &r->input);
    if (r->shape.ndim == 0 || shape_size(&r->shape) == 0 || shape_is_too_large(&r->shape))
        return 0;
    r->fpe_mask = errstate_mask();
    return r->fpe_mask >= 0 ? 1 : r->fpe_mask == -1 ? 0 : -1;
}

/* Return the signature of an operation between two numbers of a row, or NULL. */
static const struct signature *signature_between(int op, int row)
{
    return signature_of(op, (struct source[]){{.code = row}, {.code = row}}, 2);
}

static int read_reduction(struct reduction *r, int op, PyObject *a, int type_number)
{
    if (!is_array(a) || !source_read(a, &r->input))
        return 0;
    r->row = r->result = dtype_row(type_number);
    if (r->row < 0 || (mx_dtype_is_complex(r->input.code) && !mx_dtype_is_complex(r->row)))
        return 0;
    const struct signature *signature = signature_between(op, r->row);
    if (!signature)
        return PyErr_Occurred() ? -1 : 0;
    if (signature->in[0] != r->row || signature->out[0] != r->row)
        return 0;
    r->loop = &signature->numpys;
    r->op = op;
    r->name = core->mx_op_get(op)->name;
    r->begins_with_zero = strcmp(core->mx_op_get(op)->identity, "0") == 0;
    return read_shape(r);
}

/* Return a new array for the results.  Its strides along the axes of the input are 0 for axes
 * that are reduced. */
static PyObject *new_output(const struct reduction *r, bool keeps_axes, const int *order,
                            intptr_t *strides)
{
    int kept_order[MX_MAX_NDIM], number[MX_MAX_NDIM], n = 0;
    struct shape kept = {0};
    for (int i = 0; i < r->shape.ndim; i++) {
        bool is_reduced = r->axes >> i & 1;
        number[i] = kept.ndim;
        if (!is_reduced || keeps_axes)
            kept.dims[kept.ndim++] = is_reduced ? 1 : r->shape.dims[i];
    }
    for (int i = 0; i < r->shape.ndim; i++)
        if (!(r->axes >> order[i] & 1) || keeps_axes)
            kept_order[n++] = number[order[i]];
    PyObject *out = record_new(r->result, &kept, kept_order);
    for (int i = 0; out && i < r->shape.ndim; i++)
        strides[i] = r->axes >> i & 1 || r->shape.dims[i] == 1
                         ? 0
                         : PyArray_STRIDE(np_array_of(out), number[i]);
    return out;
}

/* Check whether the result has NumPy's bits only if it is computed in NumPy's order. */
static bool is_ordered(const struct reduction *r, enum mx_kind kind)
{
    return kind == MX_REDUCE && (r->op == MX_OP_add || r->op == MX_OP_multiply) &&
           !settings_are_fast() &&
           (mx_dtype_is_complex(r->row) || r->row == ROW_float16 || r->row == ROW_float32 ||
            r->row == ROW_float64);
}

static bool is_large(const struct reduction *r)
{
    return queue_weight(np_array_of(r->input.array)) / LARGE >= queue_threshold;
}

/* Check whether an array is repeated along an axis. */
static bool is_repeated(const struct source *source)
{
    for (int i = 0; i < PyArray_NDIM(source->np_array); i++)
        if (PyArray_DIM(source->np_array, i) > 1 && PyArray_STRIDE(source->np_array, i) == 0)
            return true;
    return false;
}

/* Return the order of the instruction for results of a row. */
static enum mx_order order_of(const struct reduction *r, int row)
{
    struct mx_instruction in = {
        .op = r->op, .kind = MX_REDUCE, .keeps_order = true, .nin = 1, .ndim = r->shape.ndim};
    memcpy(in.shape, r->shape.dims, (size_t)in.ndim * sizeof *in.shape);
    axes_strides(&r->input, &r->shape, in.operands[0].strides);
    for (int i = 0; i < in.ndim; i++)
        in.operands[1].strides[i] = !(r->axes >> i & 1);
    in.operands[1].dtype = row;
    return core->mx_order_of_reduction(&in);
}

/* Check whether NumPy adds up or multiplies in an order that the core does not keep.  Of arrays
 * in memory NumPy reduces those that are not large, so it also reduces those that wait. */
static bool has_numpys_order(const struct reduction *r)
{
    if (!is_ordered(r, MX_REDUCE) || settings_device() == MX_DEVICE)
        return false;
    if (is_repeated(&r->input))
        return true;
    if (is_large(r))
        return false;
    bool is_exact = !mx_dtype_is_inexact(r->input.code) &&
                    (r->row == ROW_float64 || r->row == ROW_complex128);
    if (r->input.code != r->row && !is_exact)
        return true; /* NumPy casts some elements at a time */
    return order_of(r, r->row) == MX_ANY_ORDER;
}

/* Check whether it is a sum or product of float16, in float32, that has to have NumPy's bits.
 */
static bool is_of_halves(const struct reduction *r, int result)
{
    return result == ROW_float16 && r->row == ROW_float32 && is_ordered(r, MX_REDUCE) &&
           !settings_use_gpu();
}

/* Choose the dtype in which NumPy computes it: see cpu/plan/order.h.  Return 1, 0 or -1. */
static int choose_dtype(struct reduction *r)
{
    enum mx_order order = order_of(r, ROW_float16);
    if (r->input.code != ROW_float16 || order == MX_ANY_ORDER || is_repeated(&r->input))
        return 0;
    if (order != MX_ROW_BY_ROW)
        return 1;
    const struct signature *signature = signature_between(r->op, ROW_float16);
    if (!signature)
        return PyErr_Occurred() ? -1 : 0;
    r->row = r->result = ROW_float16;
    r->loop = &signature->loop;
    return 1;
}

/* Record it into `out`, with these strides along the axes of the input.  Return 1, 0 or -1. */
static int reduction_record(struct reduction *r, enum mx_kind kind, int axis, PyObject *out,
                            const intptr_t *strides)
{
    struct mx_instruction in;
    struct mx_buffer *made = NULL;
    struct source output;
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    record_begin(&in, r->loop, r->op, r->name, 1, 1, &r->shape, r->fpe_mask);
    in.kind = kind;
    in.axis = axis;
    in.begins_with_zero = r->begins_with_zero;
    in.keeps_order = is_ordered(r, kind);
    int64_t sequence = -1;
    int status =
        record_input(&in.operands[0], &r->input, r->row, &r->shape, r->fpe_mask, site, &made);
    if (status < 1) {
        call_site_free(site);
    } else {
        struct shape own = shape_of(np_array_of(out));
        source_read_array(out, &output);
        record_view(&in.operands[1], &output, &own, site);
        memcpy(in.operands[1].strides, strides, (size_t)r->shape.ndim * sizeof *strides);
        sequence = record_append(&in, site);
    }
    if (made)
        core->mx_buffer_release(made);
    if (sequence < 0)
        return status == 0 ? 0 : -1;
    if (!made)
        record_mark(&r->input, sequence, false);
    record_mark(&output, sequence, true);
    return record_done(&r->input, 1);
}

/* Check whether NumPy reads only the first few elements of each line: for bool in memory, it
 * stops at the first element that decides the result. */
static bool stops_early(const struct reduction *r, int op)
{
    int order[MX_MAX_NDIM];
    if (r->input.code != ROW_bool || queue_writes(r->input.array))
        return false;
    if (op != MX_OP_logical_or && op != MX_OP_logical_and && op != MX_OP_maximum &&
        op != MX_OP_minimum)
        return false;
    axes_order(&r->input, 1, &r->shape, order);
    int inner = order[r->shape.ndim - 1];
    if (r->axes == (1u << r->shape.ndim) - 1)
        return true;
    return r->axes >> inner & 1 && r->shape.dims[inner] >= LONG_LINE;
}

/* Steal a reference to a result, and assign it to an array unless that is None.  No code of the
 * program runs between the record of both. */
static PyObject *write_result(PyObject *result, PyObject *to)
{
    if (!result || result == Py_NotImplemented || to == Py_None)
        return result;
    int status = PyObject_SetItem(to, Py_Ellipsis, result);
    Py_DECREF(result);
    return status < 0 ? NULL : Py_NewRef(to);
}

/* Steal a reference to a result, and add an initial value with a ufunc.  `initial` is a tuple
 * of the ufunc and the value, or None. */
static PyObject *add_initial(PyObject *result, PyObject *initial)
{
    if (!result || result == Py_NotImplemented || initial == Py_None)
        return result;
    PyObject *whole = PyObject_CallFunctionObjArgs(PyTuple_GetItem(initial, 0), result,
                                                   PyTuple_GetItem(initial, 1), NULL);
    Py_DECREF(result);
    return whole;
}

static PyObject *reduction_reduce(PyObject *module, PyObject *args)
{
    (void)module;
    struct reduction r = {0};
    int op, type_number, result_number, keeps_axes;
    PyObject *a, *initial, *to = Py_None, *out = NULL;
    int order[MX_MAX_NDIM];
    intptr_t strides[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "iOIpOii|O", &op, &a, &r.axes, &keeps_axes, &initial,
                          &type_number, &result_number, &to))
        return NULL;
    int status = read_reduction(&r, op, a, type_number), result = dtype_row(result_number);
    r.begins_with_zero &= initial == Py_None;
    npy_intp n = 1;
    for (int i = 0; i < r.shape.ndim; i++)
        n *= r.axes >> i & 1 ? r.shape.dims[i] : 1;
    if (status > 0 && (n == 1 || source_is_value(&r.input) || stops_early(&r, op)))
        status = 0; /* NumPy is faster */
    if (status > 0)
        status = is_of_halves(&r, result) ? choose_dtype(&r) : !has_numpys_order(&r);
    if (status > 0) {
        axes_order(&r.input, 1, &r.shape, order);
        status = (out = new_output(&r, keeps_axes, order, strides)) ? 1 : -1;
    }
    bool is_rounded = status > 0 && result != r.row;
    if (is_rounded)
        call_site_join("reduce");
    if (status > 0)
        status = reduction_record(&r, MX_REDUCE, 0, out, strides);
    if (status > 0 && is_rounded) {
        PyObject *total = out;
        r.result = result;
        out = new_output(&r, keeps_axes, order, strides);
        status = out ? record_cast(total, out, "reduce", r.fpe_mask) : -1;
        Py_DECREF(total);
    }
    if (is_rounded)
        call_site_end_join();
    return write_result(add_initial(record_result(status, out), initial), to);
}

/* Check whether NumPy's running results take less time: only floats have kernels, see
 * cpu/kernels/running.h.  NumPy writes the others into `out`, where few threads do not make up
 * for a copy, and computes those of complex products line by line too. */
static bool is_for_numpy(const struct reduction *r, PyObject *to)
{
    if (r->row == ROW_float32 || r->row == ROW_float64)
        return false;
    int n_threads = settings_use_gpu() ? MX_MAX_THREADS : core->mx_thread_pool_size();
    bool is_product = r->op == MX_OP_multiply && mx_dtype_is_complex(r->row);
    if ((to != Py_None && n_threads <= FEW_THREADS) || (is_product && n_threads == 1))
        return true;
    return !queue_writes(r->input.array) && !is_large(r);
}

static PyObject *accumulate(PyObject *module, PyObject *args)
{
    (void)module;
    struct reduction r = {0};
    int op, type_number, axis, order[MX_MAX_NDIM];
    PyObject *a, *to = Py_None, *out = NULL;
    intptr_t strides[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "iOii|O", &op, &a, &axis, &type_number, &to))
        return NULL;
    int status = read_reduction(&r, op, a, type_number);
    if (status > 0 && (source_is_value(&r.input) || is_for_numpy(&r, to)))
        status = 0;
    if (status > 0) {
        axes_order(&r.input, 1, &r.shape, order);
        status = (out = record_new(r.row, &r.shape, order)) ? 1 : -1;
    }
    for (int i = 0; status > 0 && i < r.shape.ndim; i++)
        strides[i] = PyArray_STRIDE(np_array_of(out), i);
    if (status > 0)
        status = reduction_record(&r, MX_SCAN, axis, out, strides);
    return write_result(record_result(status, out), to);
}

/* -- Searches ---------------------------------------------------------------------- */

/* NumPy's argmax and argmin functions for each row of dtypes.def. */
static struct search {
    PyArray_ArgFunc *find;
    struct mx_loop loop;
} searches[NTYPES][2];

/* NumPy's function needs contiguous elements, and does not use the array. */
static void run_search(char **args, const intptr_t *n, const intptr_t *strides, void *data)
{
    const struct search *search = data;
    (void)strides;
    search->find(args[0], *n, (npy_intp *)(void *)args[1], NULL);
}

static const struct mx_loop *search_loop(int row, bool is_least)
{
    struct search *search = &searches[row][is_least];
    if (!search->find) {
        PyArray_Descr *dtype = PyArray_DescrFromType(dtype_type_number(row));
        const PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(dtype);
        search->find = is_least ? functions->argmin : functions->argmax;
        search->loop = (struct mx_loop){.function = run_search, .data = search};
        Py_DECREF(dtype);
    }
    return &search->loop;
}

static PyObject *reduction_find(PyObject *module, PyObject *args)
{
    (void)module;
    struct reduction r = {0};
    int is_least, axis, keeps_axes;
    PyObject *a, *out = NULL;
    int order[MX_MAX_NDIM];
    intptr_t strides[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "pOip", &is_least, &a, &axis, &keeps_axes))
        return NULL;
    int status = is_array(a) && source_read(a, &r.input) && !source_is_value(&r.input);
    if (status > 0)
        status = read_shape(&r);
    if (status > 0) {
        r.fpe_mask = 0; /* NumPy ignores conditions here */
        r.row = r.input.code;
        r.result = dtype_row(NPY_INTP);
        r.loop = search_loop(r.row, is_least);
        r.op = is_least ? MX_ARGMIN : MX_ARGMAX;
        r.name = is_least ? "argmin" : "argmax";
        r.axes = 1u << axis;
        for (int i = 0; i < r.shape.ndim; i++)
            order[i] = i; /* NumPy returns results in C order here */
        status = (out = new_output(&r, keeps_axes, order, strides)) ? 1 : -1;
    }
    if (status > 0)
        status = reduction_record(&r, MX_ARGREDUCE, axis, out, strides);
    return record_result(status, out);
}

PyMethodDef reduction_methods[] = {
    {"reduce", reduction_reduce, METH_VARARGS,
     "reduce(op, array, axes, keepdims, initial, type_number, result_number, out=None, /)"
     "\n--\n\nRecord the reduction of an array over axes (one bit each) with a row of ops.def, "
     "and its assignment to an array. It is computed in the dtype of type_number, and cast to "
     "that of result_number. Return NotImplemented if it is not recorded. `initial` is None, "
     "or "
     "a tuple: the ufunc, and a value of the result's dtype that is its last operand."},
    {"accumulate", accumulate, METH_VARARGS,
     "accumulate(op, array, axis, type_number, out=None, /)\n--\n\nRecord the running results "
     "along an axis, and their assignment to an array, or return NotImplemented."},
    {"find", reduction_find, METH_VARARGS,
     "find(least, array, axis, keepdims)\n--\n\nRecord a search for the first least or "
     "greatest elements along an axis, or return NotImplemented."},
    {NULL, NULL, 0, NULL},
};
