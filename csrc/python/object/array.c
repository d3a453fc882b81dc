/* array.c -- the array object: operators, indexing, iteration, NumPy's protocols.
 *
 * It is written in C for two reasons.  Warnings and tracebacks would name a Python frame
 * between the program and NumPy instead of the program's line.  And such a frame costs as much
 * as a call of NumPy with a small array.
 */
#include "python/object/array.h"
#include "ir/ops.h"
#include "python/access/index.h"
#include "python/access/put.h"
#include "python/access/take.h"
#include "python/base/device.h"
#include "python/base/dtypes.h"
#include "python/base/recursion.h"
#include "python/base/refusal.h"
#include "python/convert/convert.h"
#include "python/direct/elementwise.h"
#include "python/direct/products.h"
#include "python/direct/recycle.h"
#include "python/direct/stacks.h"
#include "python/object/function.h"
#include "python/packages/disguise.h"
#include "python/profile/profile.h"
#include "python/profile/traceback.h"
#include "python/record/assignment.h"
#include "python/record/call.h"
#include "python/record/caller.h"
#include "python/record/elide.h"
#include "python/record/expression.h"
#include "python/record/failure.h"
#include "python/record/memory.h"
#include "python/record/prepare.h"
#include "python/record/queue.h"
#include "python/record/record.h"
#include "python/record/signature.h"
#include "python/record/wrapper.h"

/* -- Array: operators ------------------------------------------------------------- */

/* NumPy's own slots are called, not the operators.  They may return NotImplemented, and then
 * Python asks the other operand.  If an operand is an instance of a subclass of numpy.ndarray,
 * the operator is called, because the subclass comes first.  If its class is derived from
 * mxnp.ndarray, its method is called with the array, see ask_first().
 *
 * The macros below define array_negative, array_positive, array_absolute, array_invert,
 * array_add, array_subtract, array_multiply, array_true_divide, array_floor_divide,
 * array_remainder, array_lshift, array_rshift, array_and, array_or, array_xor,
 * array_matrix_multiply, and an array_inplace_... for each binary operator; array_int,
 * array_float, array_index, array_repr and array_str. */
/* clang-format off */
#define BINARY_OPERATORS(M) \
    M(add, Add, radd, MX_OP_add) M(subtract, Subtract, rsub, MX_OP_subtract) \
    M(multiply, Multiply, rmul, MX_OP_multiply) M(true_divide, TrueDivide, rtruediv, MX_OP_divide) \
    M(floor_divide, FloorDivide, rfloordiv, MX_OP_floor_divide) \
    M(remainder, Remainder, rmod, MX_OP_remainder) M(lshift, Lshift, rlshift, MX_OP_left_shift) \
    M(rshift, Rshift, rrshift, MX_OP_right_shift) M(and, And, rand, MX_OP_bitwise_and) \
    M(or, Or, ror, MX_OP_bitwise_or) M(xor, Xor, rxor, MX_OP_bitwise_xor) \
    M(matrix_multiply, MatrixMultiply, rmatmul, MX_NO_OP)
/* clang-format on */
#define UNARY_OPERATORS(M) M(negative) M(positive) M(absolute) M(invert)

#define DECLARE_UNARY(name)                       unaryfunc name;
#define DECLARE_BINARY(name, Name, reflected, op) binaryfunc name, inplace_##name;
static struct {
    UNARY_OPERATORS(DECLARE_UNARY)
    BINARY_OPERATORS(DECLARE_BINARY)
    binaryfunc divmod;
    ternaryfunc power, inplace_power;
    richcmpfunc richcompare;
} numpy_slots;

