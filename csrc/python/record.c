/* record.c -- ufuncs, casts and copies as instructions for the core.
 *
 * Only what is certain is recorded: known dtypes, shapes that broadcast, memory that nobody
 * else may be writing.  For everything else NumPy is called at once, with its rules and its
 * errors.
 */
#include "python/record.h"

#define BATCH_SIZE 256         /* operations recorded before they run in any case */
#define HELD_LIMIT (256 << 20) /* bytes of memory that only the queue still needs */

static Py_ssize_t held;
static int64_t held_since; /* operations that had run when the first of them was dropped */

/* -- Operands ---------------------------------------------------------------------- */

/* The memory of a source: counted, or kept by the place. */
static void set_memory(struct mx_operand *operand, const struct source *source,
                       struct place *place)
{
    struct array *root = root_of(source->array);
    struct mx_buffer *buffer = memory_of(root->host);
    char *data = PyArray_BYTES(source->host);
    operand->buffer = buffer;
    operand->at = buffer ? data - PyArray_BYTES((PyArrayObject *)root->host) : (intptr_t)data;
    if (!buffer)
        place_keep(place, (PyObject *)source->host);
}

void record_view(struct mx_operand *operand, const struct source *source,
                 const struct shape *shape, struct place *place)
{
    operand->is_value = false;
    operand->itemsize = itemsizes[source->code];
    set_memory(operand, source, place);
    source_strides(source, shape, operand->strides);
}

static void set_temporary(struct mx_operand *operand, struct mx_buffer *buffer, int row,
                          const struct shape *shape, const npy_intp *strides)
{
    operand->is_value = false;
    operand->itemsize = itemsizes[row];
    operand->buffer = buffer;
    operand->at = 0;
    for (int i = 0; i < shape->ndim; i++)
        operand->strides[i] = shape->dims[i] == 1 ? 0 : strides[i];
}

void record_begin(struct mx_instruction *in, const struct mx_loop *loop, const char *name,
                  int nin, int nout, const struct shape *shape, int wanted)
{
    in->loop = *loop;
    in->kind = MX_MAP;
    in->nin = nin;
    in->nout = nout;
    in->ndim = shape->ndim;
    memcpy(in->shape, shape->dims, (size_t)shape->ndim * sizeof *in->shape);
    in->name = name;
    in->wanted = wanted;
    atomic_init(&in->raised, 0);
}

int64_t record_append(struct mx_instruction *in, struct place *place)
{
    int64_t sequence;
    in->place = place;
    if (core->append(in, &sequence) != MX_OK) {
        place_free(place);
        PyErr_SetString(PyExc_MemoryError, core->error_message());
        return -1;
    }
    queue_recorded = sequence;
    return sequence;
}

void record_mark(const struct source *source, int64_t sequence, bool is_written)
{
    struct array *root = root_of(source->array);
    root->used = sequence;
    if (is_written)
        root->written = sequence;
}

/* -- Casts and copies -------------------------------------------------------------- */

/* Records an instruction with one input, into a view or a temporary. */
static int record_copy(const struct source *from, struct mx_buffer *from_buffer,
                       const npy_intp *from_strides, int from_row, const struct source *to,
                       struct mx_buffer *to_buffer, const npy_intp *to_strides, int to_row,
                       const struct shape *shape, int wanted)
{
    struct mx_instruction in;
    struct mx_loop loop = {.function = core->cast_loop(from_row, to_row)};
    struct place *place = place_new();
    if (!place)
        return -1;
    record_begin(&in, &loop, from_row == to_row ? "copy" : "cast", 1, 1, shape,
                 from_row == to_row ? 0 : wanted);
    if (from_buffer)
        set_temporary(&in.operands[0], from_buffer, from_row, shape, from_strides);
    else
        record_view(&in.operands[0], from, shape, place);
    if (to_buffer)
        set_temporary(&in.operands[1], to_buffer, to_row, shape, to_strides);
    else
        record_view(&in.operands[1], to, shape, place);
    int64_t sequence = record_append(&in, place);
    if (sequence < 0)
        return -1;
    if (!from_buffer)
        record_mark(from, sequence, false);
    if (!to_buffer)
        record_mark(to, sequence, true);
    return 1;
}

