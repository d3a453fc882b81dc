/* call.c -- ufuncs, and functions of three arguments, as instructions. */
#include "python/record/call.h"
#include "python/base/settings.h"
#include "python/profile/errstate.h"
#include "python/record/axes.h"
#include "python/record/expression.h"
#include "python/record/queue.h"
#include "python/record/record.h"
#include "python/record/signature.h"

/* -- Ufuncs ------------------------------------------------------------------------ */

/* The call of one ufunc. */
struct call {
    const struct signature *signature;
    int op;
    const char *name;
    int nin, nout, fpe_mask;
    struct shape shape;
    struct source inputs[3], outputs[2];
    bool has_output[2];
};

static bool read_outputs(struct call *call, PyObject *const *outs)
{
    for (int j = 0; j < call->nout; j++) {
        call->has_output[j] = outs && outs[j];
        if (!call->has_output[j])
            continue;
        if (!is_array(outs[j]) || !source_read(outs[j], &call->outputs[j]) ||
            !shape_broadcast(&call->shape, &call->outputs[j]))
            return false;
    }
    for (int j = 0; j < call->nout; j++)
        if (call->has_output[j] &&
            (!record_can_write(&call->outputs[j], &call->shape) ||
             !dtype_can_cast(call->signature->out[j], call->outputs[j].code,
                             NPY_SAME_KIND_CASTING)))
            return false;
    /* If two outputs share memory, NumPy decides which one is written last. */
    return call->nout < 2 || !call->has_output[0] || !call->has_output[1] ||
           root_of(call->outputs[0].array) != root_of(call->outputs[1].array);
}

static bool needs_temporary(const struct call *call, int j)
{
    const struct source *out = &call->outputs[j];
    bool needs = out->code != call->signature->out[j];
    for (int i = 0; i < call->nin && !needs; i++)
        needs = record_collides(out, &call->inputs[i]);
    return needs;
}

/* Check whether NumPy calls the loop of a ufunc once, without an iterator. */
static bool is_one_call(const struct call *call)
{
    bool is_direct = call->op != MX_SELECT && call->nout == 1;
    for (int i = 0; i < call->nin; i++)
        is_direct &= call->inputs[i].scalar || PyArray_NDIM(call->inputs[i].np_array) == 0 ||
                     call->inputs[i].code == call->signature->in[i];
    return is_direct;
}

static PyObject *new_result(const struct call *call, int row)
{
    int order[MX_MAX_NDIM];
    if (is_one_call(call) && axes_are_fortran(call->inputs, call->nin, &call->shape))
        axes_reverse(call->shape.ndim, order);
    else
        axes_order(call->inputs, call->nin, &call->shape, order);
    return record_new(row, &call->shape, order);
}

/* Return the row of the dtype that a scalar must fit: the dtype of the loop.  In a loop over
 * bool it is the dtype of the other operand, and int64 for a Python int. */
static int row_to_fit(const struct call *call, int i)
{
    int row = call->signature->in[i];
    if (row != ROW_bool || call->nin != 2)
        return row;
    return call->inputs[i].code == WEAK_INT ? ROW_int64 : source_own_row(&call->inputs[1 - i]);
}

/* Check whether scalars become values of the loop's dtypes without an error or a warning. */
static bool scalars_fit(const struct call *call)
{
    char value[16];
    for (int i = 0; i < call->nin; i++)
        if (call->inputs[i].scalar &&
            !source_value(&call->inputs[i], row_to_fit(call, i), value))
            return false;
    return true;
}

