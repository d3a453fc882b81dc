/* functions.c -- functions and methods of NumPy that are computed here for small arrays: new
 * arrays, copies, views of contiguous arrays, reductions to one number. */
#include "python/direct/functions.h"
#include <math.h>
#include <stdlib.h>

#include "base/conditions.h"
#include "ir/ops.h"
#include "python/base/settings.h"
#include "python/base/state.h"
#include "python/direct/compositions.h"
#include "python/direct/linear.h"
#include "python/direct/products.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/direct/stacks.h"
#include "python/record/queue.h"
#include "python/record/signature.h"

#define MOST_NDIM 4

static struct uniform_loops clip; /* the ufunc of numpy.clip */
static bool counts_are_python;    /* the integers of numpy.count_nonzero, before NumPy 2.4 */

static int answer(PyObject *result, PyObject **out)
{
    *out = result;
    return result ? 1 : -1;
}

/* -- New arrays -------------------------------------------------------------------- */

struct new_shape {
    int ndim;
    npy_intp dims[MOST_NDIM], size;
};

static bool add_length(struct new_shape *shape, PyObject *length)
{
    if (!PyLong_CheckExact(length) || shape->ndim == MOST_NDIM)
        return false;
    Py_ssize_t n = PyLong_AsSsize_t(length);
    if (n <= 0 || n > MX_MOST_DIRECT) {
        PyErr_Clear();
        return false;
    }
    shape->dims[shape->ndim++] = n;
    shape->size *= n;
    return shape->size <= MX_MOST_DIRECT;
}

/* Read a positive integer or a tuple of them, the shape of a small array. */
static bool read_shape(PyObject *x, struct new_shape *shape)
{
    *shape = (struct new_shape){.size = 1};
    if (!PyTuple_CheckExact(x))
        return add_length(shape, x);
    for (Py_ssize_t i = 0; i < PyTuple_Size(x); i++)
        if (!add_length(shape, PyTuple_GetItem(x, i)))
            return false;
    return shape->ndim > 0;
}

/* Check whether an array of this shape is made here, rather than recorded. */
static bool is_immediate(const struct new_shape *shape)
{
    return shape->size < queue_threshold || queue_is_eager(shape->size);
}

/* Read a number as an element of an array, whose dtype NumPy also gives to numbers of Python.
 * Return false if NumPy would choose another dtype, raise or warn. */
static bool read_number(PyObject *x, int row, char *value)
{
    struct source source;
    if (scalars_read(x, row, value))
        return true;
    return row != ROW_bool && source_read(x, &source) && source.code >= NTYPES &&
           source_fits(&source, row) && source_value(&source, row, value);
}

static int new_array(int row, const struct new_shape *shape, char **data, PyObject **result)
{
    PyObject *np_array = recycle_new(row, shape->ndim, shape->dims);
    if (!np_array)
        return -1;
    *data = PyArray_DATA((PyArrayObject *)np_array);
    return answer(recycle_wrap(np_array), result);
}

static int call_empty(PyObject *const *args, size_t n, PyObject **result)
{
    struct new_shape shape;
    char *data;
    return n == 1 && read_shape(args[0], &shape) && is_immediate(&shape)
               ? new_array(ROW_float64, &shape, &data, result)
               : 0;
}

static void clear(PyObject *a)
{
    memset(PyArray_DATA(queue_ready(a)), 0, (size_t)PyArray_NBYTES(np_array_of(a)));
}

static int call_zeros(PyObject *const *args, size_t n, PyObject **result)
{
    int status = call_empty(args, n, result);
    if (status > 0)
        clear(*result);
    return status;
}

/* Set all elements of a contiguous array to a value of its dtype. */
static void fill(PyObject *a, int row, char *value)
{
    char *both[] = {value, PyArray_BYTES(queue_ready(a))};
    intptr_t size = array_size(np_array_of(a)), strides[] = {0, dtype_itemsizes[row]};
    core->mx_copy_loop(dtype_itemsizes[row])(both, &size, strides, NULL);
}

static int call_ones(PyObject *const *args, size_t n, PyObject **result)
{
    double one = 1.0;
    int status = call_empty(args, n, result);
    if (status > 0)
        fill(*result, ROW_float64, (char *)&one);
    return status;
}

/* Compute full(shape, number), in the dtype that the number has on its own. */
static int call_full(PyObject *const *args, size_t n, PyObject **result)
{
    struct new_shape shape;
    char *data, value[8];
    if (n != 2 || !(PyFloat_CheckExact(args[1]) || PyLong_CheckExact(args[1])))
        return 0;
    int row = PyFloat_CheckExact(args[1]) ? ROW_float64 : ROW_int64;
    if (!read_shape(args[0], &shape) || !scalars_read(args[1], row, value) ||
        !is_immediate(&shape))
        return 0;
    int status = new_array(row, &shape, &data, result);
    if (status > 0)
        fill(*result, row, value);
    return status;
}

static int call_copy(PyObject *const *args, size_t n, PyObject **result);

/* Read an integer that is far from the limits of int64. */
static bool read_small(PyObject *x, int64_t *value)
{
    int overflow = 0;
    if (!PyLong_CheckExact(x))
        return false;
    *value = PyLong_AsLongLongAndOverflow(x, &overflow);
    return !overflow && *value > -INT64_MAX / 4 && *value < INT64_MAX / 4;
}

/* Read a Python float, or an integer of which float64 has all sums and differences. */
static bool read_float(PyObject *x, double *value)
{
    int64_t integer = 0;
    bool is_float = PyFloat_CheckExact(x);
    if (!is_float && !(read_small(x, &integer) && llabs(integer) < INT64_C(1) << 51))
        return false;
    *value = is_float ? PyFloat_AsDouble(x) : (double)integer;
    return true;
}

/* Make an array of `length` numbers at equal distances from the first two of them. */
static int new_range(int row, int64_t length, void *first_two, PyObject **result)
{
    struct new_shape shape = {.ndim = 1, .dims = {length}, .size = length};
    char *data;
    intptr_t begin = 0;
    if (length < 1 || length > MX_MOST_DIRECT || !is_immediate(&shape))
        return 0;
    int status = new_array(row, &shape, &data, result);
    if (status > 0)
        core->mx_range_loop(row)((char *[]){first_two, data}, &shape.size, NULL, &begin);
    return status;
}

static int call_arange_of_floats(PyObject *const *args, size_t n, PyObject **result)
{
    double start = 0.0, stop, step = 1.0;
    if (!read_float(args[n > 1], &stop) || (n > 1 && !read_float(args[0], &start)) ||
        (n > 2 && !read_float(args[2], &step)))
        return 0;
    double length = ceil((stop - start) / step);
    if (!(length >= 1.0 && length <= MX_MOST_DIRECT))
        return 0;
    return new_range(ROW_float64, (int64_t)length, (double[]){start, start + step}, result);
}

/* Compute arange(stop), arange(start, stop) or arange(start, stop, step) of numbers. */
static int call_arange(PyObject *const *args, size_t n, PyObject **result)
{
    int64_t start = 0, stop, step = 1;
    if (n == 0 || n > 3)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (PyFloat_CheckExact(args[i]))
            return call_arange_of_floats(args, n, result);
    if (!read_small(args[n > 1], &stop) || (n > 1 && !read_small(args[0], &start)) ||
        (n > 2 && !read_small(args[2], &step)) || step == 0)
        return 0;
    int64_t distance = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
    int64_t length = distance > 0 ? (distance - 1) / size + 1 : 0;
    return new_range(ROW_int64, length, (int64_t[]){start, start + step}, result);
}

static int join(PyObject *parts, bool is_stack, PyObject **result);

/* Make an array of a list or a tuple of arrays, or of numbers, if that has the dtype of the
 * first one. */
