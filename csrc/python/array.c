/* array.c -- the array object: operators, indexing, iteration, NumPy's protocols.
 *
 * It is written against Python's C API and not in Python for two reasons: a Python frame
 * between the program and NumPy would be named in every warning and traceback in place of
 * the program's own line, and it costs as much again as a NumPy call on a small array.
 */
#include "python/bridge.h"

/* Arrays whose memory is used again.  A loop that makes and drops one array would else take
 * a block from Python's allocator and give it back each time, which costs more than the
 * operation when it is the only block of its arena.  The GIL guards them. */
#ifdef Py_GIL_DISABLED
#define NSPARE 0
#else
#define NSPARE 16
#endif
static struct array *spare[NSPARE + 1];
static int nspare;

PyObject *array_new(PyObject *host)
{
    struct array *out;
    if (nspare > 0) {
        out = spare[--nspare];
        PyObject_Init((PyObject *)out, array_type);
    } else {
        out = (struct array *)PyType_GenericAlloc(array_type, 0);
    }
    if (!out) {
        Py_DECREF(host);
        return NULL;
    }
    out->host = host;
    return (PyObject *)out;
}

/* -- Array: operators ------------------------------------------------------------- */

/* NumPy's own slots are called, not the operators: they may answer NotImplemented, and
 * then it is for Python to ask the other operand.  A subclass of NumPy's array goes
 * first, so with one of these it is the operator. */
/* clang-format off */
#define BINARY_OPERATORS(M) \
    M(add, Add) M(subtract, Subtract) M(multiply, Multiply) M(true_divide, TrueDivide) \
    M(floor_divide, FloorDivide) M(remainder, Remainder) M(lshift, Lshift) \
    M(rshift, Rshift) M(and, And) M(or, Or) M(xor, Xor) \
    M(matrix_multiply, MatrixMultiply)
/* clang-format on */
#define UNARY_OPERATORS(M) M(negative) M(positive) M(absolute) M(invert)

#define DECLARE_UNARY(name)        unaryfunc name;
#define DECLARE_BINARY(name, Name) binaryfunc name, inplace_##name;
static struct {
    UNARY_OPERATORS(DECLARE_UNARY)
    BINARY_OPERATORS(DECLARE_BINARY)
    binaryfunc divmod;
    ternaryfunc power, inplace_power;
    richcmpfunc richcompare;
} numpy_slots;

