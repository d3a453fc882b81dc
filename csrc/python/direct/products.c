/* products.c -- products of small vectors and matrices by NumPy's loops, which call BLAS. */
#include "python/direct/products.h"
#include "base/conditions.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/direct/stacks.h"
#include "python/record/signature.h"
#include "python/record/wrapper.h"

/* An operand as a matrix: a vector is a row on the left, a column on the right. */
struct matrix {
    char *data;
    npy_intp rows, columns, row_stride, column_stride;
    bool is_vector;
};

static bool read_matrix(PyObject *x, bool is_left, struct matrix *matrix)
{
    PyArrayObject *np_array = queue_ready(x);
    int ndim = PyArray_NDIM(np_array);
    if (ndim < 1 || ndim > 2 || !PyArray_ISALIGNED(np_array) || array_size(np_array) == 0)
        return false;
    npy_intp first = PyArray_DIM(np_array, 0), stride = PyArray_STRIDE(np_array, 0);
    npy_intp itemsize = PyArray_ITEMSIZE(np_array);
    *matrix = (struct matrix){.data = PyArray_BYTES(np_array), .is_vector = ndim == 1};
    matrix->rows = ndim == 2 || !is_left ? first : 1;
    matrix->row_stride = ndim == 2 || !is_left ? stride : itemsize;
    matrix->columns = ndim == 2 ? PyArray_DIM(np_array, 1) : is_left ? first : 1;
    matrix->column_stride = ndim == 2 ? PyArray_STRIDE(np_array, 1)
                            : is_left ? stride
                                      : itemsize;
    return true;
}

static bool multiply(int row, const struct matrix *x, const struct matrix *y, char *out)
{
    const struct mx_loop *loop = stacks_loop(row);
    const npy_intp itemsize = dtype_itemsizes[row];
    const struct mx_products small = {.a = x->data,
                                      .b = y->data,
                                      .out = out,
                                      .n = 1,
                                      .rows = x->rows,
                                      .inner = x->columns,
                                      .columns = y->columns,
                                      .a_row = x->row_stride,
                                      .a_column = x->column_stride,
                                      .b_row = y->row_stride,
                                      .b_column = y->column_stride,
                                      .dtype = row};
    if (core->mx_products_can(&small, loop))
        return core->mx_products_compute(&small, loop);
    char *args[] = {x->data, y->data, out};
    intptr_t dimensions[] = {1, x->rows, x->columns, y->columns};
    intptr_t strides[] = {0,
                          0,
                          0,
                          x->row_stride,
                          x->column_stride,
                          y->row_stride,
                          y->column_stride,
                          y->columns * itemsize,
                          itemsize};
    mx_conditions_clear();
    loop->function(args, dimensions, strides, loop->data);
    return !mx_conditions_met();
}

/* Let NumPy write the product of two small matrices, if it is large, to memory of the pool. The
 * memory of large products that a program drops would otherwise go back to the system each
 * time. */
static int multiply_into_pool(PyObject *function, PyObject *a, PyObject *b, PyObject **result)
{
    PyArrayObject *x = queue_ready(a), *y = queue_ready(b);
    int row = recycle_row(PyArray_DESCR(x));
    if (!mx_dtype_is_blas(row) || PyArray_DESCR(x) != PyArray_DESCR(y) ||
        PyArray_NDIM(x) != 2 || PyArray_NDIM(y) != 2 ||
        PyArray_DIM(x, 1) != PyArray_DIM(y, 0) || array_size(x) == 0 || array_size(y) == 0)
        return 0;
    npy_intp shape[] = {PyArray_DIM(x, 0), PyArray_DIM(y, 1)};
    if (shape[0] * shape[1] * dtype_itemsizes[row] <= RECYCLED_BYTES)
        return 0;
    PyObject *out = memory_new_filled(PyArray_TYPE(x), 2, shape);
    if (!out)
        return -1;
    PyObject *written =
        function
            ? PyObject_CallFunctionObjArgs(function, (PyObject *)x, (PyObject *)y, out, NULL)
            : PyArray_MatrixProduct2((PyObject *)x, (PyObject *)y, (PyArrayObject *)out);
    Py_XDECREF(written);
    if (!written) {
        Py_DECREF(out);
        return -1;
    }
    *result = recycle_wrap(out);
    return *result ? 1 : -1;
}

