/* bridge.c -- the array object, and calls that cross between it and NumPy.
 *
 * An mxnp array holds a numpy.ndarray (host).  Every operator, method and function
 * below does the same three things: put the host in the place of each array
 * argument, call NumPy, and adopt what comes back.  It is written against Python's
 * C API and not in Python for two reasons: a Python frame between the program and
 * NumPy would be named in every warning and traceback in place of the program's own
 * line, and it costs as much again as a NumPy call on a small array.
 */
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#define MAX_GIVEN 32 /* arrays of one call whose identity is kept */
#define MAX_OUT   4  /* NumPy arrays given as out that are recognised */
#define MAX_DEPTH 8  /* nested lists and tuples searched for arrays */

/* The leading fields of PyArrayObject and PyArray_Descr: numpy/ndarraytypes.h. */
struct host_fields {
    PyObject_HEAD char *data;
    int ndim;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    PyObject *base;
    struct descr_fields *descr;
    int flags;
};

struct descr_fields {
    PyObject_HEAD PyTypeObject *typeobj;
    char kind;
};

struct array {
    PyObject_HEAD PyObject *host; /* the numpy.ndarray; never NULL in an array that escaped */
    PyObject *buffer;             /* the block of memory host points into, or NULL */
    PyObject *base;               /* the array this one is a view of, or NULL */
    PyObject *weakrefs;
};

struct function {
    PyObject_HEAD PyObject *wrapped; /* the NumPy callable */
    PyObject *choose;                /* tells what to call instead, given the arguments */
    bool adopts;                     /* whether results become mxnp arrays */
    int depth;                       /* how many levels of tuples and lists are unwrapped */
    PyObject *dict;
    PyObject *weakrefs;
};

static PyTypeObject *array_type; /* mxnp.ndarray */
static PyTypeObject *ufunc_type; /* mxnp.ufunc */
static PyTypeObject *host_type;  /* numpy.ndarray */
static PyTypeObject *function_type;
static PyObject *method_class;     /* types.MethodType */
static PyTypeObject *object_dtype; /* the class of numpy.dtype(object) */
static PyObject *adapt;            /* _array.adapt */
static PyObject *described;        /* _array.described */

static inline bool is_array(PyObject *x) { return Py_TYPE(x) == array_type; }
static inline struct array *as_array(PyObject *x) { return (struct array *)x; }

/* -- Unwrapping: the host in the place of an array ------------------------------- */

/* The arrays of one call, so that a result that is one of them, or a view of one,
 * can be recognised.  Borrowed references. */
struct given {
    int n;
    PyObject *arrays[MAX_GIVEN];
    int nout;
    PyObject *outs[MAX_OUT]; /* NumPy arrays given as out: they are given back as such */
};

static void note(struct given *given, PyObject *x)
{
    if (given->n < MAX_GIVEN)
        given->arrays[given->n++] = x;
}

/* Borrowed: what NumPy is to see instead of x. */
static inline PyObject *unwrap(PyObject *x, struct given *given)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type) {
        note(given, x);
        return as_array(x)->host;
    }
    if (type == ufunc_type)
        return ((struct function *)x)->wrapped;
    if (x == (PyObject *)array_type)
        return (PyObject *)host_type;
    return x;
}

static PyObject *unwrap_deep(PyObject *x, struct given *given, int depth);

/* New reference: the tuple or list with its items unwrapped; the very same object when
 * none of them is an array. */