/* Memory for an intermediate result, with the strides that suit the sources. */
static struct mx_buffer *new_temporary(const struct source *sources, int n, int row,
                                       const struct shape *shape, npy_intp *strides)
{
    int order[MX_MAX_NDIM];
    source_order_axes(sources, n, shape, order);
    shape_strides(shape, order, itemsizes[row], strides);
    struct mx_buffer *buffer =
        core->buffer_new((size_t)shape_size(shape) * (size_t)itemsizes[row]);
    if (!buffer)
        PyErr_NoMemory();
    return buffer;
}

PyObject *record_new(int row, const struct shape *shape, const int *order)
{
    npy_intp strides[MX_MAX_NDIM];
    shape_strides(shape, order, itemsizes[row], strides);
    PyObject *host =
        memory_new_host(source_type_number(row), shape->ndim, shape->dims, strides);
    return host ? array_new(host) : NULL;
}

static PyObject *new_result(const struct source *sources, int n, int row,
                            const struct shape *shape)
{
    int order[MX_MAX_NDIM];
    source_order_axes(sources, n, shape, order);
    return record_new(row, shape, order);
}

int record_input(struct mx_operand *operand, const struct source *source, int row,
                 const struct shape *shape, int wanted, struct place *place,
                 struct mx_buffer **made)
{
    if (source_is_value(source)) {
        *operand = (struct mx_operand){.is_value = true, .itemsize = itemsizes[row]};
        return source_value(source, row, operand->value);
    }
    if (source->code == row) {
        record_view(operand, source, shape, place);
        return 1;
    }
    if (!core->cast_loop(source->code, row))
        return 0;
    struct shape own = {.ndim = PyArray_NDIM(source->host)};
    memcpy(own.dims, PyArray_DIMS(source->host), (size_t)own.ndim * sizeof *own.dims);
    npy_intp strides[MX_MAX_NDIM] = {0};
    *made = new_temporary(source, 1, row, &own, strides);
    if (!*made || record_copy(source, NULL, NULL, source->code, NULL, *made, strides, row, &own,
                              wanted) < 0)
        return -1;
    intptr_t full[MX_MAX_NDIM] = {0};
    for (int i = 0; i < own.ndim; i++)
        full[shape->ndim - own.ndim + i] = own.dims[i] == 1 ? 0 : strides[i];
    set_temporary(operand, *made, row, shape, full);
    for (int i = 0; i < shape->ndim; i++)
        operand->strides[i] = full[i];
    return 1;
}

/* -- Outputs ----------------------------------------------------------------------- */

static bool is_foreign(PyObject *a)
{
    const PyArrayObject *host = (const PyArrayObject *)root_of(a)->host;
    return PyArray_BASE(host) || !(PyArray_FLAGS(host) & NPY_ARRAY_OWNDATA);
}

/* Whether somebody outside may read or write its memory at any time. */
static bool is_shared(PyObject *a)
{
    const struct array *root = root_of(a);
    return is_foreign(a) || root->is_pinned || root->n_exports > 0 || root->is_exported;
}

static void find_extent(const PyArrayObject *host, char **low, char **high)
{
    *low = *high = PyArray_BYTES(host);
    for (int i = 0; i < PyArray_NDIM(host); i++) {
        npy_intp reach = (PyArray_DIM(host, i) - 1) * PyArray_STRIDE(host, i);
        *(reach < 0 ? low : high) += reach;
    }
    *high += PyArray_ITEMSIZE(host);
}

/* Whether writing `out` element by element could change an element of `source` that is still
 * to be read: they overlap and are not the same view. */
static bool collides(const struct source *out, const struct source *source)
{
    if (source_is_value(source) ||
        (root_of(out->array) != root_of(source->array) && !is_foreign(source->array)))
        return false;
    char *low, *high, *source_low, *source_high;
    find_extent(out->host, &low, &high);
    find_extent(source->host, &source_low, &source_high);
    if (source_high <= low || high <= source_low)
        return false;
    bool is_same = PyArray_BYTES(out->host) == PyArray_BYTES(source->host) &&
                   PyArray_NDIM(out->host) == PyArray_NDIM(source->host) &&
                   PyArray_ITEMSIZE(out->host) == PyArray_ITEMSIZE(source->host);
    for (int i = 0; is_same && i < PyArray_NDIM(out->host); i++)
        is_same = PyArray_DIM(out->host, i) == PyArray_DIM(source->host, i) &&
                  (PyArray_DIM(out->host, i) == 1 ||
                   PyArray_STRIDE(out->host, i) == PyArray_STRIDE(source->host, i));
    return !is_same;
}

