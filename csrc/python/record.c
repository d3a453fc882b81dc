/* record.c -- ufuncs, casts and copies as instructions for the core.
 *
 * Only what is certain is recorded: known dtypes, shapes that broadcast, memory that nobody
 * else may be writing.  For everything else NumPy is called at once, with its rules and its
 * errors.
 */
#include "python/record.h"

#include <math.h>

#define BATCH_SIZE  256         /* operations recorded before they run in any case */
#define HELD_LIMIT  (256 << 20) /* bytes of memory that only the queue still needs */

static Py_ssize_t held;

/* -- Dtypes ------------------------------------------------------------------------ */

static const int type_numbers[RECORD_NTYPES] = {
    NPY_BOOL,   NPY_INT8,   NPY_INT16,  NPY_INT32,   NPY_INT64,   NPY_UINT8,     NPY_UINT16,
    NPY_UINT32, NPY_UINT64, NPY_HALF,   NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
};

static const int itemsizes[RECORD_NTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

int record_type_number(int row) { return type_numbers[row]; }

int record_row(int type_number)
{
    for (int row = 0; row < RECORD_NTYPES; row++)
        if (type_numbers[row] == type_number)
            return row;
    return -1;
}

/* -- Inputs ------------------------------------------------------------------------ */

static bool read_array(PyObject *x, struct source *source)
{
    PyArrayObject *host = (PyArrayObject *)as_array(x)->host;
    source->array = x;
    source->host = host;
    source->code = record_row(PyArray_TYPE(host));
    return source->code >= 0 && PyArray_NDIM(host) <= MX_MAX_NDIM && PyArray_ISALIGNED(host) &&
           PyArray_ISNOTSWAPPED(host);
}

bool record_read(PyObject *x, struct source *source)
{
    *source = (struct source){.code = -1};
    if (is_array(x))
        return read_array(x, source);
    source->scalar = x;
    if (PyFloat_CheckExact(x))
        source->code = WEAK_FLOAT;
    else if (PyBool_Check(x))
        source->code = 0;
    else if (PyLong_CheckExact(x))
        source->code = WEAK_INT;
    else if (PyComplex_CheckExact(x))
        source->code = WEAK_COMPLEX;
    else if (PyArray_IsScalar(x, Number) || PyArray_IsScalar(x, Bool)) {
        PyArray_Descr *dtype = PyArray_DescrFromScalar(x);
        source->code = dtype ? record_row(dtype->type_num) : -1;
        Py_XDECREF((PyObject *)dtype);
        PyErr_Clear();
    }
    return source->code >= 0;
}

/* The dtype that a value of itself has: what a weak scalar has before it meets another. */
static int own_row(const struct source *source)
{
    switch (source->code) {
    case WEAK_INT:
        return 4;
    case WEAK_FLOAT:
        return 11;
    case WEAK_COMPLEX:
        return 13;
    }
    return source->code;
}

/* A number of Python's as a value of the dtype; false where NumPy would raise or warn. */
static bool pack_number(PyObject *number, int row, char *value)
{
    if (row == 11 && PyFloat_CheckExact(number)) {
        double x = PyFloat_AsDouble(number);
        memcpy(value, &x, sizeof x);
        return true;
    }
    if (PyFloat_CheckExact(number) && (row == 9 || row == 10 || row == 12)) {
        double x = PyFloat_AsDouble(number), most = row == 9 ? 65504.0 : 3.4028234663852886e38;
        if (isfinite(x) && fabs(x) > most)
            return false;
    }
    if (PyComplex_CheckExact(number) && row != 13)
        return false;
    PyArray_Descr *dtype = PyArray_DescrFromType(type_numbers[row]);
    bool is_packed = PyArray_Pack(dtype, value, number) == 0;
    Py_DECREF(dtype);
    PyErr_Clear();
    return is_packed;
}

static bool is_value(const struct source *source)
{
    return source->scalar || (PyArray_SIZE(source->host) == 1 && !is_unwritten(source->array));
}

/* The source as one value of the dtype `row`. */
static bool read_value(const struct source *source, int row, char *value)
{
    _Alignas(16) char own[16];
    if (source->scalar && source->code >= RECORD_NTYPES)
        return pack_number(source->scalar, row, value);
    if (!source->scalar)
        memcpy(own, PyArray_DATA(source->host), (size_t)itemsizes[source->code]);
    else if (PyBool_Check(source->scalar))
        own[0] = source->scalar == Py_True;
    else
        PyArray_ScalarAsCtype(source->scalar, own);
    mx_loop_function cast = core->cast_loop(source->code, row);
    if (!cast)
        return false;
    char *args[] = {own, value};
    intptr_t n = 1, strides[] = {0, 0};
    cast(args, &n, strides, NULL);
    return true;
}

/* -- Shapes ------------------------------------------------------------------------ */

static bool broadcast(struct shape *shape, const struct source *source)
{
    if (source->scalar)
        return true;
    int ndim = PyArray_NDIM(source->host);
    const npy_intp *dims = PyArray_DIMS(source->host);
    if (ndim > shape->ndim) {
        int more = ndim - shape->ndim;
        memmove(shape->dims + more, shape->dims, (size_t)shape->ndim * sizeof *shape->dims);
        for (int i = 0; i < more; i++)
            shape->dims[i] = 1;
        shape->ndim = ndim;
    }
    npy_intp *last = shape->dims + shape->ndim - ndim;
    for (int i = 0; i < ndim; i++) {
        if (last[i] == 1)
            last[i] = dims[i];
        else if (dims[i] != 1 && dims[i] != last[i])
            return false;
    }
    return true;
}

static npy_intp size_of(const struct shape *shape)
{
    npy_intp size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    return size;
}

/* The strides of a source along the axes of the instruction. */
static void read_strides(const struct source *source, const struct shape *shape,
                         intptr_t *strides)
{
    int ndim = source->scalar ? 0 : PyArray_NDIM(source->host), before = shape->ndim - ndim;
    for (int i = 0; i < shape->ndim; i++) {
        bool is_broadcast = i < before || PyArray_DIM(source->host, i - before) == 1;
        strides[i] = is_broadcast ? 0 : PyArray_STRIDE(source->host, i - before);
    }
}

/* The order of axes in memory of a new result, outermost first, as NumPy's iterator chooses
 * it: axes are sorted by strides, the first operand that tells two axes apart decides, and C
 * order wins where operands contradict each other. */
static void order_axes(const struct source *sources, int n, const struct shape *shape,
                       int *order)
{
    intptr_t strides[MX_MAX_OPERANDS][MX_MAX_NDIM];
    int ndim = shape->ndim;
    for (int s = 0; s < n; s++)
        read_strides(&sources[s], shape, strides[s]);
    for (int i = 0; i < ndim; i++)
        order[i] = ndim - 1 - i; /* innermost first until the end */
    for (int i = 1; i < ndim; i++) {
        int axis = order[i], to = i;
        for (int j = i - 1; j >= 0; j--) {
            bool is_known = false, goes_before = false;
            for (int s = 0; s < n; s++) {
                intptr_t outer = strides[s][axis], inner = strides[s][order[j]];
                outer = outer < 0 ? -outer : outer;
                inner = inner < 0 ? -inner : inner;
                if (outer == 0 || inner == 0)
                    continue;
                if (inner <= outer)
                    goes_before = false;
                else if (!is_known)
                    goes_before = true;
                is_known = true;
            }
            if (is_known && !goes_before)
                break;
            if (is_known)
                to = j;
        }
        for (int j = i; j > to; j--)
            order[j] = order[j - 1];
        order[to] = axis;
    }
    for (int i = 0; i < ndim / 2; i++) {
        int axis = order[i];
        order[i] = order[ndim - 1 - i];
        order[ndim - 1 - i] = axis;
    }
}

static void fill_strides(const struct shape *shape, const int *order, int itemsize,
                         npy_intp *strides)
{
    npy_intp stride = itemsize;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        stride *= shape->dims[order[i]];
    }
}

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