static PyObject *unwrap_items(PyObject *items, struct given *given, int depth)
{
    bool is_list = PyList_CheckExact(items);
    Py_ssize_t n = is_list ? PyList_Size(items) : PyTuple_Size(items);
    PyObject *copy = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = is_list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);
        PyObject *value = unwrap_deep(item, given, depth);
        if (!value) {
            Py_XDECREF(copy);
            return NULL;
        }
        if (value != item && !copy) {
            copy = is_list ? PyList_GetSlice(items, 0, n) : PyTuple_New(n);
            if (!copy) {
                Py_DECREF(value);
                return NULL;
            }
            for (Py_ssize_t j = 0; !is_list && j < i; j++) {
                PyObject *earlier = PyTuple_GetItem(items, j);
                Py_INCREF(earlier);
                PyTuple_SetItem(copy, j, earlier);
            }
        }
        if (!copy)
            Py_DECREF(value);
        else if (is_list)
            PyList_SetItem(copy, i, value);
        else
            PyTuple_SetItem(copy, i, value);
    }
    if (!copy) {
        Py_INCREF(items);
        copy = items;
    }
    return copy;
}

/* New reference: x unwrapped, to the given depth of tuples and lists. */
static PyObject *unwrap_deep(PyObject *x, struct given *given, int depth)
{
    if (depth > 0 && (PyTuple_CheckExact(x) || PyList_CheckExact(x)))
        return unwrap_items(x, given, depth - 1);
    x = unwrap(x, given);
    Py_INCREF(x);
    return x;
}

/* New reference: a tuple of arguments from position start on, unwrapped. */
static PyObject *unwrap_args(PyObject *args, Py_ssize_t start, struct given *given, int depth)
{
    Py_ssize_t n = PyTuple_Size(args) - start;
    PyObject *out = PyTuple_New(n);
    if (!out)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = unwrap_deep(PyTuple_GetItem(args, start + i), given, depth);
        if (!value) {
            Py_DECREF(out);
            return NULL;
        }
        PyTuple_SetItem(out, i, value);
    }
    return out;
}

static void note_out(struct given *given, PyObject *out)
{
    if (PyTuple_CheckExact(out)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(out); i++)
            note_out(given, PyTuple_GetItem(out, i));
    } else if (Py_TYPE(out) == host_type && given->nout < MAX_OUT) {
        given->outs[given->nout++] = out;
    }
}

/* New reference: keyword arguments unwrapped, and tuples such as out=(a, b) with them. */
static PyObject *unwrap_kwargs(PyObject *kwargs, struct given *given, int depth)
{
    PyObject *out = PyDict_Copy(kwargs);
    PyObject *key, *item;
    Py_ssize_t at = 0;
    while (out && PyDict_Next(kwargs, &at, &key, &item)) {
        int level = depth == 0 && PyTuple_CheckExact(item) ? 1 : depth;
        if (PyUnicode_CompareWithASCIIString(key, "out") == 0)
            note_out(given, item);
        PyObject *value = unwrap_deep(item, given, level);
        if (!value || (value != item && PyDict_SetItem(out, key, value) < 0))
            Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

/* -- Adopting: an array in the place of a host ----------------------------------- */

/* New reference to an array over host, which is taken. */
static PyObject *array_new(PyObject *host)
{
    struct array *out = (struct array *)PyType_GenericAlloc(array_type, 0);
    if (!out) {
        Py_DECREF(host);
        return NULL;
    }
    out->host = host;
    return (PyObject *)out;
}

/* A fresh result of an operator: an array, unless it is a scalar or another class's. */
static inline PyObject *adopt_fresh(PyObject *result)
{
    return result && Py_TYPE(result) == host_type ? array_new(result) : result;
}

static PyObject *adopt_host(PyObject *host, const struct given *given)
{
    for (int i = 0; i < given->nout; i++)
        if (given->outs[i] == host)
            return host;
    for (int i = 0; i < given->n; i++) {
        if (as_array(given->arrays[i])->host == host) {
            Py_INCREF(given->arrays[i]);
            Py_DECREF(host);
            return given->arrays[i];
        }
    }
    PyObject *base = ((struct host_fields *)host)->base;
    PyObject *out = array_new(host);
    for (int i = 0; out && base && i < given->n; i++) {
        struct array *x = as_array(given->arrays[i]);
        bool direct = x->host == base;
        if (!direct && ((struct host_fields *)x->host)->base != base)
            continue;
        as_array(out)->buffer = x->buffer;
        as_array(out)->base = direct ? (PyObject *)x : x->base;
        Py_XINCREF(as_array(out)->buffer);
        Py_XINCREF(as_array(out)->base);
        break;
    }
    return out;
}

static PyObject *adopt(PyObject *result, const struct given *given, int depth);

/* Adopt the values of a list or dict in place: NumPy has just made it. */
static PyObject *adopt_list(PyObject *list, const struct given *given, int depth)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        Py_INCREF(item);
        PyObject *value = adopt(item, given, depth);
        if (!value) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, i, value);
    }
    return list;
}