#define LOAD_UNARY(name) \
    numpy_slots.name = (unaryfunc)PyType_GetSlot(np_array_type, Py_nb_##name);
#define LOAD_BINARY(name, Name, reflected, op)                                  \
    numpy_slots.name = (binaryfunc)PyType_GetSlot(np_array_type, Py_nb_##name); \
    numpy_slots.inplace_##name =                                                \
        (binaryfunc)PyType_GetSlot(np_array_type, Py_nb_inplace_##name);

void array_load_slots(void)
{
    UNARY_OPERATORS(LOAD_UNARY)
    BINARY_OPERATORS(LOAD_BINARY)
    numpy_slots.divmod = (binaryfunc)PyType_GetSlot(np_array_type, Py_nb_divmod);
    numpy_slots.power = (ternaryfunc)PyType_GetSlot(np_array_type, Py_nb_power);
    numpy_slots.inplace_power = (ternaryfunc)PyType_GetSlot(np_array_type, Py_nb_inplace_power);
    numpy_slots.richcompare = (richcmpfunc)PyType_GetSlot(np_array_type, Py_tp_richcompare);
}

/* Steal a reference to a new result of an operator.  Return an array around it, unless it is a
 * scalar or of another class. */
static inline PyObject *adopt_fresh(PyObject *result)
{
    return result && Py_TYPE(result) == np_array_type ? wrapper_new(result) : result;
}

/* Return a borrowed reference to the NumPy array of an array, or to any other object itself, or
 * NULL with an exception set. */
static inline PyObject *operand(PyObject *x) { return is_array(x) ? queue_to_read(x) : x; }

/* Check for an instance of a class that is derived from mxnp.ndarray. */
static bool is_derived(PyObject *x) { return PyType_IsSubtype(Py_TYPE(x), subclass_type); }

static bool is_subclass(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type != np_array_type && PyType_IsSubtype(type, np_array_type);
}

/* Check whether an operand is large or unwritten. */
static inline bool has_large(PyObject *a, PyObject *b)
{
    return (is_array(a) && queue_accepts(a)) || (is_array(b) && queue_accepts(b));
}

static inline bool is_for_queue(int op, PyObject *a, PyObject *b)
{
    return op != MX_NO_OP && queue_takes_both(a, b);
}

static inline PyObject *after_write(PyObject *result)
{
    queue_after_write();
    return result;
}

/* Check whether the class of x never keeps the NumPy array of the other operand. */
static inline bool is_harmless(PyObject *x)
{
    return is_array(x) || PyFloat_CheckExact(x) || PyLong_CheckExact(x) ||
           (PyArray_IsScalar(x, Generic) && is_static(Py_TYPE(x)));
}

/* Check whether the class of an object has a method from a package.  Return -1 with an
 * exception set. */
static int has_from_package(PyObject *x, const char *method)
{
    if (!is_from_package)
        return 0;
    PyObject *answer = PyObject_CallFunction(is_from_package, "Os", Py_TYPE(x), method);
    int has = answer ? answer == Py_True : -1;
    Py_XDECREF(answer);
    return has;
}

/* Check whether NumPy returned NotImplemented for an operator of the array, and b has a method
 * for it from a package.  Code of packages expects NumPy arrays, so the operator is called
 * again with one.  The result is cleared in this case, and if an exception is set. */
static bool is_left_to_package(PyObject **result, PyObject *a, PyObject *b, const char *method)
{
    if (*result != Py_NotImplemented || !is_array(a) || is_array(b))
        return false;
    int is_left = has_from_package(b, method);
    if (is_left != 0)
        Py_CLEAR(*result);
    return is_left > 0;
}

/* An operator: NumPy's slot, Python's function, and the method of the other operand. */
struct operation {
    int op;
    binaryfunc slot, call;
    const char *reflected;
};

/* Call the method of b that Python asks before an operator of an array, if the class of b is
 * derived from mxnp.ndarray and does not inherit the method from NumPy.  The method gets the
 * array.  Return whether there is a result, which is NULL with an exception set. */
static bool ask_first(const char *method, PyObject *a, PyObject *b, PyObject **result)
{
    *result = NULL;
    if (!is_array(a) || !is_derived(b))
        return false;
    PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(b), method);
    PyObject *numpys = PyObject_GetAttrString((PyObject *)subclass_type, method);
    if (own && numpys && own != numpys)
        *result = PyObject_CallFunctionObjArgs(own, b, a, NULL);
    bool is_left = own && numpys && (own == numpys || *result == Py_NotImplemented);
    if (is_left)
        Py_CLEAR(*result);
    Py_XDECREF(own);
    Py_XDECREF(numpys);
    return !is_left;
}

/* From Python 3.12 on, the method of a package may be a door, which has adopted the result as
 * if it was called by the program.  It does not know the array whose NumPy array it got. */
static PyObject *recognize(PyObject *result, PyObject *a)
{
    if (!result || !is_array(result) || result == a || Py_REFCNT(result) != 1)
        return result;
    struct array *made = as_array(result);
    PyObject *inside = as_array(a)->unprepared;
    if (made->unprepared == inside) {
        Py_DECREF(result);
        return Py_NewRef(a);
    }
    if (!made->base && PyArray_BASE((PyArrayObject *)made->unprepared) == inside)
        made->base = Py_NewRef(a);
    return result;
}

/* Steal a reference to a result of NumPy's in native byte order, and return it in that of an
 * operand into which NumPy would have written it, which may be NULL. */
static PyObject *in_byte_order_of(PyObject *operand, PyObject *result)
{
    if (!operand || !result || Py_TYPE(result) != np_array_type)
        return result;
    PyArrayObject *made = (PyArrayObject *)result;
    PyArray_Descr *dtype = PyArray_DESCR(np_array_in(operand));
    if (PyArray_TYPE(made) != dtype->type_num || PyArray_ISBYTESWAPPED(made))
        return result;
    Py_INCREF((PyObject *)dtype);
    PyObject *swapped = PyArray_FromArray(made, dtype, 0);
    Py_DECREF(result);
    return swapped;
}

/* Call the slot after prepare().  The result has the byte order of `into`, unless that is NULL.
 */
static PyObject *call_slot(const struct operation *how, PyObject *a, PyObject *b,
                           PyObject *into)
{
    struct call_args call_args;
    PyObject *x = operand(a), *y = operand(b);
    if (!x || !y || recursion_enter() < 0)
        return NULL;
    call_args_begin(&call_args);
    if (!is_harmless(a) || !is_harmless(b))
        call_args_add(&call_args, is_array(a) ? a : b);
    bool is_first = is_subclass(a) || (is_subclass(b) && !is_derived(b));
    binaryfunc call = is_first ? how->call : how->slot;
    PyObject *result = in_byte_order_of(into, call(x, y));
    if (is_left_to_package(&result, a, b, how->reflected))
        result = recognize(convert_adopt(how->call(x, b), &call_args, 0), a);
    convert_end_call(&call_args);
    recursion_leave();
    return result;
}

static inline bool is_stack(PyObject *x)
{
    return is_array(x) && PyArray_NDIM(np_array_of(x)) > 2;
}

/* Multiply matrices on the device, or stacks of them on several threads.  Return false if NumPy
 * has to multiply them. */
static bool call_matmul(PyObject *a, PyObject *b, PyObject **result)
{
    *result = NULL;
    if (!has_large(a, b))
        return false;
    if ((is_stack(a) || is_stack(b)) && !settings_use_gpu() &&
        (prepare_operands(a, b) < 0 || stacks_multiply(a, b, result) != 0))
        return true;
    struct function *f =
        is_stack(a) || is_stack(b) ? function_that_records(stacks_function()) : NULL;
    PyObject *args = f ? PyTuple_Pack(2, a, b) : NULL;
    int status = args ? function_record(f, args, NULL, result) : 0;
    Py_XDECREF(args);
    if (args || PyErr_Occurred())
        return !args || status != 0;
    return device_has(DEVICE_MATMUL) &&
           device_call(DEVICE_MATMUL, PyTuple_Pack(2, a, b), result) != 0;
}

/* Compute a recorded operation immediately if its result is expected to be needed, or record
 * it.  Return 1 with the result, 0 or -1. */
static int compute_or_record(int op, PyObject *const *inputs, int nin, PyObject **result)
{
    int status = elementwise_call_eager(op, inputs, nin, result);
    return status != 0 ? status : call_ufunc(NULL, op, inputs, nin, NULL, 1, result);
}

static PyObject *call_binary(struct operation how, PyObject *a, PyObject *b)
{
    PyObject *result, *inputs[] = {a, b};
    if (how.op == MX_OP_multiply && elide_exchanges(a, b))
        return call_binary(how, b, a);
    if (is_for_queue(how.op, a, b) && compute_or_record(how.op, inputs, 2, &result) != 0)
        return result;
    if (how.op == MX_NO_OP && call_matmul(a, b, &result))
        return result;
    if (prepare_operands(a, b) < 0)
        return NULL;
    /* NumPy releases the lock of the interpreter for large products. */
    if (how.op == MX_NO_OP ? !has_large(a, b) && products_matmul(a, b, &result)
                           : elementwise_call(how.op, inputs, 2, &result))
        return result;
    if (ask_first(how.reflected, a, b, &result))
        return adopt_fresh(result);
    return adopt_fresh(call_slot(&how, a, b, elide_swapped(how.op, a, b)));
}

/* An in-place operator returns the array itself if NumPy returns its NumPy array. */
static PyObject *keep_identity(PyObject *a, PyObject *result)
{
    if (result && result == as_array(a)->unprepared) {
        Py_DECREF(result);
        Py_INCREF(a);
        return a;
    }
    return adopt_fresh(result);
}

static PyObject *call_inplace(struct operation how, PyObject *a, PyObject *b)
{
    PyObject *result, *inputs[] = {a, b};
    if (is_for_queue(how.op, a, b) && call_ufunc(NULL, how.op, inputs, 2, &a, 1, &result) != 0)
        return result;
    root_of(a)->version++;
    if (prepare_to_write(a, b) < 0)
        return NULL;
    if (how.op != MX_NO_OP && elementwise_call_into(how.op, inputs, 2, a, &result) != 0)
        return after_write(result);
    result = call_slot(&how, a, b, NULL);
    /* Python would call this slot again as the one of sequences, and return NotImplemented. */
    if (result == Py_NotImplemented && how.op == MX_OP_add) {
        Py_DECREF(result);
        return PyNumber_Add(a, b);
    }
    return keep_identity(a, result);
}

static PyObject *call_unary(int op, unaryfunc slot, PyObject *a)
{
    PyObject *result = NULL;
    if (queue_accepts(a) && compute_or_record(op, &a, 1, &result) != 0)
        return result;
    if (prepare_operands(a, NULL) < 0)
        return NULL;
    if (elementwise_call(op, &a, 1, &result) != 0)
        return result;
    PyObject *x = operand(a), *into = elide_swapped(op, a, NULL);
    if (!x || recursion_enter() < 0)
        return NULL;
    result = in_byte_order_of(into, slot(x));
    recursion_leave();
    return adopt_fresh(result);
}

static const char *name_of(int op)
{
    return op == MX_NO_OP ? "matmul" : core->mx_op_get(op)->name;
}

/* Steal a reference to the result of an operation.  Return an array, not a scalar, if an
 * operand requires it. */
static inline PyObject *as_operands(PyObject *a, PyObject *b, PyObject *result)
{
    return is_standard(a) || is_standard(b) ? convert_standard(result, 0) : result;
}

#define DEFINE_UNARY(name)                                                                \
    static PyObject *array_##name(PyObject *a)                                            \
    {                                                                                     \
        RETURN_COUNTED(SPAN_OPERATION, #name, a, NULL,                                    \
                       as_operands(a, a, call_unary(MX_OP_##name, numpy_slots.name, a))); \
    }
/* Write the result of an operator into an operand, an array of mxnp or NumPy. */
static PyObject *call_into(binaryfunc inplace, PyObject *into, PyObject *other)
{
    PyObject *own = is_array(into) ? Py_NewRef(into) : wrapper_new(Py_NewRef(into));
    PyObject *result = own ? inplace(own, other) : NULL;
    Py_XDECREF(own);
    return result;
}

#define OPERATOR(op, slot, call, reflected) \
    ((struct operation){op, numpy_slots.slot, call, "__" #reflected "__"})
#define DEFINE_BINARY(name, Name, reflected, op)                                    \
    static PyObject *array_inplace_##name(PyObject *a, PyObject *b)                 \
    {                                                                               \
        struct operation how =                                                      \
            OPERATOR(op, inplace_##name, PyNumber_InPlace##Name, reflected);        \
        RETURN_COUNTED(SPAN_OPERATION, name_of(op), a, b, call_inplace(how, a, b)); \
    }                                                                               \
    static PyObject *array_##name(PyObject *a, PyObject *b)                         \
    {                                                                               \
        struct operation how = OPERATOR(op, name, PyNumber_##Name, reflected);      \
        PyObject *into = elide_into(op, a, b);                                      \
        if (into)                                                                   \
            return call_into(array_inplace_##name, into, into == a ? b : a);        \
        RETURN_COUNTED(SPAN_OPERATION, name_of(op), a, b,                           \
                       as_operands(a, b, call_binary(how, a, b)));                  \
    }
UNARY_OPERATORS(DEFINE_UNARY)
BINARY_OPERATORS(DEFINE_BINARY)

static PyObject *call_divmod(PyObject *a, PyObject *b)
{
    struct operation how = OPERATOR(MX_OP_divmod, divmod, PyNumber_Divmod, rdivmod);
    struct call_args call_args = {.is_standard = is_standard(a) || is_standard(b)};
    PyObject *results[2], *inputs[] = {a, b};
    int status = 0;
    if (is_for_queue(MX_OP_divmod, a, b))
        status = call_ufunc(NULL, MX_OP_divmod, inputs, 2, NULL, 2, results);
    if (status == 0 && prepare_operands(a, b) < 0)
        return NULL;
    PyObject *both;
    if (status == 0 && !ask_first(how.reflected, a, b, &both))
        both = call_slot(&how, a, b, NULL);
    if (status == 0)
        return convert_adopt(both, &call_args, 1);
    both = status > 0 ? PyTuple_Pack(2, results[0], results[1]) : NULL;
    Py_XDECREF(results[0]);
    Py_XDECREF(results[1]);
    return convert_adopt(both, &call_args, 1);
}

static PyObject *array_divmod(PyObject *a, PyObject *b)
{
    RETURN_COUNTED(SPAN_OPERATION, "divmod", a, b, call_divmod(a, b));
}

/* Return the row of the ufunc with which NumPy computes a power: sqrt for 0.5 and, for integer
 * exponents, square and reciprocal. */
static int power_row(PyObject *a, PyObject *b)
{
    bool is_integer = PyLong_CheckExact(b);
    if (!is_array(a) || (!is_integer && !PyFloat_CheckExact(b)))
        return MX_OP_power;
    int row = dtype_row(PyArray_TYPE(np_array_of(a)));
    double exponent = is_integer ? PyLong_AsDouble(b) : PyFloat_AsDouble(b);
    PyErr_Clear();
    if (is_integer && exponent == 2.0 && row != ROW_bool)
        return MX_OP_square;
    if (row == ROW_bfloat16)
        return MX_OP_power;
    if (is_integer && exponent == -1.0 && mx_dtype_is_inexact(row))
        return MX_OP_reciprocal;
    return exponent == 0.5 && mx_dtype_is_inexact(row) ? MX_OP_sqrt : MX_OP_power;
}

static int record_power(PyObject *a, PyObject *b, PyObject *out, PyObject **result)
{
    PyObject *inputs[] = {a, b};
    int row = is_for_queue(MX_OP_power, a, b) ? power_row(a, b) : MX_NO_OP;
    int nin = row == MX_OP_power ? 2 : 1;
    if (row == MX_NO_OP)
        return 0;
    return out ? call_ufunc(NULL, row, inputs, nin, &out, 1, result)
               : compute_or_record(row, inputs, nin, result);
}

static PyObject *numpy_power(PyObject *a, PyObject *b)
{
    return numpy_slots.power(a, b, Py_None);
}

static PyObject *numpy_inplace_power(PyObject *a, PyObject *b)
{
    return numpy_slots.inplace_power(a, b, Py_None);
}

static PyObject *raise_to(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }

static PyObject *raise_inplace_to(PyObject *a, PyObject *b)
{
    return PyNumber_InPlacePower(a, b, Py_None);
}

static PyObject *call_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    struct operation how = {MX_OP_power, numpy_power, raise_to, "__rpow__"};
    PyObject *result, *inputs[] = {a, b};
    if (modulus == Py_None && record_power(a, b, NULL, &result) != 0)
        return result;
    if (prepare_operands(a, b) < 0)
        return NULL;
    if (modulus != Py_None) {
        PyObject *x = operand(a), *y = operand(b);
        return x && y ? adopt_fresh(numpy_slots.power(x, y, modulus)) : NULL;
    }
    int row = power_row(a, b);
    if (elementwise_call(row, inputs, row == MX_OP_power ? 2 : 1, &result) != 0)
        return result;
    if (ask_first(how.reflected, a, b, &result))
        return adopt_fresh(result);
    how.op = row;
    return adopt_fresh(call_slot(&how, a, b, elide_swapped(how.op, a, b)));
}

static PyObject *array_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    RETURN_COUNTED(SPAN_OPERATION, "power", a, b, as_operands(a, b, call_power(a, b, modulus)));
}

static PyObject *call_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    static const struct operation how = {MX_OP_power, numpy_inplace_power, raise_inplace_to,
                                         "__rpow__"};
    PyObject *result, *inputs[] = {a, b};
    if (modulus == Py_None && record_power(a, b, a, &result) != 0)
        return result;
    root_of(a)->version++;
    if (prepare_to_write(a, b) < 0)
        return NULL;
    if (modulus != Py_None) {
        PyObject *x = queue_to_write(a), *y = operand(b);
        result = x && y ? numpy_slots.inplace_power(x, y, modulus) : NULL;
        return after_write(keep_identity(a, result));
    }
    int row = power_row(a, b);
    if (elementwise_call_into(row, inputs, row == MX_OP_power ? 2 : 1, a, &result) != 0)
        return after_write(result);
    return keep_identity(a, call_slot(&how, a, b, NULL));
}

static PyObject *array_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    RETURN_COUNTED(SPAN_OPERATION, "power", a, b, call_inplace_power(a, b, modulus));
}

static PyObject *array_compare(PyObject *a, PyObject *b, int row, int op)
{
    static const char *const reflected[] = {"__gt__", "__ge__", "__eq__",
                                            "__ne__", "__lt__", "__le__"};
    PyObject *result, *inputs[] = {a, b};
    if (is_for_queue(row, a, b) && compute_or_record(row, inputs, 2, &result) != 0)
        return result;
    if (prepare_operands(a, b) < 0)
        return NULL;
    if (elementwise_call(row, inputs, 2, &result) != 0)
        return result;
    if (ask_first(reflected[op], a, b, &result))
        return adopt_fresh(result);
    PyObject *x = operand(a), *y = operand(b);
    if (!x || !y || recursion_enter() < 0)
        return NULL;
    struct call_args call_args;
    call_args_begin(&call_args);
    if (!is_harmless(b))
        call_args_add(&call_args, a);
    bool is_asked = !is_array(a) || /* a is a scalar of NumPy's */
                    (y == b && is_subclass(y) && !is_derived(y));
    result = is_asked ? PyObject_RichCompare(x, y, op) : numpy_slots.richcompare(x, y, op);
    if (is_left_to_package(&result, a, b, reflected[op]))
        result = recognize(convert_adopt(PyObject_RichCompare(x, y, op), &call_args, 0), a);
    convert_end_call(&call_args);
    recursion_leave();
    return adopt_fresh(result);
}

static PyObject *array_richcompare(PyObject *a, PyObject *b, int op)
{
    static const int rows[] = {MX_OP_less,      MX_OP_less_equal, MX_OP_equal,
                               MX_OP_not_equal, MX_OP_greater,    MX_OP_greater_equal};
    RETURN_COUNTED(SPAN_OPERATION, name_of(rows[op]), a, b,
                   as_operands(a, b, array_compare(a, b, rows[op], op)));
}

/* Functions that read the elements now. */
#define DEFINE_READER(name, call)                                                          \
    static PyObject *array_##name(PyObject *a)                                             \
    {                                                                                      \
        struct span span;                                                                  \
        span_begin(&span, SPAN_READ, #name);                                               \
        call_args_hold(a);                                                                 \
        PyObject *np_array = prepare_array(a), *result = np_array ? call(np_array) : NULL; \
        call_args_release(a);                                                              \
        if (!result) /* the conversion is not supported */                                 \
            span_note_nothing();                                                           \
        return span_end(&span, a, NULL, result);                                           \
    }
DEFINE_READER(int, PyNumber_Long)
DEFINE_READER(float, PyNumber_Float)
DEFINE_READER(index, PyNumber_Index)
DEFINE_READER(repr, PyObject_Repr)
DEFINE_READER(str, PyObject_Str)

static int array_bool(PyObject *a)
{
    struct span span;
    span_begin(&span, SPAN_READ, "bool");
    PyObject *np_array = prepare_array(a);
    int is_true = np_array ? PyObject_IsTrue(np_array) : -1;
    span_end(&span, a, NULL, NULL);
    return is_true;
}

/* -- Array: indexing and iteration ------------------------------------------------ */

static Py_ssize_t array_length(PyObject *a)
{
    const PyArrayObject *np_array = np_array_of(a);
    return PyArray_NDIM(np_array) > 0 ? PyArray_DIM(np_array, 0)
                                      : PyObject_Size(as_array(a)->unprepared); /* an error */
}

static int array_contains(PyObject *a, PyObject *x)
{
    struct call_args call_args = {0};
    PyObject *value = unwrap(x, &call_args);
    struct span span;
    span_begin(&span, SPAN_READ, "in");
    call_args_hold(a);
    PyObject *np_array = prepare_operands(a, x) < 0 ? NULL : queue_to_read(a);
    int is_in = np_array ? PySequence_Contains(np_array, value) : -1;
    call_args_release(a);
    span_end(&span, a, NULL, NULL);
    call_args_end(&call_args);
    return is_in;
}

static PyObject *array_iter(PyObject *a)
{
    const PyArrayObject *np_array = np_array_of(a);
    /* The iterator would take an IndexError of a deferred index for the end. */
    struct span span;
    span_begin(&span, SPAN_READ, "iter");
    int status = PyArray_NDIM(np_array) == 1 ? queue_before_read(a) : 0;
    span_pop(&span);
    if (status < 0)
        return NULL;
    return PyArray_NDIM(np_array) == 0
               ? PyObject_GetIter(as_array(a)->unprepared) /* an error */
               : PySeqIter_New(a);
}

/* Check whether the format of a buffer describes the dtype exactly.  Return -1 with an
 * exception set. */
static int is_described(const PyArrayObject *np_array)
{
    PyArray_Descr *dtype = PyArray_DESCR(np_array);
    if (PyDataType_METADATA(dtype))
        return 0;
    if (dtype->kind != 'V' && dtype->kind != 'T')
        return 1;
    PyObject *answer = PyObject_CallFunctionObjArgs(described, dtype, NULL);
    int is_true = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is_true;
}

/* The exception that a signal handler or a warnings filter raised while a buffer was requested.
 * NumPy drops it, and then requests the same array in other ways. */
static _Thread_local struct {
    PyObject *array; /* borrowed; only compared */
    PyObject *error, *traceback;
} dropped;

static void forget_dropped(void)
{
    Py_CLEAR(dropped.error);
    Py_CLEAR(dropped.traceback);
}

static void keep_dropped(PyObject *a)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    bool is_raised_again = PyErr_GivenExceptionMatches(value, PyExc_MemoryError) ||
                           PyErr_GivenExceptionMatches(value, PyExc_LookupError) ||
                           PyErr_GivenExceptionMatches(value, PyExc_RuntimeError);
    if (!is_raised_again) {
        dropped.array = a;
        dropped.error = Py_NewRef(value);
        dropped.traceback = PyException_GetTraceback(value);
    }
    PyErr_Restore(type, value, traceback);
}

/* Raise it again, unless it reached the program, whose frames are in its traceback then. Return
 * 0, or -1 with the exception set. */
static int raise_dropped(PyObject *a)
{
    PyObject *error = dropped.array == a ? Py_XNewRef(dropped.error) : NULL;
    PyObject *traceback = error ? PyException_GetTraceback(error) : NULL;
    bool was_raised = traceback != dropped.traceback;
    forget_dropped();
    if (error && !was_raised)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(traceback);
    Py_XDECREF(error);
    return error && !was_raised ? -1 : 0;
}

/* NumPy requests a buffer before it calls __array__.  If the format of a buffer cannot describe
 * the dtype, only requests without a format succeed. */
static int array_getbuffer(PyObject *a, Py_buffer *view, int flags)
{
    PyObject *np_array = NULL;
    view->obj = NULL;
    int status = flags & PyBUF_FORMAT ? is_described(np_array_of(a)) : 1;
    struct span span;
    if (status > 0 && memory_is_lent(a) && flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError,
                        "the array is used on the GPU too, and cannot be written here");
        return -1;
    }
    span_begin(&span, SPAN_EXPORT, "buffer");
    if (status >= 0 && (raise_dropped(a) < 0 || !(np_array = prepare_array(a)))) {
        keep_dropped(a);
        status = -1;
    }
    if (status < 0 || PyObject_GetBuffer(np_array, view, flags) < 0)
        status = -1;
    span_pop(&span);
    if (status < 0)
        return -1;
    if (status == 0) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_BufferError, "the dtype has no exact buffer format");
        return -1;
    }
    /* NumPy does nothing when a buffer is released, so the array can be its owner. */
    Py_INCREF(a);
    Py_DECREF(view->obj);
    view->obj = a;
    view->readonly |= memory_is_lent(a);
    /* NumPy's buffers have other strides along axes of one element.  A memoryview, which
     * numpy.asarray requests, copies them. */
    if (flags == PyBUF_FULL_RO && view->ndim > 0 && view->len > 0)
        view->strides = PyArray_STRIDES(np_array_of(a));
    root_of(a)->n_holds++;
    root_of(a)->version++;
    /* The constructor of numpy.ndarray keeps the address after it has released the buffer. */
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !(flags & PyBUF_FORMAT))
        root_of(a)->is_address_taken = true;
    return 0;
}

static void array_releasebuffer(PyObject *a, Py_buffer *view)
{
    (void)view;
    root_of(a)->n_holds--;
}

/* -- Array: NumPy's protocols ----------------------------------------------------- */

/* Check whether a ufunc is called, and none of its methods. */
static bool is_call(PyObject *args)
{
    PyObject *method = PyTuple_Size(args) > 1 ? PyTuple_GetItem(args, 1) : NULL;
    return method && PyUnicode_Check(method) &&
           PyUnicode_CompareWithASCIIString(method, "__call__") == 0;
}

/* Check whether a ufunc is called without keywords, and no other operand may define
 * __array_ufunc__.  Classes made in Python may; those of NumPy's scalars and Python's numbers
 * do not. */
static bool is_plain_call(PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args);
    if (n < 3 || (kwargs && PyDict_Size(kwargs) > 0))
        return false;
    if (!PyCallable_Check(PyTuple_GetItem(args, 0)))
        return false;
    if (!is_call(args))
        return false;
    for (Py_ssize_t i = 2; i < n; i++) {
        PyTypeObject *type = Py_TYPE(PyTuple_GetItem(args, i));
        if (type != array_type && !is_static(type))
            return false;
    }
    return true;
}

/* Record a ufunc of NumPy with an array among the operands.  Return 1, 0 or -1. */
static int record_plain(PyObject *ufunc, PyObject *operands, PyObject **result)
{
    PyObject *inputs[3], *results[2];
    bool is_large = false;
    int n = (int)PyTuple_Size(operands);
    for (int i = 0; i < n && i < 3; i++) {
        inputs[i] = PyTuple_GetItem(operands, i);
        is_large |= is_array(inputs[i]) && queue_accepts(inputs[i]);
    }
    is_large |= n == 2 && queue_takes_result(inputs[0], inputs[1]);
    int op = is_large ? signature_op(ufunc) : MX_NO_OP;
    if (op == MX_NO_OP || core->mx_op_get(op)->nin != n || core->mx_op_get(op)->nout != 1)
        return 0;
    int status = call_ufunc(NULL, op, inputs, n, NULL, 1, results);
    *result = status > 0 ? results[0] : NULL;
    return status;
}

/* Check whether the first operand has __array_ufunc__ from a package, which was called before
 * and does not support mxnp arrays.  Then the ufunc is called again with NumPy arrays.  The
 * result is cleared as in is_left_to_package(). */
static bool is_refused_by_package(PyObject **result, PyObject *args)
{
    if (*result != Py_NotImplemented || PyTuple_Size(args) < 4)
        return false;
    for (Py_ssize_t i = 3; i < PyTuple_Size(args); i++)
        if (!is_array(PyTuple_GetItem(args, i)))
            return false;
    PyObject *first = PyTuple_GetItem(args, 2);
    return !is_array(first) &&
           is_left_to_package(result, PyTuple_GetItem(args, 3), first, "__array_ufunc__");
}

static PyObject *call_unwrapped(const struct function *f, PyObject *args, PyObject *kwargs)
{
    PyObject *method = PyObject_GetAttr(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1));
    PyObject *operands = PyTuple_GetSlice(args, 2, PyTuple_Size(args));
    PyObject *result = method && operands ? convert_call(f, method, operands, kwargs) : NULL;
    Py_XDECREF(operands);
    Py_XDECREF(method);
    return result;
}