static int call_array(PyObject *const *args, size_t n, PyObject **result)
{
    if (n == 1 && is_array(args[0]))
        return call_copy(args, n, result);
    bool is_tuple = n == 1 && PyTuple_CheckExact(args[0]);
    if (n != 1 || !(is_tuple || PyList_CheckExact(args[0])))
        return 0;
    PyObject *(*item)(PyObject *, Py_ssize_t) = is_tuple ? PyTuple_GetItem : PyList_GetItem;
    npy_intp length = Py_SIZE(args[0]);
    if (length == 0 || length >= queue_threshold)
        return 0;
    PyObject *first = item(args[0], 0);
    if (is_array(first))
        return join(args[0], true, result);
    int row = PyFloat_CheckExact(first)  ? ROW_float64
              : PyLong_CheckExact(first) ? ROW_int64
                                         : scalars_row(first);
    if (row < 0 || length * dtype_itemsizes[row] > RECYCLED_BYTES)
        return 0;
    PyObject *np_array = recycle_new(row, 1, &length);
    char *data = np_array ? PyArray_BYTES((PyArrayObject *)np_array) : NULL;
    for (npy_intp i = 0; np_array && i < length; i++)
        if (!scalars_read(item(args[0], i), row, data + i * dtype_itemsizes[row])) {
            Py_DECREF(np_array);
            return 0;
        }
    return np_array ? answer(recycle_wrap(np_array), result) : -1;
}

/* -- Copies and views of contiguous arrays ------------------------------------------- */

static inline bool is_contiguous(PyObject *a)
{
    return is_array(a) && is_c_contiguous(np_array_of(a)) &&
           PyArray_ISALIGNED(np_array_of(a)) && recycle_is_plain(np_array_of(a)) &&
           PyArray_NDIM(np_array_of(a)) > 0 && PyArray_NDIM(np_array_of(a)) <= MOST_NDIM;
}

static bool is_small_contiguous(PyObject *a)
{
    return is_contiguous(a) && recycle_row(PyArray_DESCR(np_array_of(a))) >= 0 &&
           array_size(np_array_of(a)) > 0;
}

/* Return the distance in bytes of the elements of a contiguous array, or of a vector with gaps
 * between its elements, or 0 for another array. */
static npy_intp step_of(PyObject *a)
{
    if (is_contiguous(a))
        return PyArray_ITEMSIZE(np_array_of(a));
    const PyArrayObject *np_array = np_array_of(a);
    bool is_line = PyArray_NDIM(np_array) == 1 && PyArray_ISALIGNED(np_array) &&
                   recycle_is_plain(np_array) && PyArray_STRIDE(np_array, 0) > 0;
    return is_line ? PyArray_STRIDE(np_array, 0) : 0;
}

/* Copy the elements of an array that `step_of` accepts. */
static int call_copy(PyObject *const *args, size_t n, PyObject **result)
{
    npy_intp step = n == 1 && is_array(args[0]) ? step_of(args[0]) : 0;
    if (step == 0)
        return 0;
    PyArrayObject *from = queue_ready(args[0]);
    int row = recycle_row(PyArray_DESCR(from));
    npy_intp size = array_size(from);
    if (row < 0 || size == 0)
        return 0;
    PyObject *to = recycle_new(row, PyArray_NDIM(from), PyArray_DIMS(from));
    if (!to)
        return -1;
    intptr_t itemsize = dtype_itemsizes[row], strides[] = {step, itemsize};
    char *both[] = {PyArray_BYTES(from), PyArray_DATA((PyArrayObject *)to)};
    if (step == itemsize)
        memcpy(both[1], both[0], (size_t)(size * itemsize));
    else
        core->mx_copy_loop((int)itemsize)(both, &size, strides, NULL);
    return answer(recycle_wrap(to), result);
}

static int call_fill(PyObject *const *args, size_t n, PyObject **result)
{
    char value[16];
    if (n != 2 || !is_contiguous(args[0]) || !PyArray_ISWRITEABLE(np_array_of(args[0])))
        return 0;
    PyArrayObject *np_array = queue_ready(args[0]);
    int row = recycle_row(PyArray_DESCR(np_array));
    if (row < 0 || !read_number(args[1], row, value))
        return 0;
    fill(args[0], row, value);
    root_of(args[0])->version++;
    return answer(Py_NewRef(Py_None), result);
}

/* Return an element as a number of Python's. */
static int call_item(PyObject *const *args, size_t n, PyObject **result)
{
    if (n != 2 || !is_contiguous(args[0]) || !PyLong_CheckExact(args[1]))
        return 0;
    PyArrayObject *np_array = queue_ready(args[0]);
    int row = recycle_row(PyArray_DESCR(np_array));
    Py_ssize_t i = PyLong_AsSsize_t(args[1]), size = array_size(np_array);
    if (i == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    i += i < 0 ? size : 0;
    if ((row != ROW_float64 && row != ROW_int64) || i < 0 || i >= size)
        return 0;
    const char *data = PyArray_BYTES(np_array) + 8 * i;
    return answer(row == ROW_float64 ? PyFloat_FromDouble(*(const double *)data)
                                     : PyLong_FromLongLong(*(const int64_t *)data),
                  result);
}

/* Return a new view of the elements of a contiguous array in the shape of `view`. */
static PyObject *reshaped(PyObject *a, struct view *view)
{
    npy_intp stride = PyArray_ITEMSIZE(np_array_of(a));
    view->data = PyArray_BYTES(queue_ready(a));
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        view->strides[axis] = stride;
        stride *= view->shape[axis];
    }
    return recycle_view(a, view);
}

static int call_reshape(PyObject *const *args, size_t n, PyObject **result)
{
    if (n < 2 || !is_small_contiguous(args[0]))
        return 0;
    bool is_tuple = n == 2 && PyTuple_CheckExact(args[1]);
    Py_ssize_t ndim = is_tuple ? PyTuple_Size(args[1]) : (Py_ssize_t)n - 1;
    struct view view; /* setting it to zero would take as long as the rest */
    view.ndim = (int)ndim;
    npy_intp size = array_size(np_array_of(args[0])), known = 1;
    int open = -1; /* the axis whose length follows from the others */
    if (ndim == 0 || ndim > MOST_NDIM)
        return 0;
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *length = is_tuple ? PyTuple_GetItem(args[1], axis) : args[1 + axis];
        Py_ssize_t x = PyLong_CheckExact(length) ? PyLong_AsSsize_t(length) : 0;
        if (x < -1 || x == 0 || x > size || (x == -1 && (open >= 0 || PyErr_Occurred()))) {
            PyErr_Clear();
            return 0;
        }
        if (x == -1)
            open = axis;
        known *= x == -1 ? 1 : x;
        view.shape[axis] = x;
        if (known > size)
            return 0;
    }
    if (open >= 0)
        view.shape[open] = size / known;
    if (open >= 0 ? size % known != 0 : known != size)
        return 0;
    /* An axis of one element would keep its stride. */
    if (open < 0 && has_shape(np_array_of(args[0]), view.ndim, view.shape))
        return 0;
    return answer(reshaped(args[0], &view), result);
}

static int call_ravel(PyObject *const *args, size_t n, PyObject **result)
{
    if (n != 1 || !is_small_contiguous(args[0]))
        return 0;
    struct view view;
    view.ndim = 1;
    view.shape[0] = array_size(np_array_of(args[0]));
    return answer(reshaped(args[0], &view), result);
}

/* Read the order of the axes of a view: numbers or a tuple of them, or nothing or None for the
 * reverse.  Return false if NumPy has to read it. */
static bool read_order(PyObject *const *axes, size_t n, int ndim, int *order)
{
    unsigned seen = 0;
    PyObject *tuple = n == 1 && PyTuple_CheckExact(axes[0]) ? axes[0] : NULL;
    bool is_reverse = n == 0 || (n == 1 && axes[0] == Py_None);
    if (!is_reverse && (tuple ? PyTuple_Size(tuple) : (Py_ssize_t)n) != ndim)
        return false;
    for (int i = 0; i < ndim; i++) {
        int64_t axis = ndim - 1 - i;
        if (!is_reverse && !read_small(tuple ? PyTuple_GetItem(tuple, i) : axes[i], &axis))
            return false;
        axis += axis < 0 ? ndim : 0;
        if (axis < 0 || axis >= ndim)
            return false;
        order[i] = (int)axis;
        seen |= 1u << axis;
    }
    return seen == (1u << ndim) - 1;
}

