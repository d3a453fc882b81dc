/* update.c -- assignments and updates of the elements that a key with arrays selects. */
#include "python/access/update.h"
#include "python/access/indexing.h"
#include "python/base/device.h"
#include "python/base/settings.h"
#include "python/profile/errstate.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/signature.h"
#include "python/record/wrapper.h"

/* -- Instructions ------------------------------------------------------------------ */

#define SMALL_BYTES (1 << 16)

/* An assignment or an update by a ufunc. */
struct update {
    enum mx_update kind;
    int op;
    struct mx_loop loop;
    const char *name;
    int row;          /* the dtype of values that the loop requires */
    int fpe_mask;     /* the conditions that raise warnings */
    bool warns_as_at; /* and not by the name */
    bool is_truth;    /* the loop returns bool, which is cast; only on a device */
    bool in_order;    /* also on a device, which may otherwise update floats in any order */
};

/* Check whether the elements of an operand lie in the order of the block's axes, forwards.
 * Otherwise NumPy's iterator may have another order, and updates in this order. */
static bool is_in_order(const struct source *source, const struct shape *block)
{
    if (source->scalar)
        return true;
    intptr_t before = INTPTR_MAX;
    for (int i = 0; i < PyArray_NDIM(source->np_array) && block->ndim > 0; i++) {
        intptr_t stride = PyArray_STRIDE(source->np_array, i);
        if (PyArray_DIM(source->np_array, i) == 1 || stride == 0)
            continue;
        if (stride < 0 || stride > before)
            return false;
        before = stride;
    }
    return true;
}

static bool are_in_order(const struct index *index, const struct source *value)
{
    for (int j = 0; j < index->n; j++)
        if (!is_in_order(&index->sources[j], &index->block))
            return false;
    return index->block.ndim < 2 || is_in_order(value, &index->block);
}

static bool can_write(const struct index *index)
{
    struct shape view = shape_of(index->table.np_array);
    return record_can_write(&index->table, &view);
}

/* Set the operand of the values.  They are copied first if they share memory with the elements
 * that are updated. */
static int value_operand(struct mx_operand *operand, const struct index *index,
                         const struct source *value, const struct update *update,
                         struct call_site *site, struct temporaries *made)
{
    struct mx_buffer *buffer = NULL;
    if (!value->scalar && !source_is_value(value) &&
        root_of(value->array) == root_of(index->table.array)) {
        struct shape own = shape_of(value->np_array);
        if (indexing_copy(operand, value, update->row, &own, update->fpe_mask, made) < 0)
            return -1;
        indexing_spread(operand, own.ndim, 0, index->shape.ndim, index->shape.ndim);
        return 1;
    }
    int status = record_input(operand, value, update->row, &index->shape, update->fpe_mask,
                              site, &buffer);
    if (buffer)
        made->buffers[made->n++] = buffer;
    return status;
}

static int record_scatter(const struct index *index, const struct source *value,
                          const struct update *update)
{
    struct mx_instruction in;
    struct temporaries made = {0};
    int status, n = index->n;
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    record_begin(&in, &update->loop, update->op, update->name, n + 1, 1, &index->shape,
                 update->fpe_mask);
    in.kind = MX_SCATTER;
    in.update = update->kind;
    in.warns_as_at = update->warns_as_at;
    in.indexing = index->indexing;
    status = value_operand(&in.operands[n], index, value, update, site, &made);
    if (status > 0)
        status = indexing_operands(&in, index, &index->table, site, &made);
    if (status < 1) {
        indexing_release(&made);
        call_site_free(site);
        return status;
    }
    indexing_table(&in.operands[n + 1], index, site);
    int64_t sequence = record_append(&in, site);
    indexing_release(&made);
    if (sequence < 0)
        return -1;
    indexing_mark(index, sequence);
    if (value->array && !in.operands[n].is_value)
        record_mark(value, sequence, false);
    record_mark(&index->table, sequence, true);
    return 1;
}

/* -- On a device ------------------------------------------------------------------- *
 * Updates of elements for which a GPU may lack atomic operations, and updates in order, are
 * sorted by element: see mxnp/_gpu/updates.py. */

