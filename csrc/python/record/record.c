/* record.c -- operands, casts and copies as instructions for the core.
 *
 * An operation is recorded only if it cannot fail: its dtypes are known, its shapes broadcast,
 * and no other code may be writing its memory.  NumPy computes all other operations
 * immediately, with its rules and its errors.
 */
#include "python/record/record.h"
#include "python/base/device.h"
#include "python/base/settings.h"
#include "python/profile/profile.h"
#include "python/record/axes.h"
#include "python/record/expression.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/wrapper.h"

#define BATCH_SIZE  256         /* operations after which the queue runs */
#define HELD_LIMIT  (256 << 20) /* bytes that only the queue needs, after which it runs */
#define SMALL_LIMIT (1 << 20)   /* the same of small arrays of the processor */

static Py_ssize_t held, held_small; /* bytes: of all arrays, and of those up to 2^17 elements */
static int64_t held_since;          /* queue_done when the first of these arrays was freed */

/* -- Operands ---------------------------------------------------------------------- */

void record_memory(struct mx_operand *operand, const struct source *source,
                   struct call_site *site)
{
    struct array *root = root_of(source->array);
    struct mx_buffer *buffer = memory_of(root->unprepared);
    const char *data = data_address(source->np_array);
    if (buffer && core->mx_coherence_is_on()) {
        buffer->owner = buffer->owner ? buffer->owner : root;
        atomic_store(&buffer->is_shared, record_is_shared_here(source->array));
    }
    operand->buffer = buffer;
    operand->at = buffer ? data - data_address(np_array_of((PyObject *)root)) : (intptr_t)data;
    if (!buffer)
        call_site_keep(site, source->np_array);
}

void record_view(struct mx_operand *operand, const struct source *source,
                 const struct shape *shape, struct call_site *site)
{
    operand->is_value = false;
    operand->itemsize = dtype_itemsizes[source->code];
    operand->dtype = source->code;
    record_memory(operand, source, site);
    axes_strides(source, shape, operand->strides);
}

void record_temporary(struct mx_operand *operand, struct mx_buffer *buffer, int row,
                      const struct shape *shape, const npy_intp *strides)
{
    operand->is_value = false;
    operand->itemsize = dtype_itemsizes[row];
    operand->dtype = row;
    operand->buffer = buffer;
    operand->at = 0;
    for (int i = 0; i < shape->ndim; i++)
        operand->strides[i] = shape->dims[i] == 1 ? 0 : strides[i];
}

void record_begin(struct mx_instruction *in, const struct mx_loop *loop, int op,
                  const char *name, int nin, int nout, const struct shape *shape, int fpe_mask)
{
    in->loop = *loop;
    in->op = op;
    in->kind = MX_MAP;
    in->keeps_order = false;
    in->launch = NULL;
    in->nin = nin;
    in->nout = nout;
    in->ndim = shape->ndim;
    memcpy(in->shape, shape->dims, (size_t)shape->ndim * sizeof *in->shape);
    in->name = name;
    in->fpe_mask = fpe_mask;
    atomic_init(&in->fpe_flags, 0);
}

/* Raise DeviceTypeError for operands that the device does not support.  Return false with the
 * exception set. */
static bool check_doubles(const struct mx_instruction *in)
{
    for (int k = 0; k < mx_operand_count(in); k++) {
        int row = in->operands[k].dtype;
        bool is_double = row == ROW_float64 || row == ROW_complex128;
        if (!is_double || core->mx_device_supports(row))
            continue;
        PyErr_Format(device_type_error,
                     "%s is not available on device '%s'; use %s or device 'cpu'",
                     row == ROW_float64 ? "float64" : "complex128", core->mx_device_name(),
                     row == ROW_float64 ? "float32" : "complex64");
        return false;
    }
    return true;
}

int64_t record_append(struct mx_instruction *in, struct call_site *site)
{
    int64_t sequence;
    in->call_site = site;
    in->device = settings_device();
    bool computes = in->op != MX_COPY || in->kind != MX_MAP;
    if (in->device == MX_DEVICE && computes && settings_refuse_doubles() &&
        !check_doubles(in)) {
        call_site_free(site);
        return -1;
    }
    if (core->mx_stream_append(in, &sequence) != MX_OK) {
        call_site_free(site);
        PyErr_SetString(PyExc_MemoryError, core->mx_error_message());
        return -1;
    }
    queue_recorded = sequence;
    return sequence;
}

