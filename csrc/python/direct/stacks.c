/* stacks.c -- products of stacks of small matrices.
 *
 * BLAS takes longer to prepare a product of a few rows than to compute it, and a lock, for
 * which threads wait.  The kernels of the core have its bits.
 */
#include "python/direct/stacks.h"
#include "python/direct/recycle.h"
#include "python/profile/profile.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/signature.h"

static struct uniform_loops matmul; /* numpy.matmul */

int stacks_load(PyObject *numpy)
{
    matmul.ufunc = PyObject_GetAttrString(numpy, "matmul");
    return matmul.ufunc ? 0 : -1;
}

PyObject *stacks_function(void) { return matmul.ufunc; }

const struct mx_loop *stacks_loop(int row) { return signature_uniform(&matmul, row); }

bool stacks_read(PyArrayObject *np_array, struct stack *stack)
{
    const npy_intp *shape = PyArray_DIMS(np_array), *strides = PyArray_STRIDES(np_array);
    int ndim = PyArray_NDIM(np_array) - 2;
    if (ndim < 0 || !PyArray_ISALIGNED(np_array) || array_size(np_array) == 0)
        return false;
    *stack = (struct stack){.data = PyArray_BYTES(np_array),
                            .n = 1,
                            .rows = shape[ndim],
                            .columns = shape[ndim + 1],
                            .row = strides[ndim],
                            .column = strides[ndim + 1],
                            .ndim = ndim,
                            .shape = shape};
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] > 1 && stack->n > 1 && strides[i] != stack->n * stack->step)
            return false;
        if (shape[i] > 1 && stack->n == 1)
            stack->step = strides[i];
        stack->n *= shape[i];
    }
    return true;
}

/* Check that two stacks have the same axes, or that one of them is a single matrix that has no
 * more axes than the other. */
static bool are_compatible(const struct stack *x, const struct stack *y)
{
    bool is_same = x->ndim == y->ndim &&
                   memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
    return is_same || (x->n == 1 && x->ndim <= y->ndim) || (y->n == 1 && y->ndim <= x->ndim);
}

/* Return the NumPy array of an array in memory, or a NumPy array itself, or NULL. */
static PyArrayObject *ready(PyObject *x)
{
    if (is_array(x))
        return queue_ready(x);
    return Py_TYPE(x) == np_array_type ? (PyArrayObject *)x : NULL;
}

/* Read two operands into products whose output is not set, and the operand whose first axes the
 * output has. */
static bool read_products(PyArrayObject *a, PyArrayObject *b, struct mx_products *products,
                          struct stack *longer)
{
    struct stack x, y;
    int row =
        a && b && PyArray_DESCR(a) == PyArray_DESCR(b) ? recycle_row(PyArray_DESCR(a)) : -1;
    if ((row != ROW_float32 && row != ROW_float64) || !stacks_read(a, &x) ||
        !stacks_read(b, &y) || x.columns != y.rows || !are_compatible(&x, &y))
        return false;
    *longer = x.ndim > y.ndim || (x.ndim == y.ndim && x.n > 1) ? x : y;
    *products = (struct mx_products){.a = x.data,
                                     .b = y.data,
                                     .n = longer->n,
                                     .rows = x.rows,
                                     .inner = x.columns,
                                     .columns = y.columns,
                                     .a_step = x.step,
                                     .b_step = y.step,
                                     .a_row = x.row,
                                     .a_column = x.column,
                                     .b_row = y.row,
                                     .b_column = y.column,
                                     .dtype = row};
    const struct mx_loop *numpys = stacks_loop(row);
    return numpys && core->mx_products_can(products, numpys);
}

int stacks_run(PyObject *const *operands, int nin, bool (*compute)(const void *),
               const void *job, PyObject *out, const char *name)
{
    struct array *roots[2] = {NULL, NULL};
    npy_intp nbytes = 0;
    for (int i = 0; i < nin; i++) {
        nbytes += PyArray_NBYTES(ready(operands[i]));
        if (is_array(operands[i])) {
            roots[i] = root_of(operands[i]);
            roots[i]->n_holds++;
        }
    }
    int status = queue_enter();
    int64_t begin = profile_is_on ? mx_now() : 0;
    if (status == 0) {
        PyThreadState *saved = PyEval_SaveThread();
        status = compute(job);
        queue_leave();
        PyEval_RestoreThread(saved);
    }
    for (int i = 0; i < nin; i++)
        if (roots[i])
            roots[i]->n_holds--;
    if (profile_is_on && status > 0)
        profile_computed(begin, name, PyArray_SIZE((PyArrayObject *)out), nbytes,
                         PyArray_NBYTES((PyArrayObject *)out));
    return status;
}

static bool compute_products(const void *products)
{
    int dtype = ((const struct mx_products *)products)->dtype;
    return core->mx_products_compute(products, stacks_loop(dtype));
}

PyObject *stacks_new_result(int row, int ndim, const npy_intp *shape)
{
    npy_intp nbytes = dtype_itemsizes[row];
    for (int i = 0; i < ndim; i++)
        nbytes *= shape[i];
    return nbytes <= RECYCLED_BYTES ? recycle_new(row, ndim, shape)
                                    : memory_new_filled(dtype_type_number(row), ndim, shape);
}

int stacks_multiply(PyObject *a, PyObject *b, PyObject **result)
{
    struct mx_products products;
    struct stack longer;
    npy_intp shape[NPY_MAXDIMS];
    *result = NULL;
    PyArrayObject *x = ready(a), *y = ready(b);
    if (!x || !y || !read_products(x, y, &products, &longer))
        return 0;
    memcpy(shape, longer.shape, (size_t)longer.ndim * sizeof *shape);
    shape[longer.ndim] = products.rows;
    shape[longer.ndim + 1] = products.columns;
    PyObject *out = stacks_new_result(products.dtype, longer.ndim + 2, shape);
    if (!out)
        return -1;
    products.out = PyArray_DATA((PyArrayObject *)out);
    int status =
        core->mx_products_are_long(&products)
            ? stacks_run((PyObject *[]){a, b}, 2, compute_products, &products, out, "matmul")
            : compute_products(&products);
    if (status <= 0) {
        Py_DECREF(out);
        return status;
    }
    *result = recycle_wrap(out);
    return *result ? 1 : -1;
}

static PyObject *multiply_stacks(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a, *b, *result;
    if (!PyArg_ParseTuple(args, "OO:multiply_stacks", &a, &b))
        return NULL;
    for (int i = 0; i < 2; i++) {
        PyObject *x = PyTuple_GetItem(args, i);
        if (is_array(x) && queue_before_read(x) < 0)
            return NULL;
    }
    int status = stacks_multiply(a, b, &result);
    return status == 0 ? Py_NewRef(Py_NotImplemented) : result;
}

PyMethodDef stacks_methods[] = {
    {"multiply_stacks", multiply_stacks, METH_VARARGS,
     "multiply_stacks(a, b)\n--\n\nReturn the products of two stacks of small matrices, which "
     "have the bits of NumPy's, or NotImplemented."},
    {NULL, NULL, 0, NULL},
};