/* Return a view of an array with its axes in another order: a.transpose(*axes). */
static int call_transposed(PyObject *const *args, size_t n, PyObject **result)
{
    int order[MOST_NDIM];
    struct view view;
    if (n < 1 || !is_array(args[0]) || recycle_row(PyArray_DESCR(np_array_of(args[0]))) < 0)
        return 0;
    PyArrayObject *np_array = queue_ready(args[0]);
    int ndim = PyArray_NDIM(np_array);
    if (ndim == 0 || ndim > MOST_NDIM || !recycle_is_plain(np_array) ||
        !read_order(args + 1, n - 1, ndim, order))
        return 0;
    view.data = PyArray_BYTES(np_array);
    view.ndim = ndim;
    for (int axis = 0; axis < ndim; axis++) {
        view.shape[axis] = PyArray_DIM(np_array, order[axis]);
        view.strides[axis] = PyArray_STRIDE(np_array, order[axis]);
    }
    return answer(recycle_view(args[0], &view), result);
}

/* The same for the function, which takes all axes as one argument. */
static int call_transpose(PyObject *const *args, size_t n, PyObject **result)
{
    return n <= 2 ? call_transposed(args, n, result) : 0;
}

/* Return a view of the real or imaginary parts of complex numbers.  The real part of another
 * array is the array. */
static int call_part(PyObject *a, bool is_imaginary, PyObject **result)
{
    int row = is_array(a) ? recycle_row(PyArray_DESCR(np_array_of(a))) : -1;
    if (row >= 0 && !mx_dtype_is_complex(row) && !is_imaginary)
        return answer(Py_NewRef(a), result);
    PyArrayObject *np_array = row < 0 ? NULL : queue_ready(a);
    if (row < 0 || !mx_dtype_is_complex(row) || PyArray_NDIM(np_array) > MOST_NDIM ||
        !recycle_is_plain(np_array))
        return 0;
    int part = row == ROW_complex64 ? ROW_float32 : ROW_float64;
    struct view view;
    view.data = PyArray_BYTES(np_array) + (is_imaginary ? dtype_itemsizes[part] : 0);
    view.ndim = PyArray_NDIM(np_array);
    for (int axis = 0; axis < view.ndim; axis++) {
        view.shape[axis] = PyArray_DIM(np_array, axis);
        view.strides[axis] = PyArray_STRIDE(np_array, axis);
    }
    return answer(recycle_view_as(a, recycle_dtypes[part], &view), result);
}

static int call_real(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? call_part(args[0], false, result) : 0;
}

static int call_imag(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? call_part(args[0], true, result) : 0;
}

/* Return a view of the diagonal of a matrix that is read-only, as NumPy's is. */
static int call_diagonal(PyObject *const *args, size_t n, PyObject **result)
{
    if (n != 1 || !is_array(args[0]) || recycle_row(PyArray_DESCR(np_array_of(args[0]))) < 0)
        return 0;
    PyArrayObject *np_array = queue_ready(args[0]);
    if (PyArray_NDIM(np_array) != 2 || !recycle_is_plain(np_array))
        return 0;
    npy_intp n_rows = PyArray_DIM(np_array, 0), n_columns = PyArray_DIM(np_array, 1);
    struct view view;
    view.data = PyArray_BYTES(np_array);
    view.ndim = 1;
    view.shape[0] = n_rows < n_columns ? n_rows : n_columns;
    view.strides[0] = PyArray_STRIDE(np_array, 0) + PyArray_STRIDE(np_array, 1);
    if (!(*result = recycle_view(args[0], &view)))
        return -1;
    PyArray_CLEARFLAGS(queue_ready(*result), NPY_ARRAY_WRITEABLE);
    return 1;
}

/* -- Reductions to one number ---------------------------------------------------------- */

/* Return the loop that reduces elements of a dtype to the same dtype, or NULL.  An exception is
 * set if the search failed. */
static const struct signature *reduction_of(int op, int row)
{
    struct source sources[2] = {{.code = row}, {.code = row}};
    const struct signature *signature = signature_of(op, sources, 2);
    bool is_closed = signature && signature->in[0] == row && signature->out[0] == row;
    return is_closed ? signature : NULL;
}

/* Fill the results with the value with which a reduction begins.  Return false for operations
 * that begin with the first element.  NumPy's loops for bool stop at the first element that
 * decides the result, but not at the value they begin with. */
static bool fill_identity(int op, char *results, size_t size)
{
    bool has_identity = op == MX_OP_add || op == MX_OP_logical_or || op == MX_OP_logical_and;
    if (has_identity)
        memset(results, op == MX_OP_logical_and, size);
    return has_identity;
}

/* Reduce the first `size` elements of an array that `step_of` accepts with the inner loop of a
 * ufunc, as NumPy does: sums begin with zero, others with the first element.  Return 1 with the
 * value, 0 or -1. */
static int reduce_first(int op, PyObject *a, npy_intp size, int *row, char *value)
{
    intptr_t step = step_of(a);
    if (step == 0)
        return 0;
    PyArrayObject *np_array = queue_ready(a);
    *row = recycle_row(PyArray_DESCR(np_array));
    if (*row < 0 || size == 0)
        return 0;
    const struct signature *signature = reduction_of(op, *row);
    if (!signature)
        return PyErr_Occurred() ? -1 : 0;
    bool has_identity = fill_identity(op, value, 16);
    char *data = PyArray_BYTES(np_array);
    intptr_t n = has_identity ? size : size - 1, strides[] = {0, step, 0};
    if (!has_identity)
        memcpy(value, data, (size_t)dtype_itemsizes[*row]);
    char *args[] = {value, data + (has_identity ? 0 : step), value};
    mx_conditions_clear();
    if (n > 0)
        signature->numpys.function(args, &n, strides, signature->numpys.data);
    return !mx_conditions_met();
}

static int reduce(int op, PyObject *a, int *row, char *value)
{
    return reduce_first(op, a, array_size(np_array_of(a)), row, value);
}

#define NO_AXIS 32767

/* Return an axis, or NO_AXIS for anything that is not an integer or is out of range. */
static long read_axis(PyObject *x)
{
    long axis = PyLong_CheckExact(x) ? PyLong_AsLong(x) : NO_AXIS;
    if (!PyErr_Occurred())
        return axis;
    PyErr_Clear();
    return NO_AXIS;
}

/* Reduce a contiguous array to a vector of one element. */
static int reduce_to_vector(int op, PyObject *a, PyObject **result)
{
    _Alignas(16) char value[16];
    int row, status = reduce(op, a, &row, value);
    if (status <= 0)
        return status;
    PyObject *out = recycle_new(row, 1, &(npy_intp){1});
    if (!out)
        return -1;
    memcpy(PyArray_DATA((PyArrayObject *)out), value, (size_t)dtype_itemsizes[row]);
    return answer(recycle_wrap(out), result);
}

/* A contiguous matrix, and what reduces it. */
struct matrix_reduction {
    int op, row;
    char *data;
    npy_intp n_rows, n_columns, itemsize;
    const struct signature *signature;
    const struct mx_row_kernels *kernels; /* or NULL */
};

/* Reduce the columns, row by row. */
static void reduce_columns(const struct matrix_reduction *m, char *to)
{
    npy_intp itemsize = m->itemsize, stride = m->n_columns * itemsize, n_rows = m->n_rows;
    char *data = m->data;
    if (!fill_identity(m->op, to, (size_t)stride)) {
        memcpy(to, data, (size_t)stride);
        data += stride;
        n_rows--;
    }
    if (m->kernels) {
        m->kernels->add(to, data, stride, n_rows, m->n_columns);
        return;
    }
    for (npy_intp i = 0; i < n_rows; i++, data += stride)
        m->signature->numpys.function((char *[]){to, data, to}, &m->n_columns,
                                      (intptr_t[]){itemsize, itemsize, itemsize},
                                      m->signature->numpys.data);
}

