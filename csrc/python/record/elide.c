/* elide.c -- arguments that lend their memory to a call. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <string.h>

#include "ir/ops.h"
#include "python/record/caller.h"
#include "python/record/elide.h"
#include "python/record/memory.h"
#include "python/record/queue.h"

/* Python 3.14 has this function, but not in the limited API, so it may be missing. */
static int (*is_unique_temporary)(PyObject *);

void elide_load(void)
{
    void *found = dlsym(RTLD_DEFAULT, "PyUnstable_Object_IsUniqueReferencedTemporary");
    memcpy(&is_unique_temporary, &found, sizeof found);
}

/* Check whether only the interpreter refers to an object.  From Python 3.14 on, it may have
 * borrowed the reference of a variable.  Then it is asked. */
static bool is_temporary(PyObject *x)
{
    return Py_REFCNT(x) == 1 &&
           (Py_Version < 0x030e0000 || (is_unique_temporary && is_unique_temporary(x)));
}

/* The same for an argument, which the tuple of arguments refers to as well. */
static bool is_passed_along(PyObject *a)
{
    if (Py_REFCNT(a) != 2)
        return false;
    Py_DECREF(a);
    bool passes = is_temporary(a);
    Py_INCREF(a);
    return passes;
}

/* Check whether an argument may be lent.  While an expression waits, only an intermediate
 * result may be: it is computed from shared memory, so it must not be computed again later. */
static bool may_elide(PyObject *callee, int argument)
{
    return !expression_is_open() || caller_temporaries(callee) >> argument & 1;
}

/* Check whether other code uses the memory of an array, but for its NumPy array. */
static bool is_shared(const struct array *array)
{
    return array->base || array->n_holds > 0 || array->is_lent;
}

static struct mx_buffer *elide_lend(PyObject *a)
{
    const struct array *array = as_array(a);
    if (is_shared(array) || array->is_exported || array->is_address_taken)
        return NULL;
    struct mx_buffer *buffer = memory_of(array->unprepared);
    if (buffer)
        buffer->elision_owner = a;
    return buffer;
}

struct mx_buffer *elide_argument(PyObject *callee, PyObject *args)
{
    PyObject *a = NULL;
    int number = 0;
    /* The second argument is the operand of a ufunc's method, such as reduce. */
    for (; number < 2 && number < PyTuple_Size(args) && !a; number++)
        if (is_array(PyTuple_GetItem(args, number)))
            a = PyTuple_GetItem(args, number);
    if (!a || !is_passed_along(a) || !queue_computes(a) || !may_elide(callee, number - 1))
        return NULL;
    return elide_lend(a);
}

/* The interpreter refers to an input and, for a function, so does the tuple of arguments. */
struct mx_buffer *elide_input(PyObject *callee, PyObject *const *inputs, int n)
{
    struct mx_buffer *elided = NULL;
    for (int i = 0; i < n && !elided && !PyErr_Occurred(); i++)
        if (is_array(inputs[i]) && Py_REFCNT(inputs[i]) == 1 + (callee != NULL) &&
            queue_computes(inputs[i]) && may_elide(callee, i))
            elided = elide_lend(inputs[i]);
    return elided;
}

/* -- Operators that NumPy computes in place ------------------------------------------------ */

#define MIN_ELIDED_BYTES (256 * 1024) /* NumPy's NPY_MIN_ELIDE_BYTES */

/* Check whether other code may still hold the NumPy array.  The queue holds it, too, while it
 * uses the array. */
static bool is_held(PyObject *x)
{
    const struct array *array = as_array(x);
    queue_settle_export(x);
    return array->is_exported || (!queue_uses(x) && Py_REFCNT(array->unprepared) > 1);
}

/* Return the type number of a number that is not an array, or -1. */
static int number_type(PyObject *x)
{
    if (PyBool_Check(x))
        return NPY_BOOL;
    if (PyLong_Check(x)) {
        int is_longer;
        PyLong_AsLongLongAndOverflow(x, &is_longer);
        if (is_longer > 0)
            PyLong_AsUnsignedLongLong(x);
        bool fits = !PyErr_Occurred() && is_longer >= 0;
        PyErr_Clear();
        return !fits ? -1 : is_longer ? NPY_ULONG : NPY_LONG;
    }
    if (PyFloat_Check(x) || PyComplex_Check(x))
        return PyFloat_Check(x) ? NPY_DOUBLE : NPY_CDOUBLE;
    if (!PyArray_IsScalar(x, Number) && !PyArray_IsScalar(x, Bool))
        return -1;
    PyArray_Descr *dtype = PyArray_DescrFromScalar(x);
    int type = dtype ? dtype->type_num : -1;
    Py_XDECREF((PyObject *)dtype);
    return type;
}