/* Return a new tuple of None for each output of a ufunc. */
static PyObject *without_outputs(PyObject *ufunc)
{
    PyObject *number = PyObject_GetAttrString(ufunc, "nout");
    Py_ssize_t n = number ? PyLong_AsSsize_t(number) : -1;
    PyObject *outputs = PyErr_Occurred() ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; outputs && i < n; i++)
        PyTuple_SetItem(outputs, i, Py_NewRef(Py_None));
    Py_XDECREF(number);
    return outputs;
}

/* Return a new reference to the keywords of a ufunc.  NumPy leaves out an `out` that is None,
 * with which it does not warn that `where` leaves elements without a value. */
static PyObject *with_out(PyObject *ufunc, PyObject *kwargs)
{
    static PyObject *where, *out;
    if (!convert_keyword(kwargs, &where, "where") || convert_keyword(kwargs, &out, "out") ||
        !caller_names_out())
        return PyErr_Occurred() ? NULL : Py_NewRef(kwargs);
    PyObject *outputs = without_outputs(ufunc);
    PyObject *all = outputs ? PyDict_Copy(kwargs) : NULL;
    if (all && PyDict_SetItem(all, out, outputs) < 0)
        Py_CLEAR(all);
    Py_XDECREF(outputs);
    return all;
}