static PyObject *adopt_dict(PyObject *dict, const struct given *given, int depth)
{
    PyObject *items = PyDict_Items(dict);
    for (Py_ssize_t i = 0; items && i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        PyObject *item = PyTuple_GetItem(pair, 1);
        Py_INCREF(item);
        PyObject *value = adopt(item, given, depth);
        if (!value || PyDict_SetItem(dict, PyTuple_GetItem(pair, 0), value) < 0)
            Py_CLEAR(items);
        Py_XDECREF(value);
    }
    if (!items) {
        Py_DECREF(dict);
        return NULL;
    }
    Py_DECREF(items);
    return dict;
}

/* Tuples, and named tuples such as linalg's SVDResult, are made anew. */
static PyObject *adopt_tuple(PyObject *tuple, const struct given *given, int depth)
{
    Py_ssize_t n = PyTuple_Size(tuple);
    PyObject *items = PyTuple_New(n), *out = NULL;
    bool changed = false;
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i);
        Py_INCREF(item);
        PyObject *value = adopt(item, given, depth);
        if (!value) {
            Py_CLEAR(items);
            break;
        }
        changed |= value != item;
        PyTuple_SetItem(items, i, value);
    }
    if (!items)
        goto done;
    if (!changed) {
        out = tuple;
        Py_INCREF(out);
    } else if (PyTuple_CheckExact(tuple)) {
        out = items;
        Py_INCREF(out);
    } else {
        PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(tuple), "_make");
        if (make) {
            out = PyObject_CallFunctionObjArgs(make, items, NULL);
            Py_DECREF(make);
        } else {
            PyErr_Clear(); /* some other tuple of its own class: leave it alone */
            out = tuple;
            Py_INCREF(out);
        }
    }
done:
    Py_XDECREF(items);
    Py_DECREF(tuple);
    return out;
}

/* Takes result (NULL passes through): numpy arrays become mxnp arrays, also inside
 * tuples, lists and dicts. */
static PyObject *adopt(PyObject *result, const struct given *given, int depth)
{
    if (!result)
        return NULL;
    if (Py_TYPE(result) == host_type)
        return adopt_host(result, given);
    if (depth == 0)
        return result;
    if (PyTuple_Check(result))
        return adopt_tuple(result, given, depth - 1);
    if (PyList_CheckExact(result))
        return adopt_list(result, given, depth - 1);
    if (PyDict_CheckExact(result))
        return adopt_dict(result, given, depth - 1);
    return result;
}

/* A class of the program whose __array__ gives an mxnp array is refused by NumPy: let
 * the class be adapted (see _array.adapt), and tell whether to call again. */
