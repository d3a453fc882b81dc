/* selection.c -- the elements that a mask selects.  Their number is known only after the mask
 * is computed, so the selection is not recorded. */
#include "python/access/selection.h"
#include "python/base/device.h"
#include "python/base/settings.h"
#include "python/convert/convert.h"
#include "python/direct/recycle.h"
#include "python/profile/profile.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/source.h"
#include "python/record/wrapper.h"

/* For masks below this part of the threshold, NumPy is faster. */
#define THRESHOLD_DIVISOR 16

static bool is_large(PyObject *mask)
{
    return PyArray_SIZE(np_array_of(mask)) >= queue_threshold / THRESHOLD_DIVISOR;
}

/* Check whether a dtype is the default one of its number, without metadata. */
static bool is_plain(const struct source *source)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(dtype_type_number(source->code));
    bool is_same = dtype == PyArray_DESCR(source->np_array) &&
                   Py_TYPE(as_array(source->array)->unprepared) == np_array_type;
    Py_DECREF(dtype);
    return is_same && PyArray_NDIM(source->np_array) > 0;
}

/* Return a new array with memory for n elements, or NULL with an exception set. */
static PyObject *new_row(int row, intptr_t n)
{
    npy_intp shape[] = {n}, strides[] = {dtype_itemsizes[row]};
    PyObject *np_array = memory_new_array(dtype_type_number(row), 1, shape, strides);
    PyObject *out = np_array ? wrapper_new(np_array) : NULL;
    if (out && core->mx_buffer_publish(memory_of(np_array)) != MX_OK) {
        memory_raise_error();
        Py_CLEAR(out);
    }
    return out;
}

/* Check whether the device selects: the arrays are large, and their memory is in buffers. */
static bool is_for_device(const struct source *mask, const struct source *from)
{
    if (!queue_accepts(mask->array) && !(from && queue_accepts(from->array)))
        return false;
    return device_has(DEVICE_SELECT) && memory_of(root_of(mask->array)->unprepared) &&
           (!from || memory_of(root_of(from->array)->unprepared));
}

/* Do the same as selection_take() on the device. */
static int select_on_device(const struct source *mask, const struct source *from,
                            PyObject **out)
{
    PyObject *items = from ? from->array : Py_None;
    return device_call(DEVICE_SELECT, PyTuple_Pack(2, mask->array, items), out);
}

static int selection_wait_for(const struct source *mask, const struct source *from)
{
    struct span span;
    span_begin(&span, SPAN_MASK, NULL);
    int status = queue_before_read(mask->array);
    if (status == 0 && from)
        status = queue_before_read(from->array);
    span_pop(&span);
    return status;
}

/* Read a mask, and the array of its shape from which it selects, unless that is NULL. */
static bool read_mask(PyObject *mask, PyObject *a, struct source *where, struct source *from)
{
    return is_large(mask) && source_read(mask, where) && where->code == ROW_bool &&
           is_plain(where) &&
           (!a || (source_read(a, from) && is_plain(from) &&
                   PyArray_NDIM(from->np_array) == PyArray_NDIM(where->np_array) &&
                   PyArray_SAMESHAPE(from->np_array, where->np_array)));
}

/* Begin a compaction of elements, or of the mask itself.  Return false if the core does not
 * compact arrays of their layout. */
static bool begin_compaction(struct mx_compaction *c, const PyArrayObject *mask,
                             const PyArrayObject *elements)
{
    c->mask = (const uint8_t *)data_address(mask);
    c->ndim = PyArray_NDIM(mask);
    if (c->ndim > MX_MAX_NDIM || !PyArray_ISALIGNED(elements))
        return false;
    for (int axis = 0; axis < c->ndim; axis++) {
        c->shape[axis] = PyArray_DIM(mask, axis);
        c->strides.mask[axis] = PyArray_STRIDE(mask, axis);
        c->strides.elements[axis] = PyArray_STRIDE(elements, axis);
        if (c->shape[axis] == 0 || c->strides.elements[axis] % PyArray_ITEMSIZE(elements) != 0)
            return false;
    }
    return true;
}

static bool begin_selection(struct mx_compaction *c, const struct source *mask,
                            const struct source *from)
{
    return begin_compaction(c, mask->np_array, (from ? from : mask)->np_array);
}

/* Select elements that are computed, in the queue, which is left.  The elements that were
 * counted are written only if no code of the program has changed an array meanwhile.  Return 1,
 * 0 if NumPy has to select, or -1 with an exception set. */
static int select_computed(struct mx_compaction *c, const struct source *mask,
                           const struct source *from, PyObject **out)
{
    struct array *roots[] = {root_of(mask->array), root_of((from ? from : mask)->array)};
    const int64_t versions[] = {roots[0]->version, roots[1]->version};
    int row = from ? from->code : ROW_int64;
    int64_t begin = profile_is_on ? mx_now() : 0;
    int status = core->mx_compact_count(c);
    queue_leave();
    if (status != MX_OK)
        return 0;
    intptr_t n = c->begins[c->n_chunks];
    roots[0]->n_holds++;
    roots[1]->n_holds++;
    if (n > 0)
        *out = new_row(row, n);
    roots[0]->n_holds--;
    roots[1]->n_holds--;
    bool is_same = roots[0]->version == versions[0] && roots[1]->version == versions[1];
    status = n == 0 ? 0 : !*out ? -1 : is_same && queue_try_enter();
    if (status > 0) {
        core->mx_compact_write(c, from ? source_elements(from) : NULL, dtype_itemsizes[row],
                               PyArray_BYTES(queue_ready(*out)));
        queue_leave();
    } else {
        Py_CLEAR(*out);
    }
    core->mx_compact_free(c);
    if (profile_is_on && status > 0)
        profile_computed(begin, from ? "getitem" : "nonzero", PyArray_SIZE(mask->np_array),
                         PyArray_SIZE(mask->np_array), PyArray_NBYTES(np_array_of(*out)));
    return status;
}