/* Reduce each row to one element. */
static void reduce_rows(const struct matrix_reduction *m, char *to)
{
    static const _Alignas(16) char zero[16];
    npy_intp itemsize = m->itemsize, stride = m->n_columns * itemsize;
    if (m->kernels && m->kernels->reduce &&
        (mx_dtype_is_inexact(m->row) || stride <= MX_SHORT_ROW)) {
        m->kernels->reduce(m->data, stride, m->n_rows, m->n_columns, zero, to, itemsize);
        return;
    }
    bool has_identity = fill_identity(m->op, to, (size_t)(m->n_rows * itemsize));
    intptr_t n = has_identity ? m->n_columns : m->n_columns - 1;
    char *data = m->data;
    for (npy_intp i = 0; i < m->n_rows; i++, data += stride, to += itemsize) {
        if (!has_identity)
            memcpy(to, data, (size_t)itemsize);
        if (n > 0)
            m->signature->numpys.function(
                (char *[]){to, data + (has_identity ? 0 : itemsize), to}, &n,
                (intptr_t[]){0, itemsize, 0}, m->signature->numpys.data);
    }
}

/* Reduce a contiguous matrix along an axis, in NumPy's order. */
static int reduce_matrix(int op, PyObject *a, PyObject *axis_number, PyObject **result)
{
    PyArrayObject *np_array = queue_ready(a);
    if (!is_contiguous(a) || PyArray_NDIM(np_array) != 2 || axis_number == Py_None)
        return 0;
    long axis = read_axis(axis_number);
    axis += axis < 0 ? 2 : 0;
    struct matrix_reduction m = {.op = op,
                                 .row = recycle_row(PyArray_DESCR(np_array)),
                                 .data = PyArray_BYTES(np_array),
                                 .n_rows = PyArray_DIM(np_array, 0),
                                 .n_columns = PyArray_DIM(np_array, 1),
                                 .itemsize = PyArray_ITEMSIZE(np_array)};
    if (m.row < 0 || m.n_rows == 0 || m.n_columns == 0 || axis < 0 || axis > 1)
        return 0;
    npy_intp kept = axis == 0 ? m.n_columns : m.n_rows;
    if (kept == 1)
        return reduce_to_vector(op, a, result);
    m.signature = reduction_of(op, m.row);
    if (!m.signature)
        return PyErr_Occurred() ? -1 : 0;
    m.kernels = core->mx_rows_find(op, m.row, true);
    PyObject *out = recycle_new(m.row, 1, &kept);
    if (!out)
        return -1;
    mx_conditions_clear();
    (axis == 0 ? reduce_columns : reduce_rows)(&m, PyArray_DATA((PyArrayObject *)out));
    if (mx_conditions_met()) {
        Py_DECREF(out);
        return 0;
    }
    return answer(recycle_wrap(out), result);
}

/* Reduce an array, or a vector or matrix along an axis. */
static int reduce_array(int op, PyObject *const *args, size_t n, PyObject **result)
{
    _Alignas(16) char value[16];
    int row, status;
    if (n == 0 || n > 2 || !is_array(args[0]))
        return 0;
    bool is_vector = PyArray_NDIM(np_array_of(args[0])) == 1;
    if (n == 2 && !is_vector)
        return reduce_matrix(op, args[0], args[1], result);
    long axis = n == 2 ? read_axis(args[1]) : 0;
    if (axis != 0 && axis != -1)
        return 0;
    status = reduce(op, args[0], &row, value);
    return status > 0 ? answer(scalars_new(row, value), result) : status;
}

/* Return the row of a dtype whose sums have the same dtype, or -1.  NumPy sums small integers
 * as int64. */
static int sums_as(const PyArrayObject *np_array)
{
    int row = recycle_row(PyArray_DESCR(np_array));
    return row == ROW_int64 || row == ROW_uint64 || mx_dtype_is_inexact(row) ? row : -1;
}

static bool is_bool(PyObject *const *args, size_t n)
{
    return n > 0 && is_array(args[0]) && PyArray_TYPE(np_array_of(args[0])) == NPY_BOOL;
}

/* Check whether a call counts the true elements of a contiguous array. */
static bool counts(PyObject *const *args, size_t n)
{
    return n == 1 && is_bool(args, n) && is_small_contiguous(args[0]);
}

static npy_intp count_in(PyObject *a)
{
    PyArrayObject *np_array = queue_ready(a);
    return core->mx_compact_count_true(PyArray_DATA(np_array), array_size(np_array));
}

static int call_count_nonzero(PyObject *const *args, size_t n, PyObject **result)
{
    if (!counts(args, n))
        return 0;
    int64_t count = count_in(args[0]);
    return answer(counts_are_python ? PyLong_FromLongLong(count)
                                    : scalars_new(ROW_int64, (char *)&count),
                  result);
}

static bool has_sum(PyObject *const *args, size_t n)
{
    return n > 0 && is_array(args[0]) && sums_as(np_array_of(args[0])) >= 0;
}

static int call_sum(PyObject *const *args, size_t n, PyObject **result)
{
    if (counts(args, n)) {
        int64_t sum = count_in(args[0]);
        return answer(scalars_new(ROW_int64, (char *)&sum), result);
    }
    return has_sum(args, n) ? reduce_array(MX_OP_add, args, n, result) : 0;
}

static int call_trace(PyObject *const *args, size_t n, PyObject **result)
{
    PyObject *diagonal;
    int status = has_sum(args, n) ? call_diagonal(args, n, &diagonal) : 0;
    if (status <= 0)
        return status;
    status = reduce_array(MX_OP_add, &diagonal, 1, result);
    Py_DECREF(diagonal);
    return status;
}

static int call_max(PyObject *const *args, size_t n, PyObject **result)
{
    return reduce_array(MX_OP_maximum, args, n, result);
}

static int call_min(PyObject *const *args, size_t n, PyObject **result)
{
    return reduce_array(MX_OP_minimum, args, n, result);
}

static int call_any(PyObject *const *args, size_t n, PyObject **result)
{
    return is_bool(args, n) ? reduce_array(MX_OP_logical_or, args, n, result) : 0;
}

static int call_all(PyObject *const *args, size_t n, PyObject **result)
{
    return is_bool(args, n) ? reduce_array(MX_OP_logical_and, args, n, result) : 0;
}

#define GLANCE (1 << 14) /* elements; threads pay for more, which often need not be read */

/* Look whether the first elements of a large array of bools decide its reduction. */
static int glance(int op, PyObject *a, PyObject **result)
{
    _Alignas(16) char value[16];
    int row, status = 0;
    if (is_bool(&a, 1) && array_size(np_array_of(a)) > GLANCE)
        status = reduce_first(op, a, GLANCE, &row, value);
    bool is_decided = status > 0 && (value[0] != 0) == (op == MX_OP_logical_or);
    return is_decided ? answer(scalars_new(row, value), result) : status < 0 ? -1 : 0;
}

static int glance_any(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? glance(MX_OP_logical_or, args[0], result) : 0;
}

static int glance_all(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? glance(MX_OP_logical_and, args[0], result) : 0;
}

/* Return the row of the ufunc in a call of its method for a vector, or MX_NO_OP. */
static int read_method(PyObject *const *args, size_t n)
{
    bool is_plain = n == 2 && Py_TYPE(args[0]) == ufunc_type && is_array(args[1]) &&
                    PyArray_NDIM(np_array_of(args[1])) == 1;
    const struct function *f = (const struct function *)args[0];
    return is_plain && !f->is_standard && !f->choose ? f->operation : MX_NO_OP;
}

/* Compute ufunc.reduce(a) as the function that does the same. */
static int call_reduce(PyObject *const *args, size_t n, PyObject **result)
{
    switch (read_method(args, n)) {
    case MX_OP_add:
        return call_sum(args + 1, 1, result);
    case MX_OP_maximum:
        return call_max(args + 1, 1, result);
    case MX_OP_minimum:
        return call_min(args + 1, 1, result);
    case MX_OP_logical_or:
        return call_any(args + 1, 1, result);
    case MX_OP_logical_and:
        return call_all(args + 1, 1, result);
    default:
        return 0;
    }
}