static int record_parts(struct call *call, PyObject **results)
{
    struct mx_instruction in;
    struct mx_buffer *made[MX_MAX_OPERANDS] = {0};
    npy_intp strides[2][MX_MAX_NDIM];
    int status = -1, nin = call->nin;
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    int fpe_mask = call->signature->is_silent ? 0 : call->fpe_mask;
    record_begin(&in, &call->signature->loop, call->op, call->name, nin, call->nout,
                 &call->shape, fpe_mask);
    for (int i = 0; i < nin; i++)
        if ((status = record_input(&in.operands[i], &call->inputs[i], call->signature->in[i],
                                   &call->shape, fpe_mask, site, &made[i])) < 1)
            goto done;
    status = -1;
    for (int j = 0; j < call->nout; j++) {
        struct source *out = &call->outputs[j];
        int row = call->signature->out[j];
        if (!call->has_output[j]) {
            results[j] = new_result(call, row);
            if (!results[j])
                goto done;
            source_read_array(results[j], out);
        } else if (needs_temporary(call, j)) {
            made[nin + j] =
                record_new_temporary(call->inputs, nin, row, &call->shape, strides[j]);
            if (!made[nin + j])
                goto done;
            record_temporary(&in.operands[nin + j], made[nin + j], row, &call->shape,
                             strides[j]);
            continue;
        }
        record_view(&in.operands[nin + j], out, &call->shape, site);
    }
    int64_t sequence = record_append(&in, site);
    site = NULL;
    if (sequence < 0)
        goto done;
    for (int i = 0; i < nin; i++)
        if (call->inputs[i].array && in.operands[i].is_value == false)
            record_mark(&call->inputs[i], sequence, false);
    status = 1;
    for (int j = 0; j < call->nout && status > 0; j++) {
        if (made[nin + j])
            status = record_copy(NULL, made[nin + j], strides[j], call->signature->out[j],
                                 &call->outputs[j], NULL, NULL, call->outputs[j].code,
                                 &call->shape, call->fpe_mask);
        else
            record_mark(&call->outputs[j], sequence, true);
        if (status > 0 && call->has_output[j])
            results[j] = Py_NewRef(call->outputs[j].array);
    }
done:
    for (int k = 0; k < MX_MAX_OPERANDS; k++)
        if (made[k])
            core->mx_buffer_release(made[k]);
    if (site)
        call_site_free(site);
    return status;
}

/* NumPy's warnings name the ufunc that casts results to the dtype of an output, or operands. It
 * casts short operands before it calls the ufunc. */
static bool names_casts(const struct call *call)
{
    bool is_cast = false;
    for (int i = 0; i < call->nin; i++) {
        const PyArrayObject *a = call->inputs[i].np_array;
        if (source_may_signal(&call->inputs[i], call->signature->in[i]) && PyArray_NDIM(a) > 0)
            is_cast |= PyArray_NDIM(a) > 1 || PyArray_DIM(a, 0) > NPY_BUFSIZE;
    }
    for (int j = 0; j < call->nout; j++)
        is_cast |= call->has_output[j] && call->outputs[j].code != call->signature->out[j];
    return is_cast;
}

static int record_call(struct call *call, PyObject **results)
{
    bool is_cast = names_casts(call);
    if (is_cast)
        call_site_join(call->name);
    int status = record_parts(call, results);
    if (is_cast)
        call_site_end_join();
    return status;
}

/* Return the layouts of the operands for which NumPy's loop may get other strides than mxnp's:
 * NumPy's iterator copies some arrays to its buffers, and so do the blocks of the engine. */
static int layouts_of(const struct call *call)
{
    int layouts = 0, order = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    for (int i = 0; i < call->nin; i++) {
        const struct source *input = &call->inputs[i];
        if (source_is_value(input) || input->code != call->signature->in[i])
            continue; /* elements that are cast are contiguous */
        order &= PyArray_FLAGS(input->np_array);
        for (int axis = 0; axis < PyArray_NDIM(input->np_array); axis++)
            if (PyArray_STRIDE(input->np_array, axis) < 0)
                layouts |= MX_REVERSED;
    }
    layouts |= order ? 0 : MX_STRIDED;
    for (int j = 0; j < call->nout; j++) {
        if (!call->has_output[j])
            continue;
        if (needs_temporary(call, j) && call->outputs[j].code == call->signature->out[j])
            layouts |= MX_OVERLAPPING;
        if (!PyArray_ISONESEGMENT(call->outputs[j].np_array))
            layouts |= MX_STRIDED_OUTPUT;
    }
    return layouts;
}

/* Check whether NumPy's results may have other last bits than recorded ones. */
static bool has_other_bits(const struct call *call)
{
    const struct signature *signature = call->signature;
    if (settings_use_gpu())
        return false;
    return (signature->layouts != 0 && (signature->layouts & layouts_of(call)) != 0) ||
           (call->has_output[0] &&
            signature_asks_iterator(signature, call->op, shape_size(&call->shape)));
}

/* Record a call whose inputs are read.  Return 1, 0 or -1. */
static int record_read_call(struct call *call, PyObject *const *outs, PyObject **results)
{
    results[0] = results[call->nout - 1] = NULL;
    call->fpe_mask = errstate_mask();
    if (call->fpe_mask < 0)
        return call->fpe_mask == -1 ? 0 : -1;
    if (!read_outputs(call, outs) || !scalars_fit(call) ||
        (call->shape.ndim == 0 && !settings_are_fast()) || shape_size(&call->shape) == 0 ||
        shape_is_too_large(&call->shape) || has_other_bits(call))
        return 0;
    int status = record_call(call, results);
    if (status > 0)
        status = record_done(call->inputs, call->nin);
    if (status > 0)
        status = record_done(call->outputs, call->nout);
    if (status < 0)
        for (int j = 0; j < call->nout; j++)
            Py_CLEAR(results[j]);
    return status;
}