static PyObject *call_for_numpy(PyObject *a, PyObject *args, PyObject *kwargs)
{
    static const struct function plain = {.adopts = true};
    PyObject *result = NULL;
    if (is_plain_call(args, kwargs)) {
        PyObject *operands = PyTuple_GetSlice(args, 2, PyTuple_Size(args));
        PyObject *ufunc = PyTuple_GetItem(args, 0);
        if (operands && record_plain(ufunc, operands, &result) == 0)
            result = convert_call(&plain, ufunc, operands, NULL);
        Py_XDECREF(operands);
        return result;
    }
    /* NumPy's own method returns NotImplemented if another operand has to be asked. */
    PyObject *call = PyObject_GetAttrString(as_array(a)->unprepared, "__array_ufunc__");
    PyObject *named = call && kwargs && is_call(args)
                          ? with_out(PyTuple_GetItem(args, 0), kwargs)
                          : Py_XNewRef(kwargs);
    if (call && (named || !kwargs))
        result = convert_call(&plain, call, args, named);
    Py_XDECREF(call);
    if (is_refused_by_package(&result, args))
        result = call_unwrapped(&plain, args, named);
    Py_XDECREF(named);
    return result;
}

static PyObject *array_array_ufunc(PyObject *a, PyObject *args, PyObject *kwargs)
{
    struct span span;
    PyObject *ufunc = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    span.is_on = profile_is_on && ufunc;
    if (span.is_on)
        profile_begin(&span, SPAN_OPERATION, (struct span_name){.function = ufunc});
    PyObject *result = as_operands(a, a, call_for_numpy(a, args, kwargs));
    if (span.is_on)
        profile_end_call(&span, args, 1, result);
    return result;
}