static int glance_reduce(PyObject *const *args, size_t n, PyObject **result)
{
    int op = read_method(args, n);
    bool may_stop = op == MX_OP_logical_or || op == MX_OP_logical_and;
    return may_stop ? glance(op, args[1], result) : 0;
}

/* -- Means and variances --------------------------------------------------------------- */

/* Divide float32 or float64 numbers by a count, as NumPy divides sums. */
static void divide_by_count(int row, char *values, npy_intp n, npy_intp count)
{
    if (row == ROW_float64)
        for (npy_intp i = 0; i < n; i++)
            ((double *)values)[i] /= (double)count;
    else
        for (npy_intp i = 0; i < n; i++)
            ((float *)values)[i] /= (float)count;
}

static void take_roots(int row, char *values, npy_intp n)
{
    if (row == ROW_float64)
        for (npy_intp i = 0; i < n; i++)
            ((double *)values)[i] = sqrt(((double *)values)[i]);
    else
        for (npy_intp i = 0; i < n; i++)
            ((float *)values)[i] = sqrtf(((float *)values)[i]);
}

/* Check whether the mean of an array is computed here. */
static bool has_mean(PyObject *const *args, size_t n)
{
    int row =
        n > 0 && is_array(args[0]) ? recycle_row(PyArray_DESCR(np_array_of(args[0]))) : -1;
    return (row == ROW_float32 || row == ROW_float64) && n <= 2;
}

/* Check whether a reduction has one number as result: of all elements, or of a vector. */
static bool reduces_to_number(PyObject *const *args, size_t n)
{
    if (n == 1 || PyArray_NDIM(np_array_of(args[0])) != 1)
        return n == 1;
    long axis = read_axis(args[1]);
    return axis == 0 || axis == -1;
}

/* Compute the mean of all elements.  Return 1, 0 or -1. */
static int find_mean(PyObject *a, char *mean)
{
    int row, status = reduce(MX_OP_add, a, &row, mean);
    if (status > 0)
        divide_by_count(row, mean, 1, array_size(np_array_of(a)));
    return status > 0 ? !mx_conditions_met() : status;
}

/* Compute the means of a matrix along an axis. */
static int find_means(PyObject *a, PyObject *axis, PyObject **result)
{
    int status = reduce_matrix(MX_OP_add, a, axis, result);
    if (status <= 0)
        return status;
    PyArrayObject *sums = queue_ready(*result);
    npy_intp size = array_size(sums);
    divide_by_count(recycle_row(PyArray_DESCR(sums)), PyArray_BYTES(sums), size,
                    array_size(np_array_of(a)) / size);
    if (mx_conditions_met())
        Py_CLEAR(*result);
    return *result != NULL;
}

static int call_mean(PyObject *const *args, size_t n, PyObject **result)
{
    _Alignas(16) char mean[16];
    if (counts(args, n)) {
        double share = (double)count_in(args[0]) / (double)array_size(np_array_of(args[0]));
        return answer(scalars_new(ROW_float64, (char *)&share), result);
    }
    if (!has_mean(args, n))
        return 0;
    if (!reduces_to_number(args, n))
        return find_means(args[0], args[1], result);
    int status = find_mean(args[0], mean);
    int row = recycle_row(PyArray_DESCR(np_array_of(args[0])));
    return status > 0 ? answer(scalars_new(row, mean), result) : status;
}

/* Compute the mean of the squared distances from the mean, or its root, in NumPy's steps. */
static int find_variance(PyObject *a, bool is_root, PyObject **result)
{
    _Alignas(16) char mean[16], value[16];
    int status = find_mean(a, mean);
    if (status <= 0)
        return status;
    PyArrayObject *np_array = queue_ready(a);
    int row = recycle_row(PyArray_DESCR(np_array));
    npy_intp size = array_size(np_array);
    core->mx_rows_squares(row)->reduce(PyArray_BYTES(np_array), 0, 1, size, mean, value);
    divide_by_count(row, value, 1, size);
    if (mx_conditions_met())
        return 0;
    if (is_root)
        take_roots(row, value, 1);
    return answer(scalars_new(row, value), result);
}

/* Compute the variances of a matrix along an axis, or their roots. */
static int find_variances(PyObject *a, PyObject *axis, bool is_root, PyObject **result)
{
    PyObject *means, *out;
    int status = find_means(a, axis, &means);
    if (status <= 0)
        return status;
    PyArrayObject *np_array = queue_ready(a), *np_means = queue_ready(means);
    int row = recycle_row(PyArray_DESCR(np_array));
    npy_intp kept = array_size(np_means), count = array_size(np_array) / kept;
    npy_intp stride = PyArray_DIM(np_array, 1) * PyArray_ITEMSIZE(np_array);
    const struct mx_square_kernels *kernels = core->mx_rows_squares(row);
    char *data = PyArray_BYTES(np_array), *mean = PyArray_BYTES(np_means);
    if (!(out = recycle_new(row, 1, &kept))) {
        Py_DECREF(means);
        return -1;
    }
    char *to = PyArray_DATA((PyArrayObject *)out);
    bool along_rows = kept == 1 || (read_axis(axis) & 1); /* 1 and -1 are the last axis */
    if (along_rows) {
        kernels->reduce(data, stride, kept, count, mean, to);
    } else {
        memset(to, 0, (size_t)stride);
        kernels->add(to, data, stride, count, kept, mean);
    }
    Py_DECREF(means);
    divide_by_count(row, to, kept, count);
    if (mx_conditions_met()) {
        Py_DECREF(out);
        return 0;
    }
    if (is_root)
        take_roots(row, to, kept);
    return answer(recycle_wrap(out), result);
}

static int vary(PyObject *const *args, size_t n, bool is_root, PyObject **result)
{
    if (!has_mean(args, n) || !is_contiguous(args[0]))
        return 0;
    return reduces_to_number(args, n) ? find_variance(args[0], is_root, result)
                                      : find_variances(args[0], args[1], is_root, result);
}

static int call_var(PyObject *const *args, size_t n, PyObject **result)
{
    return vary(args, n, false, result);
}

static int call_std(PyObject *const *args, size_t n, PyObject **result)
{
    return vary(args, n, true, result);
}

/* -- Running sums, searches -------------------------------------------------------------- */

/* Compute running sums along lines of n elements, each `inner` elements apart. */
static void add_along_lines(mx_running_kernel *kernel, const char *from, char *to,
                            npy_intp n_outer, npy_intp n, npy_intp inner, npy_intp itemsize)
{
    struct mx_line lines[MX_RUNNING_LINES];
    int count = 0;
    for (npy_intp line = 0; line < n_outer * inner; line++) {
        npy_intp first = (line / inner * n * inner + line % inner) * itemsize;
        lines[count++] = (struct mx_line){from + first, to + first};
        if (count < MX_RUNNING_LINES && line + 1 < n_outer * inner)
            continue;
        kernel(lines, count, n, inner * itemsize, inner * itemsize);
        count = 0;
    }
}

