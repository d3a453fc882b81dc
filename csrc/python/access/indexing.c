/* indexing.c -- the selection of elements by a key with arrays, and operands for it. */
#include "python/access/indexing.h"
#include "python/base/device.h"
#include "python/base/settings.h"
#include "python/profile/profile.h"
#include "python/record/axes.h"
#include "python/record/queue.h"

/* -- Bounds ------------------------------------------------------------------------ */

/* Record a check of indices that are still deferred.  Return 1, or -1 with an exception set. */
static int record_check(const struct index *index, int j)
{
    struct mx_instruction in;
    struct shape shape = {0};
    const struct source *indices = &index->sources[j];
    struct mx_loop loop = {.function = core->mx_index_check_loop(indices->code)};
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    shape_broadcast(&shape, indices);
    record_begin(&in, &loop, MX_NO_OP, "check", 1, 0, &shape, 0);
    in.kind = MX_BOUNDS_CHECK;
    in.indexing.n = 0;
    in.indexing.sizes[0] = index->indexing.sizes[j];
    in.indexing.axis = index->axes[j];
    record_view(&in.operands[0], indices, &shape, site);
    int64_t sequence = record_append(&in, site);
    if (sequence < 0)
        return -1;
    record_mark(indices, sequence, false);
    return 1;
}

/* Check indices whose elements are in memory, or whose range is known.  Return 1, or 0 if some
 * are out of bounds. */
static int find_bounds(const struct index *index, int j, enum mx_bounds *bounds)
{
    struct index_range range = index_range_of(&index->sources[j]);
    intptr_t size = index->indexing.sizes[j];
    if (range.least < -size || range.most >= size)
        return 0;
    if (range.least < 0 && *bounds == MX_PLAIN)
        *bounds = MX_NEGATIVE;
    return 1;
}

int indexing_settle_bounds(struct index *index, int bounds, enum mx_bounds fast)
{
    bool is_fast = settings_are_fast();
    enum mx_bounds settled = bounds == INDEXING_IN_BOUNDS ? MX_PLAIN : (enum mx_bounds)bounds;
    for (int j = 0; j < index->n && bounds == INDEXING_IN_BOUNDS; j++) {
        bool is_waiting = queue_writes(index->arrays[j]);
        bool is_readable = !is_waiting || index_known_range(&index->sources[j]);
        if (is_readable && find_bounds(index, j, &settled))
            continue;
        if (is_fast)
            settled = fast;
        else if (!is_waiting)
            return 0; /* NumPy raises the error */
        else if (record_check(index, j) < 0)
            return -1;
        else
            settled = MX_CLAMP;
    }
    index->indexing.bounds = settled;
    return 1;
}

/* -- Instructions ------------------------------------------------------------------ */

void indexing_release(struct temporaries *made)
{
    for (int i = 0; i < made->n; i++)
        core->mx_buffer_release(made->buffers[i]);
    made->n = 0;
}

int indexing_copy(struct mx_operand *operand, const struct source *source, int row,
                  const struct shape *own, int fpe_mask, struct temporaries *made)
{
    npy_intp strides[MX_MAX_NDIM] = {0};
    struct mx_buffer *buffer = record_new_temporary(source, 1, row, own, strides);
    if (!buffer)
        return -1;
    made->buffers[made->n++] = buffer;
    record_temporary(operand, buffer, row, own, strides);
    return record_copy(source, NULL, NULL, source->code, NULL, buffer, strides, row, own,
                       fpe_mask);
}

void indexing_spread(struct mx_operand *operand, int own_ndim, int first, int end, int ndim)
{
    intptr_t own[MX_MAX_NDIM];
    memcpy(own, operand->strides, sizeof own);
    for (int i = 0; i < ndim; i++) {
        int at = i - (end - own_ndim);
        operand->strides[i] = i >= first && i < end && at >= 0 ? own[at] : 0;
    }
}