static void set_view(struct mx_operand *operand, const struct source *source,
                     const struct shape *shape, struct place *place)
{
    operand->is_value = false;
    operand->itemsize = itemsizes[source->code];
    set_memory(operand, source, place);
    read_strides(source, shape, operand->strides);
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

static void begin_instruction(struct mx_instruction *in, const struct mx_loop *loop,
                              const char *name, int nin, int nout, const struct shape *shape,
                              int wanted)
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

/* Appends it; the place is taken.  The sequence number, or -1 with an exception set. */
static int64_t append(struct mx_instruction *in, struct place *place)
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

static void mark(const struct source *source, int64_t sequence, bool is_written)
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
    struct mx_loop loop = {core->cast_loop(from_row, to_row), NULL};
    struct place *place = place_new();
    if (!place)
        return -1;
    begin_instruction(&in, &loop, from_row == to_row ? "copy" : "cast", 1, 1, shape,
                      from_row == to_row ? 0 : wanted);
    if (from_buffer)
        set_temporary(&in.operands[0], from_buffer, from_row, shape, from_strides);
    else
        set_view(&in.operands[0], from, shape, place);
    if (to_buffer)
        set_temporary(&in.operands[1], to_buffer, to_row, shape, to_strides);
    else
        set_view(&in.operands[1], to, shape, place);
    int64_t sequence = append(&in, place);
    if (sequence < 0)
        return -1;
    if (!from_buffer)
        mark(from, sequence, false);
    if (!to_buffer)
        mark(to, sequence, true);
    return 1;
}

