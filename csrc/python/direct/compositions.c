/* compositions.c -- functions that NumPy composes in Python of several calls.
 *
 * For few elements, checks and calls take most of their time.  Each takes the steps of NumPy's
 * function in its order, so that it rounds in the same places.  Where a step meets a
 * floating-point condition, NumPy computes it, and warns.
 */
#include "python/direct/compositions.h"
#include <math.h>

#include "base/conditions.h"
#include "python/direct/arrays.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/record/queue.h"

#define INVALID 8 /* of base/conditions.h */

/* Elements above which NumPy's vectors save more than its calls cost.  A product of more
 * numbers often underflows, and is computed again. */
#define MOST_COMPOSED 1024

/* Elements of float64 in C order, or one number. */
struct numbers {
    const double *data;
    npy_intp n, step; /* elements, and the distance of two: 0 or 1 */
    int ndim;
    const npy_intp *shape;
    double number;
};

static bool read_elements(PyObject *x, struct numbers *numbers)
{
    if (!is_array(x) || recycle_row(PyArray_DESCR(np_array_of(x))) != ROW_float64)
        return false;
    PyArrayObject *np_array = queue_ready(x);
    *numbers = (struct numbers){.data = PyArray_DATA(np_array),
                                .n = array_size(np_array),
                                .step = 1,
                                .ndim = PyArray_NDIM(np_array),
                                .shape = PyArray_DIMS(np_array)};
    return numbers->n > 0 && numbers->n <= MOST_COMPOSED && numbers->ndim > 0 &&
           numbers->ndim <= DIRECT_NDIM && PyArray_IS_C_CONTIGUOUS(np_array) &&
           PyArray_ISALIGNED(np_array);
}

static bool read_numbers(PyObject *x, struct numbers *numbers)
{
    if (read_elements(x, numbers))
        return true;
    int overflow = 0;
    *numbers = (struct numbers){.data = &numbers->number, .n = 1};
    if (PyFloat_CheckExact(x) || PyArray_IsScalar(x, Double)) /* a subclass of float */
        numbers->number = PyFloat_AsDouble(x);
    else if (PyLong_CheckExact(x)) {
        long long integer = PyLong_AsLongLongAndOverflow(x, &overflow);
        numbers->number = (double)integer;
        return !overflow && integer > -(1LL << 52) && integer < 1LL << 52;
    } else
        return false;
    return true;
}

static int number_of(double value, PyObject **result)
{
    *result = scalars_new(ROW_float64, (const char *)&value);
    return *result ? 1 : -1;
}

/* Return a view of a new array in C order, whose reference is stolen, as NumPy's function does.
 */
static int view_of(PyObject *out, int row, PyObject **result)
{
    PyArrayObject *np_array = (PyArrayObject *)out;
    struct view view = {.data = PyArray_DATA(np_array), .ndim = PyArray_NDIM(np_array)};
    for (int axis = 0; axis < view.ndim; axis++) {
        view.shape[axis] = PyArray_DIM(np_array, axis);
        view.strides[axis] = PyArray_STRIDE(np_array, axis);
    }
    PyObject *base = recycle_wrap(out);
    *result = base ? recycle_view_as(base, recycle_dtypes[row], &view) : NULL;
    Py_XDECREF(base);
    return *result ? 1 : -1;
}

/* Return a new array, whose reference is stolen, or leave it to NumPy if a condition was met.
 */
static int finish_array(PyObject *out, bool is_view, PyObject **result)
{
    if (mx_conditions_met()) {
        Py_DECREF(out);
        return 0;
    }
    if (is_view)
        return view_of(out, ROW_float64, result);
    *result = recycle_wrap(out);
    return *result ? 1 : -1;
}

/* -- isclose and allclose -------------------------------------------------------------- */

static inline bool is_close(double x, double y)
{
    return (fabs(x - y) <= 1e-8 + 1e-5 * fabs(y) && isfinite(y)) || x == y;
}

/* Compare two operands.  Return 1, 0 if one of `out` would be false and `out` is NULL, or -1 if
 * NumPy has to compare them. */