#define LOAD_UNARY(name) numpy_slots.name = (unaryfunc)PyType_GetSlot(host_type, Py_nb_##name);
#define LOAD_BINARY(name, Name)                                             \
    numpy_slots.name = (binaryfunc)PyType_GetSlot(host_type, Py_nb_##name); \
    numpy_slots.inplace_##name = (binaryfunc)PyType_GetSlot(host_type, Py_nb_inplace_##name);

void array_load_slots(void)
{
    UNARY_OPERATORS(LOAD_UNARY)
    BINARY_OPERATORS(LOAD_BINARY)
    numpy_slots.divmod = (binaryfunc)PyType_GetSlot(host_type, Py_nb_divmod);
    numpy_slots.power = (ternaryfunc)PyType_GetSlot(host_type, Py_nb_power);
    numpy_slots.inplace_power = (ternaryfunc)PyType_GetSlot(host_type, Py_nb_inplace_power);
    numpy_slots.richcompare = (richcmpfunc)PyType_GetSlot(host_type, Py_tp_richcompare);
}

/* Borrowed: the host of an array, anything else itself. */
static inline PyObject *operand(PyObject *x) { return is_array(x) ? as_array(x)->host : x; }

static bool is_subclass(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type != host_type && PyType_IsSubtype(type, host_type);
}

static PyObject *call_binary(binaryfunc slot, binaryfunc operator, PyObject *a, PyObject *b)
{
    PyObject *x = operand(a), *y = operand(b);
    bool is_between_arrays = x != a && y != b;
    if (!is_between_arrays && (is_subclass(x) || is_subclass(y)))
        slot = operator;
    PyObject *result = slot(x, y);
    if (!result && cross_adapted(x == a ? a : b))
        result = slot(x, y);
    return adopt_fresh(result);
}

/* An in-place operator gives back the array itself when NumPy gives back its host. */
static PyObject *keep_identity(PyObject *a, PyObject *result)
{
    if (result && result == as_array(a)->host) {
        Py_DECREF(result);
        Py_INCREF(a);
        return a;
    }
    return adopt_fresh(result);
}

static PyObject *call_inplace(binaryfunc slot, PyObject *a, PyObject *b)
{
    PyObject *result = slot(as_array(a)->host, operand(b));
    if (!result && cross_adapted(b))
        result = slot(as_array(a)->host, operand(b));
    return keep_identity(a, result);
}

#define DEFINE_UNARY(name)                                       \
    static PyObject *array_##name(PyObject *a)                   \
    {                                                            \
        return adopt_fresh(numpy_slots.name(as_array(a)->host)); \
    }
#define DEFINE_BINARY(name, Name)                                    \
    static PyObject *array_##name(PyObject *a, PyObject *b)          \
    {                                                                \
        return call_binary(numpy_slots.name, PyNumber_##Name, a, b); \
    }                                                                \
    static PyObject *array_inplace_##name(PyObject *a, PyObject *b)  \
    {                                                                \
        return call_inplace(numpy_slots.inplace_##name, a, b);       \
    }
UNARY_OPERATORS(DEFINE_UNARY)
BINARY_OPERATORS(DEFINE_BINARY)

static PyObject *array_divmod(PyObject *a, PyObject *b)
{
    struct given given = {0};
    return cross_adopt(numpy_slots.divmod(operand(a), operand(b)), &given, 1);
}

static PyObject *array_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return adopt_fresh(numpy_slots.power(operand(a), operand(b), modulus));
}

static PyObject *array_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    PyObject *host = as_array(a)->host;
    return keep_identity(a, numpy_slots.inplace_power(host, operand(b), modulus));
}

static PyObject *array_richcompare(PyObject *a, PyObject *b, int op)
{
    PyObject *x = as_array(a)->host, *y = operand(b);
    if (y == b && is_subclass(y))
        return adopt_fresh(PyObject_RichCompare(x, y, op));
    return adopt_fresh(numpy_slots.richcompare(x, y, op));
}

static int array_bool(PyObject *a) { return PyObject_IsTrue(as_array(a)->host); }
static PyObject *array_int(PyObject *a) { return PyNumber_Long(as_array(a)->host); }
static PyObject *array_float(PyObject *a) { return PyNumber_Float(as_array(a)->host); }
static PyObject *array_index(PyObject *a) { return PyNumber_Index(as_array(a)->host); }
static PyObject *array_repr(PyObject *a) { return PyObject_Repr(as_array(a)->host); }
static PyObject *array_str(PyObject *a) { return PyObject_Str(as_array(a)->host); }

/* -- Array: indexing and iteration ------------------------------------------------ */

static Py_ssize_t array_length(PyObject *a) { return PyObject_Size(as_array(a)->host); }

static int array_contains(PyObject *a, PyObject *x)
{
    struct given given = {0};
    return PySequence_Contains(as_array(a)->host, unwrap(x, &given));
}

/* A view taken from a; anything else is a copy or an element. */
static PyObject *adopt_item(PyObject *a, PyObject *item)
{
    struct given given = {.n = 1, .arrays = {a}};
    if (!item || Py_TYPE(item) != host_type)
        return item;
    return cross_adopt_host(item, &given);
}

static PyObject *array_subscript(PyObject *a, PyObject *key)
{
    struct given given = {0};
    PyObject *index = cross_unwrap(key, &given, 1);
    if (!index)
        return NULL;
    PyObject *item = PyObject_GetItem(as_array(a)->host, index);
    if (!item && cross_adapted(index))
        item = PyObject_GetItem(as_array(a)->host, index);
    Py_DECREF(index);
    return adopt_item(a, item);
}

static int array_assign(PyObject *a, PyObject *key, PyObject *value)
{
    struct given given = {0};
    PyObject *host = as_array(a)->host;
    PyObject *index = cross_unwrap(key, &given, 1);
    if (!index)
        return -1;
    /* An array that becomes an element of an object array keeps its identity. */
    bool as_it_is = !value || ((struct host_fields *)host)->descr->kind == 'O';
    PyObject *source = as_it_is ? value : cross_unwrap(value, &given, MAX_DEPTH);
    if (value && !source) {
        Py_DECREF(index);
        return -1;
    }
    int status = value ? PyObject_SetItem(host, index, source) : PyObject_DelItem(host, index);
    if (status < 0 && value && (cross_adapted(value) || cross_adapted(index)))
        status = PyObject_SetItem(host, index, source);
    if (!as_it_is)
        Py_DECREF(source);
    Py_DECREF(index);
    return status;
}

static PyObject *array_item(PyObject *a, Py_ssize_t i)
{
    return adopt_item(a, PySequence_GetItem(as_array(a)->host, i));
}

static PyObject *array_iter(PyObject *a)
{
    struct host_fields *host = (struct host_fields *)as_array(a)->host;
    return host->ndim == 0 ? PyObject_GetIter((PyObject *)host) : PySeqIter_New(a);
}

/* Whether a buffer's format says all there is to the dtype; -1 with an exception set. */
static int is_described(PyObject *host)
{
    struct descr_fields *dtype = ((struct host_fields *)host)->descr;
    if (dtype->kind != 'V' && dtype->kind != 'T')
        return 1;
    PyObject *answer = PyObject_CallFunctionObjArgs(described, dtype, NULL);
    int is_true = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is_true;
}

/* NumPy asks for a buffer before it asks __array__: what a buffer's format cannot
 * describe is offered as plain bytes only. */
static int array_getbuffer(PyObject *a, Py_buffer *view, int flags)
{
    PyObject *host = as_array(a)->host;
    view->obj = NULL;
    int status = flags & PyBUF_FORMAT ? is_described(host) : 1;
    if (status < 0 || PyObject_GetBuffer(host, view, flags) < 0)
        return -1;
    if (status == 0) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_BufferError, "the dtype has no exact buffer format");
        return -1;
    }
    /* NumPy needs no call at the release of a buffer, so the array can be its owner. */
    Py_INCREF(a);
    Py_DECREF(view->obj);
    view->obj = a;
    return 0;
}

