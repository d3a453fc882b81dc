/* operators.c -- operators and methods of NumPy's own arrays, counted while a report is active.
 *
 * Packages return such arrays, and mxnp does not see what the program computes with them.  So
 * the slots and some methods of numpy.ndarray are replaced while reports are active, and only
 * then.  A subclass that is created meanwhile inherits a replaced slot, and bound methods that
 * the program keeps are replaced ones.  Both work afterwards too.
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
#define METHODS(M)                                                                          \
    M(all) M(any) M(argmax) M(argmin) M(clip) M(cumprod) M(cumsum) M(dot) M(max) M(mean)    \
    M(min) M(prod) M(round) M(std) M(sum) M(var)
/* clang-format on */

static int n_users;

/* Check whether an operator is the program's own: not a part of a call that is counted, and
 * not one that an operand of mxnp's computes. */
static bool is_counted(PyObject *a, PyObject *b)
{
    return profile_is_on && !profile_innermost() && !is_array(a) && !(b && is_array(b));
}

static PyObject *operators_end(struct span *span, PyObject *a, PyObject *b, PyObject *result)
{
    if (result != Py_NotImplemented)
        return span_end(span, a, b, result);
    span_pop(span); /* the other operand computes */
    return result;
}

#define DEFINE_BINARY(slot, name)                              \
    static binaryfunc numpy_##slot;                            \
    static PyObject *counted_##slot(PyObject *a, PyObject *b)  \
    {                                                          \
        if (!is_counted(a, b))                                 \
            return numpy_##slot(a, b);                         \
        struct span span;                                      \
        span_begin(&span, SPAN_OPERATION, name);               \
        span.is_numpys = true;                                 \
        return operators_end(&span, a, b, numpy_##slot(a, b)); \
    }
#define DEFINE_UNARY(slot, name)                               \
    static unaryfunc numpy_##slot;                             \
    static PyObject *counted_##slot(PyObject *a)               \
    {                                                          \
        if (!is_counted(a, NULL))                              \
            return numpy_##slot(a);                            \
        struct span span;                                      \
        span_begin(&span, SPAN_OPERATION, name);               \
        span.is_numpys = true;                                 \
        return operators_end(&span, a, NULL, numpy_##slot(a)); \
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
    return operators_end(&span, a, b, numpy_power(a, b, modulus));
}

static richcmpfunc numpy_compare;

static PyObject *counted_compare(PyObject *a, PyObject *b, int op)
{
    static const char *const names[] = {[Py_LT] = "less",    [Py_LE] = "less_equal",
                                        [Py_EQ] = "equal",   [Py_NE] = "not_equal",
                                        [Py_GT] = "greater", [Py_GE] = "greater_equal"};
    if (!is_counted(a, b))
        return numpy_compare(a, b, op);
    struct span span;
    span_begin(&span, SPAN_OPERATION, names[op]);
    span.is_numpys = true;
    return operators_end(&span, a, b, numpy_compare(a, b, op));
}

/* -- Methods --------------------------------------------------------------------------- */

/* A method of numpy.ndarray, with one of the two signatures of NumPy's methods. */
struct method {
    const char *name;
    PyMethodDef *numpys, counted; /* `numpys` is NULL if the method cannot be counted */
    PyCFunction fast, with_tuple; /* the counted functions */
};
typedef PyObject *(*fast_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
enum { FAST = METH_FASTCALL | METH_KEYWORDS, WITH_TUPLE = METH_VARARGS | METH_KEYWORDS };

static PyObject *count_fast(const struct method *method, PyObject *self, PyObject *const *args,
                            Py_ssize_t n, PyObject *names)
{
    fast_call call = (fast_call)(void (*)(void))method->numpys->ml_meth;
    if (!is_counted(self, NULL))
        return call(self, args, n, names);
    struct span span;
    span_begin(&span, SPAN_OPERATION, method->name);
    span.is_numpys = true;
    return span_end(&span, self, NULL, call(self, args, n, names));
}

static PyObject *count_with_tuple(const struct method *method, PyObject *self, PyObject *args,
                                  PyObject *kwargs)
{
    PyCFunctionWithKeywords call =
        (PyCFunctionWithKeywords)(void (*)(void))method->numpys->ml_meth;
    if (!is_counted(self, NULL))
        return call(self, args, kwargs);
    struct span span;
    span_begin(&span, SPAN_OPERATION, method->name);
    span.is_numpys = true;
    return span_end(&span, self, NULL, call(self, args, kwargs));
}

#define DECLARE_METHOD(method) METHOD_##method,
enum { METHODS(DECLARE_METHOD) N_METHODS };
static struct method methods[N_METHODS];

#define DEFINE_METHOD(method)                                                              \
    static PyObject *fast_##method(PyObject *self, PyObject *const *args, Py_ssize_t n,    \
                                   PyObject *names)                                        \
    {                                                                                      \
        return count_fast(&methods[METHOD_##method], self, args, n, names);                \
    }                                                                                      \
    static PyObject *with_tuple_##method(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                                      \
        return count_with_tuple(&methods[METHOD_##method], self, args, kwargs);            \
    }
METHODS(DEFINE_METHOD)

#define METHOD_ROW(method)                                                   \
    [METHOD_##method] = {.name = #method,                                    \
                         .fast = (PyCFunction)(void (*)(void))fast_##method, \
                         .with_tuple = (PyCFunction)(void (*)(void))with_tuple_##method},
static struct method methods[N_METHODS] = {METHODS(METHOD_ROW)};

/* Return the descriptor of a method of numpy.ndarray, or NULL. */
static struct method_descriptor *descriptor_of(const struct method *method)
{
    PyObject *dict = ((struct type_struct *)np_array_type)->dict;
    PyObject *found = PyDict_GetItemString(dict, method->name);
    return found && Py_TYPE(found) == &PyMethodDescr_Type ? (struct method_descriptor *)found
                                                          : NULL;
}

static void count_method(struct method *method)
{
    struct method_descriptor *found = descriptor_of(method);
    int flags = found ? found->def->ml_flags : 0;
    if (flags != FAST && flags != WITH_TUPLE)
        return;
    method->numpys = found->def;
    method->counted = *found->def;
    method->counted.ml_meth = flags == FAST ? method->fast : method->with_tuple;
    found->def = &method->counted;
}

static void restore_method(struct method *method)
{
    struct method_descriptor *found = descriptor_of(method);
    if (found && found->def == &method->counted)
        found->def = method->numpys;
}

/* -- Replacing and restoring ----------------------------------------------------------- */

/* Replace one function of numpy.ndarray, unless it is NULL, by another. */
static void operators_replace(void *from, void *to)
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
    operators_replace((void *)numpy_##slot, (void *)counted_##slot);
#define COUNT_BINARY(slot, name) COUNT(slot, binaryfunc)
#define COUNT_UNARY(slot, name)  COUNT(slot, unaryfunc)
#define RESTORE(slot, name) operators_replace((void *)counted_##slot, (void *)numpy_##slot);

static PyObject *operators_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct type_struct *type = (struct type_struct *)np_array_type;
    if (n_users++ == 0 && layout_is_known()) {
        BINARY_SLOTS(COUNT_BINARY)
        UNARY_SLOTS(COUNT_UNARY)
        COUNT(power, ternaryfunc)
        numpy_compare = (richcmpfunc)type->richcompare;
        type->richcompare = (void *)counted_compare;
        for (int i = 0; i < N_METHODS; i++)
            count_method(&methods[i]);
    }
    Py_RETURN_NONE;
}

static PyObject *operators_leave(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct type_struct *type = (struct type_struct *)np_array_type;
    if (n_users > 0 && --n_users == 0 && layout_is_known()) {
        BINARY_SLOTS(RESTORE)
        UNARY_SLOTS(RESTORE)
        RESTORE(power, "power")
        type->richcompare = (void *)numpy_compare;
        for (int i = 0; i < N_METHODS; i++)
            restore_method(&methods[i]);
    }
    Py_RETURN_NONE;
}

PyMethodDef operators_methods[] = {
    {"operators_count", operators_count, METH_NOARGS,
     "operators_count()\n--\n\nCount operators and methods of NumPy's own arrays while a "
     "report is active, "
     "until operators_leave has been called as often."},
    {"operators_leave", operators_leave, METH_NOARGS,
     "operators_leave()\n--\n\nGive numpy.ndarray its own operators and methods again."},
    {NULL, NULL, 0, NULL},
};