static bool can_write(const struct source *out, const struct shape *shape)
{
    if (is_foreign(out->array) || !PyArray_ISWRITEABLE(out->host) ||
        PyArray_NDIM(out->host) != shape->ndim)
        return false;
    for (int i = 0; i < shape->ndim; i++)
        if (PyArray_DIM(out->host, i) != shape->dims[i] ||
            (shape->dims[i] > 1 && PyArray_STRIDE(out->host, i) == 0))
            return false;
    return true;
}

/* -- After recording --------------------------------------------------------------- */

void record_hold(PyObject *a)
{
    const struct mx_buffer *buffer = memory_of(as_array(a)->host);
    if (held_since != queue_done)
        held = 0;
    held_since = queue_done;
    if (!buffer || buffer->data)
        held += PyArray_NBYTES(host_of(a));
}

int record_done(const struct source *sources, int n)
{
    bool holds_much = held > HELD_LIMIT && held_since == queue_done;
    bool is_due = queue_recorded - queue_done >= BATCH_SIZE || holds_much;
    for (int s = 0; s < n && !is_due; s++)
        is_due = sources[s].array && is_shared(sources[s].array);
    if (!is_due)
        return 1;
    held = 0;
    return queue_flush() < 0 ? -1 : 1;
}

/* -- Ufuncs ------------------------------------------------------------------------ */

/* One ufunc with inputs read and outputs settled. */
struct call {
    const struct signature *signature;
    const char *name;
    int nin, nout, wanted;
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
            (!can_write(&call->outputs[j], &call->shape) ||
             !source_can_cast(call->signature->out[j], call->outputs[j].code,
                              NPY_SAME_KIND_CASTING)))
            return false;
    /* What they share is NumPy's to order. */
    return call->nout < 2 || !call->has_output[0] || !call->has_output[1] ||
           root_of(call->outputs[0].array) != root_of(call->outputs[1].array);
}

static bool needs_temporary(const struct call *call, int j)
{
    const struct source *out = &call->outputs[j];
    bool needs = out->code != call->signature->out[j];
    for (int i = 0; i < call->nin && !needs; i++)
        needs = collides(out, &call->inputs[i]);
    return needs;
}

/* The dtype that a scalar must fit: that of the loop or, where this only wants to know whether
 * it is true, that of what it meets. */
static int row_to_fit(const struct call *call, int i)
{
    int row = call->signature->in[i];
    if (row != ROW_bool || call->nin != 2)
        return row;
    row = source_own_row(&call->inputs[1 - i]);
    return is_integer_row(row) || call->inputs[i].code != WEAK_INT ? row : ROW_int64;
}

/* Whether scalars become values of the loop's dtypes without an error or a warning. */
static bool has_good_values(const struct call *call)
{
    char value[16];
    for (int i = 0; i < call->nin; i++)
        if (call->inputs[i].scalar &&
            !source_value(&call->inputs[i], row_to_fit(call, i), value))
            return false;
    return true;
}