/* Memory for an intermediate result, with the strides that suit the sources. */
static struct mx_buffer *new_temporary(const struct source *sources, int n, int row,
                                       const struct shape *shape, npy_intp *strides)
{
    int order[MX_MAX_NDIM];
    order_axes(sources, n, shape, order);
    fill_strides(shape, order, itemsizes[row], strides);
    struct mx_buffer *buffer =
        core->buffer_new((size_t)size_of(shape) * (size_t)itemsizes[row]);
    if (!buffer)
        PyErr_NoMemory();
    return buffer;
}

static PyObject *new_result(const struct source *sources, int n, int row,
                            const struct shape *shape)
{
    int order[MX_MAX_NDIM];
    npy_intp strides[MX_MAX_NDIM];
    order_axes(sources, n, shape, order);
    fill_strides(shape, order, itemsizes[row], strides);
    PyObject *host = memory_new_host(type_numbers[row], shape->ndim, shape->dims, strides);
    return host ? array_new(host) : NULL;
}

/* An input of the instruction: a value, a view, or a temporary with the loop's dtype.  What
 * *made gets is to be released once the instruction is recorded.  1, 0 or -1. */
static int set_input(struct mx_operand *operand, const struct source *source, int row,
                     const struct shape *shape, int wanted, struct place *place,
                     struct mx_buffer **made)
{
    if (is_value(source)) {
        *operand = (struct mx_operand){.is_value = true, .itemsize = itemsizes[row]};
        return read_value(source, row, operand->value);
    }
    if (source->code == row) {
        set_view(operand, source, shape, place);
        return 1;
    }
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
    struct array *root = root_of(a);
    if (is_foreign(a) || root->is_pinned || root->n_exports > 0)
        return true;
    if (root->is_exported && Py_REFCNT(root->host) == 1)
        root->is_exported = false; /* whoever had it has let go */
    return root->is_exported;
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
    if (is_value(source) ||
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

bool record_can_cast(int from, int to, NPY_CASTING casting)
{
    PyArray_Descr *a = PyArray_DescrFromType(type_numbers[from]);
    PyArray_Descr *b = PyArray_DescrFromType(type_numbers[to]);
    bool can = PyArray_CanCastTypeTo(a, b, casting);
    Py_DECREF(a);
    Py_DECREF(b);
    return can;
}

/* -- After recording --------------------------------------------------------------- */

void record_hold(PyObject *a)
{
    const struct mx_buffer *buffer = memory_of(as_array(a)->host);
    if (!buffer || buffer->data)
        held += PyArray_NBYTES(host_of(a));
}

/* Runs at once what the outside can see, and everything when there is much of it. */
int record_done(const struct source *sources, int n)
{
    bool is_due = queue_recorded - queue_done >= BATCH_SIZE || held > HELD_LIMIT;
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
        if (!is_array(outs[j]) || !record_read(outs[j], &call->outputs[j]) ||
            !broadcast(&call->shape, &call->outputs[j]))
            return false;
    }
    for (int j = 0; j < call->nout; j++)
        if (call->has_output[j] &&
            (!can_write(&call->outputs[j], &call->shape) ||
             !record_can_cast(call->signature->out[j], call->outputs[j].code,
                              NPY_SAME_KIND_CASTING)))
            return false;
    return true;
}

static bool needs_temporary(const struct call *call, int j)
{
    const struct source *out = &call->outputs[j];
    bool needs = out->code != call->signature->out[j];
    for (int i = 0; i < call->nin && !needs; i++)
        needs = collides(out, &call->inputs[i]);
    for (int i = 0; i < call->nout && !needs; i++)
        needs = i != j && call->has_output[i] &&
                root_of(call->outputs[i].array) == root_of(out->array);
    return needs;
}

/* Whether scalars become values of the loop's dtypes without an error or a warning. */
static bool has_good_values(const struct call *call)
{
    char value[16];
    for (int i = 0; i < call->nin; i++)
        if (call->inputs[i].scalar &&
            !read_value(&call->inputs[i], call->signature->in[i], value))
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
    begin_instruction(&in, &call->signature->loop, call->name, nin, call->nout, &call->shape,
                      call->wanted);
    for (int i = 0; i < nin; i++)
        if (set_input(&in.operands[i], &call->inputs[i], call->signature->in[i], &call->shape,
                      call->wanted, place, &made[i]) < 1)
            goto done;
    for (int j = 0; j < call->nout; j++) {
        struct source *out = &call->outputs[j];
        int row = call->signature->out[j];
        if (!call->has_output[j]) {
            results[j] = new_result(call->inputs, nin, row, &call->shape);
            if (!results[j])
                goto done;
            read_array(results[j], out);
        } else if (needs_temporary(call, j)) {
            made[nin + j] = new_temporary(call->inputs, nin, row, &call->shape, strides[j]);
            if (!made[nin + j])
                goto done;
            set_temporary(&in.operands[nin + j], made[nin + j], row, &call->shape, strides[j]);
            continue;
        }
        set_view(&in.operands[nin + j], out, &call->shape, place);
    }
    int64_t sequence = append(&in, place);
    place = NULL;
    if (sequence < 0)
        goto done;
    for (int i = 0; i < nin; i++)
        if (call->inputs[i].array && in.operands[i].is_value == false)
            mark(&call->inputs[i], sequence, false);
    status = 1;
    for (int j = 0; j < call->nout && status > 0; j++) {
        if (made[nin + j])
            status = record_copy(NULL, made[nin + j], strides[j], call->signature->out[j],
                                 &call->outputs[j], NULL, NULL, call->outputs[j].code,
                                 &call->shape, call->wanted);
        else
            mark(&call->outputs[j], sequence, true);
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

int record_ufunc(int op, PyObject *const *inputs, int nin, PyObject *const *outs, int nout,
                 PyObject **results)
{
    struct call call = {.nin = nin, .nout = nout};
    for (int i = 0; i < nin; i++)
        if (!record_read(inputs[i], &call.inputs[i]) || !broadcast(&call.shape, &call.inputs[i]))
            return 0;
    call.signature = signature_of(op, call.inputs, nin);
    if (!call.signature)
        return PyErr_Occurred() ? -1 : 0;
    call.name = core->op_get(op)->name;
    call.wanted = place_conditions();
    if (call.wanted < 0)
        return call.wanted == -1 ? 0 : -1;
    if (!read_outputs(&call, outs) || !has_good_values(&call) || call.shape.ndim == 0 ||
        size_of(&call.shape) == 0 || record_is_too_large(&call.shape))
        return 0;
    results[0] = results[nout - 1] = NULL;
    int status = record_call(&call, results);
    if (status > 0)
        status = record_done(call.inputs, nin);
    if (status > 0)
        status = record_done(call.outputs, nout);
    if (status < 0)
        for (int j = 0; j < nout; j++)
            Py_CLEAR(results[j]);
    return status;
}

/* More than is taken without asking: NumPy says at once whether there is so much. */
bool record_is_too_large(const struct shape *shape)
{
    double size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= (double)shape->dims[i];
    return size > (double)((npy_intp)1 << 31);
}

/* -- Assignments ------------------------------------------------------------------- */

int record_assignment(PyObject *a, PyObject *host, PyObject *value)
{
    struct source from, to = {.array = a, .host = (PyArrayObject *)host};
    struct shape shape = {0}, broadcasted;
    to.code = record_row(PyArray_TYPE(to.host));
    if (to.code < 0 || !PyArray_ISALIGNED(to.host) || !PyArray_ISNOTSWAPPED(to.host) ||
        PyArray_NDIM(to.host) > MX_MAX_NDIM || !record_read(value, &from))
        return 0;
    shape.ndim = PyArray_NDIM(to.host);
    memcpy(shape.dims, PyArray_DIMS(to.host), (size_t)shape.ndim * sizeof *shape.dims);
    broadcasted = shape;
    if (!broadcast(&broadcasted, &from) || broadcasted.ndim != shape.ndim ||
        memcmp(shape.dims, broadcasted.dims, (size_t)shape.ndim * sizeof *shape.dims) != 0 ||
        !can_write(&to, &shape) || size_of(&shape) == 0 || shape.ndim == 0)
        return 0;
    if (own_row(&from) >= 12 && to.code < 12)
        return 0; /* NumPy warns that imaginary parts are discarded, or refuses */
    int wanted = place_conditions();
    if (wanted < 0)
        return wanted == -1 ? 0 : -1;
    struct mx_loop loop = {core->cast_loop(from.code < RECORD_NTYPES ? from.code : to.code, to.code),
                           NULL};
    if (!loop.function)
        return 0;

    int status = 1;
    if (is_value(&from)) {
        struct mx_instruction in;
        loop.function = core->cast_loop(to.code, to.code);
        in.operands[0] = (struct mx_operand){.is_value = true, .itemsize = itemsizes[to.code]};
        if (!from.scalar && from.code != to.code)
            return 0; /* the cast may warn, now */
        if (from.scalar && from.code < RECORD_NTYPES && from.code != to.code &&
            !record_can_cast(from.code, to.code, NPY_SAFE_CASTING))
            return 0;
        if (from.code == WEAK_FLOAT && to.code < 9)
            return 0;
        if (!read_value(&from, to.code, in.operands[0].value))
            return 0;
        struct place *place = place_new();
        if (!place)
            return -1;
        begin_instruction(&in, &loop, "fill", 1, 1, &shape, 0);
        set_view(&in.operands[1], &to, &shape, place);
        int64_t sequence = append(&in, place);
        if (sequence < 0)
            return -1;
        mark(&to, sequence, true);
    } else if (collides(&to, &from)) {
        npy_intp strides[MX_MAX_NDIM];
        struct mx_buffer *made = new_temporary(&from, 1, from.code, &shape, strides);
        status = made ? record_copy(&from, NULL, NULL, from.code, NULL, made, strides, from.code,
                                    &shape, wanted)
                      : -1;
        if (status > 0)
            status = record_copy(NULL, made, strides, from.code, &to, NULL, NULL, to.code,
                                 &shape, wanted);
        if (made)
            core->buffer_release(made);
    } else {
        status = record_copy(&from, NULL, NULL, from.code, &to, NULL, NULL, to.code, &shape,
                             wanted);
    }
    if (status > 0)
        status = record_done(&from, 1);
    return status > 0 ? record_done(&to, 1) : status;
}
