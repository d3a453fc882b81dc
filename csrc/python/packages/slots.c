/* slots.c -- slots of types, changed in place. */
#include "python/packages/slots.h"
#include "python/packages/arguments.h"
#include "python/packages/layout.h"

/* Not inlined, because thousands of functions call these. */
#define SHARED __attribute__((noinline)) static

static bool has_patched_new(PyTypeObject *class); /* and a report counts the call of that */

/* -- Slots with their arguments unwrapped -------------------------------------------- */

/* End the call of a slot, whose result the program takes. */
static inline PyObject *end_and_take(struct arguments *arguments, PyObject *first,
                                     PyObject *second, PyObject *result)
{
    PyObject *const args[] = {first, second};
    return arguments_take(arguments_end(arguments, result), args, 2);
}

SHARED PyObject *binary_patched(binaryfunc original, PyObject *a, PyObject *b)
{
    struct arguments arguments;
    if (arguments_begin(&arguments, is_array(a) ? b : a, a, b) < 0)
        return NULL;
    return end_and_take(&arguments, a, b, original(arguments.row[0], arguments.row[1]));
}

SHARED PyObject *compare_patched(richcmpfunc original, PyObject *a, PyObject *b, int op)
{
    struct arguments arguments;
    if (arguments_begin(&arguments, a, b, NULL) < 0)
        return NULL;
    return arguments_end(&arguments, original(a, arguments.row[0], op));
}

/* Check for a function that Cython compiled, all of which share the slot of their class, and
 * from which the program gets NumPy arrays. */
static bool keeps_arrays(PyObject *self)
{
    return strstr(((struct type_struct *)Py_TYPE(self))->name, "cython_function") &&
           arguments_keep_results(self, NULL);
}

SHARED PyObject *ternary_patched(ternaryfunc original, PyObject *self, PyObject *args,
                                 PyObject *kwargs)
{
    struct arguments arguments;
    if (arguments_begin(&arguments, self, args, kwargs) < 0)
        return NULL;
    PyObject *result = original(self, arguments.row[0], arguments.row[1]);
    return result && Py_TYPE(result) == np_array_type && keeps_arrays(self)
               ? arguments_end(&arguments, result)
               : end_and_take(&arguments, args, kwargs, result);
}

SHARED int init_patched(initproc original, PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct arguments arguments;
    PyObject *counted = profile_is_on && has_patched_new(Py_TYPE(self)) ? NULL : self;
    if (arguments_begin(&arguments, counted, args, kwargs) < 0)
        return -1;
    return arguments_end_status(&arguments, original(self, arguments.row[0], arguments.row[1]));
}

SHARED int assign_patched(objobjargproc original, PyObject *self, PyObject *key,
                          PyObject *value)
{
    struct arguments arguments;
    if (arguments_begin(&arguments, self, key, value) < 0)
        return -1;
    return arguments_end_status(&arguments, original(self, arguments.row[0], arguments.row[1]));
}

SHARED int contains_patched(objobjproc original, PyObject *self, PyObject *x)
{
    struct arguments arguments;
    if (arguments_begin(&arguments, self, x, NULL) < 0)
        return -1;
    return arguments_end_status(&arguments, original(self, arguments.row[0]));
}

/* -- One function for each original ------------------------------------------------- */

/* The function of a slot cannot find out which original it replaces.  So each original gets its
 * own function, whose number is the index of the original.  The macros define the functions
 * binary_0x000 to binary_0x0ff, compare_..., assign_... and contains_..., and the functions
 * ternary_0x000 to ternary_0x3ff and init_... */
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
        return binary_patched((binaryfunc)originals[BINARY][n], a, b); \
    }
#define COMPARE_THUNK(n)                                                      \
    static PyObject *compare_##n(PyObject *a, PyObject *b, int op)            \
    {                                                                         \
        return compare_patched((richcmpfunc)originals[COMPARE][n], a, b, op); \
    }
#define TERNARY_THUNK(n)                                                     \
    static PyObject *ternary_##n(PyObject *a, PyObject *b, PyObject *c)      \
    {                                                                        \
        return ternary_patched((ternaryfunc)originals[TERNARY][n], a, b, c); \
    }
#define INIT_THUNK(n)                                               \
    static int init_##n(PyObject *a, PyObject *b, PyObject *c)      \
    {                                                               \
        return init_patched((initproc)originals[INIT][n], a, b, c); \
    }
#define ASSIGN_THUNK(n)                                                      \
    static int assign_##n(PyObject *a, PyObject *b, PyObject *c)             \
    {                                                                        \
        return assign_patched((objobjargproc)originals[ASSIGN][n], a, b, c); \
    }
#define CONTAINS_THUNK(n)                                                  \
    static int contains_##n(PyObject *a, PyObject *b)                      \
    {                                                                      \
        return contains_patched((objobjproc)originals[CONTAINS][n], a, b); \
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

/* Return the function that replaces an original, always the same one, or NULL if all functions
 * of this kind are used. */
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

static bool has_patched_new(PyTypeObject *class)
{
    return is_thunk(TERNARY, ((struct type_struct *)class)->new);
}

/* -- Changing types ------------------------------------------------------------------- */

/* Slots, by the names of their descriptors in the dict of a type. */
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

static void slots_replace(void **functions, int n, void *original, void *thunk)
{
    for (int i = 0; functions && i < n; i++)
        if (functions[i] == original)
            functions[i] = thunk;
}

int slot_replace(PyTypeObject *class, void *original, void *replacement)
{
    struct type_struct *type = (struct type_struct *)class;
    void **own[] = {&type->call, &type->richcompare, &type->init, &type->new, &type->setattro};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        slots_replace(own[i], 1, original, replacement);
    slots_replace(type->as_number, N_NUMBER_SLOTS, original, replacement);
    slots_replace(type->as_sequence, N_SEQUENCE_SLOTS, original, replacement);
    slots_replace(type->as_mapping, N_MAPPING_SLOTS, original, replacement);
    PyObject *subclasses = layout_subclasses((PyObject *)class);
    if (!subclasses)
        return -1;
    int status = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(subclasses) && status == 0; i++)
        status =
            slot_replace((PyTypeObject *)PyList_GetItem(subclasses, i), original, replacement);
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
    return slot_replace(type, original, thunk);
}

/* Check whether `new` is inherited, such as that of object. */
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
    return thunk ? slot_replace(class, original, thunk) : 0;
}

void slot_patch_call(PyTypeObject *class)
{
    struct type_struct *type = (struct type_struct *)class;
    void *thunk = is_thunk(TERNARY, type->call) ? NULL : slot_thunk(TERNARY, type->call);
    if (thunk)
        type->call = thunk;
}

/* -- Slots of the array class --------------------------------------------------------- */

void slots_set_sequence(void)
{
    const struct type_struct *type = (struct type_struct *)array_type;
    const struct type_struct *base = (const void *)type->base;
    if (!layout_is_known())
        return;
    /* Python takes __getitem__ for a method of mappings, and would call it by name. */
    type->as_sequence[SEQUENCE_ITEM] = base->as_sequence[SEQUENCE_ITEM];
    /* Python cannot tell concatenation from addition either.  NumPy's raises an error. */
    type->as_sequence[SEQUENCE_CONCAT] = PyType_GetSlot(np_array_type, Py_sq_concat);
    type->as_sequence[SEQUENCE_INPLACE_CONCAT] = NULL;
}