static int record_call(struct call *call, PyObject **results)
{
    struct mx_instruction in;
    struct mx_buffer *made[MX_MAX_OPERANDS] = {0};
    npy_intp strides[2][MX_MAX_NDIM];
    int status = -1, nin = call->nin;
    struct place *place = place_new();
    if (!place)
        return -1;
    record_begin(&in, &call->signature->loop, call->name, nin, call->nout, &call->shape,
                 call->wanted);
    for (int i = 0; i < nin; i++)
        if ((status = record_input(&in.operands[i], &call->inputs[i], call->signature->in[i],
                                   &call->shape, call->wanted, place, &made[i])) < 1)
            goto done;
    status = -1;
    for (int j = 0; j < call->nout; j++) {
        struct source *out = &call->outputs[j];
        int row = call->signature->out[j];
        if (!call->has_output[j]) {
            results[j] = new_result(call->inputs, nin, row, &call->shape);
            if (!results[j])
                goto done;
            source_read_array(results[j], out);
        } else if (needs_temporary(call, j)) {
            made[nin + j] = new_temporary(call->inputs, nin, row, &call->shape, strides[j]);
            if (!made[nin + j])
                goto done;
            set_temporary(&in.operands[nin + j], made[nin + j], row, &call->shape, strides[j]);
            continue;
        }
        record_view(&in.operands[nin + j], out, &call->shape, place);
    }
    int64_t sequence = record_append(&in, place);
    place = NULL;
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
                                 &call->shape, call->wanted);
        else
            record_mark(&call->outputs[j], sequence, true);
        if (status > 0 && call->has_output[j])
            results[j] = Py_NewRef(call->outputs[j].array);
    }
done:
    for (int k = 0; k < MX_MAX_OPERANDS; k++)
        if (made[k])
            core->buffer_release(made[k]);
    if (place)
        place_free(place);
    return status;
}