/* Compute running sums of all elements of a contiguous array or along an axis. */
static int call_cumsum(PyObject *const *args, size_t n, PyObject **result)
{
    if (n == 0 || n > 2 || !is_small_contiguous(args[0]))
        return 0;
    PyArrayObject *from = queue_ready(args[0]);
    int row = sums_as(from), ndim = n == 2 ? PyArray_NDIM(from) : 1;
    long axis = n == 2 ? read_axis(args[1]) : 0;
    axis += axis < 0 ? ndim : 0;
    mx_running_kernel *kernel = row < 0 ? NULL : core->mx_running_find(MX_OP_add, row);
    if (row < 0 || axis < 0 || axis >= ndim || (ndim > 1 && !kernel))
        return 0;
    const struct signature *signature = reduction_of(MX_OP_add, row);
    if (!signature)
        return PyErr_Occurred() ? -1 : 0;
    npy_intp size = array_size(from), itemsize = dtype_itemsizes[row], steps = size - 1;
    PyObject *out = recycle_new(row, ndim, n == 2 ? PyArray_DIMS(from) : &size);
    if (!out)
        return -1;
    char *data = PyArray_BYTES(from), *to = PyArray_DATA((PyArrayObject *)out);
    npy_intp length = n == 2 ? PyArray_DIM(from, (int)axis) : size, inner = 1;
    for (int i = (int)axis + 1; i < ndim; i++)
        inner *= PyArray_DIM(from, i);
    mx_conditions_clear();
    if (kernel) {
        add_along_lines(kernel, data, to, size / length / inner, length, inner, itemsize);
    } else {
        memcpy(to, data, (size_t)itemsize);
        char *all[] = {to, data + itemsize, to + itemsize};
        if (steps > 0)
            signature->numpys.function(all, &steps, (npy_intp[]){itemsize, itemsize, itemsize},
                                       signature->numpys.data);
    }
    if (mx_conditions_met()) {
        Py_DECREF(out);
        return 0;
    }
    return answer(recycle_wrap(out), result);
}

static int find(PyObject *a, bool is_maximum, PyObject **result)
{
    npy_intp index;
    if (!is_contiguous(a) || array_size(np_array_of(a)) == 0)
        return 0;
    PyArrayObject *np_array = queue_ready(a);
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(PyArray_DESCR(np_array));
    PyArray_ArgFunc *search = is_maximum ? functions->argmax : functions->argmin;
    if (recycle_row(PyArray_DESCR(np_array)) < 0 || !search ||
        search(PyArray_DATA(np_array), array_size(np_array), &index, np_array) < 0)
        return 0;
    int64_t value = index;
    return answer(scalars_new(ROW_int64, (char *)&value), result);
}

static int call_argmax(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? find(args[0], true, result) : 0;
}

static int call_argmin(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? find(args[0], false, result) : 0;
}

/* Check whether two contiguous arrays have the same lengths from an axis on, and one dtype. */
static bool can_join(PyObject *a, PyObject *b, int axis)
{
    const PyArrayObject *x = np_array_of(a), *y = np_array_of(b);
    int ndim = PyArray_NDIM(x);
    return PyArray_DESCR(x) == PyArray_DESCR(y) && PyArray_NDIM(y) == ndim &&
           memcmp(PyArray_DIMS(x) + axis, PyArray_DIMS(y) + axis,
                  (size_t)(ndim - axis) * sizeof(npy_intp)) == 0;
}

/* Join the arrays of a list or tuple along the first axis, which is a new one for a stack. */
static int join(PyObject *parts, bool is_stack, PyObject **result)
{
    bool is_list = PyList_CheckExact(parts);
    Py_ssize_t count = is_list                     ? PyList_Size(parts)
                       : PyTuple_CheckExact(parts) ? PyTuple_Size(parts)
                                                   : 0;
    PyObject *first = NULL;
    npy_intp shape[MOST_NDIM + 1] = {0}, size;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *a = is_list ? PyList_GetItem(parts, i) : PyTuple_GetItem(parts, i);
        if (!is_small_contiguous(a) || !queue_is_free(a) || is_standard(a))
            return 0;
        first = i == 0 ? a : first;
        if (!can_join(a, first, is_stack ? 0 : 1))
            return 0;
        shape[0] += is_stack ? 1 : PyArray_DIM(np_array_of(a), 0);
    }
    int ndim = first ? PyArray_NDIM(np_array_of(first)) + is_stack : 0;
    if (ndim == 0 || ndim > MOST_NDIM)
        return 0;
    size = shape[0];
    for (int axis = 1; axis < ndim; axis++) {
        shape[axis] = PyArray_DIM(np_array_of(first), axis - is_stack);
        size *= shape[axis];
    }
    if (size > MX_MOST_DIRECT || size / 16 >= queue_threshold)
        return 0;
    PyObject *np_array =
        recycle_new(recycle_row(PyArray_DESCR(np_array_of(first))), ndim, shape);
    if (!np_array)
        return -1;
    char *at = PyArray_DATA((PyArrayObject *)np_array);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *a = is_list ? PyList_GetItem(parts, i) : PyTuple_GetItem(parts, i);
        size_t nbytes = (size_t)(array_size(np_array_of(a)) * PyArray_ITEMSIZE(np_array_of(a)));
        memcpy(at, PyArray_DATA(queue_ready(a)), nbytes);
        at += nbytes;
    }
    return answer(recycle_wrap(np_array), result);
}

static int call_concatenate(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? join(args[0], false, result) : 0;
}

static int call_stack(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? join(args[0], true, result) : 0;
}

static bool are_vectors(PyObject *const *items, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_array(items[i]) || PyArray_NDIM(np_array_of(items[i])) != 1)
            return false;
    return true;
}

/* Check whether the first of some arrays to join is a vector. */
static bool begins_with_vector(PyObject *parts)
{
    PyObject *first =
        PyTuple_CheckExact(parts) && PyTuple_Size(parts) > 0 ? PyTuple_GetItem(parts, 0)
        : PyList_CheckExact(parts) && PyList_Size(parts) > 0 ? PyList_GetItem(parts, 0)
                                                             : NULL;
    return first && are_vectors(&first, 1);
}

/* Compute hstack of vectors, as concatenate: all arrays that it joins have as many axes. */
static int call_hstack(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 && begins_with_vector(args[0]) ? join(args[0], false, result) : 0;
}

/* Compute vstack, as stack of vectors, or else as concatenate. */
static int call_vstack(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 ? join(args[0], begins_with_vector(args[0]), result) : 0;
}

static int call_append(PyObject *const *args, size_t n, PyObject **result)
{
    if (n != 2 || !are_vectors(args, 2))
        return 0;
    PyObject *parts = PyTuple_Pack(2, args[0], args[1]);
    int status = parts ? join(parts, false, result) : -1;
    Py_XDECREF(parts);
    return status;
}

/* How a contiguous array is rolled. */
struct roll {
    npy_intp shape[MOST_NDIM], steps[MOST_NDIM]; /* in elements, and bytes */
    npy_intp shifts[MOST_NDIM];                  /* from 0 to the length of the axis */
    int last;                                    /* axis with a shift */
};

/* Return item i of the shifts or axes of a roll: a number, which counts for all, or a tuple. */
static long read_item(PyObject *x, Py_ssize_t i)
{
    return read_axis(PyTuple_CheckExact(x) ? PyTuple_GetItem(x, PyTuple_Size(x) == 1 ? 0 : i)
                                           : x);
}

/* Read the shifts along some axes, which add up if an axis occurs twice. */
static bool read_shifts(PyObject *shifts, PyObject *axes, int ndim, struct roll *roll)
{
    Py_ssize_t n_shifts = PyTuple_CheckExact(shifts) ? PyTuple_Size(shifts) : 1;
    Py_ssize_t n_axes = PyTuple_CheckExact(axes) ? PyTuple_Size(axes) : 1;
    if (n_shifts == 0 || n_axes == 0 || (n_shifts != n_axes && n_shifts != 1 && n_axes != 1))
        return false;
    for (Py_ssize_t i = 0; i < n_shifts || i < n_axes; i++) {
        long shift = read_item(shifts, i), axis = read_item(axes, i);
        axis += axis < 0 ? ndim : 0;
        if (shift == NO_AXIS || axis < 0 || axis >= ndim)
            return false;
        npy_intp length = roll->shape[axis];
        roll->shifts[axis] = (roll->shifts[axis] + shift % length + length) % length;
        if (axis > roll->last)
            roll->last = (int)axis;
    }
    return true;
}

/* Roll from an axis on: two parts of the last axis move. */
static void roll_from(const struct roll *roll, int axis, const char *from, char *to)
{
    npy_intp length = roll->shape[axis], step = roll->steps[axis], shift = roll->shifts[axis];
    if (axis == roll->last) {
        memcpy(to, from + (length - shift) * step, (size_t)(shift * step));
        memcpy(to + shift * step, from, (size_t)((length - shift) * step));
        return;
    }
    for (npy_intp i = 0; i < length; i++, shift = shift + 1 == length ? 0 : shift + 1)
        roll_from(roll, axis + 1, from + i * step, to + shift * step);
}