static bool is_for_device(PyObject *a, const struct update *update)
{
    int code = dtype_row(PyArray_TYPE(np_array_of(a)));
    if (!core->mx_device_supports(code))
        return false;
    return update->kind != MX_SET &&
           (update->in_order || !core->mx_atomics_support(update->op, code)) &&
           update->row == code && device_has(DEVICE_UPDATE) &&
           PyArray_IS_C_CONTIGUOUS(np_array_of(a)) && memory_of(root_of(a)->unprepared);
}

/* Return a new tuple of (array, size, stride in elements) for each index array. */
static PyObject *describe_indices(const struct index *index, intptr_t itemsize)
{
    PyObject *all = PyTuple_New(index->n);
    for (int j = 0; j < index->n && all; j++) {
        PyObject *one = Py_BuildValue("Onn", index->arrays[j], index->indexing.sizes[j],
                                      index->indexing.strides[j] / itemsize);
        if (!one || PyTuple_SetItem(all, j, one) < 0)
            Py_CLEAR(all);
    }
    return all;
}

/* Return a new tuple of (length, stride in elements) for each axis of the result. */
static PyObject *describe_axes(const struct index *index, intptr_t itemsize)
{
    PyObject *all = PyTuple_New(index->shape.ndim);
    for (int i = 0; i < index->shape.ndim && all; i++) {
        PyObject *one = Py_BuildValue("nn", index->shape.dims[i], index->strides[i] / itemsize);
        if (!one || PyTuple_SetItem(all, i, one) < 0)
            Py_CLEAR(all);
    }
    return all;
}

static int update_on_device(PyObject *a, const struct index *index, const struct source *value,
                            const struct update *update)
{
    intptr_t itemsize = PyArray_ITEMSIZE(np_array_of(a));
    bool is_own = value->array && root_of(value->array) == root_of(a);
    PyObject *args = Py_BuildValue(
        "iOOiiinNiiN", update->op, a, value->array ? value->array : value->scalar, is_own,
        update->is_truth, (int)index->indexing.bounds,
        (data_address(index->table.np_array) - data_address(np_array_of(a))) / itemsize,
        describe_axes(index, itemsize), index->block_at, index->block.ndim,
        describe_indices(index, itemsize));
    PyObject *done;
    int status = device_call(DEVICE_UPDATE, args, &done);
    if (status > 0)
        Py_DECREF(done);
    return status;
}

/* Small arrays are in memory of NumPy, which a device cannot update. */
static bool is_for_copy(PyObject *a, const struct index *index)
{
    int code = dtype_row(PyArray_TYPE(np_array_of(a)));
    return settings_use_gpu() && shape_size(&index->shape) >= MX_MANY_UPDATES &&
           !memory_of(root_of(a)->unprepared) &&
           PyArray_NBYTES(np_array_of(a)) <= SMALL_BYTES &&
           PyArray_IS_C_CONTIGUOUS(np_array_of(a)) && core->mx_device_supports(code);
}

static int update_key(PyObject *a, const struct access *access, const struct source *value,
                      const struct update *update, int bounds);

/* Update a copy of a small array, and assign it to the array. */
static int update_copy(PyObject *a, const struct access *access, const struct source *value,
                       const struct update *update, int bounds)
{
    const PyArrayObject *array = np_array_of(a);
    PyObject *np_array =
        memory_new_filled(PyArray_TYPE(array), PyArray_NDIM(array), PyArray_DIMS(array));
    PyObject *copy = np_array ? wrapper_new(np_array) : NULL;
    int status = copy ? PyObject_SetItem(copy, Py_Ellipsis, a) : -1;
    if (status == 0)
        status = update_key(copy, access, value, update, bounds);
    if (status > 0 && PyObject_SetItem(a, Py_Ellipsis, copy) < 0)
        status = -1;
    Py_XDECREF(copy);
    return status;
}

/* Record an update of a[key]; `bounds` is as for indexing_settle_bounds().  Return 1, 0 or -1.
 */