static bool adapted(PyObject *objects)
{
    if (!adapt || !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *answer = PyObject_CallFunctionObjArgs(adapt, value, objects, NULL);
    bool again = answer == Py_True;
    Py_XDECREF(answer);
    if (again) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else {
        PyErr_Restore(type, value, traceback);
    }
    return again;
}

static bool is_object_dtype(PyObject *x)
{
    return x == (PyObject *)&PyBaseObject_Type ||
           (Py_TYPE(x) == object_dtype && ((struct descr_fields *)x)->kind == 'O') ||
           (PyUnicode_Check(x) && (PyUnicode_CompareWithASCIIString(x, "O") == 0 ||
                                   PyUnicode_CompareWithASCIIString(x, "object") == 0));
}

/* With dtype=object the items of a list become elements, and keep their identity. */
static bool makes_objects(PyObject *args, Py_ssize_t start, PyObject *kwargs)
{
    PyObject *dtype = kwargs ? PyDict_GetItemString(kwargs, "dtype") : NULL;
    if (!dtype && PyTuple_Size(args) > start + 1)
        dtype = PyTuple_GetItem(args, start + 1);
    return dtype && is_object_dtype(dtype);
}

/* Call a NumPy callable with args (from position start on) and kwargs unwrapped. */
static PyObject *cross(PyObject *callable, PyObject *args, Py_ssize_t start, PyObject *kwargs,
                       int depth, bool adopts)
{
    struct given given = {0};
    if (depth > 0 && makes_objects(args, start, kwargs))
        depth = 0;
    PyObject *positional = unwrap_args(args, start, &given, depth);
    PyObject *named = NULL, *result = NULL;
    if (!positional)
        return NULL;
    if (kwargs && PyDict_Size(kwargs) > 0) {
        named = unwrap_kwargs(kwargs, &given, depth);
        if (!named)
            goto done;
    }
    result = PyObject_Call(callable, positional, named);
    if (!result && adapted(args))
        result = PyObject_Call(callable, positional, named);
    if (adopts)
        result = adopt(result, &given, MAX_DEPTH);
done:
    Py_XDECREF(named);
    Py_DECREF(positional);
    return result;
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

static void load_slots(void)
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
    if (!result && adapted(x == a ? a : b))
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
    if (!result && adapted(b))
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
    return adopt(numpy_slots.divmod(operand(a), operand(b)), &given, 1);
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
    return adopt_host(item, &given);
}

static PyObject *array_subscript(PyObject *a, PyObject *key)
{
    struct given given = {0};
    PyObject *index = unwrap_deep(key, &given, 1);
    if (!index)
        return NULL;
    PyObject *item = PyObject_GetItem(as_array(a)->host, index);
    if (!item && adapted(index))
        item = PyObject_GetItem(as_array(a)->host, index);
    Py_DECREF(index);
    return adopt_item(a, item);
}

static int array_assign(PyObject *a, PyObject *key, PyObject *value)
{
    struct given given = {0};
    PyObject *host = as_array(a)->host;
    PyObject *index = unwrap_deep(key, &given, 1);
    if (!index)
        return -1;
    /* An array that becomes an element of an object array keeps its identity. */
    bool as_it_is = !value || ((struct host_fields *)host)->descr->kind == 'O';
    PyObject *source = as_it_is ? value : unwrap_deep(value, &given, MAX_DEPTH);
    if (value && !source) {
        Py_DECREF(index);
        return -1;
    }
    int status = value ? PyObject_SetItem(host, index, source) : PyObject_DelItem(host, index);
    if (status < 0 && value && (adapted(value) || adapted(index)))
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

static PyObject *array_array_ufunc(PyObject *a, PyObject *args, PyObject *kwargs)
{
    /* NumPy's own answers NotImplemented when another operand is to be asked. */
    PyObject *call = PyObject_GetAttrString(as_array(a)->host, "__array_ufunc__");
    if (!call)
        return NULL;
    PyObject *result = cross(call, args, 0, kwargs, 0, true);
    Py_DECREF(call);
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
    PyObject *kinds = unwrap_deep(types, &given, 1);
    PyObject *values = unwrap_deep(positional, &given, MAX_DEPTH);
    PyObject *items = PyDict_Check(named) ? unwrap_kwargs(named, &given, MAX_DEPTH) : named;
    PyObject *result = NULL;
    if (items == named)
        Py_INCREF(items);
    if (call && kinds && values && items)
        result = PyObject_CallFunctionObjArgs(call, function, kinds, values, items, NULL);
    Py_XDECREF(items);
    Py_XDECREF(values);
    Py_XDECREF(kinds);
    Py_XDECREF(call);
    return adopt(result, &given, MAX_DEPTH);
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct array *a = as_array(self);
    if (a->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(a->host);
    Py_XDECREF(a->buffer);
    Py_XDECREF(a->base);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
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

static PyType_Spec array_spec = {
    .name = "mxnp._bridge.Array",
    .basicsize = sizeof(struct array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = array_slots,
};

/* -- Function: a NumPy callable that takes and gives mxnp arrays ------------------- */

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "adopts", "depth", NULL};
    PyObject *wrapped;
    int adopts = 1, depth = MAX_DEPTH;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pi:Function", names, &wrapped, &adopts,
                                     &depth))
        return NULL;
    struct function *self = (struct function *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(wrapped);
    self->wrapped = wrapped;
    self->adopts = adopts;
    self->depth = depth;
    return (PyObject *)self;
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct function *f = (struct function *)self;
    if (!f->choose || f->choose == Py_None)
        return cross(f->wrapped, args, 0, kwargs, f->depth, f->adopts);
    PyObject *chosen = PyObject_Call(f->choose, args, kwargs);
    if (!chosen)
        return NULL;
    PyObject *result = cross(chosen, args, 0, kwargs, f->depth, f->adopts);
    Py_DECREF(chosen);
    return result;
}

/* The same hash and equality as the NumPy function: a program's table of overrides,
 * keyed by np.add or np.concatenate, finds its entry when NumPy itself asks. */
static PyObject *function_richcompare(PyObject *a, PyObject *b, int op)
{
    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *y = b;
    if (PyObject_TypeCheck(b, function_type))
        y = ((struct function *)b)->wrapped;
    return PyObject_RichCompare(((struct function *)a)->wrapped, y, op);
}

static Py_hash_t function_hash(PyObject *self)
{
    return PyObject_Hash(((struct function *)self)->wrapped);
}

static PyObject *function_repr(PyObject *self)
{
    return PyObject_Repr(((struct function *)self)->wrapped);
}

/* Pickled and copied by name, as functions are. */
static PyObject *function_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

/* What the wrapper has not, such as a signature, is NumPy's. */
static PyObject *function_getattr(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        value = PyObject_GetAttr(((struct function *)self)->wrapped, name);
    }
    return value;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct function *f = (struct function *)self;
    Py_VISIT(f->wrapped);
    Py_VISIT(f->choose);
    Py_VISIT(f->dict);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int function_clear(PyObject *self)
{
    struct function *f = (struct function *)self;
    Py_CLEAR(f->choose);
    Py_CLEAR(f->dict);
    return 0;
}

static void function_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct function *f = (struct function *)self;
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->wrapped);
    Py_XDECREF(f->choose);
    Py_XDECREF(f->dict);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMemberDef function_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct function, wrapped), READONLY,
     "The NumPy callable."},
    {"choose", T_OBJECT, offsetof(struct function, choose), 0,
     "None, or a function of a call's arguments that gives the NumPy callable for it."},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new},           {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse}, {Py_tp_clear, function_clear},
    {Py_tp_call, function_call},         {Py_tp_repr, function_repr},
    {Py_tp_hash, function_hash},         {Py_tp_richcompare, function_richcompare},
    {Py_tp_getattro, function_getattr},  {Py_tp_setattro, PyObject_GenericSetAttr},
    {Py_tp_members, function_members},   {Py_tp_methods, function_methods},
    {Py_tp_getset, function_getset},     {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "mxnp._bridge.Function",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = function_slots,
};