int indexing_operands(struct mx_instruction *in, const struct index *index,
                      const struct source *target, struct call_site *site,
                      struct temporaries *made)
{
    for (int j = 0; j < index->n; j++) {
        const struct source *indices = &index->sources[j];
        struct shape own = shape_of(indices->np_array);
        bool is_target = target && root_of(target->array) == root_of(indices->array);
        if (indices->code == ROW_int64 && !is_target)
            record_view(&in->operands[j], indices, &own, site);
        else if (indexing_copy(&in->operands[j], indices, ROW_int64, &own, 0, made) < 0)
            return -1;
        indexing_spread(&in->operands[j], own.ndim, index->block_at,
                        index->block_at + index->block.ndim, index->shape.ndim);
    }
    return 1;
}

void indexing_table(struct mx_operand *operand, const struct index *index,
                    struct call_site *site)
{
    operand->is_value = false;
    operand->itemsize = dtype_itemsizes[index->table.code];
    operand->dtype = index->table.code;
    record_memory(operand, &index->table, site);
    if (operand->buffer) /* it may have moved since the view was made, when it got memory */
        operand->at = index->at;
    memcpy(operand->strides, index->strides,
           (size_t)index->shape.ndim * sizeof *operand->strides);
}

void indexing_mark(const struct index *index, int64_t sequence)
{
    for (int j = 0; j < index->n; j++)
        record_mark(&index->sources[j], sequence, false);
}

/* Find the order of axes in memory of NumPy's result.  Those of the block come first, in C
 * order. If the result has only the block, they are in the order of the index arrays. */
static void order_result(const struct index *index, int *order)
{
    int n = index->block.ndim, rest_order[MX_MAX_NDIM];
    for (int i = 0; i < n; i++)
        order[i] = i;
    if (shape_size(&index->shape) == shape_size(&index->block))
        axes_order(index->sources, index->n, &index->block, order);
    for (int i = 0; i < n; i++)
        order[i] += index->block_at;
    const npy_intp *strides = PyArray_STRIDES(index->table.np_array);
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
    struct temporaries made = {0};
    struct mx_loop loop = {.function = core->mx_gather_loop};
    int order[MX_MAX_NDIM], n = index->n;
    struct source to;
    struct call_site *site = call_site_new();
    if (!site)
        return -1;
    record_begin(&in, &loop, MX_NO_OP, "take", n + 1, 1, &index->shape, 0);
    in.kind = MX_GATHER;
    in.indexing = index->indexing;
    order_result(index, order);
    if (indexing_operands(&in, index, NULL, site, &made) < 0 ||
        !(*out = record_new(index->table.code, &index->shape, in_c_order ? NULL : order))) {
        indexing_release(&made);
        call_site_free(site);
        return -1;
    }
    source_read_array(*out, &to);
    indexing_table(&in.operands[n], index, site);
    record_view(&in.operands[n + 1], &to, &index->shape, site);
    int64_t sequence = record_append(&in, site);
    indexing_release(&made);
    if (sequence < 0) {
        Py_CLEAR(*out);
        return -1;
    }
    indexing_mark(index, sequence);
    record_mark(&index->table, sequence, false);
    record_mark(&to, sequence, true);
    return 1;
}

/* -- Keys -------------------------------------------------------------------------- */

