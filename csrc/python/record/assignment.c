/* assignment.c -- assignments to views, and arrays with initial values. */
#include "python/record/assignment.h"
#include "python/profile/errstate.h"
#include "python/record/axes.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/record.h"

int assignment_record(PyObject *a, PyObject *np_array, PyObject *value)
{
    struct source from, to = {.array = a, .np_array = (PyArrayObject *)np_array};
    struct shape shape;
    to.code = dtype_row(PyArray_TYPE(to.np_array));
    if (to.code < 0 || !PyArray_ISALIGNED(to.np_array) || !PyArray_ISNOTSWAPPED(to.np_array) ||
        PyArray_NDIM(to.np_array) > MX_MAX_NDIM || !source_read(value, &from))
        return 0;
    shape = shape_of(to.np_array);
    if (!shape_takes(&shape, &from) || !record_can_write(&to, &shape) ||
        shape_size(&shape) == 0 || shape.ndim == 0)
        return 0;
    if (mx_dtype_is_complex(source_own_row(&from)) && !mx_dtype_is_complex(to.code))
        return 0; /* NumPy warns that imaginary parts are discarded, or raises an error */
    int fpe_mask = errstate_mask();
    if (fpe_mask < 0)
        return fpe_mask == -1 ? 0 : -1;
    int from_row = from.code < NTYPES ? from.code : to.code;
    struct mx_loop loop = {.function = core->mx_cast_loop(from_row, to.code)};
    if (!loop.function)
        return 0;

    int status = 1;
    if (PyArray_CHKFLAGS(to.np_array, NPY_ARRAY_C_CONTIGUOUS) && from_row == to.code &&
        queue_is_eager(shape_size(&shape)))
        return 0;
    if (source_is_value(&from)) {
        struct mx_instruction in;
        loop.function = core->mx_cast_loop(to.code, to.code);
        in.operands[0] = record_value(to.code);
        if (from.scalar ? !source_fits(&from, to.code) : from.code != to.code)
            return 0; /* the cast may warn, and would do so now */
        if (!source_value(&from, to.code, in.operands[0].value))
            return 0;
        struct call_site *site = call_site_new();
        if (!site)
            return -1;
        record_begin(&in, &loop, MX_COPY, "fill", 1, 1, &shape, 0);
        record_view(&in.operands[1], &to, &shape, site);
        int64_t sequence = record_append(&in, site);
        if (sequence < 0)
            return -1;
        record_mark(&to, sequence, true);
    } else if (record_collides(&to, &from)) {
        npy_intp strides[MX_MAX_NDIM];
        struct mx_buffer *made = record_new_temporary(&from, 1, from.code, &shape, strides);
        status = made ? record_copy(&from, NULL, NULL, from.code, NULL, made, strides,
                                    from.code, &shape, fpe_mask)
                      : -1;
        if (status > 0)
            status = record_copy(NULL, made, strides, from.code, &to, NULL, NULL, to.code,
                                 &shape, fpe_mask);
        if (made)
            core->mx_buffer_release(made);
    } else {
        status = record_copy(&from, NULL, NULL, from.code, &to, NULL, NULL, to.code, &shape,
                             fpe_mask);
    }
    if (status > 0)
        status = record_done(&from, 1);
    return status > 0 ? record_done(&to, 1) : status;
}

/* -- Methods of the module --------------------------------------------------------- */