/* Method: a Function that binds, as functions written in Python do. */
static PyObject *method_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (!instance || instance == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyObject_CallFunctionObjArgs(method_class, self, instance, NULL);
}

static PyType_Slot method_slots[] = {
    {Py_tp_descr_get, method_get},
    {0, NULL},
};

static PyType_Spec method_spec = {
    .name = "mxnp._bridge.Method",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

/* -- Lookup: the __getattr__ of a mirrored module ---------------------------------- */

struct lookup {
    PyObject_HEAD PyObject *original; /* NumPy's module */
    PyObject *cross; /* called with the module's name, the name and what it means */
    PyObject *module;
};

static PyObject *lookup_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"module", "original", "cross", NULL};
    PyObject *module, *original, *call;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:Lookup", names, &module, &original,
                                     &call))
        return NULL;
    struct lookup *self = (struct lookup *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(module);
    Py_INCREF(original);
    Py_INCREF(call);
    self->module = module;
    self->original = original;
    self->cross = call;
    return (PyObject *)self;
}

/* In C so that NumPy's warning about a deprecated name names the program's line. */
static PyObject *lookup_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct lookup *lookup = (struct lookup *)self;
    PyObject *name;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "U:__getattr__", &name))
        return NULL;
    PyObject *value = PyObject_GetAttr(lookup->original, name);
    if (!value)
        return NULL;
    PyObject *out =
        PyObject_CallFunctionObjArgs(lookup->cross, lookup->module, name, value, NULL);
    Py_DECREF(value);
    return out;
}