/* Check whether NumPy may write the result of an operator into x, an array of mxnp or NumPy.
 * The other operand is NULL if there is none. */
static bool takes_result(PyObject *x, PyObject *other)
{
    const PyArrayObject *to = np_array_in(x), *from = other ? np_array_in(other) : NULL;
    if (!to || !is_temporary(x) || (is_array(x) && (is_shared(as_array(x)) || is_held(x))))
        return false;
    if (!PyArray_ISNUMBER(to) || !PyArray_ISWRITEABLE(to) ||
        !PyArray_CHKFLAGS(to, NPY_ARRAY_OWNDATA) || PyArray_NBYTES(to) < MIN_ELIDED_BYTES)
        return false;
    if (from && PyArray_NDIM(from) > 0 && !PyArray_SAMESHAPE(from, to))
        return false;
    int type = from ? PyArray_TYPE(from) : other ? number_type(other) : PyArray_TYPE(to);
    return type >= 0 && PyArray_CanCastSafely(type, PyArray_TYPE(to));
}

/* Check whether the result is the same one in either operand, but for its order in memory. */
static bool is_commutative(int op)
{
    return op == MX_OP_add || op == MX_OP_multiply || op == MX_OP_bitwise_and ||
           op == MX_OP_bitwise_or || op == MX_OP_bitwise_xor;
}

static bool is_in_place(int op, const PyArrayObject *left)
{
    if (op == MX_OP_divide)
        return PyArray_ISFLOAT(left) || PyArray_ISCOMPLEX(left);
    return is_commutative(op) || op == MX_OP_subtract || op == MX_OP_floor_divide ||
           op == MX_OP_left_shift || op == MX_OP_right_shift;
}

/* Check whether two arrays are matrices, or arrays of more axes, in other orders. */
static bool have_other_orders(PyObject *left, PyObject *right)
{
    const PyArrayObject *a = np_array_in(left), *b = np_array_in(right);
    return a && b && PyArray_NDIM(a) > 1 && PyArray_NDIM(a) == PyArray_NDIM(b) &&
           memcmp(PyArray_STRIDES(a), PyArray_STRIDES(b),
                  sizeof(npy_intp) * (size_t)PyArray_NDIM(a)) != 0;
}

/* Check whether NumPy exchanges the operands to write the result into the right one.  The
 * operators of its scalars do not. */
static bool exchanges(PyObject *left, PyObject *right)
{
    return !PyArray_IsScalar(left, Generic) && takes_result(right, left) &&
           !takes_result(left, right);
}

/* Return the operand into which NumPy writes the result, or NULL. */
static PyObject *operand_for_result(int op, PyObject *left, PyObject *right)
{
    if (!right)
        return takes_result(left, NULL) ? left : NULL;
    if (np_array_in(left) && is_in_place(op, np_array_in(left)) && takes_result(left, right))
        return left;
    return is_commutative(op) && exchanges(left, right) ? right : NULL;
}

PyObject *elide_into(int op, PyObject *left, PyObject *right)
{
    return have_other_orders(left, right) ? operand_for_result(op, left, right) : NULL;
}

static bool is_swapped(PyObject *x)
{
    return x && np_array_in(x) && PyArray_ISBYTESWAPPED(np_array_in(x));
}

PyObject *elide_swapped(int op, PyObject *left, PyObject *right)
{
    if (!is_swapped(left) && !is_swapped(right))
        return NULL;
    bool is_unary = op != MX_NO_OP && core->mx_op_get(op)->nin == 1;
    PyObject *to = operand_for_result(op, left, is_unary ? NULL : right);
    return is_swapped(to) ? to : NULL;
}

bool elide_exchanges(PyObject *left, PyObject *right)
{
    return is_array(right) && PyArray_ISCOMPLEX(np_array_of(right)) && exchanges(left, right);
}