/* Compute roll(a, shift) of all elements, or roll(a, shifts, axes). */
static int call_roll(PyObject *const *args, size_t n, PyObject **result)
{
    if (n < 2 || n > 3 || !is_small_contiguous(args[0]))
        return 0;
    PyArrayObject *from = queue_ready(args[0]);
    int row = recycle_row(PyArray_DESCR(from)), ndim = PyArray_NDIM(from);
    bool is_flat = n == 2;
    struct roll roll = {.shape = {array_size(from)}};
    if (!is_flat)
        memcpy(roll.shape, PyArray_DIMS(from), (size_t)ndim * sizeof *roll.shape);
    int n_axes = is_flat ? 1 : ndim;
    npy_intp step = dtype_itemsizes[row];
    for (int axis = n_axes - 1; axis >= 0; axis--) {
        roll.steps[axis] = step;
        step *= roll.shape[axis];
    }
    PyObject *zero = is_flat ? PyLong_FromLong(0) : NULL;
    bool is_read = read_shifts(args[1], is_flat ? zero : args[2], n_axes, &roll);
    Py_XDECREF(zero);
    if (!is_read)
        return 0;
    PyObject *np_array = recycle_new(row, n_axes, roll.shape);
    PyObject *rolled = np_array ? recycle_wrap(np_array) : NULL;
    if (!rolled)
        return -1;
    roll_from(&roll, 0, PyArray_BYTES(from), PyArray_BYTES(queue_ready(rolled)));
    if (!is_flat)
        return answer(rolled, result);
    struct view view; /* without an axis, NumPy returns a view of the vector */
    view.ndim = ndim;
    memcpy(view.shape, PyArray_DIMS(from), (size_t)ndim * sizeof *view.shape);
    *result = reshaped(rolled, &view);
    Py_DECREF(rolled);
    return *result ? 1 : -1;
}

/* Check whether NumPy passes a vector to BLAS without a copy. */
static bool is_blas_vector(PyArrayObject *x)
{
    npy_intp itemsize = PyArray_ITEMSIZE(x);
    return PyArray_NDIM(x) == 1 && PyArray_DIM(x, 0) > 0 && PyArray_STRIDE(x, 0) > 0 &&
           PyArray_STRIDE(x, 0) % itemsize == 0 &&
           (uintptr_t)PyArray_DATA(x) % (size_t)itemsize == 0;
}

/* Multiply two vectors by NumPy's own function for their dtype, which calls BLAS. */
static int call_dot(PyObject *const *args, size_t n, PyObject **result)
{
    _Alignas(16) char value[16] = {0};
    if (n != 2 || !is_array(args[0]) || !is_array(args[1]))
        return 0;
    PyArrayObject *x = queue_ready(args[0]), *y = queue_ready(args[1]);
    if (PyArray_NDIM(x) == 2)
        return products_dot(args[0], args[1], result);
    int row = recycle_row(PyArray_DESCR(x));
    if (!mx_dtype_is_blas(row) || PyArray_DESCR(x) != PyArray_DESCR(y) || !is_blas_vector(x) ||
        !is_blas_vector(y) || PyArray_DIM(x, 0) != PyArray_DIM(y, 0))
        return 0;
    mx_conditions_clear();
    PyDataType_GetArrFuncs(PyArray_DESCR(x))
        ->dotfunc(PyArray_DATA(x), PyArray_STRIDE(x, 0), PyArray_DATA(y), PyArray_STRIDE(y, 0),
                  value, PyArray_DIM(x, 0), x);
    return mx_conditions_met() ? 0 : answer(scalars_new(row, value), result);
}

/* Compute vdot(x, y) of contiguous vectors of real numbers. */
static int call_vdot(PyObject *const *args, size_t n, PyObject **result)
{
    bool is_plain = n == 2 && is_small_contiguous(args[0]) && is_small_contiguous(args[1]) &&
                    PyArray_NDIM(np_array_of(args[0])) == 1 &&
                    !mx_dtype_is_complex(recycle_row(PyArray_DESCR(np_array_of(args[0]))));
    return is_plain ? call_dot(args, n, result) : 0;
}

static int call_matmul(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 2 ? products_matmul(args[0], args[1], result) : 0;
}

static int glance_matmul(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 2 && !settings_use_gpu() ? stacks_multiply(args[0], args[1], result) : 0;
}

#define GLANCE_LINEAR(name)                                                      \
    static int glance_##name(PyObject *const *args, size_t n, PyObject **result) \
    {                                                                            \
        return settings_use_gpu() ? 0 : linear_##name(args, n, result);          \
    }
GLANCE_LINEAR(det)
GLANCE_LINEAR(inv)
GLANCE_LINEAR(solve)

/* -- Casts, choices, arrays like others -------------------------------------------------- */

/* Return a new array of a dtype with the shape of another, or NULL with an exception set. */
static PyObject *new_like(PyObject *a, int row)
{
    const PyArrayObject *like = np_array_of(a);
    PyObject *np_array = recycle_new(row, PyArray_NDIM(like), PyArray_DIMS(like));
    return np_array ? recycle_wrap(np_array) : NULL;
}

/* Check whether reading a dtype issues no warning, and runs no code of the program, which could
 * change the array. */
static bool is_plain_dtype(PyObject *x)
{
    return PyArray_DescrCheck(x) || (PyUnicode_CheckExact(x) && dtype_is_name(x)) ||
           (PyType_Check(x) && is_static((PyTypeObject *)x));
}

static int call_astype(PyObject *const *args, size_t n, PyObject **result)
{
    PyArray_Descr *dtype = NULL;
    if (n != 2 || !is_small_contiguous(args[0]) || !is_plain_dtype(args[1]))
        return 0;
    int from = recycle_row(PyArray_DESCR(np_array_of(args[0])));
    int to = PyArray_DescrConverter(args[1], &dtype) ? recycle_row(dtype) : -1;
    Py_XDECREF((PyObject *)dtype);
    PyErr_Clear();
    mx_loop_function cast =
        to < 0 || mx_dtype_is_complex(from) ? NULL : core->mx_cast_loop(from, to);
    if (from == to && to >= 0)
        return call_copy(args, 1, result);
    if (!cast || !(*result = new_like(args[0], to)))
        return cast ? -1 : 0;
    char *both[] = {PyArray_BYTES(queue_ready(args[0])), PyArray_BYTES(queue_ready(*result))};
    intptr_t size = array_size(np_array_of(args[0]));
    mx_conditions_clear();
    cast(both, &size, (intptr_t[]){dtype_itemsizes[from], dtype_itemsizes[to]}, NULL);
    if (mx_conditions_met())
        Py_CLEAR(*result);
    return *result != NULL;
}

static int call_where(PyObject *const *args, size_t n, PyObject **result)
{
    _Alignas(16) char values[2][16];
    char *data[4];
    intptr_t strides[4] = {1, 0, 0, 0};
    if (n != 3 || !is_bool(args, 1) || !is_small_contiguous(args[0]))
        return 0;
    int row = is_array(args[1])   ? recycle_row(PyArray_DESCR(np_array_of(args[1])))
              : is_array(args[2]) ? recycle_row(PyArray_DESCR(np_array_of(args[2])))
                                  : -1;
    if (row < 0)
        return 0;
    data[0] = PyArray_BYTES(queue_ready(args[0]));
    for (int i = 1; i < 3; i++) {
        bool is_one = !is_array(args[i]);
        if (is_one ? !read_number(args[i], row, values[i - 1])
                   : !is_small_contiguous(args[i]) ||
                         !same_shape(np_array_of(args[0]), np_array_of(args[i])) ||
                         recycle_row(PyArray_DESCR(np_array_of(args[i]))) != row)
            return 0;
        data[i] = is_one ? values[i - 1] : PyArray_BYTES(queue_ready(args[i]));
        strides[i] = is_one ? 0 : dtype_itemsizes[row];
    }
    mx_loop_function select = core->mx_copy_select_loop(dtype_itemsizes[row]);
    intptr_t size = array_size(np_array_of(args[0]));
    if (!select || !(*result = new_like(args[0], row)))
        return select ? -1 : 0;
    data[3] = PyArray_BYTES(queue_ready(*result));
    strides[3] = dtype_itemsizes[row];
    select(data, &size, strides, NULL);
    return 1;
}

