/* slots.c -- what Python calls types through, changed in place. */
#include "python/packages/slots.h"
#include "python/packages/crossing.h"
#include "python/packages/layout.h"

/* Called from thousands of places, each of which is to stay short. */
#define SHARED __attribute__((noinline)) static

/* -- Slots: what types are called through ------------------------------------------- */

/* A slot's two operands, or a class or object and its arguments, crossed. */
SHARED PyObject *binary_crossed(binaryfunc original, PyObject *a, PyObject *b)
{
    PyObject *row[2], *args[] = {a, b};
    struct call_args call_args;
    if (!crossing_is_needed(args, 2))
        return original(a, b);
    if (crossing_begin(args, 2, row, &call_args) < 0)
        return NULL;
    PyObject *result = crossing_end(&call_args, original(row[0], row[1]));
    crossing_release(row, 2);
    return result;
}

SHARED PyObject *compare_crossed(richcmpfunc original, PyObject *a, PyObject *b, int op)
{
    PyObject *row[1];
    struct call_args call_args;
    if (!crossing_is_needed(&b, 1))
        return original(a, b, op);
    if (crossing_begin(&b, 1, row, &call_args) < 0)
        return NULL;
    PyObject *result = crossing_end(&call_args, original(a, row[0], op));
    crossing_release(row, 1);
    return result;
}

SHARED PyObject *ternary_crossed(ternaryfunc original, PyObject *self, PyObject *args,
                                 PyObject *kwargs)
{
    PyObject *row[2] = {args, kwargs}, *crossed[2];
    struct call_args call_args;
    if (!crossing_is_needed(row, kwargs ? 2 : 1))
        return original(self, args, kwargs);
    if (crossing_begin(row, kwargs ? 2 : 1, crossed, &call_args) < 0)
        return NULL;
    PyObject *result =
        crossing_end(&call_args, original(self, crossed[0], kwargs ? crossed[1] : NULL));
    crossing_release(crossed, kwargs ? 2 : 1);
    return result;
}

SHARED int init_crossed(initproc original, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *row[2] = {args, kwargs}, *crossed[2];
    struct call_args call_args;
    if (!crossing_is_needed(row, kwargs ? 2 : 1))
        return original(self, args, kwargs);
    if (crossing_begin(row, kwargs ? 2 : 1, crossed, &call_args) < 0)
        return -1;
    int status = original(self, crossed[0], kwargs ? crossed[1] : NULL);
    convert_mark_exported(&call_args);
    crossing_release(crossed, kwargs ? 2 : 1);
    return status;
}

SHARED int assign_crossed(objobjargproc original, PyObject *self, PyObject *key,
                          PyObject *value)
{
    PyObject *args[] = {key, value}, *row[2];
    int n = value ? 2 : 1;
    struct call_args call_args;
    if (!crossing_is_needed(args, n))
        return original(self, key, value);
    if (crossing_begin(args, n, row, &call_args) < 0)
        return -1;
    int status = original(self, row[0], value ? row[1] : NULL);
    convert_mark_exported(&call_args);
    crossing_release(row, n);
    return status;
}

SHARED int contains_crossed(objobjproc original, PyObject *self, PyObject *x)
{
    PyObject *row[1];
    struct call_args call_args;
    if (!crossing_is_needed(&x, 1))
        return original(self, x);
    if (crossing_begin(&x, 1, row, &call_args) < 0)
        return -1;
    int status = original(self, row[0]);
    convert_mark_exported(&call_args);
    crossing_release(row, 1);
    return status;
}

/* -- Functions that know which original they stand for ------------------------------ */

/* A slot's function gets nothing that says which type's it is.  So each that is changed gets a
 * function of its own, whose number is the place of the original. */