int selection_take(PyObject *a, PyObject *mask, PyObject **out)
{
    struct source where, array, *from = a ? &array : NULL;
    *out = NULL;
    if (!read_mask(mask, a, &where, from))
        return 0;
    int done = is_for_device(&where, from) ? select_on_device(&where, from, out) : 0;
    if (done != 0)
        return done;
    struct mx_compaction c;
    if (!begin_selection(&c, &where, from))
        return 0;
    if (selection_wait_for(&where, from) < 0 || queue_enter() < 0)
        return -1;
    /* Code of the program may have run. */
    if (read_mask(mask, a, &where, from) && begin_selection(&c, &where, from) &&
        !queue_writes(mask) && !(a && queue_writes(a)))
        return select_computed(&c, &where, from, out);
    queue_leave();
    return 0;
}

/* Check whether values can be copied to elements as they are. */
static bool fits_values(const PyArrayObject *to, const PyArrayObject *from)
{
    return PyArray_NDIM(from) == 1 && PyArray_DESCR(from) == PyArray_DESCR(to) &&
           PyArray_ISBEHAVED(to) && PyArray_ISCARRAY_RO(from);
}

/* Check whether elements are copied to the places that a mask selects. */
static bool fits_mask(const PyArrayObject *to, const PyArrayObject *mask,
                      const PyArrayObject *from)
{
    struct extent extent = extent_of_array(to);
    return recycle_row(PyArray_DESCR(to)) >= 0 && fits_values(to, from) &&
           PyArray_TYPE(mask) == NPY_BOOL && PyArray_NDIM(mask) == PyArray_NDIM(to) &&
           PyArray_SAMESHAPE(mask, to) && source_is_apart(to) &&
           are_apart(extent, extent_of_array(mask)) && are_apart(extent, extent_of_array(from));
}

bool selection_may_put(PyObject *a, PyObject *values)
{
    return !settings_use_gpu() && is_array(values) &&
           fits_values(np_array_of(a), np_array_of(values));
}

int selection_put(PyObject *np_array, PyObject *mask, PyObject *values)
{
    PyArrayObject *to = (PyArrayObject *)np_array, *where = (PyArrayObject *)mask;
    PyArrayObject *from = (PyArrayObject *)values;
    if (!PyArray_CheckExact(np_array) || !PyArray_CheckExact(mask) ||
        !PyArray_CheckExact(values) || PyArray_SIZE(to) == 0 || !fits_mask(to, where, from))
        return 0;
    if (queue_enter() < 0)
        return -1;
    struct mx_compaction c;
    int status = 0;
    int64_t begin = profile_is_on ? mx_now() : 0;
    /* Code of the program may have run. */
    if (fits_mask(to, where, from) && begin_compaction(&c, where, to) &&
        core->mx_compact_count(&c) == MX_OK) {
        status = c.begins[c.n_chunks] == PyArray_SIZE(from);
        if (status > 0)
            core->mx_compact_expand(&c, PyArray_BYTES(to), (int)PyArray_ITEMSIZE(to),
                                    PyArray_BYTES(from));
        core->mx_compact_free(&c);
    }
    queue_leave();
    if (profile_is_on && status > 0)
        profile_computed(begin, "setitem", PyArray_SIZE(where),
                         PyArray_SIZE(where) + PyArray_NBYTES(from), PyArray_NBYTES(from));
    return status;
}

PyObject *selection_positions(PyObject *mask)
{
    PyObject *positions;
    return selection_take(NULL, mask, &positions) > 0 ? positions : NULL;
}

PyObject *selection_nonzero(PyObject *mask)
{
    PyObject *positions = NULL;
    int status =
        PyArray_NDIM(np_array_of(mask)) == 1 ? selection_take(NULL, mask, &positions) : 0;
    if (status < 0)
        return NULL;
    if (status == 0) {
        struct call_args call_args = {0};
        PyObject *np_array = queue_to_read(mask);
        PyObject *found = np_array ? PyArray_Nonzero((PyArrayObject *)np_array) : NULL;
        return convert_adopt(found, &call_args, 1);
    }
    PyObject *all = PyTuple_Pack(1, positions);
    Py_DECREF(positions);
    return all;
}

static PyObject *positions(PyObject *module, PyObject *mask)
{
    (void)module;
    PyObject *out;
    int status = is_array(mask) ? selection_take(NULL, mask, &out) : 0;
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    return status < 0 ? NULL : out;
}

PyMethodDef selection_methods[] = {
    {"positions", positions, METH_O,
     "positions(mask)\n--\n\nReturn the positions in the flat mask where it is true, or "
     "NotImplemented."},
    {NULL, NULL, 0, NULL},
};