/* Check whether an array is repeated along some axes but not along all. */
static bool is_partly_broadcast(const struct source *source, const struct shape *shape)
{
    intptr_t strides[MX_MAX_NDIM];
    if (source_is_value(source))
        return false;
    axes_strides(source, shape, strides);
    return axes_repeat_some(shape->dims, strides, shape->ndim);
}

/* Check whether NumPy needs one call of its inner loop, which is also mxnp's loop, for
 * contiguous arrays of one shape. */
static bool is_one_loop(const struct call *call)
{
    npy_intp size = shape_size(&call->shape);
    for (int i = 0; i < call->nin; i++) {
        const PyArrayObject *np_array = call->inputs[i].np_array;
        if (np_array && (PyArray_SIZE(np_array) != size ||
                         !PyArray_CHKFLAGS(np_array, NPY_ARRAY_C_CONTIGUOUS)))
            return false;
    }
    return call->signature->loop.function == call->signature->numpys.function;
}

static int call_record(int op, PyObject *const *inputs, int nin, PyObject *const *outs,
                       int nout, PyObject **results)
{
    struct call call = {.op = op, .nin = nin, .nout = nout};
    results[0] = results[nout - 1] = NULL;
    for (int i = 0; i < nin; i++)
        if (!source_read(inputs[i], &call.inputs[i]) ||
            !shape_broadcast(&call.shape, &call.inputs[i]))
            return 0;
    call.signature = signature_of(op, call.inputs, nin);
    if (!call.signature)
        return PyErr_Occurred() ? -1 : 0;
    if (is_one_loop(&call) && queue_is_eager(shape_size(&call.shape)))
        return 0;
    call.name = core->mx_op_get(op)->name;
    /* If one exponent applies to a whole inner loop, NumPy's loop computes a square, a root and
     * so on, whose last bits differ.  Whether it does depends on NumPy's iterator. */
    if (op == MX_OP_power && is_partly_broadcast(&call.inputs[1], &call.shape))
        return 0;
    return record_read_call(&call, outs, results);
}

int call_ufunc(PyObject *callee, int op, PyObject *const *inputs, int nin,
               PyObject *const *outs, int nout, PyObject **results)
{
    expression_enter();
    int status = call_record(op, inputs, nin, outs, nout, results);
    if (expression_leave(callee, status > 0 ? results[0] : NULL, inputs, nin) == 0 ||
        status < 0)
        return status;
    for (int j = 0; j < nout && status > 0; j++)
        Py_CLEAR(results[j]);
    return -1;
}