/* clang-format off */
#define R1(M, n)                                                                            \
    M(n##0)                                                                                 \
    M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9) M(n##a) M(n##b) \
        M(n##c) M(n##d) M(n##e) M(n##f)
#define R2(M, n)                                                                            \
    R1(M, n##0)                                                                             \
    R1(M, n##1) R1(M, n##2) R1(M, n##3) R1(M, n##4) R1(M, n##5) R1(M, n##6) R1(M, n##7)     \
        R1(M, n##8) R1(M, n##9) R1(M, n##a) R1(M, n##b) R1(M, n##c) R1(M, n##d) R1(M, n##e) \
            R1(M, n##f)
enum kind { BINARY, COMPARE, TERNARY, INIT, ASSIGN, CONTAINS, N_KINDS };

#define FEW(M)  R2(M, 0x0)
#define MANY(M) R2(M, 0x0) R2(M, 0x1) R2(M, 0x2) R2(M, 0x3)
enum { N_MANY = 0x400 };

static void *originals[N_KINDS][N_MANY];
static int n_originals[N_KINDS];

#define BINARY_THUNK(n)                                                \
    static PyObject *binary_##n(PyObject *a, PyObject *b)              \
    {                                                                  \
        return binary_crossed((binaryfunc)originals[BINARY][n], a, b); \
    }
#define COMPARE_THUNK(n)                                                      \
    static PyObject *compare_##n(PyObject *a, PyObject *b, int op)            \
    {                                                                         \
        return compare_crossed((richcmpfunc)originals[COMPARE][n], a, b, op); \
    }
#define TERNARY_THUNK(n)                                                     \
    static PyObject *ternary_##n(PyObject *a, PyObject *b, PyObject *c)      \
    {                                                                        \
        return ternary_crossed((ternaryfunc)originals[TERNARY][n], a, b, c); \
    }
#define INIT_THUNK(n)                                               \
    static int init_##n(PyObject *a, PyObject *b, PyObject *c)      \
    {                                                               \
        return init_crossed((initproc)originals[INIT][n], a, b, c); \
    }
#define ASSIGN_THUNK(n)                                                      \
    static int assign_##n(PyObject *a, PyObject *b, PyObject *c)             \
    {                                                                        \
        return assign_crossed((objobjargproc)originals[ASSIGN][n], a, b, c); \
    }
#define CONTAINS_THUNK(n)                                                  \
    static int contains_##n(PyObject *a, PyObject *b)                      \
    {                                                                      \
        return contains_crossed((objobjproc)originals[CONTAINS][n], a, b); \
    }
FEW(BINARY_THUNK)
FEW(COMPARE_THUNK)
FEW(ASSIGN_THUNK) FEW(CONTAINS_THUNK) MANY(TERNARY_THUNK) MANY(INIT_THUNK)

#define BINARY_NAME(n)   (void *)binary_##n,
#define COMPARE_NAME(n)  (void *)compare_##n,
#define TERNARY_NAME(n)  (void *)ternary_##n,
#define INIT_NAME(n)     (void *)init_##n,
#define ASSIGN_NAME(n)   (void *)assign_##n,
#define CONTAINS_NAME(n) (void *)contains_##n,
    static void *const slot_thunks[N_KINDS][N_MANY] = {
        [BINARY] = {FEW(BINARY_NAME)},    [COMPARE] = {FEW(COMPARE_NAME)},
        [TERNARY] = {MANY(TERNARY_NAME)}, [INIT] = {MANY(INIT_NAME)},
        [ASSIGN] = {FEW(ASSIGN_NAME)},    [CONTAINS] = {FEW(CONTAINS_NAME)},
};

/* clang-format on */

/* What is called instead of a slot's function, which is the same for the same one; NULL: there
 * are no more. */
static void *slot_thunk(enum kind kind, void *original)
{
    int n = n_originals[kind];
    for (int i = 0; i < n; i++)
        if (originals[kind][i] == original)
            return slot_thunks[kind][i];
    if (n == N_MANY || !slot_thunks[kind][n])
        return NULL;
    originals[kind][n_originals[kind]++] = original;
    return slot_thunks[kind][n];
}

static bool is_thunk(enum kind kind, void *function)
{
    for (int i = 0; i < n_originals[kind]; i++)
        if (slot_thunks[kind][i] == function)
            return true;
    return false;
}

/* -- Changing types ------------------------------------------------------------------- */

/* Slots of types, by the names under which Python has them in the dict of a type. */
static const struct slot {
    const char *name;
    int id;
    enum kind kind;
} slots[] = {
    {"__init__", Py_tp_init, INIT},
    {"__call__", Py_tp_call, TERNARY},
    {"__getitem__", Py_mp_subscript, BINARY},
    {"__setitem__", Py_mp_ass_subscript, ASSIGN},
    {"__contains__", Py_sq_contains, CONTAINS},
    {"__eq__", Py_tp_richcompare, COMPARE},
    {"__ne__", Py_tp_richcompare, COMPARE},
    {"__lt__", Py_tp_richcompare, COMPARE},
    {"__le__", Py_tp_richcompare, COMPARE},
    {"__gt__", Py_tp_richcompare, COMPARE},
    {"__ge__", Py_tp_richcompare, COMPARE},
    {"__add__", Py_nb_add, BINARY},
    {"__radd__", Py_nb_add, BINARY},
    {"__iadd__", Py_nb_inplace_add, BINARY},
    {"__sub__", Py_nb_subtract, BINARY},
    {"__rsub__", Py_nb_subtract, BINARY},
    {"__isub__", Py_nb_inplace_subtract, BINARY},
    {"__mul__", Py_nb_multiply, BINARY},
    {"__rmul__", Py_nb_multiply, BINARY},
    {"__imul__", Py_nb_inplace_multiply, BINARY},
    {"__truediv__", Py_nb_true_divide, BINARY},
    {"__rtruediv__", Py_nb_true_divide, BINARY},
    {"__itruediv__", Py_nb_inplace_true_divide, BINARY},
    {"__matmul__", Py_nb_matrix_multiply, BINARY},
    {"__rmatmul__", Py_nb_matrix_multiply, BINARY},
};

static void replace(void **functions, int n, void *original, void *thunk)
{
    for (int i = 0; functions && i < n; i++)
        if (functions[i] == original)
            functions[i] = thunk;
}

/* Replaces a function in a type's slots, and in those of its subclasses, which have a copy. */
static int replace_slot(PyTypeObject *class, void *original, void *thunk)
{
    struct type_struct *type = (struct type_struct *)class;
    void **own[] = {&type->call, &type->richcompare, &type->init, &type->new};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        replace(own[i], 1, original, thunk);
    replace(type->as_number, N_NUMBER_SLOTS, original, thunk);
    replace(type->as_sequence, N_SEQUENCE_SLOTS, original, thunk);
    replace(type->as_mapping, N_MAPPING_SLOTS, original, thunk);
    PyObject *subclasses =
        PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", class);
    if (!subclasses)
        return -1;
    int status = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(subclasses) && status == 0; i++)
        status = replace_slot((PyTypeObject *)PyList_GetItem(subclasses, i), original, thunk);
    Py_DECREF(subclasses);
    return status;
}

static const struct slot *find_slot(PyTypeObject *type, PyObject *name, void *function)
{
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (PyUnicode_CompareWithASCIIString(name, slots[i].name) == 0)
            return PyType_GetSlot(type, slots[i].id) == function ||
                           is_thunk(slots[i].kind, PyType_GetSlot(type, slots[i].id))
                       ? &slots[i]
                       : NULL;
    return NULL;
}

int slot_patch(PyTypeObject *type, PyObject *name, PyObject *descriptor)
{
    struct slot_descriptor *s = (struct slot_descriptor *)descriptor;
    void *original = s->wrapped;
    const struct slot *slot = find_slot(type, name, original);
    void *thunk =
        slot && !is_thunk(slot->kind, original) ? slot_thunk(slot->kind, original) : NULL;
    if (!thunk)
        return 0;
    s->wrapped = thunk;
    return replace_slot(type, original, thunk);
}

/* Whether another type made it: such as object's, which every class has that needs none. */
static bool is_inherited_new(PyTypeObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    struct type_struct *base = (struct type_struct *)type->base;
    return !type->new || type->new == (void *)PyType_GenericNew ||
           (base && base->new == type->new);
}

int slot_patch_new(PyTypeObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    void *original = type->new;
    if (is_inherited_new(class) || is_thunk(TERNARY, original))
        return 0;
    void *thunk = slot_thunk(TERNARY, original);
    return thunk ? replace_slot(class, original, thunk) : 0;
}

void slot_patch_call(PyTypeObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    void *thunk = is_thunk(TERNARY, type->call) ? NULL : slot_thunk(TERNARY, type->call);
    if (thunk)
        type->call = thunk;
}