/* 1, 0 or -1: runs what has been read. */
static int record_read_call(struct call *call, PyObject *const *outs, PyObject **results)
{
    call->wanted = place_conditions();
    if (call->wanted < 0)
        return call->wanted == -1 ? 0 : -1;
    if (!read_outputs(call, outs) || !has_good_values(call) || call->shape.ndim == 0 ||
        shape_size(&call->shape) == 0 || shape_is_too_large(&call->shape))
        return 0;
    results[0] = results[call->nout - 1] = NULL;
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

/* Whether an array is repeated along some axes but not along all. */
static bool is_partly_broadcast(const struct source *source, const struct shape *shape)
{
    intptr_t strides[MX_MAX_NDIM];
    bool repeats = false, moves = false;
    if (source_is_value(source))
        return false;
    source_strides(source, shape, strides);
    for (int i = 0; i < shape->ndim; i++) {
        repeats |= shape->dims[i] > 1 && strides[i] == 0;
        moves |= strides[i] != 0;
    }
    return repeats && moves;
}

int record_ufunc(int op, PyObject *const *inputs, int nin, PyObject *const *outs, int nout,
                 PyObject **results)
{
    struct call call = {.nin = nin, .nout = nout};
    for (int i = 0; i < nin; i++)
        if (!source_read(inputs[i], &call.inputs[i]) ||
            !shape_broadcast(&call.shape, &call.inputs[i]))
            return 0;
    call.signature = signature_of(op, call.inputs, nin);
    if (!call.signature)
        return PyErr_Occurred() ? -1 : 0;
    call.name = core->op_get(op)->name;
    /* NumPy's loop takes one exponent for all for a square, a root and so on, which have other
     * last bits; NumPy chooses when it sees one. */
    if (op == OP_power && is_partly_broadcast(&call.inputs[1], &call.shape))
        return 0;
    return record_read_call(&call, outs, results);
}

PyObject *record_cast(PyObject *a, int row, const char *name, int wanted)
{
    struct mx_instruction in;
    struct source from, to;
    struct shape shape = {0};
    int order[MX_MAX_NDIM];
    source_read_array(a, &from);
    shape_broadcast(&shape, &from);
    source_sort_axes(&from, order);
    PyObject *out = record_new(row, &shape, order);
    struct place *place = out ? place_new() : NULL;
    if (!place)
        goto failed;
    source_read_array(out, &to);
    struct mx_loop loop = {.function = core->cast_loop(from.code, row)};
    record_begin(&in, &loop, name, 1, 1, &shape, wanted);
    record_view(&in.operands[0], &from, &shape, place);
    record_view(&in.operands[1], &to, &shape, place);
    int64_t sequence = record_append(&in, place);
    if (sequence < 0)
        goto failed;
    record_mark(&from, sequence, false);
    record_mark(&to, sequence, true);
    return out;
failed:
    Py_XDECREF(out);
    return NULL;
}

/* -- Functions of three arguments ---------------------------------------------------- */

/* The dtype that two arguments have together, as numpy.result_type; -1. */
static int promote(const struct source *x, const struct source *y)
{
    struct source inputs[] = {*x, *y};
    const struct signature *signature = signature_of(OP_add, inputs, 2);
    PyErr_Clear();
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

static PyObject *choose(PyObject *module, PyObject *args)
{
    (void)module;
    struct call call = {.name = "where"};
    PyObject *inputs[3];
    if (!PyArg_ParseTuple(args, "OOO", &inputs[0], &inputs[1], &inputs[2]))
        return NULL;
    int row = read_three(&call, inputs) ? promote(&call.inputs[1], &call.inputs[2]) : -1;
    if (row < 0)
        Py_RETURN_NOTIMPLEMENTED;
    struct signature signature = {.in = {ROW_bool, (signed char)row, (signed char)row},
                                  .out = {(signed char)row},
                                  .loop = {.function = core->select_loop(itemsizes[row])}};
    call.signature = &signature;
    return record_or_refuse(&call, NULL);
}

/* NumPy's clip is a ufunc too, with three inputs. */
static PyObject *clip_ufunc;

static PyObject *clip(PyObject *module, PyObject *args)
{
    (void)module;
    struct call call = {.name = "clip"};
    PyObject *inputs[3], *out;
    if (!PyArg_ParseTuple(args, "OOOO", &inputs[0], &inputs[1], &inputs[2], &out))
        return NULL;
    int row = read_three(&call, inputs) ? promote(&call.inputs[0], &call.inputs[1]) : -1;
    if (row >= 0)
        row = promote(&(struct source){.code = row}, &call.inputs[2]);
    if (row < 0)
        Py_RETURN_NOTIMPLEMENTED;
    signed char code = (signed char)row;
    struct signature signature = {.in = {code, code, code}, .out = {code}};
    char type = (char)source_type_number(row), types[] = {type, type, type, type};
    const PyUFuncObject *ufunc = (const PyUFuncObject *)clip_ufunc;
    if (core->loop_find(&signature.loop, (uintptr_t)ufunc + sizeof(PyObject), 3, 1,
                        ufunc->ntypes, types) != MX_OK)
        Py_RETURN_NOTIMPLEMENTED;
    call.signature = &signature;
    if (out == Py_None)
        out = NULL;
    return record_or_refuse(&call, out);
}

/* -- Assignments ------------------------------------------------------------------- */

/* Whether NumPy would assign the scalar to elements of this dtype without a word. */
static bool fits_silently(const struct source *scalar, int row)
{
    char value[16];
    if (is_complex_row(source_own_row(scalar)) && !is_complex_row(row))
        return false;
    if (scalar->code < NTYPES && scalar->code != row &&
        !source_can_cast(scalar->code, row, NPY_SAFE_CASTING))
        return false;
    if (scalar->code == WEAK_FLOAT && row < ROW_float16)
        return false;
    return source_value(scalar, row, value);
}

int record_masked_fill(PyObject *a, PyObject *mask, PyObject *value)
{
    struct call call = {.name = "where"};
    PyObject *inputs[] = {mask, value, a}, *result;
    const struct source *all = call.inputs;
    if (!read_three(&call, inputs) || all[0].code != ROW_bool || !all[1].scalar ||
        PyArray_NDIM(all[0].host) != PyArray_NDIM(all[2].host) ||
        !PyArray_SAMESHAPE(all[0].host, all[2].host) || collides(&all[2], &all[0]) ||
        !fits_silently(&all[1], all[2].code))
        return 0;
    signed char row = (signed char)all[2].code;
    struct signature signature = {.in = {ROW_bool, row, row},
                                  .out = {row},
                                  .loop = {.function = core->select_loop(itemsizes[row])}};
    call.signature = &signature;
    int status = record_read_call(&call, &a, &result);
    if (status > 0)
        Py_DECREF(result);
    return status;
}

int record_assignment(PyObject *a, PyObject *host, PyObject *value)
{
    struct source from, to = {.array = a, .host = (PyArrayObject *)host};
    struct shape shape = {0}, broadcasted;
    to.code = source_row(PyArray_TYPE(to.host));
    if (to.code < 0 || !PyArray_ISALIGNED(to.host) || !PyArray_ISNOTSWAPPED(to.host) ||
        PyArray_NDIM(to.host) > MX_MAX_NDIM || !source_read(value, &from))
        return 0;
    shape.ndim = PyArray_NDIM(to.host);
    memcpy(shape.dims, PyArray_DIMS(to.host), (size_t)shape.ndim * sizeof *shape.dims);
    broadcasted = shape;
    if (!shape_broadcast(&broadcasted, &from) || broadcasted.ndim != shape.ndim ||
        memcmp(shape.dims, broadcasted.dims, (size_t)shape.ndim * sizeof *shape.dims) != 0 ||
        !can_write(&to, &shape) || shape_size(&shape) == 0 || shape.ndim == 0)
        return 0;
    if (is_complex_row(source_own_row(&from)) && !is_complex_row(to.code))
        return 0; /* NumPy warns that imaginary parts are discarded, or refuses */
    int wanted = place_conditions();
    if (wanted < 0)
        return wanted == -1 ? 0 : -1;
    int from_row = from.code < NTYPES ? from.code : to.code;
    struct mx_loop loop = {.function = core->cast_loop(from_row, to.code)};
    if (!loop.function)
        return 0;

    int status = 1;
    if (source_is_value(&from)) {
        struct mx_instruction in;
        loop.function = core->cast_loop(to.code, to.code);
        in.operands[0] = (struct mx_operand){.is_value = true, .itemsize = itemsizes[to.code]};
        if (from.scalar ? !fits_silently(&from, to.code) : from.code != to.code)
            return 0; /* the cast may warn, now */
        if (!source_value(&from, to.code, in.operands[0].value))
            return 0;
        struct place *place = place_new();
        if (!place)
            return -1;
        record_begin(&in, &loop, "fill", 1, 1, &shape, 0);
        record_view(&in.operands[1], &to, &shape, place);
        int64_t sequence = record_append(&in, place);
        if (sequence < 0)
            return -1;
        record_mark(&to, sequence, true);
    } else if (collides(&to, &from)) {
        npy_intp strides[MX_MAX_NDIM];
        struct mx_buffer *made = new_temporary(&from, 1, from.code, &shape, strides);
        status = made ? record_copy(&from, NULL, NULL, from.code, NULL, made, strides,
                                    from.code, &shape, wanted)
                      : -1;
        if (status > 0)
            status = record_copy(NULL, made, strides, from.code, &to, NULL, NULL, to.code,
                                 &shape, wanted);
        if (made)
            core->buffer_release(made);
    } else {
        status =
            record_copy(&from, NULL, NULL, from.code, &to, NULL, NULL, to.code, &shape, wanted);
    }
    if (status > 0)
        status = record_done(&from, 1);
    return status > 0 ? record_done(&to, 1) : status;
}

/* -- Methods of the module --------------------------------------------------------- */

/* False when it is not for the queue. */
static bool read_shape(PyObject *dims, struct shape *shape, int *order)
{
    shape->ndim = (int)PyTuple_Size(dims);
    if (shape->ndim > MX_MAX_NDIM)
        return false;
    for (int i = 0; i < shape->ndim; i++) {
        shape->dims[i] = PyNumber_AsSsize_t(PyTuple_GetItem(dims, i), PyExc_OverflowError);
        order[i] = i;
        if (shape->dims[i] <= 0) {
            PyErr_Clear();
            return false;
        }
    }
    return !shape_is_too_large(shape);
}

static PyObject *empty(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {0};
    PyObject *dims;
    int type_number, order[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "O!i", &PyTuple_Type, &dims, &type_number))
        return NULL;
    int row = source_row(type_number);
    if (row < 0 || !read_shape(dims, &shape, order))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *out = record_new(row, &shape, order);
    if (out && core->buffer_place(memory_of(as_array(out)->host)) != MX_OK) {
        memory_raise_error();
        PyErr_Clear();
        Py_DECREF(out);
        Py_RETURN_NOTIMPLEMENTED; /* NumPy says it again, from the line of the call */
    }
    return out;
}

/* Takes out, a new array: gives it with the value assigned, or NotImplemented. */
static PyObject *assigned(PyObject *out, PyObject *value)
{
    int status = out ? record_assignment(out, as_array(out)->host, value) : -1;
    if (status > 0)
        return out;
    Py_XDECREF(out);
    if (status < 0)
        return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *fill(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {0};
    PyObject *dims, *value;
    int type_number, order[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "O!iO", &PyTuple_Type, &dims, &type_number, &value))
        return NULL;
    int row = source_row(type_number);
    if (row < 0 || !read_shape(dims, &shape, order))
        Py_RETURN_NOTIMPLEMENTED;
    return assigned(record_new(row, &shape, order), value);
}

static PyObject *range(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {.ndim = 1};
    Py_buffer first_two;
    int type_number, order[1] = {0};
    if (!PyArg_ParseTuple(args, "niy*", &shape.dims[0], &type_number, &first_two))
        return NULL;
    int row = source_row(type_number);
    struct mx_loop loop = {.function = row < 0 ? NULL : core->range_loop(row)};
    struct mx_instruction in;
    record_begin(&in, &loop, "arange", 1, 1, &shape, 0);
    in.kind = MX_RANGE;
    in.operands[0] = (struct mx_operand){.is_value = true, .itemsize = (int)first_two.len};
    bool fits = loop.function && first_two.len == 2 * itemsizes[row];
    if (fits)
        memcpy(in.operands[0].value, first_two.buf, (size_t)first_two.len);
    PyBuffer_Release(&first_two);
    if (!fits || shape.dims[0] < 1 || shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *out = record_new(row, &shape, order);
    struct place *place = out ? place_new() : NULL;
    if (!place) {
        Py_XDECREF(out);
        return NULL;
    }
    struct source to = {
        .array = out, .host = (PyArrayObject *)as_array(out)->host, .code = row};
    record_view(&in.operands[1], &to, &shape, place);
    int64_t sequence = record_append(&in, place);
    if (sequence >= 0)
        record_mark(&to, sequence, true);
    if (sequence < 0 || record_done(&to, 1) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *cast(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {0};
    struct source from;
    PyObject *a;
    int type_number, keeps_order, order[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "Oip", &a, &type_number, &keeps_order))
        return NULL;
    int row = source_row(type_number);
    if (row < 0 || !is_array(a) || !source_read(a, &from) || !shape_broadcast(&shape, &from) ||
        shape.ndim == 0 || shape_size(&shape) == 0 || source_is_value(&from) ||
        shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < shape.ndim; i++)
        order[i] = i;
    if (keeps_order)
        source_sort_axes(&from, order);
    return assigned(record_new(row, &shape, order), a);
}

static PyObject *takes(PyObject *module, PyObject *a)
{
    (void)module;
    return PyBool_FromLong(is_array(a) && queue_takes(a));
}

PyMethodDef record_methods[] = {
    {"empty", empty, METH_VARARGS,
     "empty(shape, type_number)\n--\n\nGive an array over memory that is not written; "
     "NotImplemented for what the queue does not take."},
    {"fill", fill, METH_VARARGS,
     "fill(shape, type_number, value)\n--\n\nRecord an array of one value; or give "
     "NotImplemented."},
    {"range", range, METH_VARARGS,
     "range(length, type_number, first_two)\n--\n\nRecord an array of numbers at equal "
     "distances, of which the first two are given as bytes; or give NotImplemented."},
    {"cast", cast, METH_VARARGS,
     "cast(array, type_number, keeps_order)\n--\n\nRecord a copy in the dtype of this "
     "number, with its axes in memory as in the array or in C order; or give NotImplemented."},
    {"takes", takes, METH_O,
     "takes(array)\n--\n\nTell whether an operation on the array is to be recorded."},
    {"select", choose, METH_VARARGS,
     "select(condition, x, y)\n--\n\nRecord a choice of x where true, y elsewhere; or give "
     "NotImplemented."},
    {"clip", clip, METH_VARARGS,
     "clip(x, least, most, out)\n--\n\nRecord that values are limited; or give "
     "NotImplemented."},
    {NULL, NULL, 0, NULL},
};

int record_load(void)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    clip_ufunc = umath ? PyObject_GetAttrString(umath, "clip") : NULL;
    Py_XDECREF(umath);
    return clip_ufunc ? 0 : -1;
}