static PyObject *has_own_loop(PyObject *module, PyObject *args)
{
    (void)module;
    struct source inputs[2];
    PyObject *ufunc, *objects[2] = {NULL, NULL};
    if (!PyArg_ParseTuple(args, "OO|O", &ufunc, &objects[0], &objects[1]))
        return NULL;
    int op = signature_op(ufunc), nin = objects[1] ? 2 : 1;
    for (int i = 0; i < nin; i++)
        if (op == MX_NO_OP || !source_read(objects[i], &inputs[i]))
            Py_RETURN_FALSE;
    const struct signature *signature = signature_of(op, inputs, nin);
    if (!signature && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(signature && signature->loop.function != signature->numpys.function);
}

/* -- Functions of three arguments ---------------------------------------------------- */

/* Return the row of numpy.result_type for two arguments.  Return -1 if NumPy has to compute, as
 * for bfloat16 and most other dtypes, for which ufuncs have their own rules, or with an
 * exception set.
 */
static int promote(const struct source *x, const struct source *y)
{
    struct source inputs[] = {*x, *y};
    if ((x->code == ROW_bfloat16) != (y->code == ROW_bfloat16) && x->code != WEAK_INT &&
        y->code != WEAK_INT)
        return -1;
    const struct signature *signature = signature_of(MX_OP_add, inputs, 2);
    return signature ? signature->out[0] : -1;
}

static int read_three(struct call *call, PyObject *const *inputs)
{
    call->nin = 3;
    call->nout = 1;
    for (int i = 0; i < 3; i++)
        if (!source_read(inputs[i], &call->inputs[i]) ||
            !shape_broadcast(&call->shape, &call->inputs[i]))
            return false;
    return true;
}

static PyObject *call_refuse(void)
{
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *record_or_refuse(struct call *call, PyObject *out)
{
    PyObject *result;
    int status = record_read_call(call, &out, &result);
    if (status < 0)
        return NULL;
    if (status > 0)
        return result;
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *call_choose(PyObject *module, PyObject *args)
{
    (void)module;
    struct call call = {.op = MX_SELECT, .name = "where"};
    PyObject *inputs[3], *out = NULL;
    if (!PyArg_ParseTuple(args, "OOO|O", &inputs[0], &inputs[1], &inputs[2], &out))
        return NULL;
    /* The loop writes all elements, and other code may write those that are not chosen. */
    bool is_apart = !out || (is_array(out) && !record_is_shared(out));
    int row =
        is_apart && read_three(&call, inputs) ? promote(&call.inputs[1], &call.inputs[2]) : -1;
    /* NumPy reads a condition while it writes: `out` is y then. */
    if (row < 0 || (out && record_collides(&call.inputs[2], &call.inputs[0])))
        return call_refuse();
    struct signature signature = {
        .in = {ROW_bool, (signed char)row, (signed char)row},
        .out = {(signed char)row},
        .is_silent = true,
        .loop = {.function = core->mx_copy_select_loop(dtype_itemsizes[row])}};
    call.signature = &signature;
    return record_or_refuse(&call, out);
}

/* NumPy's clip is a ufunc with three inputs, too. */
static PyObject *clip_ufunc;

static PyObject *clip(PyObject *module, PyObject *args)
{
    (void)module;
    struct call call = {.op = MX_CLIP, .name = "clip"};
    PyObject *inputs[3], *out;
    if (!PyArg_ParseTuple(args, "OOOO", &inputs[0], &inputs[1], &inputs[2], &out))
        return NULL;
    bool is_read = read_three(&call, inputs);
    /* NumPy promotes numbers of Python last, and looks for a dtype that holds all others. */
    int least = is_read ? call.inputs[1].code : 0, most = is_read ? call.inputs[2].code : 0;
    int first = least >= NTYPES || (most < NTYPES && most > least) ? 2 : 1;
    int row = is_read ? promote(&call.inputs[0], &call.inputs[first]) : -1;
    if (row >= 0)
        row = promote(&(struct source){.code = row}, &call.inputs[3 - first]);
    if (row < 0)
        return call_refuse();
    signed char code = (signed char)row;
    struct signature signature = {.in = {code, code, code}, .out = {code}, .is_silent = true};
    if (!signature_loop(&signature.loop, clip_ufunc, (int[]){row, row, row, row}))
        Py_RETURN_NOTIMPLEMENTED;
    call.signature = &signature;
    if (out == Py_None)
        out = NULL;
    return record_or_refuse(&call, out);
}

int call_masked_fill(PyObject *a, PyObject *mask, PyObject *value)
{
    struct call call = {.op = MX_SELECT, .name = "where"};
    PyObject *inputs[] = {mask, value, a}, *result;
    const struct source *all = call.inputs;
    if (!read_three(&call, inputs) || all[0].code != ROW_bool || !all[1].scalar ||
        PyArray_NDIM(all[0].np_array) != PyArray_NDIM(all[2].np_array) ||
        !PyArray_SAMESHAPE(all[0].np_array, all[2].np_array) ||
        record_collides(&all[2], &all[0]) || !source_fits(&all[1], all[2].code) ||
        record_is_shared(a)) /* the loop writes all elements: see call_choose() */
        return 0;
    signed char row = (signed char)all[2].code;
    struct signature signature = {
        .in = {ROW_bool, row, row},
        .out = {row},
        .is_silent = true,
        .loop = {.function = core->mx_copy_select_loop(dtype_itemsizes[row])}};
    call.signature = &signature;
    int status = record_read_call(&call, &a, &result);
    if (status > 0)
        Py_DECREF(result);
    return status;
}

PyMethodDef call_methods[] = {
    {"has_own_loop", has_own_loop, METH_VARARGS,
     "has_own_loop(ufunc, x, y=None)\n--\n\nReturn whether recorded calls with such arrays "
     "have "
     "a loop of mxnp's."},
    {"select", call_choose, METH_VARARGS,
     "select(condition, x, y, out=None, /)\n--\n\nRecord the choice of x where the condition "
     "is "
     "true and of y elsewhere, or return NotImplemented."},
    {"clip", clip, METH_VARARGS,
     "clip(x, least, most, out)\n--\n\nRecord the limitation of values to a range, or return "
     "NotImplemented."},
    {NULL, NULL, 0, NULL},
};

int call_load(void)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    clip_ufunc = umath ? PyObject_GetAttrString(umath, "clip") : NULL;
    Py_XDECREF(umath);
    return clip_ufunc ? 0 : -1;
}
