/* source.c -- the arguments of an operation: their dtypes, shapes, strides and values. */
#include "python/record/record.h"

#include <float.h>
#include <math.h>

/* -- Dtypes ------------------------------------------------------------------------ */

static int type_numbers[NTYPES] = {
    NPY_BOOL,    NPY_INT8,    NPY_INT16,     NPY_INT32,      NPY_INT64,  NPY_UINT8,
    NPY_UINT16,  NPY_UINT32,  NPY_UINT64,    NPY_HALF,       NPY_NOTYPE, /* bfloat16: until an
                                                                            array of it is met
                                                                          */
    NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
};

const int itemsizes[NTYPES] = {
#define DTYPE(name, c_type, msl_type, itemsize, kind) itemsize,
#include "ir/dtypes.def"
#undef DTYPE
};

int source_type_number(int row) { return type_numbers[row]; }

static bool has_attribute(PyObject *type, const char *name, const char *value)
{
    PyObject *text = PyObject_GetAttrString(type, name);
    bool is_it =
        text && PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, value) == 0;
    Py_XDECREF(text);
    PyErr_Clear();
    return is_it;
}

/* Whether it is the number that NumPy gave to the bfloat16 of ml_dtypes, which is not imported
 * to know: an array of that dtype has done so. */
static bool is_bfloat16(int type_number)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type_number);
    PyObject *type = dtype ? (PyObject *)dtype->typeobj : NULL;
    bool is_it = type && has_attribute(type, "__name__", "bfloat16") &&
                 has_attribute(type, "__module__", "ml_dtypes");
    Py_XDECREF((PyObject *)dtype);
    PyErr_Clear();
    return is_it;
}

int source_row(int type_number)
{
    for (int row = 0; row < NTYPES; row++)
        if (type_numbers[row] == type_number && type_number != NPY_NOTYPE)
            return row;
    if (type_number < NPY_USERDEF || type_numbers[ROW_bfloat16] != NPY_NOTYPE ||
        !is_bfloat16(type_number))
        return -1;
    type_numbers[ROW_bfloat16] = type_number;
    return ROW_bfloat16;
}

bool source_can_cast(int from, int to, NPY_CASTING casting)
{
    PyArray_Descr *a = PyArray_DescrFromType(type_numbers[from]);
    PyArray_Descr *b = PyArray_DescrFromType(type_numbers[to]);
    bool can = PyArray_CanCastTypeTo(a, b, casting);
    Py_DECREF(a);
    Py_DECREF(b);
    return can;
}

/* -- Inputs ------------------------------------------------------------------------ */

bool source_read_array(PyObject *x, struct source *source)
{
    PyArrayObject *np_array = (PyArrayObject *)as_array(x)->np_array;
    queue_settle_export(x);
    *source = (struct source){
        .code = source_row(PyArray_TYPE(np_array)), .array = x, .np_array = np_array};
    return source->code >= 0 && PyArray_NDIM(np_array) <= MX_MAX_NDIM &&
           PyArray_ISALIGNED(np_array) && PyArray_ISNOTSWAPPED(np_array) &&
           !root_of(x)->failure;
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
        source->code = dtype ? source_row(dtype->type_num) : -1;
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

/* The largest number of a dtype to which Python's floats are rounded; 0: there is none. */
static double most_of(int row)
{
    return row == ROW_float16                           ? 65504.0
           : row == ROW_bfloat16                        ? 0x1.fep127
           : row == ROW_float32 || row == ROW_complex64 ? (double)FLT_MAX
                                                        : 0.0;
}

static bool pack(PyObject *number, int row, char *value)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type_numbers[row]);
    bool is_packed = PyArray_Pack(dtype, value, number) == 0;
    Py_DECREF(dtype);
    PyErr_Clear();
    return is_packed;
}

/* Whether an integer dtype has the number: NumPy's error would be made with Python code, which
 * handles signals. */
static bool is_in_range(PyObject *number, int row)
{
    int overflow, bits = 8 * itemsizes[row], is_unsigned = row >= ROW_uint8;
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

/* A number of Python's as a value of the dtype; false where NumPy would raise or warn. */
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
        (PyLong_CheckExact(number) && is_integer_row(row) && !is_in_range(number, row)))
        return false;
    return pack(number, row, value);
}

bool source_is_value(const struct source *source)
{
    return source->scalar ||
           (PyArray_SIZE(source->np_array) == 1 && !is_unwritten(source->array));
}

