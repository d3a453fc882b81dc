/* indexing.c -- elements that a key with arrays selects are taken or updated. */
#include "python/index.h"

/* -- Bounds ------------------------------------------------------------------------ */

/* Records that indices are looked at when they are there. */
static int record_check(const struct index *index, int j)
{
    struct mx_instruction in;
    struct shape shape = {0};
    const struct source *indices = &index->sources[j];
    struct mx_loop loop = {.function = core->check_loop(indices->code)};
    struct place *place = place_new();
    if (!place)
        return -1;
    shape_broadcast(&shape, indices);
    record_begin(&in, &loop, "check", 1, 0, &shape, 0);
    in.kind = MX_CHECK;
    in.dtype = indices->code;
    in.indexing.n = 0;
    in.indexing.sizes[0] = index->indexing.sizes[j];
    in.indexing.axis = index->axes[j];
    record_view(&in.operands[0], indices, &shape, place);
    int64_t sequence = record_append(&in, place);
    if (sequence < 0)
        return -1;
    record_mark(indices, sequence, false);
    return 1;
}

/* In strict mode nothing is done about indices out of bounds where it is known that there are
 * none.  1; 0: there are some, which NumPy says best; or -1. */
static int settle_strict_bounds(struct index *index)
{
    enum mx_bounds bounds = MX_PLAIN;
    for (int j = 0; j < index->n; j++) {
        if (is_unwritten(index->arrays[j])) {
            if (record_check(index, j) < 0)
                return -1;
            bounds = MX_CLAMP;
            continue;
        }
        struct index_range range = index_range_of(&index->sources[j]);
        intptr_t size = index->indexing.sizes[j];
        if (range.least < -size || range.most >= size)
            return 0;
        if (range.least < 0 && bounds == MX_PLAIN)
            bounds = MX_NEGATIVE;
    }
    index->indexing.bounds = bounds;
    return 1;
}

/* What is asked for, or that indices are in bounds. */
#define IN_BOUNDS (-1)

static int settle_bounds(struct index *index, int bounds, enum mx_bounds fast)
{
    if (bounds == IN_BOUNDS && !mode_is_fast())
        return settle_strict_bounds(index);
    index->indexing.bounds = bounds == IN_BOUNDS ? fast : (enum mx_bounds)bounds;
    return 1;
}

/* -- Instructions ------------------------------------------------------------------ */

/* What must be let go of once an instruction is recorded. */
struct made {
    int n;
    struct mx_buffer *buffers[MX_MAX_OPERANDS];
};

static void made_release(struct made *made)
{
    for (int i = 0; i < made->n; i++)
        core->buffer_release(made->buffers[i]);
    made->n = 0;
}

/* A copy of a source, or of what it is in another dtype, as an operand with its own shape. */
static int copy_operand(struct mx_operand *operand, const struct source *source, int row,
                        const struct shape *own, int wanted, struct made *made)
{
    npy_intp strides[MX_MAX_NDIM] = {0};
    struct mx_buffer *buffer = record_new_temporary(source, 1, row, own, strides);
    if (!buffer)
        return -1;
    made->buffers[made->n++] = buffer;
    record_temporary(operand, buffer, row, own, strides);
    return record_copy(source, NULL, NULL, source->code, NULL, buffer, strides, row, own,
                       wanted);
}

/* The strides of an operand with its own shape, which is broadcast to axes first..end-1. */
static void spread_strides(struct mx_operand *operand, int own_ndim, int first, int end,
                           int ndim)
{
    intptr_t own[MX_MAX_NDIM];
    memcpy(own, operand->strides, sizeof own);
    for (int i = 0; i < ndim; i++) {
        int at = i - (end - own_ndim);
        operand->strides[i] = i >= first && i < end && at >= 0 ? own[at] : 0;
    }
}