static int update_key(PyObject *a, const struct access *access, const struct source *value,
                      const struct update *update, int bounds)
{
    struct index index;
    int status = index_read(a, access, &index);
    if (status > 0)
        status = (index_should_record(&index) || queue_uses(a) ||
                  (value->array && queue_writes(value->array))) &&
                 can_write(&index) && shape_takes(&index.shape, value) &&
                 are_in_order(&index, value);
    bool on_device = is_for_device(a, update),
         only_there = update->is_truth || update->in_order;
    if (status > 0 && !only_there && is_for_copy(a, &index)) {
        index_clear(&index);
        return update_copy(a, access, value, update, bounds);
    }
    if (status > 0)
        status = !only_there || on_device;
    if (status > 0)
        status = indexing_settle_bounds(&index, bounds, MX_DROP);
    int done = status > 0 && on_device ? update_on_device(a, &index, value, update) : 0;
    if (status > 0)
        status = done != 0 ? done : only_there ? 0 : record_scatter(&index, value, update);
    if (status > 0)
        status = record_done(index.sources, index.n);
    if (status > 0)
        status = record_done(value, 1);
    if (status > 0)
        status = record_done(&index.table, 1);
    index_clear(&index);
    return status;
}

/* Read an assignment.  Return false if NumPy would warn or raise an error. */
static bool read_assignment(const struct source *value, int row, struct update *update)
{
    *update = (struct update){.kind = MX_SET, .op = MX_COPY, .name = "put", .row = row};
    if (mx_dtype_is_complex(source_own_row(value)) && !mx_dtype_is_complex(row))
        return false;
    if (value->scalar)
        return source_fits(value, row);
    return value->code == row || !source_is_value(value);
}

/* Check whether an update with a number of Python has the same result in the dtype of the
 * elements. ufunc.at converts the number to an array of int64, float64 or complex128.  The
 * results are the same if the dtype of the elements can represent the number.  Then the result
 * is rounded once more, which changes nothing, because a float64 has more than twice the bits
 * of a float32. */
static bool is_same_in(int row, int op, const struct source *number)
{
    _Alignas(16) char value[16], back[16], own[16];
    int own_row = source_own_row(number);
    bool is_sum = op == MX_OP_add || op == MX_OP_subtract || op == MX_OP_multiply;
    bool is_order = op == MX_OP_maximum || op == MX_OP_minimum;
    bool is_bits = op == MX_OP_bitwise_and || op == MX_OP_bitwise_or || op == MX_OP_bitwise_xor;
    if (own_row == row)
        return true;
    if (mx_dtype_is_complex(row) || mx_dtype_is_complex(own_row) || row == ROW_bool ||
        (mx_dtype_is_integer(row) ? own_row != ROW_int64 || !(is_sum || is_order || is_bits)
                                  : !(is_sum || is_order || op == MX_OP_divide)))
        return false;
    mx_loop_function cast = core->mx_cast_loop(row, own_row);
    if (!cast || !source_value(number, row, value) || !source_value(number, own_row, own))
        return false;
    char *args[] = {value, back};
    cast(args, (intptr_t[]){1}, (intptr_t[]){0, 0}, NULL);
    return memcmp(back, own, (size_t)dtype_itemsizes[own_row]) == 0;
}

/* Check whether NumPy updates without an indexed loop of the ufunc, which its warnings would
 * name. */
static bool lacks_indexed_loop(int op, const struct source *target, const struct source *value)
{
    static const bool has_indexed_loop[MX_OP_COUNT] = {
        [MX_OP_add] = true,     [MX_OP_subtract] = true,     [MX_OP_multiply] = true,
        [MX_OP_divide] = true,  [MX_OP_floor_divide] = true, [MX_OP_maximum] = true,
        [MX_OP_minimum] = true, [MX_OP_fmax] = true,         [MX_OP_fmin] = true,
    };
    bool is_vector = PyArray_NDIM(target->np_array) == 1 &&
                     (!value->array || PyArray_NDIM(value->np_array) <= 1);
    bool has_loop = has_indexed_loop[op] && target->code != ROW_bfloat16 &&
                    !(op == MX_OP_divide && mx_dtype_is_complex(target->code));
    bool is_cast = source_own_row(value) != target->code;
    return !has_loop || !is_vector || is_cast;
}

/* Read an update by a ufunc.  Return false if NumPy refuses the ufunc, or its loop returns
 * another dtype than that of the elements, or with an exception set. */