/* Check whether all types of a call of __array_function__ are mxnp's or NumPy's array. */
static bool are_arrays(PyObject *types)
{
    bool are = PyTuple_Check(types);
    for (Py_ssize_t i = 0; are && i < PyTuple_Size(types); i++) {
        PyObject *type = PyTuple_GetItem(types, i);
        are = type == (PyObject *)array_type || type == (PyObject *)np_array_type;
    }
    return are;
}

/* Return a new reference to what numpy.ndarray.__array_function__ calls for a function, or
 * NULL, perhaps with an exception set.  Without one, that method is to be called. */
static PyObject *implementation_of(PyObject *function, PyObject *types)
{
    static PyObject *name;
    if (!name)
        name = PyUnicode_InternFromString("_implementation");
    PyObject *found = name && are_arrays(types) ? PyObject_GetAttr(function, name) : NULL;
    if (!found && PyErr_Occurred())
        refusal_drop();
    return found;
}

/* Call NumPy's function, whose arguments are NumPy arrays.  Return a new reference to the
 * result. */
static PyObject *call_implementation(PyObject *a, PyObject *function, PyObject *types,
                                     PyObject *values, PyObject *items,
                                     struct call_args *call_args)
{
    bool is_plain = PyTuple_Check(values) && PyDict_Check(items);
    PyObject *call = is_plain ? implementation_of(function, types) : NULL, *result = NULL;
    if (call)
        result = PyObject_Call(call, values, items);
    else if (!PyErr_Occurred()) {
        PyObject *kinds = convert_unwrap(types, call_args, 1);
        call = PyObject_GetAttrString(as_array(a)->unprepared, "__array_function__");
        if (call && kinds)
            result = PyObject_CallFunctionObjArgs(call, function, kinds, values, items, NULL);
        Py_XDECREF(kinds);
    }
    Py_XDECREF(call);
    return result;
}

