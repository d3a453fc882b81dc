/* source.c -- the arguments of an operation: their dtypes and values. */
#include "python/record/source.h"
#include "python/base/state.h"
#include "python/record/queue.h"

#include <float.h>
#include <limits.h>
#include <math.h>

/* -- Inputs ------------------------------------------------------------------------ */

bool source_read_array(PyObject *x, struct source *source)
{
    const PyArrayObject *np_array = np_array_of(x);
    queue_settle_export(x);
    *source = (struct source){
        .code = dtype_row(PyArray_TYPE(np_array)), .array = x, .np_array = np_array};
    return source->code >= 0 && PyArray_NDIM(np_array) <= MX_MAX_NDIM &&
           PyArray_ISALIGNED(np_array) && PyArray_ISNOTSWAPPED(np_array) &&
           dtype_is_plain(PyArray_DESCR(np_array)) && !root_of(x)->failure;
}

bool source_read(PyObject *x, struct source *source)
{
    *source = (struct source){.code = -1};
    if (is_array(x))
        return source_read_array(x, source);
    source->scalar = x;
    if (PyFloat_CheckExact(x))
        source->code = WEAK_FLOAT;
    else if (PyBool_Check(x))
        source->code = 0;
    else if (PyLong_CheckExact(x))
        source->code = WEAK_INT;
    else if (PyComplex_CheckExact(x))
        source->code = WEAK_COMPLEX;
    else if (PyArray_IsScalar(x, Generic)) {
        PyArray_Descr *dtype = PyArray_DescrFromScalar(x);
        if (dtype && dtype->typeobj == Py_TYPE(x)) /* derived classes may have operators */
            source->code = dtype_row(dtype->type_num);
        Py_XDECREF((PyObject *)dtype);
        PyErr_Clear();
    }
    return source->code >= 0;
}

int source_own_row(const struct source *source)
{
    switch (source->code) {
    case WEAK_INT:
        return ROW_int64;
    case WEAK_FLOAT:
        return ROW_float64;
    case WEAK_COMPLEX:
        return ROW_complex128;
    }
    return source->code;
}

/* Return the largest finite number of a dtype to which Python's floats are rounded, or 0. */
static double most_of(int row)
{
    return row == ROW_float16                           ? 65504.0
           : row == ROW_bfloat16                        ? 0x1.fep127
           : row == ROW_float32 || row == ROW_complex64 ? (double)FLT_MAX
                                                        : 0.0;
}

static bool source_pack(PyObject *number, int row, char *value)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(dtype_type_number(row));
    bool is_packed = PyArray_Pack(dtype, value, number) == 0;
    Py_DECREF(dtype);
    PyErr_Clear();
    return is_packed;
}

/* Check whether a number is in the range of an integer dtype.  NumPy would run Python code to
 * raise its error, which handles signals. */
static bool is_in_range(PyObject *number, int row)
{
    int overflow, bits = 8 * dtype_itemsizes[row], is_unsigned = mx_dtype_kind(row) == 'u';
    long long x = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0 && row == ROW_uint64) {
        bool fits =
            PyLong_AsUnsignedLongLong(number) != (unsigned long long)-1 || !PyErr_Occurred();
        PyErr_Clear();
        return fits;
    }
    if (overflow != 0 || (is_unsigned && x < 0))
        return false;
    return bits == 64 || x >> (bits - 1 + is_unsigned) == (x < 0 ? -1 : 0);
}

/* Convert a number of Python to a value of the dtype.  Return false if NumPy would raise or
 * warn.
 */
static bool pack_number(PyObject *number, int row, char *value)
{
    if (row == ROW_float64 && PyFloat_CheckExact(number)) {
        double x = PyFloat_AsDouble(number);
        memcpy(value, &x, sizeof x);
        return true;
    }
    if (!PyComplex_CheckExact(number) && most_of(row) > 0) {
        double x = PyFloat_AsDouble(number);
        bool is_too_large = PyErr_Occurred() || (isfinite(x) && fabs(x) > most_of(row));
        PyErr_Clear();
        if (is_too_large)
            return false;
    }
    if ((PyComplex_CheckExact(number) && row != ROW_complex128) ||
        (PyLong_CheckExact(number) && mx_dtype_is_integer(row) && !is_in_range(number, row)))
        return false;
    return source_pack(number, row, value);
}

bool source_is_value(const struct source *source)
{
    return source->scalar ||
           (PyArray_SIZE(source->np_array) == 1 && !queue_writes(source->array));
}

bool source_value(const struct source *source, int row, char *value)
{
    _Alignas(16) char own[16];
    if (source->scalar && source->code >= NTYPES)
        return pack_number(source->scalar, row, value);
    if (!source->scalar)
        memcpy(own, source_elements(source), (size_t)dtype_itemsizes[source->code]);
    else if (PyBool_Check(source->scalar))
        own[0] = source->scalar == Py_True;
    else if (source->code != ROW_bfloat16)
        PyArray_ScalarAsCtype(source->scalar, own);
    else if (!source_pack(source->scalar, ROW_bfloat16, own)) /* NumPy cannot find its value */
        return false;
    mx_loop_function cast = core->mx_cast_loop(source->code, row);
    if (!cast)
        return false;
    char *args[] = {own, value};
    intptr_t n = 1, strides[] = {0, 0};
    cast(args, &n, strides, NULL);
    return true;
}

bool source_fits(const struct source *scalar, int row)
{
    char value[16];
    if (mx_dtype_is_complex(source_own_row(scalar)) && !mx_dtype_is_complex(row))
        return false;
    if (scalar->code < NTYPES && scalar->code != row &&
        !dtype_can_cast(scalar->code, row, NPY_SAFE_CASTING))
        return false;
    if (scalar->code == WEAK_FLOAT && !mx_dtype_is_inexact(row))
        return false;
    return source_value(scalar, row, value);
}

/* Each axis has to step over the elements of those with lesser strides. */
bool source_is_apart(const PyArrayObject *a)
{
    if (PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS))
        return true;
    if (PyArray_NDIM(a) >= (int)(CHAR_BIT * sizeof(unsigned)))
        return false;
    npy_intp covered = PyArray_ITEMSIZE(a), least = 0;
    for (unsigned done = 0; done + 1 != 1u << PyArray_NDIM(a);) {
        int next = -1;
        for (int axis = 0; axis < PyArray_NDIM(a); axis++) {
            npy_intp stride = PyArray_STRIDE(a, axis);
            stride = PyArray_DIM(a, axis) == 1 ? NPY_MAX_INTP : stride < 0 ? -stride : stride;
            if (!(done >> axis & 1) && (next < 0 || stride < least))
                next = axis, least = stride;
        }
        if (least < covered)
            return false;
        covered = least == NPY_MAX_INTP ? covered : least * PyArray_DIM(a, next);
        done |= 1u << next;
    }
    return true;
}
