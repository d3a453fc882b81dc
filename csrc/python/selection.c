/* selection.c -- the elements that a mask selects.  How many is known only once the mask is
 * computed, so nothing of it is recorded. */
#include "python/record.h"

/* NumPy does less than this sooner than it takes to begin. */
#define WORTH_DIVISOR 16

static bool is_worth_it(PyObject *mask)
{
    return PyArray_SIZE(host_of(mask)) >= queue_threshold / WORTH_DIVISOR;
}

/* Contiguous elements whose dtype has nothing but its number. */
static bool is_plain(const struct source *source)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(source_type_number(source->code));
    bool is_same = dtype == PyArray_DESCR(source->host) && PyArray_CheckExact(source->host);
    Py_DECREF(dtype);
    return is_same && PyArray_IS_C_CONTIGUOUS(source->host) && PyArray_NDIM(source->host) > 0;
}

/* New reference: an array in memory for n elements; NULL with an exception set. */
static PyObject *new_row(int row, intptr_t n)
{
    npy_intp shape[] = {n}, strides[] = {itemsizes[row]};
    PyObject *host = memory_new_host(source_type_number(row), 1, shape, strides);
    PyObject *out = host ? array_new(host) : NULL;
    if (out && core->buffer_place(memory_of(host)) != MX_OK) {
        memory_raise_error();
        Py_CLEAR(out);
    }
    return out;
}

/* Its elements are needed here, whoever else needs them. */
static int write_now(const struct source *source)
{
    queue_end_lending(memory_of(root_of(source->array)->host));
    return queue_before_read(source->array);
}

/* The elements of `from`, or the places where there is no from.  1; 0: that is for NumPy; -1
 * with an exception set. */
static int select_elements(const struct source *mask, const struct source *from, int row,
                           PyObject **out)
{
    struct mx_compaction c;
    *out = NULL;
    if (write_now(mask) < 0 || (from && write_now(from) < 0) || queue_enter() < 0)
        return -1;
    const uint8_t *is_true = PyArray_DATA(mask->host);
    int status = core->compact_count(&c, is_true, PyArray_SIZE(mask->host));
    queue_leave();
    if (status != MX_OK)
        return 0;
    intptr_t n = c.begins[c.n_chunks];
    if (n > 0)
        *out = new_row(row, n);
    status = n == 0 ? 0 : *out && queue_enter() == 0 ? 1 : -1;
    if (status > 0) {
        core->compact_write(&c, from ? PyArray_BYTES(from->host) : NULL, itemsizes[row],
                            PyArray_BYTES(host_of(*out)));
        queue_leave();
    }
    if (status < 0)
        Py_CLEAR(*out);
    core->compact_free(&c);
    return status;
}

int selection_take(PyObject *a, PyObject *mask, PyObject **out)
{
    struct source from, where;
    if (!is_worth_it(mask) || !source_read(mask, &where) || where.code != ROW_bool ||
        !source_read(a, &from) || PyArray_NDIM(from.host) != PyArray_NDIM(where.host) ||
        !PyArray_SAMESHAPE(from.host, where.host) || !is_plain(&from) || !is_plain(&where))
        return 0;
    return select_elements(&where, &from, from.code, out);
}

static PyObject *places(PyObject *module, PyObject *mask)
{
    (void)module;
    struct source where;
    PyObject *out;
    int status = is_array(mask) && is_worth_it(mask) && source_read(mask, &where) &&
                 where.code == ROW_bool && is_plain(&where);
    if (status > 0)
        status = select_elements(&where, NULL, ROW_int64, &out);
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    return status < 0 ? NULL : out;
}

PyMethodDef selection_methods[] = {
    {"places", places, METH_O,
     "places(mask)\n--\n\nGive the places in the flat mask where it is true; or give "
     "NotImplemented."},
    {NULL, NULL, 0, NULL},
};