/* Call NumPy's function with the NumPy arrays inside.  Return a new reference to the result. */
static PyObject *call_protocol(PyObject *a, PyObject *function, PyObject *types,
                               PyObject *positional, PyObject *named)
{
    struct call_args call_args;
    call_args_begin(&call_args);
    bool is_usual = PyTuple_Check(positional) && PyDict_Check(named);
    int depth = is_usual && !convert_keeps_items(positional, named) ? MAX_DEPTH : 0;
    PyObject *values = convert_unwrap(positional, &call_args, depth + 1);
    PyObject *items = PyDict_Check(named) ? convert_unwrap_kwargs(named, &call_args, depth)
                                          : Py_NewRef(named);
    PyObject *result = NULL;
    if (values && items && convert_prepare(&call_args, true) == 0)
        result = call_implementation(a, function, types, values, items, &call_args);
    result = convert_adopt(result, &call_args, MAX_DEPTH);
    Py_XDECREF(items);
    Py_XDECREF(values);
    convert_end_call(&call_args);
    return result;
}

static PyObject *array_array_function(PyObject *a, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"func", "types", "args", "kwargs", NULL};
    PyObject *function, *types, *positional, *named;
    if (!kwargs && PyTuple_Size(args) == 4) { /* as NumPy calls it */
        function = PyTuple_GetItem(args, 0);
        types = PyTuple_GetItem(args, 1);
        positional = PyTuple_GetItem(args, 2);
        named = PyTuple_GetItem(args, 3);
    } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:__array_function__", names,
                                            &function, &types, &positional, &named))
        return NULL;
    struct function *ours = NULL;
    if (PyTuple_Check(positional) && PyDict_Check(named) && are_arrays(types))
        ours = function_that_records(function);
    if (!ours && PyErr_Occurred())
        return NULL;
    struct span span = {.is_on = profile_is_on};
    if (span.is_on)
        profile_begin(&span, SPAN_OPERATION, (struct span_name){.function = function});
    PyObject *result = NULL;
    int status = ours ? function_record(ours, positional, named, &result) : 0;
    if (status == 0)
        result = call_protocol(a, function, types, positional, named);
    if (!result)
        traceback_hide_own();
    if (span.is_on)
        profile_end_call(&span, positional, 1, result);
    return result;
}