/* Compute clip(a, least, most) for bounds that are numbers, or arrays of the same shape, of the
 * dtype of the array. */
static int call_clip(PyObject *const *args, size_t n, PyObject **result)
{
    _Alignas(16) char numbers[2][16];
    char *data[4];
    if (n != 3 || !is_small_contiguous(args[0]))
        return 0;
    PyArrayObject *from = queue_ready(args[0]);
    int row = recycle_row(PyArray_DESCR(from));
    intptr_t size = array_size(from), itemsize = dtype_itemsizes[row];
    intptr_t strides[4] = {itemsize, 0, 0, itemsize};
    data[0] = PyArray_BYTES(from);
    for (int i = 1; i < 3; i++) {
        bool is_number = !is_array(args[i]);
        if (is_number ? !read_number(args[i], row, numbers[i - 1])
                      : !is_small_contiguous(args[i]) ||
                            PyArray_DESCR(np_array_of(args[i])) != PyArray_DESCR(from) ||
                            !same_shape(np_array_of(args[i]), from))
            return 0;
        data[i] = is_number ? numbers[i - 1] : PyArray_BYTES(queue_ready(args[i]));
        strides[i] = is_number ? 0 : itemsize;
    }
    const struct mx_loop *loop = row == ROW_bool ? NULL : signature_uniform(&clip, row);
    if (!loop)
        return 0;
    if (!(*result = new_like(args[0], row)))
        return -1;
    data[3] = PyArray_BYTES(queue_ready(*result));
    mx_conditions_clear();
    loop->function(data, &size, strides, loop->data);
    if (mx_conditions_met())
        Py_CLEAR(*result);
    return *result != NULL;
}

static int call_empty_like(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 && is_small_contiguous(args[0])
               ? answer(new_like(args[0], recycle_row(PyArray_DESCR(np_array_of(args[0])))),
                        result)
               : 0;
}

static int call_zeros_like(PyObject *const *args, size_t n, PyObject **result)
{
    int status = call_empty_like(args, n, result);
    if (status > 0)
        clear(*result);
    return status;
}

int functions_asarray(PyObject *const *args, size_t n, PyObject **result)
{
    return n == 1 && is_array(args[0]) ? answer(Py_NewRef(args[0]), result) : 0;
}

/* -- The table ------------------------------------------------------------------------- */

/* Check for the dtypes that a function reduces to a number here. */
static bool is_compared(PyObject *const *args, size_t n)
{
    return n > 0 && recycle_row(PyArray_DESCR(np_array_of(args[0]))) >= 0;
}

static bool is_summed(PyObject *const *args, size_t n)
{
    return has_sum(args, n) || is_bool(args, n);
}

static bool has_average(PyObject *const *args, size_t n)
{
    return has_mean(args, n) || is_bool(args, n);
}

/* mxnp/_namespace/functions.py says which functions and methods of NumPy each computes. */
static const struct direct_row {
    const char *name;
    direct_call *call;
    bool takes_axis;           /* as its second argument */
    number_test *gives_number; /* for one array, or NULL */
    direct_call *glance;       /* for large arrays, if few elements or none are read, or NULL */
    bool passes_queue;         /* also for sizes that are recorded, while nothing waits */
} rows[] = {
    {.name = "zeros", .call = call_zeros},
    {.name = "empty", .call = call_empty},
    {.name = "ones", .call = call_ones},
    {.name = "full", .call = call_full},
    {.name = "arange", .call = call_arange},
    {.name = "array", .call = call_array},
    {.name = "copy", .call = call_copy},
    {.name = "fill", .call = call_fill},
    {.name = "item", .call = call_item},
    {.name = "reshape", .call = call_reshape, .glance = call_reshape},
    {.name = "ravel", .call = call_ravel, .glance = call_ravel},
    {.name = "transpose", .call = call_transpose, .glance = call_transpose},
    {.name = "transposed", .call = call_transposed, .glance = call_transposed},
    {.name = "real", .call = call_real, .glance = call_real},
    {.name = "imag", .call = call_imag, .glance = call_imag},
    {.name = "diagonal", .call = call_diagonal, .glance = call_diagonal},
    {.name = "trace", .call = call_trace, .glance = call_trace},
    {.name = "roll", .call = call_roll, .passes_queue = true},
    {.name = "sum", .call = call_sum, .takes_axis = true, .gives_number = is_summed},
    {.name = "max", .call = call_max, .takes_axis = true, .gives_number = is_compared},
    {.name = "min", .call = call_min, .takes_axis = true, .gives_number = is_compared},
    {.name = "any",
     .call = call_any,
     .takes_axis = true,
     .gives_number = is_bool,
     .glance = glance_any},
    {.name = "all",
     .call = call_all,
     .takes_axis = true,
     .gives_number = is_bool,
     .glance = glance_all},
    {.name = "reduce", .call = call_reduce, .glance = glance_reduce},
    {.name = "count_nonzero", .call = call_count_nonzero},
    {.name = "mean", .call = call_mean, .takes_axis = true, .gives_number = has_average},
    {.name = "var", .call = call_var, .takes_axis = true, .gives_number = has_mean},
    {.name = "std", .call = call_std, .takes_axis = true, .gives_number = has_mean},
    {.name = "cumsum", .call = call_cumsum, .takes_axis = true},
    {.name = "argmax", .call = call_argmax, .gives_number = is_compared},
    {.name = "argmin", .call = call_argmin, .gives_number = is_compared},
    {.name = "dot", .call = call_dot},
    {.name = "vdot", .call = call_vdot},
    {.name = "matmul", .call = call_matmul, .glance = glance_matmul},
    {.name = "allclose", .call = compositions_allclose},
    {.name = "cross", .call = compositions_cross},
    {.name = "diff", .call = compositions_diff},
    {.name = "average", .call = call_mean, .takes_axis = true},
    {.name = "isclose", .call = compositions_isclose},
    {.name = "linspace", .call = compositions_linspace},
    {.name = "median", .call = compositions_median},
    {.name = "norm", .call = compositions_norm},
    {.name = "prod", .call = compositions_prod},
    {.name = "round", .call = compositions_round},
    {.name = "det", .call = linear_det, .glance = glance_det},
    {.name = "inv", .call = linear_inv, .glance = glance_inv},
    {.name = "solve", .call = linear_solve, .glance = glance_solve},
    {.name = "astype", .call = call_astype},
    {.name = "where", .call = call_where},
    {.name = "empty_like", .call = call_empty_like},
    {.name = "zeros_like", .call = call_zeros_like},
    {.name = "asarray", .call = functions_asarray},
    {.name = "clip", .call = call_clip},
    {.name = "concatenate", .call = call_concatenate},
    {.name = "stack", .call = call_stack},
    {.name = "hstack", .call = call_hstack},
    {.name = "vstack", .call = call_vstack},
    {.name = "append", .call = call_append},
};

bool functions_attach(struct function *f, const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            f->direct = rows[i].call;
            f->takes_axis = rows[i].takes_axis;
            f->gives_number = rows[i].gives_number;
            f->glance = rows[i].glance;
            f->passes_queue = rows[i].passes_queue;
            return true;
        }
    return false;
}

int functions_load(void)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    clip.ufunc = umath ? PyObject_GetAttrString(umath, "clip") : NULL;
    Py_XDECREF(umath);
    PyObject *numpy = clip.ufunc ? PyImport_ImportModule("numpy") : NULL;
    PyObject *count = numpy ? PyObject_CallMethod(numpy, "count_nonzero", "i", 1) : NULL;
    counts_are_python = count && PyLong_CheckExact(count);
    Py_XDECREF(numpy);
    Py_XDECREF(count);
    return count ? 0 : -1;
}