static int take_key(PyObject *a, const struct access *access, int bounds, bool in_c_order,
                    PyObject **out)
{
    struct index index;
    *out = NULL;
    int status = index_read(a, access, &index);
    if (status > 0)
        status =
            index_should_record(&index) ? indexing_settle_bounds(&index, bounds, MX_CLAMP) : 0;
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

int indexing_take(PyObject *a, const struct access *access, PyObject **out)
{
    return take_key(a, access, INDEXING_IN_BOUNDS, false, out);
}

/* -- Methods of the module --------------------------------------------------------- */

static PyObject *indexing_take_method(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a, *key, *out;
    int bounds;
    struct access access;
    if (!PyArg_ParseTuple(args, "OOi", &a, &key, &bounds))
        return NULL;
    if (!is_array(a))
        Py_RETURN_NOTIMPLEMENTED;
    access_read(&access, a, key, false);
    int status = take_key(a, &access, bounds, true, &out);
    return record_result(status, out);
}

static PyObject *indexing_search(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *sorted, *values;
    int is_right;
    struct source table, from, to;
    struct shape shape = {0};
    if (!PyArg_ParseTuple(args, "OOp", &sorted, &values, &is_right))
        return NULL;
    if (!is_array(sorted) || !is_array(values) || !source_read_array(sorted, &table) ||
        !source_read_array(values, &from) || from.code != table.code ||
        PyArray_NDIM(table.np_array) != 1 || !core->mx_search_loop(from.code, is_right) ||
        !shape_broadcast(&shape, &from) || shape.ndim == 0 || shape_size(&shape) == 0 ||
        PyArray_SIZE(table.np_array) == 0 || shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    struct call_site *site = call_site_new();
    PyObject *out = site ? record_new(ROW_int64, &shape, NULL) : NULL;
    if (!out) {
        if (site)
            call_site_free(site);
        return NULL;
    }
    struct mx_instruction in;
    struct mx_loop loop = {.function = core->mx_search_loop(from.code, is_right)};
    source_read_array(out, &to);
    record_begin(&in, &loop, is_right ? MX_SEARCH_RIGHT : MX_SEARCH_LEFT, "searchsorted", 2, 1,
                 &shape, 0);
    in.kind = MX_GATHER;
    in.indexing = (struct mx_indexing){.n = 1,
                                       .strides = {PyArray_STRIDE(table.np_array, 0)},
                                       .sizes = {PyArray_SIZE(table.np_array)}};
    record_view(&in.operands[0], &from, &shape, site);
    in.operands[1] =
        (struct mx_operand){.itemsize = dtype_itemsizes[table.code], .dtype = table.code};
    record_memory(&in.operands[1], &table, site);
    record_view(&in.operands[2], &to, &shape, site);
    int64_t sequence = record_append(&in, site);
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

/* Let the device find the range of indices that it has or computes.  Return 1, 0 if the
 * processor has to find it, or -1 with an exception set. */
static int find_on_device(const struct source *indices, struct index_range *range)
{
    PyObject *found;
    long long least, most;
    range->version = root_of(indices->array)->version;
    if (!device_has(DEVICE_RANGE) || !queue_writes(indices->array))
        return 0;
    int status = device_call(DEVICE_RANGE, PyTuple_Pack(1, indices->array), &found);
    if (status <= 0)
        return status;
    bool is_read = PyArg_ParseTuple(found, "LL", &least, &most);
    Py_DECREF(found);
    range->least = least;
    range->most = most;
    if (is_read)
        index_note_range(indices, range);
    return is_read ? 1 : -1;
}

/* Return 0, or -1 with an exception set. */
static int read_range(PyObject *a, const struct source *indices, struct index_range *range)
{
    if (!index_known_range(indices)) {
        int status = find_on_device(indices, range);
        if (status != 0)
            return status < 0 ? -1 : 0;
        if (queue_before_read(a) < 0)
            return -1;
    }
    *range = index_range_of(indices);
    return 0;
}

static PyObject *index_range(PyObject *module, PyObject *a)
{
    (void)module;
    struct source source;
    struct index_range range;
    if (!is_array(a) || !source_read_array(a, &source) || !mx_dtype_is_integer(source.code) ||
        PyArray_SIZE(source.np_array) == 0)
        Py_RETURN_NOTIMPLEMENTED;
    struct span span;
    span_begin(&span, SPAN_RANGE, NULL);
    int status = read_range(a, &source, &range);
    span_pop(&span);
    if (status < 0)
        return NULL;
    return Py_BuildValue("LL", (long long)range.least, (long long)range.most);
}

PyMethodDef indexing_methods[] = {
    {"search", indexing_search, METH_VARARGS,
     "search(sorted, values, is_right)\n--\n\nRecord a search for the positions of values in a "
     "sorted array of their dtype, or return NotImplemented."},
    {"index_range", index_range, METH_O,
     "index_range(array)\n--\n\nReturn the least and the greatest element of an array of "
     "integers, or NotImplemented."},
    {"take", indexing_take_method, METH_VARARGS,
     "take(array, key, bounds)\n--\n\nRecord the selection of elements by a key with arrays, "
     "with "
     "a result in C order, or return NotImplemented."},
    {NULL, NULL, 0, NULL},
};