static bool read_update(int op, const struct source *target, const struct source *value,
                        struct update *update)
{
    static const enum mx_update kinds[MX_OP_COUNT] = {
        [MX_OP_add] = MX_UPDATE_ADD,           [MX_OP_subtract] = MX_UPDATE_SUBTRACT,
        [MX_OP_multiply] = MX_UPDATE_MULTIPLY, [MX_OP_divide] = MX_UPDATE_DIVIDE,
        [MX_OP_maximum] = MX_UPDATE_MAXIMUM,   [MX_OP_minimum] = MX_UPDATE_MINIMUM,
    };
    struct source inputs[] = {*target, *value};
    const struct mx_op_row *row = core->mx_op_get(op);
    if (row->nin != 2 || row->nout != 1 ||
        (value->code >= NTYPES && !is_same_in(target->code, op, value)))
        return false;
    const struct signature *signature = signature_of(op, inputs, 2);
    bool is_truth = signature && signature->out[0] == ROW_bool && target->code != ROW_bool;
    if (!signature || signature->in[0] != target->code ||
        (signature->out[0] != target->code && !is_truth) ||
        dtype_itemsizes[(int)signature->in[1]] != dtype_itemsizes[target->code])
        return false;
    *update = (struct update){.kind = kinds[op],
                              .op = op,
                              .loop = target->code == ROW_float16 ? signature->loop
                                                                  : signature->numpys,
                              .name = row->name,
                              .warns_as_at = lacks_indexed_loop(op, target, value),
                              .row = signature->in[1],
                              .is_truth = is_truth};
    if (signature->in[1] != target->code ||
        !core->mx_index_has_update(update->kind, target->code))
        update->kind = MX_BY_LOOP;
    return true;
}

/* -- Keys -------------------------------------------------------------------------- */

/* Check whether the key is a mask, and the mask or the value shares memory with the array.  The
 * assignment changes them, so the result depends on NumPy's order. */
static bool is_own_mask(PyObject *a, const struct access *access, PyObject *value)
{
    PyObject *key = access->key;
    return is_array(key) && PyArray_TYPE(np_array_of(key)) == NPY_BOOL &&
           (root_of(key) == root_of(a) || (is_array(value) && root_of(value) == root_of(a)));
}

int update_assign(PyObject *a, const struct access *access, PyObject *value)
{
    struct source from;
    struct update update;
    int row = dtype_row(PyArray_TYPE(np_array_of(a)));
    if (row < 0 || is_own_mask(a, access, value) || !source_read(value, &from) ||
        !read_assignment(&from, row, &update))
        return 0;
    update.fpe_mask = errstate_mask();
    if (update.fpe_mask < 0)
        return update.fpe_mask == -1 ? 0 : -1;
    return update_key(a, access, &from, &update, INDEXING_IN_BOUNDS);
}

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *update(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a, *key, *operand;
    int op, bounds, in_order = 0;
    struct source target, value;
    struct update kind;
    struct access access;
    if (!PyArg_ParseTuple(args, "iOOOi|p", &op, &a, &key, &operand, &bounds, &in_order))
        return NULL;
    if (!is_array(a) || !source_read_array(a, &target) || !source_read(operand, &value) ||
        (op == MX_COPY ? !read_assignment(&value, target.code, &kind)
                       : !read_update(op, &target, &value, &kind))) {
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    kind.in_order = in_order;
    bool is_ordering = op == MX_OP_maximum || op == MX_OP_minimum;
    kind.fpe_mask = errstate_mask();
    if (kind.fpe_mask == -2)
        return NULL;
    int status = kind.fpe_mask < 0 ? 0 : 1;
    if (is_ordering && kind.kind != MX_BY_LOOP)
        kind.fpe_mask = 0; /* comparisons with NaN raise no condition */
    if (status > 0) {
        bool is_cast = op != MX_COPY && source_may_signal(&value, kind.row);
        access_read(&access, a, key, false);
        if (is_cast)
            call_site_join("at");
        status = update_key(a, &access, &value, &kind, bounds);
        if (is_cast)
            call_site_end_join();
    }
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (status < 0)
        return NULL;
    Py_RETURN_TRUE;
}

PyMethodDef update_methods[] = {
    {"update", update, METH_VARARGS,
     "update(operation, array, key, value, bounds, in_order=False)\n--\n\nRecord an update by "
     "a "
     "row of ops.def, or an assignment for ASSIGN, and return True. Return NotImplemented if "
     "it "
     "is not recorded. With in_order, a device updates in order, too, or not at all."},
    {NULL, NULL, 0, NULL},
};