void record_mark(const struct source *source, int64_t sequence, bool is_written)
{
    struct array *root = root_of(source->array);
    root->used = queue_is_away(root->used) ? QUEUE_AWAY : sequence;
    if (!is_written)
        return;
    root->written = queue_is_away(root->written) ? QUEUE_AWAY : sequence;
    root->version++;
}

/* -- Casts and copies -------------------------------------------------------------- */

int record_copy(const struct source *from, struct mx_buffer *from_buffer,
                const npy_intp *from_strides, int from_row, const struct source *to,
                struct mx_buffer *to_buffer, const npy_intp *to_strides, int to_row,
                const struct shape *shape, int fpe_mask)
{
    struct mx_instruction in;
    struct mx_loop loop = {.function = core->mx_cast_loop(from_row, to_row)};
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    record_begin(&in, &loop, MX_COPY, from_row == to_row ? "copy" : "cast", 1, 1, shape,
                 from_row == to_row ? 0 : fpe_mask);
    if (from_buffer)
        record_temporary(&in.operands[0], from_buffer, from_row, shape, from_strides);
    else
        record_view(&in.operands[0], from, shape, site);
    if (to_buffer)
        record_temporary(&in.operands[1], to_buffer, to_row, shape, to_strides);
    else
        record_view(&in.operands[1], to, shape, site);
    int64_t sequence = record_append(&in, site);
    if (sequence < 0)
        return -1;
    if (!from_buffer)
        record_mark(from, sequence, false);
    if (!to_buffer)
        record_mark(to, sequence, true);
    return 1;
}

struct mx_buffer *record_new_temporary(const struct source *sources, int n, int row,
                                       const struct shape *shape, npy_intp *strides)
{
    int order[MX_MAX_NDIM];
    axes_order(sources, n, shape, order);
    shape_strides(shape, order, dtype_itemsizes[row], strides);
    struct mx_buffer *buffer =
        core->mx_buffer_new((size_t)shape_size(shape) * (size_t)dtype_itemsizes[row]);
    if (!buffer)
        PyErr_NoMemory();
    return buffer;
}

PyObject *record_new(int row, const struct shape *shape, const int *order)
{
    npy_intp strides[MX_MAX_NDIM];
    shape_strides(shape, order, dtype_itemsizes[row], strides);
    PyObject *np_array =
        memory_new_array(dtype_type_number(row), shape->ndim, shape->dims, strides);
    PyObject *out = np_array ? wrapper_new(np_array) : NULL;
    if (!out)
        return NULL;
    memory_own(out);
    memory_of(np_array)->is_unwritten = true; /* only recorded operations can write it first */
    return out;
}

struct mx_operand record_value(int row)
{
    return (struct mx_operand){
        .is_value = true, .itemsize = dtype_itemsizes[row], .dtype = row};
}

int record_input(struct mx_operand *operand, const struct source *source, int row,
                 const struct shape *shape, int fpe_mask, struct call_site *site,
                 struct mx_buffer **made)
{
    if (source_is_value(source)) {
        *operand = record_value(row);
        return source_value(source, row, operand->value);
    }
    if (source->code == row) {
        record_view(operand, source, shape, site);
        return 1;
    }
    if (!core->mx_cast_loop(source->code, row))
        return 0;
    struct shape own = shape_of(source->np_array);
    npy_intp strides[MX_MAX_NDIM] = {0};
    *made = record_new_temporary(source, 1, row, &own, strides);
    if (!*made || record_copy(source, NULL, NULL, source->code, NULL, *made, strides, row, &own,
                              fpe_mask) < 0)
        return -1;
    intptr_t full[MX_MAX_NDIM] = {0};
    for (int i = 0; i < own.ndim; i++)
        full[shape->ndim - own.ndim + i] = own.dims[i] == 1 ? 0 : strides[i];
    record_temporary(operand, *made, row, shape, full);
    for (int i = 0; i < shape->ndim; i++)
        operand->strides[i] = full[i];
    return 1;
}

/* -- Outputs ----------------------------------------------------------------------- */

static bool is_foreign(PyObject *a)
{
    const PyArrayObject *np_array = np_array_of((PyObject *)root_of(a));
    return PyArray_BASE(np_array) || !(PyArray_FLAGS(np_array) & NPY_ARRAY_OWNDATA);
}

bool record_is_shared(PyObject *a) { return memory_is_lent(a) || record_is_shared_here(a); }

bool record_is_shared_here(PyObject *a)
{
    const struct array *root = root_of(a);
    return is_foreign(a) || root->is_address_taken || root->n_holds > 0 || root->is_exported ||
           calls_with_more > 0;
}

