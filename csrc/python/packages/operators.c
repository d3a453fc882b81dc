/* operators.c -- operators of NumPy's own arrays, counted while a report is active.
 *
 * Packages return such arrays, and mxnp does not see what the program computes with them.  So
 * the slots of numpy.ndarray are replaced while reports are active, and only then.  A subclass
 * that is created meanwhile inherits a replaced slot, which therefore works afterwards too.
 */
#include "python/packages/operators.h"
#include "python/base/types.h"
#include "python/packages/layout.h"
#include "python/profile/profile.h"

/* clang-format off */
#define BINARY_SLOTS(M)                                                                     \
    M(add, "add") M(subtract, "subtract") M(multiply, "multiply")                           \
    M(true_divide, "divide") M(floor_divide, "floor_divide") M(remainder, "remainder")      \
    M(and, "bitwise_and") M(or, "bitwise_or") M(xor, "bitwise_xor")                         \
    M(matrix_multiply, "matmul")                                                            \
    M(inplace_add, "add") M(inplace_subtract, "subtract") M(inplace_multiply, "multiply")   \
    M(inplace_true_divide, "divide") M(inplace_floor_divide, "floor_divide")                \
    M(inplace_remainder, "remainder")
#define UNARY_SLOTS(M) M(negative, "negative") M(absolute, "absolute") M(invert, "invert")
/* clang-format on */

static int n_users;

/* Check whether an operator is the program's own: not a part of a call that is counted, and
 * not one that an operand of mxnp's computes. */
static bool is_counted(PyObject *a, PyObject *b)
{
    return profile_is_on && !profile_innermost() && !is_array(a) && !(b && is_array(b));
}

static PyObject *end(struct span *span, PyObject *a, PyObject *b, PyObject *result)
{
    if (result != Py_NotImplemented)
        return span_end(span, a, b, result);
    span_pop(span); /* the other operand computes */
    return result;
}

#define DEFINE_BINARY(slot, name)                             \
    static binaryfunc numpy_##slot;                           \
    static PyObject *counted_##slot(PyObject *a, PyObject *b) \
    {                                                         \
        if (!is_counted(a, b))                                \
            return numpy_##slot(a, b);                        \
        struct span span;                                     \
        span_begin(&span, SPAN_OPERATION, name);              \
        span.is_numpys = true;                                \
        return end(&span, a, b, numpy_##slot(a, b));          \
    }
#define DEFINE_UNARY(slot, name)                     \
    static unaryfunc numpy_##slot;                   \
    static PyObject *counted_##slot(PyObject *a)     \
    {                                                \
        if (!is_counted(a, NULL))                    \
            return numpy_##slot(a);                  \
        struct span span;                            \
        span_begin(&span, SPAN_OPERATION, name);     \
        span.is_numpys = true;                       \
        return end(&span, a, NULL, numpy_##slot(a)); \
    }
BINARY_SLOTS(DEFINE_BINARY)
UNARY_SLOTS(DEFINE_UNARY)

static ternaryfunc numpy_power;

static PyObject *counted_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (!is_counted(a, b))
        return numpy_power(a, b, modulus);
    struct span span;
    span_begin(&span, SPAN_OPERATION, "power");
    span.is_numpys = true;
    return end(&span, a, b, numpy_power(a, b, modulus));
}

/* Replace one function of numpy.ndarray, unless it is NULL, by another. */
static void replace(void *from, void *to)
{
    void **slots = ((struct type_struct *)np_array_type)->as_number;
    for (int i = 0; from && i < N_NUMBER_SLOTS; i++)
        if (slots[i] == from) {
            slots[i] = to;
            return;
        }
}

#define COUNT(slot, type)                                             \
    numpy_##slot = (type)PyType_GetSlot(np_array_type, Py_nb_##slot); \
    replace((void *)numpy_##slot, (void *)counted_##slot);
#define COUNT_BINARY(slot, name) COUNT(slot, binaryfunc)
#define COUNT_UNARY(slot, name)  COUNT(slot, unaryfunc)
#define RESTORE(slot, name)      replace((void *)counted_##slot, (void *)numpy_##slot);

static PyObject *operators_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (n_users++ == 0 && layout_is_known()) {
        BINARY_SLOTS(COUNT_BINARY)
        UNARY_SLOTS(COUNT_UNARY)
        COUNT(power, ternaryfunc)
    }
    Py_RETURN_NONE;
}

static PyObject *operators_leave(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (n_users > 0 && --n_users == 0) {
        BINARY_SLOTS(RESTORE)
        UNARY_SLOTS(RESTORE)
        RESTORE(power, "power")
    }
    Py_RETURN_NONE;
}

PyMethodDef operators_methods[] = {
    {"operators_count", operators_count, METH_NOARGS,
     "operators_count()\n--\n\nCount operators of NumPy's own arrays while a report is active, "
     "until operators_leave has been called as often."},
    {"operators_leave", operators_leave, METH_NOARGS,
     "operators_leave()\n--\n\nGive numpy.ndarray its own operators again."},
    {NULL, NULL, 0, NULL},
};