/* -- Array: the attributes that describe it ---------------------------------------- */

/* The most frequent attributes are read without a lookup in NumPy. */
static PyObject *get_dtype(PyObject *a, void *name)
{
    (void)name;
    return Py_NewRef((PyObject *)PyArray_DESCR(np_array_of(a)));
}

static PyObject *get_ndim(PyObject *a, void *name)
{
    (void)name;
    return PyLong_FromLong(PyArray_NDIM(np_array_of(a)));
}

/* The last shapes that were asked for: to find a tuple takes less time than to make one. */
#define N_SHAPES   16
#define SHAPE_NDIM 4
static struct {
    int ndim;
    npy_intp lengths[SHAPE_NDIM];
    PyObject *tuple;
} shapes[N_SHAPES];

static PyObject *get_shape(PyObject *a, void *name)
{
    int ndim = PyArray_NDIM(np_array_of(a));
    size_t at = (size_t)ndim;
    const npy_intp *lengths = PyArray_DIMS(np_array_of(a));
    (void)name;
    if (ndim == 0 || ndim > SHAPE_NDIM)
        return PyArray_IntTupleFromIntp(ndim, lengths);
    for (int axis = 0; axis < ndim; axis++)
        at = at * 5 + (size_t)lengths[axis];
    at &= N_SHAPES - 1;
    bool is_known = shapes[at].ndim == ndim;
    for (int axis = 0; axis < ndim && is_known; axis++)
        is_known = shapes[at].lengths[axis] == lengths[axis];
    if (is_known)
        return Py_NewRef(shapes[at].tuple);
    PyObject *tuple = PyArray_IntTupleFromIntp(ndim, lengths);
    if (!tuple)
        return NULL;
    PyObject *last = shapes[at].tuple;
    shapes[at].ndim = ndim;
    memcpy(shapes[at].lengths, lengths, (size_t)ndim * sizeof *lengths);
    shapes[at].tuple = Py_NewRef(tuple);
    Py_XDECREF(last);
    return tuple;
}

static PyObject *get_size(PyObject *a, void *name)
{
    (void)name;
    return PyLong_FromSsize_t(array_size(np_array_of(a)));
}

static PyObject *get_of_np_array(PyObject *a, void *name)
{
    return PyObject_GetAttr(as_array(a)->unprepared, name);
}

static int set_of_np_array(PyObject *a, PyObject *value, void *name)
{
    /* NumPy reads the elements of an array, for a shape or for strides, or refuses it. */
    if (value && (prepare_operands(value, NULL) < 0 || !(value = operand(value))))
        return -1;
    if (queue_before_view(a) < 0) /* the address determines a flag */
        return -1;
    index_forget(as_array(a)); /* other bytes become its elements */
    return PyObject_SetAttr(as_array(a)->unprepared, name, value);
}

static PyObject *get_class(PyObject *a, void *unused)
{
    (void)unused;
    return disguise_class(a);
}