/* -- Array: NumPy's protocols ----------------------------------------------------- */

/* Whether a ufunc is just called, with operands none of which may ask to be asked:
 * classes made in Python may, those of NumPy's scalars and Python's numbers do not. */
static bool is_plain_call(PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args);
    if (n < 3 || (kwargs && PyDict_Size(kwargs) > 0))
        return false;
    if (!PyCallable_Check(PyTuple_GetItem(args, 0)))
        return false;
    PyObject *method = PyTuple_GetItem(args, 1);
    if (!PyUnicode_Check(method) || PyUnicode_CompareWithASCIIString(method, "__call__") != 0)
        return false;
    for (Py_ssize_t i = 2; i < n; i++) {
        PyTypeObject *type = Py_TYPE(PyTuple_GetItem(args, i));
        if (type != array_type && PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE)
            return false;
    }
    return true;
}

static PyObject *array_array_ufunc(PyObject *a, PyObject *args, PyObject *kwargs)
{
    PyObject *result = NULL;
    if (is_plain_call(args, kwargs)) {
        PyObject *operands = PyTuple_GetSlice(args, 2, PyTuple_Size(args));
        if (operands)
            result = cross_call(PyTuple_GetItem(args, 0), operands, NULL, 0, true);
        Py_XDECREF(operands);
        return result;
    }
    /* NumPy's own answers NotImplemented when another operand is to be asked. */
    PyObject *call = PyObject_GetAttrString(as_array(a)->host, "__array_ufunc__");
    if (call)
        result = cross_call(call, args, kwargs, 0, true);
    Py_XDECREF(call);
    return result;
}