/* Return false if such an array is not recorded. */
static bool read_shape(PyObject *dims, struct shape *shape)
{
    shape->ndim = (int)PyTuple_Size(dims);
    if (shape->ndim > MX_MAX_NDIM)
        return false;
    for (int i = 0; i < shape->ndim; i++) {
        shape->dims[i] = PyNumber_AsSsize_t(PyTuple_GetItem(dims, i), PyExc_OverflowError);
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
    struct source model;
    PyObject *dims, *like = Py_None;
    int type_number, is_unwritten = true, order[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "O!i|pO", &PyTuple_Type, &dims, &type_number, &is_unwritten,
                          &like))
        return NULL;
    int row = dtype_row(type_number);
    bool has_model = like != Py_None;
    if (row < 0 || !read_shape(dims, &shape) ||
        (has_model && (!is_array(like) || !source_read_array(like, &model) ||
                       PyArray_NDIM(model.np_array) != shape.ndim)))
        Py_RETURN_NOTIMPLEMENTED;
    if (has_model)
        axes_sort(&model, order);
    PyObject *out = record_new(row, &shape, has_model ? order : NULL);
    if (out) {
        as_array(out)->is_unwritten = is_unwritten;
        memory_of(as_array(out)->unprepared)->is_unwritten = is_unwritten;
    }
    if (out && core->mx_buffer_publish(memory_of(as_array(out)->unprepared)) != MX_OK) {
        memory_raise_error();
        PyErr_Clear();
        Py_DECREF(out);
        Py_RETURN_NOTIMPLEMENTED; /* NumPy raises the error from the line of the call */
    }
    return out;
}

/* Steal a reference to a new array, or pass NULL through.  Return it with the value assigned,
 * or NotImplemented. */
static PyObject *assignment_assign(PyObject *out, PyObject *value)
{
    int status = out ? assignment_record(out, as_array(out)->unprepared, value) : -1;
    return record_result(status, out);
}

static PyObject *assignment_fill(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {0};
    PyObject *dims, *value;
    int type_number;
    if (!PyArg_ParseTuple(args, "O!iO", &PyTuple_Type, &dims, &type_number, &value))
        return NULL;
    int row = dtype_row(type_number);
    if (row < 0 || !read_shape(dims, &shape))
        Py_RETURN_NOTIMPLEMENTED;
    return assignment_assign(record_new(row, &shape, NULL), value);
}

