/* linear.c -- determinants, inverses and solutions of small matrices.
 *
 * NumPy checks and casts its arguments in Python, and LAPACK is called for each matrix.  The
 * kernels of the core have its bits.
 */
#include "python/direct/linear.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/direct/stacks.h"
#include "python/record/queue.h"
#include "python/record/signature.h"

static bool compute_linear(const void *linear) { return core->mx_factoring_compute(linear); }

/* Return NumPy's loop of an operation for float64, or NULL. */
static const struct mx_loop *find_loop(enum mx_factoring_operation operation)
{
    static const char *const names[] = {[MX_FACTORING_DETERMINANT] = "det",
                                        [MX_FACTORING_INVERSE] = "inv",
                                        [MX_FACTORING_SOLUTION] = "solve"};
    static struct uniform_loops loops[MX_FACTORING_COUNT];
    struct uniform_loops *found = &loops[operation];
    if (!found->ufunc) {
        PyObject *module = PyImport_ImportModule("numpy.linalg._umath_linalg");
        found->ufunc = module ? PyObject_GetAttrString(module, names[operation]) : NULL;
        Py_XDECREF(module);
        PyErr_Clear();
    }
    return found->ufunc ? signature_uniform(found, ROW_float64) : NULL;
}

/* Read a stack of matrices of float64. */
static bool read_matrices(PyObject *x, struct stack *stack)
{
    return is_array(x) && recycle_row(PyArray_DESCR(np_array_of(x))) == ROW_float64 &&
           stacks_read(queue_ready(x), stack) && (stack->n == 1 || stack->step > 0);
}

static bool begin_factoring(struct mx_factoring *linear, enum mx_factoring_operation operation,
                            const struct stack *a)
{
    *linear = (struct mx_factoring){.operation = operation,
                                    .side = (int)a->rows,
                                    .n = a->n,
                                    .a = a->data,
                                    .a_step = a->step,
                                    .a_row = a->row,
                                    .a_column = a->column};
    const struct mx_loop *numpys =
        a->rows == a->columns && a->rows <= MX_MOST_FACTORED ? find_loop(operation) : NULL;
    return numpys && core->mx_factoring_can(linear, numpys);
}

/* Compute an array of a shape. */
static int compute_array(struct mx_factoring *linear, PyObject *const *args, int nin, int ndim,
                         const npy_intp *shape, const char *name, PyObject **result)
{
    PyObject *out = stacks_new_result(ROW_float64, ndim, shape);
    if (!out)
        return -1;
    linear->out = PyArray_DATA((PyArrayObject *)out);
    int status = core->mx_factoring_is_long(linear)
                     ? stacks_run(args, nin, compute_linear, linear, out, name)
                     : core->mx_factoring_compute(linear);
    if (status <= 0) {
        Py_DECREF(out);
        return status;
    }
    *result = recycle_wrap(out);
    return *result ? 1 : -1;
}

int linear_det(PyObject *const *args, size_t n, PyObject **result)
{
    struct stack a;
    struct mx_factoring linear;
    double value;
    if (n != 1 || !read_matrices(args[0], &a) ||
        !begin_factoring(&linear, MX_FACTORING_DETERMINANT, &a))
        return 0;
    if (a.ndim > 0)
        return compute_array(&linear, args, 1, a.ndim, a.shape, "det", result);
    linear.out = &value;
    if (!core->mx_factoring_compute(&linear))
        return 0;
    *result = scalars_new(ROW_float64, (const char *)&value);
    return *result ? 1 : -1;
}

int linear_inv(PyObject *const *args, size_t n, PyObject **result)
{
    struct stack a;
    struct mx_factoring linear;
    return n == 1 && read_matrices(args[0], &a) &&
                   begin_factoring(&linear, MX_FACTORING_INVERSE, &a)
               ? compute_array(&linear, args, 1, a.ndim + 2, a.shape, "inv", result)
               : 0;
}

/* Read a vector, or a stack of matrices of one column that belongs to a stack of matrices. */
static bool read_right_side(PyObject *x, const struct stack *a, struct mx_factoring *linear)
{
    struct stack b;
    if (!is_array(x) || PyArray_NDIM(np_array_of(x)) == 1) {
        bool is_vector = is_array(x) && a->ndim == 0 && PyArray_ISALIGNED(np_array_of(x)) &&
                         recycle_row(PyArray_DESCR(np_array_of(x))) == ROW_float64 &&
                         PyArray_DIM(np_array_of(x), 0) == a->rows;
        if (is_vector) {
            linear->b = PyArray_BYTES(queue_ready(x));
            linear->b_row = PyArray_STRIDE(np_array_of(x), 0);
        }
        return is_vector;
    }
    if (!read_matrices(x, &b) || b.columns != 1 || b.rows != a->rows || b.ndim != a->ndim ||
        memcmp(b.shape, a->shape, (size_t)a->ndim * sizeof *a->shape) != 0)
        return false;
    linear->b = b.data;
    linear->b_step = b.step;
    linear->b_row = b.row;
    return true;
}

int linear_solve(PyObject *const *args, size_t n, PyObject **result)
{
    struct stack a;
    struct mx_factoring linear;
    if (n != 2 || !read_matrices(args[0], &a) ||
        !begin_factoring(&linear, MX_FACTORING_SOLUTION, &a) ||
        !read_right_side(args[1], &a, &linear))
        return 0;
    const PyArrayObject *b = np_array_of(args[1]);
    return compute_array(&linear, args, 2, PyArray_NDIM(b), PyArray_DIMS(b), "solve", result);
}