static PyObject *array_array_function(PyObject *a, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"func", "types", "args", "kwargs", NULL};
    PyObject *function, *types, *positional, *named;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:__array_function__", names, &function,
                                     &types, &positional, &named))
        return NULL;
    struct given given = {0};
    PyObject *call = PyObject_GetAttrString(as_array(a)->host, "__array_function__");
    PyObject *kinds = cross_unwrap(types, &given, 1);
    PyObject *values = cross_unwrap(positional, &given, MAX_DEPTH);
    PyObject *items =
        PyDict_Check(named) ? cross_unwrap_kwargs(named, &given, MAX_DEPTH) : named;
    PyObject *result = NULL;
    if (items == named)
        Py_INCREF(items);
    if (call && kinds && values && items)
        result = PyObject_CallFunctionObjArgs(call, function, kinds, values, items, NULL);
    Py_XDECREF(items);
    Py_XDECREF(values);
    Py_XDECREF(kinds);
    Py_XDECREF(call);
    return cross_adopt(result, &given, MAX_DEPTH);
}

/* -- Array: the attributes that describe it ---------------------------------------- */

static PyObject *get_of_host(PyObject *a, void *name)
{
    return PyObject_GetAttrString(as_array(a)->host, name);
}

static int set_of_host(PyObject *a, PyObject *value, void *name)
{
    if (value && is_array(value))
        value = as_array(value)->host; /* which NumPy refuses, or reads as a shape */
    return PyObject_SetAttrString(as_array(a)->host, name, value);
}

#define OF_HOST(name) {#name, get_of_host, set_of_host, NULL, #name}
static PyGetSetDef array_getset[] = {
    OF_HOST(shape),    OF_HOST(dtype),   OF_HOST(ndim),
    OF_HOST(size),     OF_HOST(strides), OF_HOST(flags),
    OF_HOST(itemsize), OF_HOST(nbytes),  {NULL, NULL, NULL, NULL, NULL},
};

/* The texts are NumPy's; they live as long as its class, which is for good. */
int array_load_docs(PyObject *numpy_class)
{
    for (PyGetSetDef *each = array_getset; each->name; each++) {
        PyObject *member = PyObject_GetAttrString(numpy_class, each->name);
        PyObject *doc = member ? PyObject_GetAttrString(member, "__doc__") : NULL;
        each->doc = doc && PyUnicode_Check(doc) ? PyUnicode_AsUTF8AndSize(doc, NULL) : NULL;
        Py_XDECREF(member);
        if (!doc)
            return -1; /* else kept: the text is in it */
    }
    return 0;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct array *a = as_array(self);
    if (a->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_CLEAR(a->host);
    Py_CLEAR(a->buffer);
    Py_CLEAR(a->base);
    if (nspare < NSPARE && type == array_type) {
        spare[nspare++] = a;
    } else {
        freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
        release(self);
    }
    Py_DECREF(type);
}

static PyMemberDef array_members[] = {
    {"_host", T_OBJECT_EX, offsetof(struct array, host), READONLY, "The numpy.ndarray."},
    {"_buffer", T_OBJECT, offsetof(struct array, buffer), READONLY,
     "The block of memory under the host, or None."},
    {"_base", T_OBJECT, offsetof(struct array, base), READONLY,
     "The array this one is a view of, or None."},
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
#define BINARY_SLOTS(name, Name) \
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
    {Py_mp_subscript, array_subscript},
    {Py_mp_ass_subscript, array_assign},
    {Py_sq_length, array_length},
    {Py_sq_item, array_item},
    {Py_sq_contains, array_contains},
    {Py_bf_getbuffer, array_getbuffer},
    {0, NULL},
};

PyType_Spec array_spec = {
    .name = "mxnp._bridge.Array",
    .basicsize = sizeof(struct array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = array_slots,
};