bool source_value(const struct source *source, int row, char *value)
{
    _Alignas(16) char own[16];
    if (source->scalar && source->code >= NTYPES)
        return pack_number(source->scalar, row, value);
    if (!source->scalar)
        memcpy(own, PyArray_DATA(source->np_array), (size_t)itemsizes[source->code]);
    else if (PyBool_Check(source->scalar))
        own[0] = source->scalar == Py_True;
    else if (source->code != ROW_bfloat16)
        PyArray_ScalarAsCtype(source->scalar, own);
    else if (!pack(source->scalar, ROW_bfloat16, own)) /* NumPy does not know where it is */
        return false;
    mx_loop_function cast = core->cast_loop(source->code, row);
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
    if (is_complex_row(source_own_row(scalar)) && !is_complex_row(row))
        return false;
    if (scalar->code < NTYPES && scalar->code != row &&
        !source_can_cast(scalar->code, row, NPY_SAFE_CASTING))
        return false;
    if (scalar->code == WEAK_FLOAT && row < ROW_float16)
        return false;
    return source_value(scalar, row, value);
}

/* -- Shapes ------------------------------------------------------------------------ */

bool shape_broadcast(struct shape *shape, const struct source *source)
{
    if (source->scalar)
        return true;
    int ndim = PyArray_NDIM(source->np_array);
    const npy_intp *dims = PyArray_DIMS(source->np_array);
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

bool shape_takes(const struct shape *shape, const struct source *source)
{
    struct shape broadcasted = *shape;
    return shape_broadcast(&broadcasted, source) && broadcasted.ndim == shape->ndim &&
           memcmp(broadcasted.dims, shape->dims, (size_t)shape->ndim * sizeof *shape->dims) ==
               0;
}

struct shape shape_of(const PyArrayObject *np_array)
{
    struct shape shape = {.ndim = PyArray_NDIM(np_array)};
    const npy_intp *dims = PyArray_DIMS((PyArrayObject *)(uintptr_t)np_array);
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = dims[i];
    return shape;
}

npy_intp shape_size(const struct shape *shape)
{
    npy_intp size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    return size;
}

void source_strides(const struct source *source, const struct shape *shape, intptr_t *strides)
{
    int ndim = source->scalar ? 0 : PyArray_NDIM(source->np_array), before = shape->ndim - ndim;
    for (int i = 0; i < shape->ndim; i++) {
        bool is_broadcast = i < before || PyArray_DIM(source->np_array, i - before) == 1;
        strides[i] = is_broadcast ? 0 : PyArray_STRIDE(source->np_array, i - before);
    }
}

/* Whether all arrays among the sources are as large as the result and in Fortran's order alone:
 * NumPy runs these without an iterator. */
static bool are_fortran(const struct source *sources, int n, const struct shape *shape)
{
    bool is_any = false;
    for (int s = 0; s < n; s++) {
        if (sources[s].scalar || PyArray_NDIM(sources[s].np_array) == 0)
            continue;
        if (!PyArray_IS_F_CONTIGUOUS(sources[s].np_array) ||
            PyArray_IS_C_CONTIGUOUS(sources[s].np_array) ||
            PyArray_NDIM(sources[s].np_array) != shape->ndim ||
            !PyArray_CompareLists(PyArray_DIMS(sources[s].np_array), shape->dims, shape->ndim))
            return false;
        is_any = true;
    }
    return is_any;
}

static void reverse_axes(int ndim, int *order)
{
    for (int i = 0; i < ndim; i++)
        order[i] = ndim - 1 - i;
}

/* As NumPy's iterator: axes are sorted by strides, the first operand that tells two axes apart
 * decides, and C order wins where operands contradict each other. */
void source_order_axes(const struct source *sources, int n, const struct shape *shape,
                       int *order)
{
    intptr_t strides[MX_MAX_OPERANDS][MX_MAX_NDIM];
    int ndim = shape->ndim;
    reverse_axes(ndim, order); /* innermost first until the end */
    if (are_fortran(sources, n, shape))
        return;
    for (int s = 0; s < n; s++)
        source_strides(&sources[s], shape, strides[s]);
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

void source_sort_axes(const struct source *source, int *order)
{
    const npy_intp *strides = PyArray_STRIDES(source->np_array);
    int ndim = PyArray_NDIM(source->np_array);
    for (int i = 0; i < ndim; i++)
        order[i] = i;
    if (PyArray_IS_C_CONTIGUOUS(source->np_array))
        return;
    if (PyArray_IS_F_CONTIGUOUS(source->np_array)) {
        reverse_axes(ndim, order);
        return;
    }
    for (int i = 1; i < ndim; i++)
        for (int j = i; j > 0 && Py_ABS(strides[order[j - 1]]) < Py_ABS(strides[order[j]]);
             j--) {
            int axis = order[j];
            order[j] = order[j - 1];
            order[j - 1] = axis;
        }
}

void shape_strides(const struct shape *shape, const int *order, int itemsize, npy_intp *strides)
{
    npy_intp stride = itemsize;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        int axis = order ? order[i] : i;
        strides[axis] = stride;
        stride *= shape->dims[axis];
    }
}

bool shape_is_too_large(const struct shape *shape)
{
    double size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= (double)shape->dims[i];
    return size > (double)((npy_intp)1 << 31);
}