/* Index arrays as int64; copied if `target` is memory that they share and that is written. */
static int index_operands(struct mx_instruction *in, const struct index *index,
                          const struct source *target, struct place *place, struct made *made)
{
    for (int j = 0; j < index->n; j++) {
        const struct source *indices = &index->sources[j];
        struct shape own = {0};
        shape_broadcast(&own, indices);
        bool is_target = target && root_of(target->array) == root_of(indices->array);
        if (indices->code == ROW_int64 && !is_target)
            record_view(&in->operands[j], indices, &own, place);
        else if (copy_operand(&in->operands[j], indices, ROW_int64, &own, 0, made) < 0)
            return -1;
        spread_strides(&in->operands[j], own.ndim, index->block_at,
                       index->block_at + index->block.ndim, index->shape.ndim);
    }
    return 1;
}

static void indexed_operand(struct mx_operand *operand, const struct index *index,
                            struct place *place)
{
    operand->is_value = false;
    operand->itemsize = itemsizes[index->table.code];
    record_memory(operand, &index->table, place);
    memcpy(operand->strides, index->strides,
           (size_t)index->shape.ndim * sizeof *operand->strides);
}

static void mark_indices(const struct index *index, int64_t sequence)
{
    for (int j = 0; j < index->n; j++)
        record_mark(&index->sources[j], sequence, false);
}

/* The order of axes in memory that NumPy gives the result: those of the block come first; they
 * are in the order of the indices if they are all there is. */
static void order_result(const struct index *index, int *order)
{
    int n = index->block.ndim, rest_order[MX_MAX_NDIM];
    for (int i = 0; i < n; i++)
        order[i] = i;
    if (shape_size(&index->shape) == shape_size(&index->block))
        source_order_axes(index->sources, index->n, &index->block, order);
    for (int i = 0; i < n; i++)
        order[i] += index->block_at;
    const npy_intp *strides = PyArray_STRIDES(index->table.host);
    for (int i = 0; i < index->n_rest; i++) {
        int j = i;
        for (; j > 0 && Py_ABS(strides[index->rest[rest_order[j - 1]]]) <
                            Py_ABS(strides[index->rest[i]]);
             j--)
            rest_order[j] = rest_order[j - 1];
        rest_order[j] = i;
    }
    for (int i = 0; i < index->n_rest; i++)
        order[n + i] = rest_order[i] < index->block_at ? rest_order[i] : rest_order[i] + n;
}

static int record_gather(const struct index *index, bool in_c_order, PyObject **out)
{
    struct mx_instruction in;
    struct made made = {0};
    struct mx_loop loop = {.function = core->gather_loop};
    int order[MX_MAX_NDIM], n = index->n;
    struct source to;
    struct place *place = place_new();
    if (!place)
        return -1;
    record_begin(&in, &loop, "take", n + 1, 1, &index->shape, 0);
    in.kind = MX_GATHER;
    in.indexing = index->indexing;
    if (in_c_order)
        for (int i = 0; i < index->shape.ndim; i++)
            order[i] = i;
    else
        order_result(index, order);
    if (index_operands(&in, index, NULL, place, &made) < 0 ||
        !(*out = record_new(index->table.code, &index->shape, order))) {
        made_release(&made);
        place_free(place);
        return -1;
    }
    source_read_array(*out, &to);
    indexed_operand(&in.operands[n], index, place);
    record_view(&in.operands[n + 1], &to, &index->shape, place);
    int64_t sequence = record_append(&in, place);
    made_release(&made);
    if (sequence < 0) {
        Py_CLEAR(*out);
        return -1;
    }
    mark_indices(index, sequence);
    record_mark(&index->table, sequence, false);
    record_mark(&to, sequence, true);
    return 1;
}

/* -- Scatter ----------------------------------------------------------------------- */

/* What is done to the elements that indices select. */
struct update {
    enum mx_update kind;
    struct mx_loop loop;
    const char *name;
    int row;    /* dtype that the loop wants of values */
    int wanted; /* conditions */
};

/* Whether an operand's elements come in the order of the block's axes, forwards: else NumPy's
 * iterator may have another order, which is that of the updates. */