static int compare(const struct numbers *x, const struct numbers *y, npy_bool *out)
{
    npy_intp n = x->step ? x->n : y->n;
    bool are_all = true;
    mx_conditions_clear();
    for (npy_intp i = 0; i < n; i++) {
        bool one = is_close(x->data[i * x->step], y->data[i * y->step]);
        are_all &= one;
        if (out)
            out[i] = one;
    }
    int met = mx_conditions_met() & ~INVALID;
    mx_conditions_clear();
    return met ? -1 : are_all;
}

static bool read_pair(PyObject *const *args, size_t n, struct numbers *x, struct numbers *y)
{
    return n == 2 && read_numbers(args[0], x) && read_numbers(args[1], y) &&
           (x->step == 0 || y->step == 0 ||
            (x->ndim == y->ndim &&
             memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0));
}

int compositions_isclose(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x, y;
    npy_bool one;
    if (!read_pair(args, n, &x, &y))
        return 0;
    const struct numbers *longer = x.step ? &x : &y;
    if (longer->step == 0) {
        if (compare(&x, &y, &one) < 0)
            return 0;
        *result = scalars_new(ROW_bool, (const char *)&one);
        return *result ? 1 : -1;
    }
    PyObject *out = recycle_new(ROW_bool, longer->ndim, longer->shape);
    if (!out)
        return -1;
    if (compare(&x, &y, PyArray_DATA((PyArrayObject *)out)) < 0) {
        Py_DECREF(out);
        return 0;
    }
    return view_of(out, ROW_bool, result);
}

int compositions_allclose(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x, y;
    int status = read_pair(args, n, &x, &y) ? compare(&x, &y, NULL) : -1;
    if (status < 0)
        return 0;
    *result = Py_NewRef(status ? Py_True : Py_False);
    return 1;
}

/* -- Vectors ---------------------------------------------------------------------------- */

/* Compute norm(x): the root of the scalar product of the elements in memory with themselves. */
int compositions_norm(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x;
    double square;
    if (n != 1 || !read_elements(args[0], &x))
        return 0;
    PyArrayObject *np_array = queue_ready(args[0]);
    char *data = PyArray_BYTES(np_array);
    mx_conditions_clear();
    PyDataType_GetArrFuncs(PyArray_DESCR(np_array))
        ->dotfunc(data, sizeof square, data, sizeof square, &square, x.n, np_array);
    double norm = sqrt(square);
    return mx_conditions_met() ? 0 : number_of(norm, result);
}

/* Compute cross(a, b) of vectors of three numbers, or of as many of them in both. */
int compositions_cross(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers a, b;
    if (n != 2 || !read_elements(args[0], &a) || !read_elements(args[1], &b) ||
        a.ndim != b.ndim || a.ndim > 2 || a.shape[a.ndim - 1] != 3 ||
        memcmp(a.shape, b.shape, (size_t)a.ndim * sizeof *a.shape) != 0)
        return 0;
    PyObject *out = recycle_new(ROW_float64, a.ndim, a.shape);
    if (!out)
        return -1;
    double *to = PyArray_DATA((PyArrayObject *)out);
    mx_conditions_clear();
    for (npy_intp i = 0; i < a.n; i += 3) {
        const double *x = a.data + i, *y = b.data + i;
        to[i] = x[1] * y[2] - x[2] * y[1];
        to[i + 1] = x[2] * y[0] - x[0] * y[2];
        to[i + 2] = x[0] * y[1] - x[1] * y[0];
    }
    return finish_array(out, true, result);
}

/* Compute diff(x) of a vector. */
int compositions_diff(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x;
    if (n != 1 || !read_elements(args[0], &x) || x.ndim != 1 || x.n < 2)
        return 0;
    npy_intp length = x.n - 1;
    PyObject *out = recycle_new(ROW_float64, 1, &length);
    if (!out)
        return -1;
    double *to = PyArray_DATA((PyArrayObject *)out);
    mx_conditions_clear();
    for (npy_intp i = 0; i < length; i++)
        to[i] = x.data[i + 1] - x.data[i];
    return finish_array(out, false, result);
}