static void find_extent(const PyArrayObject *np_array, char **low, char **high)
{
    *low = *high = data_address(np_array);
    for (int i = 0; i < PyArray_NDIM(np_array); i++) {
        npy_intp reach = (PyArray_DIM(np_array, i) - 1) * PyArray_STRIDE(np_array, i);
        *(reach < 0 ? low : high) += reach;
    }
    *high += PyArray_ITEMSIZE(np_array);
}

bool record_collides(const struct source *out, const struct source *source)
{
    if (source_is_value(source) ||
        (root_of(out->array) != root_of(source->array) && !is_foreign(source->array)))
        return false;
    char *low, *high, *source_low, *source_high;
    find_extent(out->np_array, &low, &high);
    find_extent(source->np_array, &source_low, &source_high);
    if (source_high <= low || high <= source_low)
        return false;
    bool is_same = data_address(out->np_array) == data_address(source->np_array) &&
                   PyArray_NDIM(out->np_array) == PyArray_NDIM(source->np_array) &&
                   PyArray_ITEMSIZE(out->np_array) == PyArray_ITEMSIZE(source->np_array);
    for (int i = 0; is_same && i < PyArray_NDIM(out->np_array); i++)
        is_same = PyArray_DIM(out->np_array, i) == PyArray_DIM(source->np_array, i) &&
                  (PyArray_DIM(out->np_array, i) == 1 ||
                   PyArray_STRIDE(out->np_array, i) == PyArray_STRIDE(source->np_array, i));
    return !is_same;
}

bool record_can_write(const struct source *out, const struct shape *shape)
{
    if (is_foreign(out->array) || !PyArray_ISWRITEABLE(out->np_array) ||
        PyArray_NDIM(out->np_array) != shape->ndim)
        return false;
    for (int i = 0; i < shape->ndim; i++)
        if (PyArray_DIM(out->np_array, i) != shape->dims[i])
            return false;
    return source_is_apart(out->np_array);
}

/* -- After recording --------------------------------------------------------------- */

void record_hold(PyObject *a)
{
    const struct mx_buffer *buffer = memory_of(as_array(a)->unprepared);
    if (held_since != queue_done)
        held = held_small = 0;
    held_since = queue_done;
    if (buffer && !mx_buffer_is_allocated(buffer))
        return;
    held += PyArray_NBYTES(np_array_of(a));
    if (array_size(np_array_of(a)) <= MX_MOST_DIRECT && !settings_use_gpu())
        held_small += PyArray_NBYTES(np_array_of(a));
}

int record_done(const struct source *sources, int n)
{
    bool holds_much =
        (held > HELD_LIMIT || held_small > SMALL_LIMIT) && held_since == queue_done;
    enum span_kind why = queue_recorded - queue_done >= BATCH_SIZE ? SPAN_FULL
                         : holds_much                              ? SPAN_MEMORY
                                                                   : SPAN_OPERATION;
    Py_ssize_t size = 0;
    for (int s = 0; s < n && why == SPAN_OPERATION; s++)
        if (sources[s].array && record_is_shared(sources[s].array)) {
            size = queue_weight(sources[s].np_array);
            why = SPAN_SHARED;
        }
    if (why == SPAN_OPERATION || (why == SPAN_SHARED && expression_defer(size)))
        return 1;
    held = held_small = 0;
    struct span span;
    span_begin(&span, why, NULL);
    int status = queue_flush();
    span_pop(&span);
    return status < 0 ? -1 : 1;
}

PyObject *record_result(int status, PyObject *out)
{
    if (status > 0)
        return out;
    Py_XDECREF(out);
    if (status < 0)
        return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

/* -- A cast ------------------------------------------------------------------------ */

int record_cast(PyObject *a, PyObject *out, const char *name, int fpe_mask)
{
    struct mx_instruction in;
    struct source from, to;
    struct shape shape = {0};
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    source_read_array(a, &from);
    source_read_array(out, &to);
    shape_broadcast(&shape, &from);
    struct mx_loop loop = {.function = core->mx_cast_loop(from.code, to.code)};
    record_begin(&in, &loop, MX_COPY, name, 1, 1, &shape, fpe_mask);
    record_view(&in.operands[0], &from, &shape, site);
    record_view(&in.operands[1], &to, &shape, site);
    int64_t sequence = record_append(&in, site);
    if (sequence < 0)
        return -1;
    record_mark(&from, sequence, false);
    record_mark(&to, sequence, true);
    return 1;
}