static bool is_in_order(const struct source *source, const struct shape *block)
{
    if (source->scalar)
        return true;
    intptr_t before = INTPTR_MAX;
    for (int i = 0; i < PyArray_NDIM(source->host) && block->ndim > 0; i++) {
        intptr_t stride = PyArray_STRIDE(source->host, i);
        if (PyArray_DIM(source->host, i) == 1 || stride == 0)
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
    struct shape view = {.ndim = PyArray_NDIM(index->table.host)};
    memcpy(view.dims, PyArray_DIMS(index->table.host), (size_t)view.ndim * sizeof *view.dims);
    return record_can_write(&index->table, &view);
}

static bool fits_shape(const struct source *value, const struct index *index)
{
    struct shape shape = index->shape;
    return shape_broadcast(&shape, value) && shape.ndim == index->shape.ndim &&
           memcmp(shape.dims, index->shape.dims, (size_t)shape.ndim * sizeof *shape.dims) == 0;
}

/* The values: copied first if they share memory with the elements that are updated. */
static int value_operand(struct mx_operand *operand, const struct index *index,
                         const struct source *value, const struct update *update,
                         struct place *place, struct made *made)
{
    struct mx_buffer *buffer = NULL;
    if (!value->scalar && !source_is_value(value) &&
        root_of(value->array) == root_of(index->table.array)) {
        struct shape own = {0};
        shape_broadcast(&own, value);
        if (copy_operand(operand, value, update->row, &own, update->wanted, made) < 0)
            return -1;
        spread_strides(operand, own.ndim, 0, index->shape.ndim, index->shape.ndim);
        return 1;
    }
    int status = record_input(operand, value, update->row, &index->shape, update->wanted, place,
                              &buffer);
    if (buffer)
        made->buffers[made->n++] = buffer;
    return status;
}

static int record_scatter(const struct index *index, const struct source *value,
                          const struct update *update)
{
    struct mx_instruction in;
    struct made made = {0};
    int status, n = index->n;
    struct place *place = place_new();
    if (!place)
        return -1;
    record_begin(&in, &update->loop, update->name, n + 1, 1, &index->shape, update->wanted);
    in.kind = MX_SCATTER;
    in.update = update->kind;
    in.dtype = index->table.code;
    in.indexing = index->indexing;
    status = value_operand(&in.operands[n], index, value, update, place, &made);
    if (status > 0)
        status = index_operands(&in, index, &index->table, place, &made);
    if (status < 1) {
        made_release(&made);
        place_free(place);
        return status;
    }
    indexed_operand(&in.operands[n + 1], index, place);
    int64_t sequence = record_append(&in, place);
    made_release(&made);
    if (sequence < 0)
        return -1;
    mark_indices(index, sequence);
    if (value->array && !in.operands[n].is_value)
        record_mark(value, sequence, false);
    record_mark(&index->table, sequence, true);
    return 1;
}

/* Records an update of a[key]; bounds: what is asked for. */
static int update_key(PyObject *a, PyObject *key, const struct source *value,
                      const struct update *update, int bounds)
{
    struct index index;
    int status = index_read(a, key, &index);
    if (status > 0)
        status = (index_is_worth_it(&index) || is_in_use(a) ||
                  (value->array && is_unwritten(value->array))) &&
                 can_write(&index) && fits_shape(value, &index) && are_in_order(&index, value);
    if (status > 0)
        status = settle_bounds(&index, bounds, MX_DROP);
    if (status > 0)
        status = record_scatter(&index, value, update);
    if (status > 0)
        status = record_done(index.sources, index.n);
    if (status > 0)
        status = record_done(value, 1);
    if (status > 0)
        status = record_done(&index.table, 1);
    index_clear(&index);
    return status;
}

/* The assignment of values as they are; false where NumPy would warn or refuse. */
static bool read_assignment(const struct source *value, int row, struct update *update)
{
    *update = (struct update){.kind = MX_SET, .name = "put", .row = row};
    if (is_complex_row(source_own_row(value)) && !is_complex_row(row))
        return false;
    if (value->scalar)
        return source_fits(value, row);
    return value->code == row || !source_is_value(value);
}

/* Whether an update with a number of Python's, which ufunc.at takes for an array of int64,
 * float64 or complex128, gives the same in the dtype of the elements: if the number is one of
 * that dtype, where the result is rounded once more (a float64 has more than twice the bits of
 * a float32), or of no more bits. */
static bool is_same_in(int row, int op, const struct source *number)
{
    _Alignas(16) char value[16], back[16], own[16];
    int own_row = source_own_row(number);
    bool is_sum = op == OP_add || op == OP_subtract || op == OP_multiply;
    bool is_order = op == OP_maximum || op == OP_minimum;
    bool is_bits = op == OP_bitwise_and || op == OP_bitwise_or || op == OP_bitwise_xor;
    if (own_row == row)
        return true;
    if (is_complex_row(row) || is_complex_row(own_row) || row == ROW_bool ||
        (is_integer_row(row) ? own_row != ROW_int64 || !(is_sum || is_order || is_bits)
                             : !(is_sum || is_order || op == OP_divide)))
        return false;
    mx_loop_function cast = core->cast_loop(row, own_row);
    if (!cast || !source_value(number, row, value) || !source_value(number, own_row, own))
        return false;
    char *args[] = {value, back};
    cast(args, (intptr_t[]){1}, (intptr_t[]){0, 0}, NULL);
    return memcmp(back, own, (size_t)itemsizes[own_row]) == 0;
}

/* The update by a ufunc, if its loop gives the dtype of the elements. */
static bool read_update(int op, const struct source *target, const struct source *value,
                        struct update *update)
{
    static const enum mx_update kinds[OP_COUNT] = {
        [OP_add] = MX_UPDATE_ADD,           [OP_subtract] = MX_UPDATE_SUBTRACT,
        [OP_multiply] = MX_UPDATE_MULTIPLY, [OP_divide] = MX_UPDATE_DIVIDE,
        [OP_maximum] = MX_UPDATE_MAXIMUM,   [OP_minimum] = MX_UPDATE_MINIMUM,
    };
    struct source inputs[] = {*target, *value};
    if (value->code >= NTYPES && !is_same_in(target->code, op, value))
        return false;
    const struct signature *signature = signature_of(op, inputs, 2);
    PyErr_Clear();
    if (!signature || signature->in[0] != target->code || signature->out[0] != target->code ||
        itemsizes[(int)signature->in[1]] != itemsizes[target->code])
        return false;
    *update = (struct update){.kind = kinds[op],
                              .loop = target->code == ROW_float16 ? signature->loop
                                                                  : signature->numpys,
                              .name = core->op_get(op)->name,
                              .row = signature->in[1]};
    if (signature->in[1] != target->code || !core->has_update(update->kind, target->code))
        update->kind = MX_BY_LOOP;
    return true;
}

/* -- Keys -------------------------------------------------------------------------- */

static int take_key(PyObject *a, PyObject *key, int bounds, bool in_c_order, PyObject **out)
{
    struct index index;
    *out = NULL;
    int status = index_read(a, key, &index);
    if (status > 0)
        status = index_is_worth_it(&index) ? settle_bounds(&index, bounds, MX_CLAMP) : 0;
    if (status > 0)
        status = record_gather(&index, in_c_order, out);
    if (status > 0)
        status = record_done(&index.table, 1);
    if (status > 0)
        status = record_done(index.sources, index.n);
    if (status < 0)
        Py_CLEAR(*out);
    index_clear(&index);
    return status;
}

int index_take(PyObject *a, PyObject *key, PyObject **out)
{
    return take_key(a, key, IN_BOUNDS, false, out);
}

/* Whether it is a mask in the memory that is assigned to: what is true then depends on NumPy's
 * order. */
static bool is_own_mask(PyObject *a, PyObject *key)
{
    return is_array(key) && PyArray_TYPE(host_of(key)) == NPY_BOOL &&
           root_of(key) == root_of(a);
}

int index_assign(PyObject *a, PyObject *key, PyObject *value)
{
    struct source from;
    struct update update;
    int row = source_row(PyArray_TYPE(host_of(a)));
    if (row < 0 || is_own_mask(a, key) || !source_read(value, &from) ||
        !read_assignment(&from, row, &update))
        return 0;
    update.wanted = place_conditions();
    if (update.wanted < 0)
        return update.wanted == -1 ? 0 : -1;
    return update_key(a, key, &from, &update, IN_BOUNDS);
}

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *take(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a, *key, *out;
    int bounds;
    if (!PyArg_ParseTuple(args, "OOi", &a, &key, &bounds))
        return NULL;
    int status = is_array(a) ? take_key(a, key, bounds, true, &out) : 0;
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    return status < 0 ? NULL : out;
}

static PyObject *update(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a, *key, *operand;
    int op, bounds;
    struct source target, value;
    struct update kind;
    if (!PyArg_ParseTuple(args, "iOOOi", &op, &a, &key, &operand, &bounds))
        return NULL;
    if (!is_array(a) || !source_read_array(a, &target) || !source_read(operand, &value) ||
        (op == NO_OP ? !read_assignment(&value, target.code, &kind)
                     : !read_update(op, &target, &value, &kind)))
        Py_RETURN_NOTIMPLEMENTED;
    bool is_ordering = op == OP_maximum || op == OP_minimum;
    kind.wanted = place_conditions();
    if (kind.wanted == -2)
        return NULL;
    int status = kind.wanted < 0 ? 0 : 1;
    if (is_ordering && kind.kind != MX_BY_LOOP)
        kind.wanted = 0; /* comparisons with NaN are no condition */
    if (status > 0)
        status = update_key(a, key, &value, &kind, bounds);
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (status < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static PyObject *search(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *sorted, *values;
    int is_right, order[MX_MAX_NDIM];
    struct source table, from, to;
    struct shape shape = {0};
    if (!PyArg_ParseTuple(args, "OOp", &sorted, &values, &is_right))
        return NULL;
    if (!is_array(sorted) || !is_array(values) || !source_read_array(sorted, &table) ||
        !source_read_array(values, &from) || from.code != table.code ||
        PyArray_NDIM(table.host) != 1 || !core->search_loop(from.code, is_right) ||
        !shape_broadcast(&shape, &from) || shape.ndim == 0 || shape_size(&shape) == 0 ||
        PyArray_SIZE(table.host) == 0 || shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < shape.ndim; i++)
        order[i] = i;
    struct place *place = place_new();
    PyObject *out = place ? record_new(ROW_int64, &shape, order) : NULL;
    if (!out) {
        if (place)
            place_free(place);
        return NULL;
    }
    struct mx_instruction in;
    struct mx_loop loop = {.function = core->search_loop(from.code, is_right)};
    source_read_array(out, &to);
    record_begin(&in, &loop, "searchsorted", 2, 1, &shape, 0);
    in.kind = MX_GATHER;
    in.indexing = (struct mx_indexing){.n = 1,
                                       .strides = {PyArray_STRIDE(table.host, 0)},
                                       .sizes = {PyArray_SIZE(table.host)}};
    record_view(&in.operands[0], &from, &shape, place);
    in.operands[1] = (struct mx_operand){.itemsize = itemsizes[table.code]};
    record_memory(&in.operands[1], &table, place);
    record_view(&in.operands[2], &to, &shape, place);
    int64_t sequence = record_append(&in, place);
    if (sequence < 0) {
        Py_DECREF(out);
        return NULL;
    }
    record_mark(&from, sequence, false);
    record_mark(&table, sequence, false);
    record_mark(&to, sequence, true);
    if (record_done(&from, 1) < 0 || record_done(&table, 1) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *index_range(PyObject *module, PyObject *a)
{
    (void)module;
    struct source source;
    if (!is_array(a) || !source_read_array(a, &source) || !is_integer_row(source.code) ||
        PyArray_SIZE(source.host) == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (queue_write(a) < 0)
        return NULL;
    struct index_range range = index_range_of(&source);
    return Py_BuildValue("LL", (long long)range.least, (long long)range.most);
}

PyMethodDef index_methods[] = {
    {"search", search, METH_VARARGS,
     "search(sorted, values, is_right)\n--\n\nRecord a search for the places of values in a "
     "sorted array of their dtype; or give NotImplemented."},
    {"index_range", index_range, METH_O,
     "index_range(array)\n--\n\nGive the least and the greatest element of an array of "
     "integers; or NotImplemented."},
    {"take", take, METH_VARARGS,
     "take(array, key, bounds)\n--\n\nRecord that the elements which a key with arrays "
     "selects are taken, in C order; or give NotImplemented."},
    {"update", update, METH_VARARGS,
     "update(operation, array, key, value, bounds)\n--\n\nRecord that they are updated by a "
     "row of ops.def, or assigned for -1, and give True; or give NotImplemented."},
    {NULL, NULL, 0, NULL},
};