int products_matmul(PyObject *a, PyObject *b, PyObject **result)
{
    _Alignas(16) char value[16];
    struct matrix x, y;
    npy_intp shape[2];
    int ndim = 0;
    *result = NULL;
    if (!is_array(a) || !is_array(b) ||
        PyArray_DESCR(np_array_of(a)) != PyArray_DESCR(np_array_of(b)))
        return 0;
    if (PyArray_NDIM(np_array_of(a)) > 2 || PyArray_NDIM(np_array_of(b)) > 2)
        return stacks_multiply(a, b, result);
    int row = recycle_row(PyArray_DESCR(np_array_of(a)));
    if (!mx_dtype_is_blas(row) || !read_matrix(a, true, &x) || !read_matrix(b, false, &y) ||
        x.columns != y.rows)
        return 0;
    if (x.rows * y.columns * dtype_itemsizes[row] > RECYCLED_BYTES)
        return multiply_into_pool(stacks_function(), a, b, result);
    if (!stacks_loop(row))
        return 0;
    if (!x.is_vector)
        shape[ndim++] = x.rows;
    if (!y.is_vector)
        shape[ndim++] = y.columns;
    if (ndim == 0) {
        if (!multiply(row, &x, &y, value))
            return 0;
        *result = scalars_new(row, value);
        return *result ? 1 : -1;
    }
    PyObject *out = recycle_new(row, ndim, shape);
    if (!out)
        return -1;
    if (!multiply(row, &x, &y, PyArray_DATA((PyArrayObject *)out))) {
        Py_DECREF(out);
        return 0;
    }
    *result = wrapper_new_small(out);
    return *result ? 1 : -1;
}

/* Multiply two numbers in arrays of shape (1, 1): BLAS would add the product to zero. */
static int multiply_numbers(PyArrayObject *x, PyArrayObject *y, PyObject **result)
{
    PyObject *out = recycle_new(ROW_float64, 2, (npy_intp[]){1, 1});
    if (!out)
        return -1;
    double *to = PyArray_DATA((PyArrayObject *)out);
    mx_conditions_clear();
    *to = *(double *)PyArray_DATA(x) * *(double *)PyArray_DATA(y);
    if (mx_conditions_met()) {
        Py_DECREF(out);
        return 0;
    }
    *result = wrapper_new_small(out);
    return *result ? 1 : -1;
}

int products_dot(PyObject *a, PyObject *b, PyObject **result)
{
    PyArrayObject *x = queue_ready(a), *y = queue_ready(b);
    int has_multiplied = multiply_into_pool(NULL, a, b, result);
    if (has_multiplied)
        return has_multiplied;
    if (PyArray_NDIM(x) != 2 || PyArray_NDIM(y) < 1 || PyArray_NDIM(y) > 2 ||
        !is_c_contiguous(x) || !is_c_contiguous(y) || PyArray_DESCR(x) != PyArray_DESCR(y) ||
        !PyArray_ISALIGNED(x) || !PyArray_ISALIGNED(y))
        return 0;
    if (array_size(x) == 1 && array_size(y) == 1 && PyArray_NDIM(y) == 2)
        return recycle_row(PyArray_DESCR(x)) == ROW_float64 ? multiply_numbers(x, y, result)
                                                            : 0;
    bool has_long_axes = PyArray_DIM(x, 0) > 1 && PyArray_DIM(x, 1) > 1 &&
                         PyArray_DIM(y, PyArray_NDIM(y) - 1) > 1;
    return has_long_axes ? products_matmul(a, b, result) : 0;
}