/* Compute prod(x) of a vector, from the first element to the last. */
int compositions_prod(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x;
    if (n != 1 || !read_elements(args[0], &x) || x.ndim != 1)
        return 0;
    double product = x.data[0];
    mx_conditions_clear();
    for (npy_intp i = 1; i < x.n; i++)
        product *= x.data[i];
    return mx_conditions_met() ? 0 : number_of(product, result);
}

#define MOST_DECIMALS 22 /* 10 to this power is the last one that float64 has */

/* Compute round(x, decimals). */
int compositions_round(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x, decimals = {.number = 0.0};
    if (n == 0 || n > 2 || !read_elements(args[0], &x) ||
        (n == 2 && (!PyLong_CheckExact(args[1]) || !read_numbers(args[1], &decimals))) ||
        decimals.number < 0 || decimals.number > MOST_DECIMALS)
        return 0;
    PyObject *out = recycle_new(ROW_float64, x.ndim, x.shape);
    if (!out)
        return -1;
    double factor = 1.0, *to = PyArray_DATA((PyArrayObject *)out);
    for (int i = 0; i < (int)decimals.number; i++)
        factor *= 10.0;
    mx_conditions_clear();
    for (npy_intp i = 0; i < x.n; i++)
        to[i] = decimals.number > 0 ? rint(x.data[i] * factor) / factor : rint(x.data[i]);
    return finish_array(out, false, result);
}

/* Compute linspace(start, stop) or linspace(start, stop, num) of numbers. */
int compositions_linspace(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers start, stop, num = {.number = 50.0};
    if (n < 2 || n > 3 || !read_numbers(args[0], &start) || !read_numbers(args[1], &stop) ||
        start.step || stop.step ||
        (n == 3 && (!PyLong_CheckExact(args[2]) || !read_numbers(args[2], &num))) ||
        num.number < 2 || num.number >= (double)queue_threshold)
        return 0;
    npy_intp length = (npy_intp)num.number;
    mx_conditions_clear();
    double step = (stop.number - start.number) / (double)(length - 1);
    PyObject *out = step == 0.0 ? NULL : recycle_new(ROW_float64, 1, &length);
    if (!out)
        return PyErr_Occurred() ? -1 : 0;
    double *to = PyArray_DATA((PyArrayObject *)out);
    for (npy_intp i = 0; i < length; i++)
        to[i] = (double)i * step + start.number;
    to[length - 1] = stop.number;
    return finish_array(out, true, result);
}

/* -- The median -------------------------------------------------------------------------- */

/* Return the middle of elements in parts, or the last one if it is NaN. */
static double middle_of(const double *parts, npy_intp n)
{
    double middle = n % 2 ? parts[n / 2] : (parts[n / 2 - 1] + parts[n / 2]) / 2.0;
    return isnan(parts[n - 1]) ? parts[n - 1] : middle;
}

/* Compute median(x) of all elements, by NumPy's partition of a copy. */
int compositions_median(PyObject *const *args, size_t n, PyObject **result)
{
    struct numbers x;
    if (n != 1 || !read_elements(args[0], &x))
        return 0;
    npy_intp places[] = {(x.n - 1) / 2, x.n - 1, x.n / 2}, n_places = x.n % 2 ? 2 : 3;
    PyObject *copy = recycle_new(ROW_float64, 1, &x.n);
    PyObject *at = PyArray_SimpleNewFromData(1, &n_places, NPY_INTP, places);
    int status = -1;
    if (copy && at) {
        double *parts = PyArray_DATA((PyArrayObject *)copy);
        memcpy(parts, x.data, (size_t)x.n * sizeof *parts);
        status =
            PyArray_Partition((PyArrayObject *)copy, (PyArrayObject *)at, 0, NPY_INTROSELECT);
        mx_conditions_clear();
        double median = status < 0 ? 0.0 : middle_of(parts, x.n);
        if (status == 0)
            status = mx_conditions_met() ? 0 : number_of(median, result);
    }
    Py_XDECREF(at);
    Py_XDECREF(copy);
    return status;
}