static void lookup_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct lookup *lookup = (struct lookup *)self;
    Py_XDECREF(lookup->module);
    Py_XDECREF(lookup->original);
    Py_XDECREF(lookup->cross);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot lookup_slots[] = {
    {Py_tp_new, lookup_new},
    {Py_tp_dealloc, lookup_dealloc},
    {Py_tp_call, lookup_call},
    {0, NULL},
};

static PyType_Spec lookup_spec = {
    .name = "mxnp._bridge.Lookup",
    .basicsize = sizeof(struct lookup),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = lookup_slots,
};

/* -- Module ----------------------------------------------------------------------- */

static PyObject *set_types(PyObject *module, PyObject *args)
{
    PyTypeObject *array, *ufunc, *host, *object;
    PyObject *adapter, *describer;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OO:set_types", &PyType_Type, &array, &PyType_Type,
                          &ufunc, &PyType_Type, &host, &PyType_Type, &object, &adapter,
                          &describer))
        return NULL;
    Py_INCREF(adapter);
    Py_INCREF(describer);
    adapt = adapter;
    described = describer;
    Py_INCREF((PyObject *)array);
    Py_INCREF((PyObject *)ufunc);
    Py_INCREF((PyObject *)host);
    Py_INCREF((PyObject *)object);
    object_dtype = object;
    array_type = array;
    ufunc_type = ufunc;
    host_type = host;
    load_slots();
    Py_RETURN_NONE;
}

/* Python's own messages name a class by tp_name, which is the first field of a type behind
 * its header: "'numpy.ndarray' object has no attribute 'x'" is a NumPy message to programs
 * that read it.  The class's __module__ and __name__ are kept elsewhere and stay ours. */
static PyObject *name_like(PyObject *module, PyObject *args)
{
    PyTypeObject *type, *original;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:name_like", &PyType_Type, &type, &PyType_Type, &original))
        return NULL;
    size_t tp_name = sizeof(PyVarObject);
    *(const char **)((char *)type + tp_name) = *(const char **)((char *)original + tp_name);
    Py_INCREF((PyObject *)original); /* the text is the original's: keep it for good */
    Py_RETURN_NONE;
}

static PyObject *wrap(PyObject *module, PyObject *x)
{
    struct given given = {0};
    (void)module;
    Py_INCREF(x);
    return adopt(x, &given, MAX_DEPTH);
}

static PyObject *host(PyObject *module, PyObject *x)
{
    struct given given = {0};
    (void)module;
    return unwrap_deep(x, &given, MAX_DEPTH);
}

static PyObject *over(PyObject *module, PyObject *args)
{
    PyObject *memory, *buffer;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O:over", host_type, &memory, &buffer))
        return NULL;
    Py_INCREF(memory);
    PyObject *out = array_new(memory);
    if (out && buffer != Py_None) {
        Py_INCREF(buffer);
        as_array(out)->buffer = buffer;
    }
    return out;
}

