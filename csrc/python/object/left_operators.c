/* left_operators.c -- operators between a NumPy scalar or array on the left and an mxnp array.
 *
 * NumPy's scalars pass an operation with an unknown object on to a ufunc, which finds
 * __array_ufunc__ of the array.  That takes several times as long as the operation on a small
 * array.  The slots of the usual scalar types are replaced, so that they call the slot of the
 * array directly.  Operations without an mxnp array are passed on to NumPy's slot.
 *
 * NumPy's arrays do the same, and the ufunc does not show whether an operator is computed. Only
 * operators may write their result into a large operand, see elide.h.  So the slots of those
 * that NumPy computes in this way are replaced too.
 */
#include "python/object/left_operators.h"

#include "python/packages/layout.h"

#define OPERATORS(M, Scalar) \
    M(add, Scalar, 0) M(subtract, Scalar, 1) M(multiply, Scalar, 2) DIVISIONS(M, Scalar)
#define DIVISIONS(M, Scalar) \
    M(remainder, Scalar, 3) M(floor_divide, Scalar, 29) M(true_divide, Scalar, 30)
#define SCALARS(M) M(Double) M(Float) M(Long)

/* Defines add_Double, multiply_Long and so on; the number is the place in PyNumberMethods. */
#define DEFINE(name, Scalar, number)                                 \
    static binaryfunc numpys_##name##_##Scalar;                      \
    static PyObject *name##_##Scalar(PyObject *a, PyObject *b)       \
    {                                                                \
        if (!is_array(b))                                            \
            return numpys_##name##_##Scalar(a, b);                   \
        struct type_struct *type = (struct type_struct *)array_type; \
        return ((binaryfunc)type->as_number[number])(a, b);          \
    }
/* Powers and comparisons have a third argument. */
#define DEFINE_POWER(Scalar)                                                      \
    static ternaryfunc numpys_power_##Scalar;                                     \
    static PyObject *power_##Scalar(PyObject *a, PyObject *b, PyObject *modulus)  \
    {                                                                             \
        struct type_struct *type = (struct type_struct *)array_type;              \
        return is_array(b) ? ((ternaryfunc)type->as_number[POWER])(a, b, modulus) \
                           : numpys_power_##Scalar(a, b, modulus);                \
    }
#define DEFINE_COMPARISON(Scalar)                                          \
    static richcmpfunc numpys_comparison_##Scalar;                         \
    static PyObject *comparison_##Scalar(PyObject *a, PyObject *b, int op) \
    {                                                                      \
        struct type_struct *type = (struct type_struct *)array_type;       \
        return is_array(b) ? ((richcmpfunc)type->richcompare)(a, b, op)    \
                           : numpys_comparison_##Scalar(a, b, op);         \
    }
#define DEFINE_SCALAR(Scalar) \
    OPERATORS(DEFINE, Scalar) DEFINE_POWER(Scalar) DEFINE_COMPARISON(Scalar)
enum { POWER = 5 };
SCALARS(DEFINE_SCALAR)

/* Operators of arrays whose result NumPy may write into an operand.  A class that derives from
 * numpy.ndarray inherits their slots, and keeps its behaviour. */
#define ELIDED(M) \
    M(add, 0) M(subtract, 1) M(multiply, 2) M(lshift, 11) M(rshift, 12) ELIDED_TOO(M)
#define ELIDED_TOO(M) M(and, 13) M(xor, 14) M(or, 15) M(floor_divide, 29) M(true_divide, 30)
#define DEFINE_FOR_ARRAYS(name, number)                              \
    static binaryfunc numpys_##name;                                 \
    static PyObject *name##_arrays(PyObject *a, PyObject *b)         \
    {                                                                \
        struct type_struct *type = (struct type_struct *)array_type; \
        return is_array(b) && Py_TYPE(a) == np_array_type            \
                   ? ((binaryfunc)type->as_number[number])(a, b)     \
                   : numpys_##name(a, b);                            \
    }
ELIDED(DEFINE_FOR_ARRAYS)

#define REPLACE(name, Scalar, number)                                               \
    if (slots[number] == PyType_GetSlot(&Py##Scalar##ArrType_Type, Py_nb_##name)) { \
        numpys_##name##_##Scalar = (binaryfunc)slots[number];                       \
        slots[number] = (void *)name##_##Scalar;                                    \
    }
#define REPLACE_SCALAR(Scalar)                                                        \
    {                                                                                 \
        struct type_struct *type = (struct type_struct *)&Py##Scalar##ArrType_Type;   \
        void **slots = type->as_number;                                               \
        OPERATORS(REPLACE, Scalar)                                                    \
        if (slots[POWER] == PyType_GetSlot(&Py##Scalar##ArrType_Type, Py_nb_power)) { \
            numpys_power_##Scalar = (ternaryfunc)slots[POWER];                        \
            slots[POWER] = (void *)power_##Scalar;                                    \
        }                                                                             \
        numpys_comparison_##Scalar = (richcmpfunc)type->richcompare;                  \
        type->richcompare = (void *)comparison_##Scalar;                              \
    }

#define REPLACE_FOR_ARRAYS(name, number)                                \
    if (slots[number] == PyType_GetSlot(np_array_type, Py_nb_##name)) { \
        numpys_##name = (binaryfunc)slots[number];                      \
        slots[number] = (void *)name##_arrays;                          \
    }

void left_operators_load(void)
{
    if (layout_is_known()) {
        void **slots = ((struct type_struct *)np_array_type)->as_number;
        SCALARS(REPLACE_SCALAR)
        ELIDED(REPLACE_FOR_ARRAYS)
    }
}