static PyObject *range(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {.ndim = 1};
    Py_buffer first_two;
    int type_number;
    if (!PyArg_ParseTuple(args, "niy*", &shape.dims[0], &type_number, &first_two))
        return NULL;
    int row = dtype_row(type_number);
    struct mx_loop loop = {.function = row < 0 ? NULL : core->mx_range_loop(row)};
    struct mx_instruction in;
    record_begin(&in, &loop, MX_NO_OP, "arange", 1, 1, &shape, 0);
    in.kind = MX_ARANGE;
    in.operands[0] = (struct mx_operand){.is_value = true, .itemsize = (int)first_two.len};
    bool fits = loop.function && first_two.len == 2 * dtype_itemsizes[row];
    if (fits)
        memcpy(in.operands[0].value, first_two.buf, (size_t)first_two.len);
    PyBuffer_Release(&first_two);
    if (!fits || shape.dims[0] < 1 || shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *out = record_new(row, &shape, NULL);
    struct call_site *site = out ? call_site_new() : NULL;
    if (!site) {
        Py_XDECREF(out);
        return NULL;
    }
    struct source to = {.array = out, .np_array = np_array_of(out), .code = row};
    record_view(&in.operands[1], &to, &shape, site);
    int64_t sequence = record_append(&in, site);
    if (sequence >= 0)
        record_mark(&to, sequence, true);
    if (sequence < 0 || record_done(&to, 1) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *assignment_cast(PyObject *module, PyObject *args)
{
    (void)module;
    struct shape shape = {0};
    struct source from;
    PyObject *a;
    int type_number, keeps_order, order[MX_MAX_NDIM];
    if (!PyArg_ParseTuple(args, "Oip", &a, &type_number, &keeps_order))
        return NULL;
    int row = dtype_row(type_number);
    if (row < 0 || !is_array(a) || !source_read(a, &from) || !shape_broadcast(&shape, &from) ||
        shape.ndim == 0 || shape_size(&shape) == 0 || source_is_value(&from) ||
        shape_is_too_large(&shape))
        Py_RETURN_NOTIMPLEMENTED;
    if (keeps_order)
        axes_sort(&from, order);
    return assignment_assign(record_new(row, &shape, keeps_order ? order : NULL), a);
}

static PyObject *has_dtype(PyObject *module, PyObject *type_number)
{
    (void)module;
    Py_ssize_t number = PyNumber_AsSsize_t(type_number, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(dtype_row((int)number) >= 0);
}

static PyObject *is_dtype_name(PyObject *module, PyObject *text)
{
    (void)module;
    return PyBool_FromLong(PyUnicode_Check(text) && dtype_is_name(text));
}

static PyObject *fits(PyObject *module, PyObject *args)
{
    (void)module;
    struct source source;
    PyObject *number;
    int type_number;
    if (!PyArg_ParseTuple(args, "Oi", &number, &type_number))
        return NULL;
    int row = dtype_row(type_number);
    bool is_number = row >= 0 && !is_array(number) && source_read(number, &source);
    return PyBool_FromLong(is_number && source_fits(&source, row));
}

static PyObject *takes(PyObject *module, PyObject *a)
{
    (void)module;
    return PyBool_FromLong(is_array(a) && queue_accepts(a));
}

static PyObject *is_on_device(PyObject *module, PyObject *a)
{
    (void)module;
    if (is_array(a) && queue_computes(a)) {
        memory_end_elision(memory_of(root_of(a)->unprepared)); /* its elements are needed */
        if (queue_flush() < 0)
            return NULL;
    }
    return PyBool_FromLong(is_array(a) && queue_is_away(root_of(a)->used));
}

static PyObject *memory_size(PyObject *module, PyObject *a)
{
    (void)module;
    const struct mx_buffer *buffer = is_array(a) ? memory_of(root_of(a)->unprepared) : NULL;
    return PyLong_FromSize_t(buffer ? buffer->nbytes : 0);
}

static PyObject *is_apart(PyObject *module, PyObject *a)
{
    (void)module;
    return PyBool_FromLong(is_array(a) && source_is_apart(np_array_of(a)));
}

static PyObject *version(PyObject *module, PyObject *a)
{
    (void)module;
    return PyLong_FromLongLong(is_array(a) ? root_of(a)->version : 0);
}

PyMethodDef assignment_methods[] = {
    {"empty", empty, METH_VARARGS,
     "empty(shape, type_number, is_unwritten=True, like=None)\n--\n\nReturn an array over "
     "memory that is not written, or NotImplemented if such an array is not recorded. If it is "
     "unwritten, a recorded operation writes it before any other code can. Its axes have the "
     "same order in memory as those of `like`, an array of the same shape."},
    {"fill", assignment_fill, METH_VARARGS,
     "fill(shape, type_number, value)\n--\n\nRecord an array of one value, or return "
     "NotImplemented."},
    {"range", range, METH_VARARGS,
     "range(length, type_number, first_two)\n--\n\nRecord an array of evenly spaced numbers, "
     "the "
     "first two of which are passed as bytes, or return NotImplemented."},
    {"cast", assignment_cast, METH_VARARGS,
     "cast(array, type_number, keeps_order)\n--\n\nRecord a copy in the dtype of this number, "
     "with "
     "the memory layout of the array or in C order, or return NotImplemented."},
    {"has_dtype", has_dtype, METH_O,
     "has_dtype(type_number)\n--\n\nReturn whether operations on the dtype of this number are "
     "recorded."},
    {"is_dtype_name", is_dtype_name, METH_O,
     "is_dtype_name(text)\n--\n\nReturn whether a string names one dtype, without a warning."},
    {"fits", fits, METH_VARARGS,
     "fits(number, type_number)\n--\n\nReturn whether NumPy assigns the number to elements of "
     "this dtype without an error or a warning."},
    {"takes", takes, METH_O,
     "takes(array)\n--\n\nReturn whether an operation on the array is recorded."},
    {"is_on_device", is_on_device, METH_O,
     "is_on_device(array)\n--\n\nRun what computes the array, and return whether a device with "
     "its own memory has its elements."},
    {"memory_size", memory_size, METH_O,
     "memory_size(array)\n--\n\nReturn the bytes of the block of memory that an array is in, "
     "or 0 if it is not in the pool."},
    {"is_apart", is_apart, METH_O,
     "is_apart(array)\n--\n\nReturn whether it is known that no elements of an array share "
     "memory."},
    {"version", version, METH_O,
     "version(array)\n--\n\nReturn a number that increases whenever the memory of an array may "
     "have been written or moved."},
    {NULL, NULL, 0, NULL},
};