static int set_class(PyObject *a, PyObject *value, void *unused)
{
    (void)unused;
    /* NumPy's array refuses it with NumPy's message. */
    return PyObject_SetAttrString(as_array(a)->unprepared, "__class__", value);
}

/* Code that gets the NumPy array may read and write it at any time. */
static PyObject *get_np_array(PyObject *a, void *unused)
{
    (void)unused;
    struct span span;
    span_begin(&span, SPAN_EXPORT, NULL);
    PyObject *np_array = raise_dropped(a) < 0 ? NULL : prepare_array(a);
    span_pop(&span);
    if (np_array)
        queue_export(a);
    return Py_XNewRef(np_array);
}

static PyGetSetDef array_getset[] = {
    {"shape", get_shape, set_of_np_array, NULL, NULL},
    {"dtype", get_dtype, set_of_np_array, NULL, NULL},
    {"ndim", get_ndim, set_of_np_array, NULL, NULL},
    {"size", get_size, set_of_np_array, NULL, NULL},
    {"strides", get_of_np_array, set_of_np_array, NULL, NULL},
    {"flags", get_of_np_array, set_of_np_array, NULL, NULL},
    {"itemsize", get_of_np_array, set_of_np_array, NULL, NULL},
    {"nbytes", get_of_np_array, set_of_np_array, NULL, NULL},
    {"__class__", get_class, set_class, "numpy.ndarray.", NULL},
    {"_np_array", get_np_array, NULL, "The numpy.ndarray.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Py_TPFLAGS_SEQUENCE, which Python's limited API lacks. */
#define MATCHES_AS_SEQUENCE (1ul << 5)

/* The docstrings belong to NumPy's class, which is never freed.  From NumPy 2.5 on, a pattern
 * such as `case [x, y]` matches arrays. */
int array_load(PyObject *numpy_class)
{
    unsigned long flags = PyType_GetFlags((PyTypeObject *)numpy_class);
    array_spec.flags |= (unsigned)(flags & MATCHES_AS_SEQUENCE);
    for (PyGetSetDef *each = array_getset; each->set == set_of_np_array; each++) {
        if (!(each->closure = PyUnicode_InternFromString(each->name)))
            return -1;
        PyObject *member = PyObject_GetAttrString(numpy_class, each->name);
        PyObject *doc = member ? PyObject_GetAttrString(member, "__doc__") : NULL;
        each->doc = doc && PyUnicode_Check(doc) ? PyUnicode_AsUTF8AndSize(doc, NULL) : NULL;
        Py_XDECREF(member);
        if (!doc)
            return -1; /* the reference is kept, because it owns the string */
    }
    return 0;
}

/* Python checks the class of an object for each attribute, which is faster for a descriptor of
 * the class itself than for one of its base. */
int array_own_attributes(void)
{
    for (PyGetSetDef *each = array_getset; each->set == set_of_np_array; each++) {
        PyObject *descriptor = PyDescr_NewGetSet(array_type, each);
        int status =
            descriptor ? PyObject_SetAttrString((PyObject *)array_type, each->name, descriptor)
                       : -1;
        Py_XDECREF(descriptor);
        if (status < 0)
            return -1;
    }
    return 0;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct array *a = as_array(self);
    if (a->weakrefs)
        PyObject_ClearWeakRefs(self);
    if (a->failure)
        failure_forget(a);
    bool is_away = queue_is_away(a->used);
    if (a->used > queue_done && !is_away)
        record_hold(self);
    if (a->range)
        index_forget(a);
    memory_disown(self);
    if (!a->is_exported && !a->is_address_taken && !a->is_lent && a->unprepared &&
        recycle_keep(a->unprepared))
        a->unprepared = NULL;
    Py_CLEAR(a->unprepared);
    Py_CLEAR(a->base);
    if (is_away)
        queue_away = core->mx_coherence_count();
    if (queue_rematerializable > 0)
        queue_drop_rematerializable();
    wrapper_free(self);
    Py_DECREF(type);
}

static PyMemberDef array_members[] = {
    {"_base", T_OBJECT, offsetof(struct array, base), READONLY,
     "The array this one is a view of, or None."},
    {"_is_standard", T_BOOL, offsetof(struct array, is_standard), READONLY,
     "Whether items and results are arrays, never NumPy scalars."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef array_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_array_ufunc,
     METH_VARARGS | METH_KEYWORDS,
     "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\n"
     "See numpy.ndarray.__array_ufunc__."},
    {"__array_function__", (PyCFunction)(void (*)(void))array_array_function,
     METH_VARARGS | METH_KEYWORDS,
     "__array_function__($self, /, func, types, args, kwargs)\n--\n\n"
     "See numpy.ndarray.__array_function__."},
    {NULL, NULL, 0, NULL},
};

#define UNARY_SLOT(name) {Py_nb_##name, array_##name},
#define BINARY_SLOTS(name, Name, reflected, op) \
    {Py_nb_##name, array_##name}, {Py_nb_inplace_##name, array_inplace_##name},

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_members, array_members},
    {Py_tp_methods, array_methods},
    {Py_tp_getset, array_getset},
    {Py_tp_repr, array_repr},
    {Py_tp_str, array_str},
    {Py_tp_richcompare, array_richcompare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_iter, array_iter},
    UNARY_OPERATORS(UNARY_SLOT) BINARY_OPERATORS(BINARY_SLOTS){Py_nb_divmod, array_divmod},
    {Py_nb_power, array_power},
    {Py_nb_inplace_power, array_inplace_power},
    {Py_nb_bool, array_bool},
    {Py_nb_int, array_int},
    {Py_nb_float, array_float},
    {Py_nb_index, array_index},
    {Py_mp_length, array_length},
    {Py_mp_subscript, take_by_key},
    {Py_mp_ass_subscript, put_by_key},
    {Py_sq_length, array_length},
    {Py_sq_item, take_by_position},
    {Py_sq_contains, array_contains},
    {Py_bf_getbuffer, array_getbuffer},
    {Py_bf_releasebuffer, array_releasebuffer},
    {0, NULL},
};

PyType_Spec array_spec = {
    .name = "mxnp._bridge.Array",
    .basicsize = sizeof(struct array),
    /* object.__new__ would make an array without memory. */
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = array_slots,
};