/* PyArrayInterface: numpy/ndarraytypes.h. */
struct interface {
    int two;
    int ndim;
    char typekind;
    int itemsize;
    int flags;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    void *data;
    PyObject *descr;
};

#define LAYOUT    0x0503 /* C and F order, aligned, writeable */
#define HAS_DESCR 0x0800

/* NumPy's own interface, with the dtype itself in the place of a list of its fields:
 * NumPy takes either, and the list leaves out padding and alignment.  The flags are set
 * anew: with a list NumPy has cleared them, and so the mark that there is one. */
static PyObject *exact_interface(PyObject *module, PyObject *x)
{
    (void)module;
    if (!PyObject_TypeCheck(x, host_type)) {
        PyErr_SetString(PyExc_TypeError, "exact_interface() takes a numpy.ndarray");
        return NULL;
    }
    PyObject *capsule = PyObject_GetAttrString(x, "__array_struct__");
    struct interface *is = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (is && is->descr) {
        struct host_fields *host_array = (struct host_fields *)x;
        Py_DECREF(is->descr);
        is->descr = (PyObject *)host_array->descr;
        Py_INCREF(is->descr);
        is->flags = (host_array->flags & LAYOUT) | HAS_DESCR;
    }
    return capsule;
}

static PyMethodDef module_methods[] = {
    {"exact_interface", exact_interface, METH_O,
     "exact_interface(host)\n--\n\nGive __array_struct__ of a NumPy array, with its very "
     "dtype."},
    {"set_types", set_types, METH_VARARGS,
     "set_types(array, ufunc, host, object_dtype, adapt, described)\n--\n\n"
     "Name the classes of mxnp arrays, mxnp ufuncs, NumPy arrays and NumPy's object dtype, "
     "and two helpers."},
    {"name_like", name_like, METH_VARARGS,
     "name_like(cls, original)\n--\n\n"
     "Let Python's own error messages name a class as they name another."},
    {"wrap", wrap, METH_O,
     "wrap(x)\n--\n\n"
     "Give x with NumPy arrays in it, at any depth of tuples, lists and dicts, as mxnp "
     "arrays."},
    {"host", host, METH_O,
     "host(x)\n--\n\n"
     "Give x with mxnp arrays in it, at any depth of tuples and lists, as NumPy arrays."},
    {"over", over, METH_VARARGS,
     "over(host, buffer)\n--\n\nMake an array over a NumPy array and the memory it points "
     "into."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mxnp._bridge",
    .m_doc = "The array object, and calls that cross between it and NumPy.",
    .m_size = -1,
    .m_methods = module_methods,
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject *base,
                    PyTypeObject **out)
{
    PyObject *bases = base ? PyTuple_Pack(1, base) : NULL;
    PyObject *type = PyType_FromSpecWithBases(spec, bases);
    Py_XDECREF(bases);
    if (!type)
        return -1;
    *out = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, name, type);
}

PyMODINIT_FUNC PyInit__bridge(void)
{
    PyTypeObject *method_type, *base_type, *lookup_type;
    PyObject *types = PyImport_ImportModule("types");
    PyObject *module = types ? PyModule_Create(&module_def) : NULL;
    if (!module)
        goto failed;
    method_class = PyObject_GetAttrString(types, "MethodType");
    if (!method_class || add_type(module, "Array", &array_spec, NULL, &base_type) < 0 ||
        add_type(module, "Function", &function_spec, NULL, &function_type) < 0 ||
        add_type(module, "Method", &method_spec, function_type, &method_type) < 0 ||
        add_type(module, "Lookup", &lookup_spec, NULL, &lookup_type) < 0)
        goto failed;
    Py_DECREF(types);
    return module;
failed:
    Py_XDECREF(types);
    Py_XDECREF(module);
    return NULL;
}
