/* checks.c -- comparisons with NumPy and searches for NaN without Python code.
 *
 * The watchers of mxnp/_verify are written in Python, and take about 0.1 ms for a call.  Most
 * calls have plain arguments and a result that is right.  They are recognized here: the result
 * has NumPy's bits, or has no NaN.  In all other cases the watchers decide.  They see the
 * arguments as they were before the call, because the bytes of the arrays were saved.
 */
#include "python/object/checks.h"
#include "python/base/dtypes.h"
#include "python/base/refusal.h"
#include "python/direct/arrays.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/packages/arguments.h"
#include "python/packages/layout.h"
#include "python/record/queue.h"

#define MOST_BYTES    ((npy_intp)1 << 28) /* of saved arrays; the watchers check larger ones */
#define MAX_ARGUMENTS 12

static enum { NO_CHECK, CHECK_NUMPY, CHECK_NAN, CHECK_FINITE } kind;
static PyObject *classify; /* a function of a Function: returns a verdict */
/* Methods of NumPy's context variable of floating-point errors, and its value with which
 * nothing is reported. */
static PyObject *get_settings, *set_settings, *reset_settings, *quiet_settings;
static PyObject *is_plain_policy; /* a function: whether no setting raises, calls or logs */
static PyObject *known_settings;  /* the value that was examined last */
static bool known_is_plain;
static PyObject *filter, *warnings_module; /* the filter that hides NumPy's warnings */
static uint64_t state_of_random, limit;    /* the calls with a smaller number are checked */
unsigned checks_epoch;
static Py_ssize_t n_checked, n_left_out, n_operations;
static _Thread_local bool is_comparing, is_selected;

/* -- Memory of arrays ------------------------------------------------------------------ */

static PyArrayObject *elements(PyObject *x)
{
    return is_array(x) ? queue_ready(x) : (PyArrayObject *)x;
}

static bool is_one_run(PyArrayObject *a)
{
    return PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS) ||
           PyArray_CHKFLAGS(a, NPY_ARRAY_F_CONTIGUOUS);
}

/* Describe the elements of an array, and their places in a block without gaps. */
static struct view view_of(PyArrayObject *a, npy_intp *packed)
{
    struct view view = {.data = PyArray_BYTES(a), .ndim = PyArray_NDIM(a)};
    npy_intp step = PyArray_ITEMSIZE(a);
    for (int axis = view.ndim - 1; axis >= 0; axis--) {
        view.shape[axis] = PyArray_DIM(a, axis);
        view.strides[axis] = PyArray_STRIDE(a, axis);
        packed[axis] = step;
        step *= view.shape[axis];
    }
    return view;
}

static void checks_pack(PyArrayObject *a, char *bytes)
{
    npy_intp packed[DIRECT_NDIM] = {0};
    if (PyArray_SIZE(a) == 0)
        return;
    if (is_one_run(a)) {
        memcpy(bytes, PyArray_BYTES(a), (size_t)PyArray_NBYTES(a));
        return;
    }
    struct view to = view_of(a, packed);
    npy_intp strides[DIRECT_NDIM];
    memcpy(strides, to.strides, sizeof strides);
    memcpy(to.strides, packed, sizeof strides);
    to.data = bytes;
    arrays_copy(&to, PyArray_BYTES(a), strides, PyArray_ITEMSIZE(a));
}

static void unpack(PyArrayObject *a, const char *bytes)
{
    npy_intp packed[DIRECT_NDIM] = {0};
    if (is_one_run(a)) {
        memcpy(PyArray_BYTES(a), bytes, (size_t)PyArray_NBYTES(a));
        return;
    }
    struct view to = view_of(a, packed);
    arrays_copy(&to, bytes, packed, PyArray_ITEMSIZE(a));
}

static bool equals(PyArrayObject *a, const char *bytes, char *spare)
{
    if (is_one_run(a))
        return memcmp(PyArray_BYTES(a), bytes, (size_t)PyArray_NBYTES(a)) == 0;
    checks_pack(a, spare);
    return memcmp(spare, bytes, (size_t)PyArray_NBYTES(a)) == 0;
}

/* -- Arguments ------------------------------------------------------------------------- */

/* Check for an array whose bytes are its value. */
static bool is_simple(PyArrayObject *a)
{
    if (recycle_row(PyArray_DESCR(a)) < 0 || PyArray_NDIM(a) > DIRECT_NDIM)
        return false;
    for (int axis = 0; axis < PyArray_NDIM(a); axis++)
        if (PyArray_STRIDE(a, axis) == 0 && PyArray_DIM(a, axis) > 1)
            return false; /* its elements share memory */
    return true;
}

static bool admit_array(struct check *check, PyObject *x)
{
    for (int i = 0; i < check->n_saved; i++)
        if (check->saved[i].owner == x)
            return true;
    if (is_array(x) && (as_array(x)->is_standard || queue_before_write(x) < 0))
        return false;
    if (!is_simple(elements(x)))
        return kind != CHECK_NUMPY;
    if (check->n_saved == CHECK_ARRAYS)
        return false;
    check->saved[check->n_saved++] =
        (struct saved){.owner = Py_NewRef(x), .size = PyArray_NBYTES(elements(x))};
    return true;
}

static bool is_number_or_text(PyObject *x)
{
    return x == Py_None || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
           PyUnicode_CheckExact(x) || PyArray_IsScalar(x, Number) ||
           PyArray_IsScalar(x, Bool) || x == Py_Ellipsis || PyComplex_CheckExact(x);
}

static bool admit(struct check *check, PyObject *x, int depth)
{
    bool is_list = PyList_CheckExact(x);
    if (is_array(x) || Py_TYPE(x) == np_array_type)
        return admit_array(check, x);
    if (is_list || PyTuple_CheckExact(x)) {
        Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
        for (Py_ssize_t i = 0; i < n; i++)
            if (depth == 0 ||
                !admit(check, is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i),
                       depth - 1))
                return false;
        return true;
    }
    if (kind != CHECK_NUMPY)
        return !PyObject_TypeCheck(x, np_array_type) && !PyDict_CheckExact(x);
    return is_number_or_text(x) || PySlice_Check(x) || Py_TYPE(x) == ufunc_type ||
           PyArray_DescrCheck(x) || PyType_Check(x);
}

/* Return a new reference to an argument with NumPy's arrays, or NULL with an exception set. */
static PyObject *converted(PyObject *x)
{
    if (is_array(x))
        return Py_NewRef((PyObject *)queue_ready(x));
    if (Py_TYPE(x) == ufunc_type)
        return Py_NewRef(((struct function *)x)->wrapped);
    bool is_list = PyList_CheckExact(x);
    if (!is_list && !PyTuple_CheckExact(x))
        return Py_NewRef(x == (PyObject *)array_type ? (PyObject *)np_array_type : x);
    Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
    PyObject *out = is_list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *item = converted(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i));
        if (!item)
            Py_CLEAR(out);
        else if (is_list)
            PyList_SetItem(out, i, item);
        else
            PyTuple_SetItem(out, i, item);
    }
    return out;
}

static bool is_basic_item(PyObject *x)
{
    return PyLong_CheckExact(x) || PySlice_Check(x) || x == Py_Ellipsis || x == Py_None ||
           PyArray_IsScalar(x, Integer);
}

static bool is_basic(PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return is_basic_item(key);
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); i++)
        if (!is_basic_item(PyTuple_GetItem(key, i)))
            return false;
    return true;
}

/* Return a new view of the elements that a basic subscript selects, or NULL with or without an
 * exception set. */
static PyObject *selected(PyObject *a, PyObject *key)
{
    bool is_tuple = PyTuple_CheckExact(key);
    Py_ssize_t n = is_tuple ? PyTuple_Size(key) : 1;
    PyObject *whole = PyTuple_New(n + 1);
    bool has_ellipsis = false;
    for (Py_ssize_t i = 0; whole && i < n; i++) {
        PyObject *item = is_tuple ? PyTuple_GetItem(key, i) : key;
        has_ellipsis = has_ellipsis || item == Py_Ellipsis;
        PyTuple_SetItem(whole, i, Py_NewRef(item));
    }
    if (!whole)
        return NULL;
    PyTuple_SetItem(whole, n, Py_NewRef(Py_Ellipsis));
    PyObject *view = PyObject_GetItem((PyObject *)queue_ready(a), has_ellipsis ? key : whole);
    Py_DECREF(whole);
    if (view && Py_TYPE(view) != np_array_type)
        Py_CLEAR(view);
    return view;
}

/* Check the arguments of a call, and find the arrays that it may change. */
static bool admit_call(struct check *check)
{
    const struct call *call = &check->call;
    size_t all = call->n + (call->names ? (size_t)PyTuple_Size(call->names) : 0), first = 0;
    enum role role = check->operation.role;
    if (all > MAX_ARGUMENTS)
        return false;
    if (kind != CHECK_NUMPY && role == ROLE_OPERATOR)
        return true; /* it changes nothing that has to be saved */
    if ((role == ROLE_GET_ITEM || role == ROLE_SET_ITEM) && call->n >= 2 &&
        is_array(call->args[0]) && is_basic(call->args[1])) {
        check->is_basic = true;
        first = 2;
        if (queue_before_write(call->args[0]) < 0 ||
            recycle_row(PyArray_DESCR(np_array_of(call->args[0]))) < 0 ||
            as_array(call->args[0])->is_standard)
            return false;
    }
    if (role == ROLE_SET_ITEM && check->is_basic) {
        PyObject *view = selected(call->args[0], call->args[1]);
        bool is_admitted = view && admit_array(check, view);
        Py_XDECREF(view);
        if (!is_admitted)
            return false;
    }
    for (size_t i = first; i < all; i++)
        if (!admit(check, call->args[i], 2))
            return false;
    return true;
}

static bool save(struct check *check)
{
    npy_intp size = 0;
    for (int i = 0; i < check->n_saved; i++)
        size += 3 * check->saved[i].size;
    char *bytes = check->bytes;
    if (size > (npy_intp)sizeof check->bytes) {
        if (size > MOST_BYTES || !(check->block = PyMem_Malloc((size_t)size)))
            return false;
        bytes = check->block;
    }
    for (int i = 0; i < check->n_saved; i++) {
        struct saved *saved = &check->saved[i];
        saved->before = bytes;
        saved->after = bytes + saved->size;
        saved->spare = bytes + 2 * saved->size;
        bytes += 3 * saved->size;
        checks_pack(elements(saved->owner), saved->before);
    }
    return true;
}

/* Decide whether a call is in the fraction of the calls that are checked. */
static bool select_call(unsigned char *calls)
{
    n_operations += *calls == 0;
    bool is_first = *calls < FIRST_CALLS;
    *calls += is_first;
    if (is_first || limit == UINT64_MAX)
        return true;
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random < limit;
}

enum verdict checks_before(struct check *check, const struct operation_check *operation,
                           const struct call *call, unsigned char *calls)
{
    is_selected = false;
    if (operation->role == ROLE_OTHER)
        return CHECK_ASK;
    if (kind != CHECK_NUMPY &&
        (operation->role == ROLE_GET_ITEM || operation->role == ROLE_SET_ITEM))
        return CHECK_SKIP; /* elements that are moved */
    if (!select_call(calls)) {
        n_left_out++;
        return CHECK_SKIP;
    }
    is_selected = true;
    check->operation = *operation;
    check->call = *call;
    check->n_saved = 0;
    check->is_basic = false;
    check->block = NULL;
    if (admit_call(check) && save(check))
        return CHECK_CALL;
    checks_end(check);
    return refusal_drop() < 0 ? CHECK_FAILED : CHECK_ASK; /* the call raises a refusal again */
}

void checks_end(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++)
        Py_DECREF(check->saved[i].owner);
    check->n_saved = 0;
    PyMem_Free(check->block);
    check->block = NULL;
}

/* -- Going back to the state before the call ------------------------------------------- */

/* Find the arrays that the call changed.  Return false if one has another size. */
static bool note_changes(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++) {
        struct saved *saved = &check->saved[i];
        if (PyArray_NBYTES(elements(saved->owner)) != saved->size ||
            (is_array(saved->owner) && queue_before_write(saved->owner) < 0))
            return false;
        saved->is_changed = !equals(elements(saved->owner), saved->before, saved->spare);
        if (saved->is_changed)
            checks_pack(elements(saved->owner), saved->after);
    }
    return true;
}

void checks_rewind(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++)
        if (check->saved[i].is_changed)
            unpack(elements(check->saved[i].owner), check->saved[i].before);
}

void checks_restore(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++)
        if (check->saved[i].is_changed)
            unpack(elements(check->saved[i].owner), check->saved[i].after);
}

/* -- The comparison with NumPy --------------------------------------------------------- */

static bool is_writeable(PyArrayObject *a) { return PyArray_CHKFLAGS(a, NPY_ARRAY_WRITEABLE); }

static bool have_same_layout(PyArrayObject *a, PyArrayObject *b)
{
    if (PyArray_DESCR(a) != PyArray_DESCR(b) || !same_shape(a, b) ||
        is_writeable(a) != is_writeable(b))
        return false;
    for (int axis = 0; axis < PyArray_NDIM(a) && PyArray_SIZE(a) > 0; axis++)
        if (PyArray_DIM(a, axis) != 1 && PyArray_STRIDE(a, axis) != PyArray_STRIDE(b, axis))
            return false;
    return true;
}

static bool have_same_elements(PyArrayObject *a, PyArrayObject *b)
{
    size_t size = (size_t)PyArray_NBYTES(a);
    if (size == 0 || PyArray_BYTES(a) == PyArray_BYTES(b))
        return true;
    if (is_one_run(a) && is_one_run(b))
        return memcmp(PyArray_BYTES(a), PyArray_BYTES(b), size) == 0;
    char *bytes = is_simple(a) ? PyMem_Malloc(2 * size) : NULL;
    if (!bytes)
        return false;
    checks_pack(a, bytes);
    checks_pack(b, bytes + size);
    bool is_same = memcmp(bytes, bytes + size, size) == 0;
    PyMem_Free(bytes);
    return is_same;
}

static bool are_same(PyObject *ours, PyObject *theirs, bool is_view)
{
    if (is_array(ours) && Py_TYPE(theirs) == np_array_type) {
        if (queue_before_write(ours) < 0)
            return false;
        PyArrayObject *a = queue_ready(ours), *b = (PyArrayObject *)theirs;
        return recycle_row(PyArray_DESCR(b)) >= 0 && PyArray_NDIM(b) <= DIRECT_NDIM &&
               have_same_layout(a, b) &&
               (is_view ? PyArray_BYTES(a) == PyArray_BYTES(b) : have_same_elements(a, b));
    }
    if (Py_TYPE(ours) != Py_TYPE(theirs))
        return false;
    if (ours == theirs)
        return true;
    int row = scalars_row(ours);
    if (row == ROW_bool)
        return false; /* there is one object for each value */
    if (row >= 0)
        return memcmp((char *)ours + sizeof(PyObject), (char *)theirs + sizeof(PyObject),
                      (size_t)dtype_itemsizes[row]) == 0;
    if (PyFloat_CheckExact(ours)) {
        double x = PyFloat_AsDouble(ours), y = PyFloat_AsDouble(theirs);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyLong_CheckExact(ours) || PyUnicode_CheckExact(ours))
        return PyObject_RichCompareBool(ours, theirs, Py_EQ) == 1;
    bool is_list = PyList_CheckExact(ours);
    if (!is_list && !PyTuple_Check(ours))
        return false;
    Py_ssize_t n = is_list ? PyList_Size(ours) : PyTuple_Size(ours);
    if (n != (is_list ? PyList_Size(theirs) : PyTuple_Size(theirs)))
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!are_same(is_list ? PyList_GetItem(ours, i) : PyTuple_GetItem(ours, i),
                      is_list ? PyList_GetItem(theirs, i) : PyTuple_GetItem(theirs, i),
                      is_view))
            return false;
    return true;
}

/* Check whether NumPy's settings of floating-point errors neither raise, call nor log.  Return
 * false with an exception set if they cannot be read. */
static bool settings_are_plain(void)
{
    PyObject *value = PyObject_CallNoArgs(get_settings);
    if (!value)
        return false;
    if (value != known_settings) {
        PyObject *answer = PyObject_CallNoArgs(is_plain_policy);
        if (!answer) {
            Py_DECREF(value);
            return false;
        }
        known_is_plain = answer == Py_True;
        Py_DECREF(answer);
        Py_XDECREF(known_settings);
        known_settings = Py_NewRef(value);
    }
    Py_DECREF(value);
    return known_is_plain;
}

int checks_collect(const struct call *call, PyObject **args, PyObject **kwargs)
{
    return arguments_collect(call->args, (Py_ssize_t)call->n, call->names, args, kwargs);
}

PyObject *checks_call(PyObject *function, PyObject *const *values, size_t n, PyObject *names)
{
    vector_call *call = layout_is_known() ? layout_vectorcall(function) : NULL;
    if (call && *call)
        return (*call)(function, values, n, names);
    PyObject *args, *kwargs;
    if (arguments_collect(values, (Py_ssize_t)n, names, &args, &kwargs) < 0)
        return NULL;
    PyObject *result = PyObject_Call(function, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

static PyObject *call_reference(const struct check *check)
{
    const struct call *call = &check->call;
    size_t all = call->n + (call->names ? (size_t)PyTuple_Size(call->names) : 0), made = 0;
    PyObject *values[MAX_ARGUMENTS], *result = NULL;
    for (; made < all; made++)
        if (!(values[made] = converted(call->args[made])))
            break;
    if (made == all && check->operation.is_reflected && call->n >= 2) {
        PyObject *first = values[0];
        values[0] = values[1];
        values[1] = first;
    }
    PyObject *choose = check->operation.choose, *reference = NULL;
    if (made == all)
        reference = choose ? checks_call(choose, values, call->n, call->names)
                           : Py_NewRef(check->operation.reference);
    if (reference)
        result = checks_call(reference, values, call->n, call->names);
    Py_XDECREF(reference);
    while (made > 0)
        Py_DECREF(values[--made]);
    return result;
}

/* Call NumPy without its warnings, which mxnp has issued. */
static PyObject *call_quietly(const struct check *check)
{
    PyObject *filters = PyObject_GetAttrString(warnings_module, "filters");
    if (!filters || PyList_Insert(filters, 0, filter) < 0) {
        Py_XDECREF(filters);
        return NULL;
    }
    PyObject *token = PyObject_CallFunctionObjArgs(set_settings, quiet_settings, NULL);
    PyObject *result = NULL, *unused = NULL;
    is_comparing = true;
    if (token)
        result = call_reference(check);
    is_comparing = false;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (token)
        unused = PyObject_CallFunctionObjArgs(reset_settings, token, NULL);
    Py_XDECREF(unused);
    Py_XDECREF(token);
    for (Py_ssize_t i = 0; i < PyList_Size(filters); i++)
        if (PyList_GetItem(filters, i) == filter) {
            PyList_SetSlice(filters, i, i + 1, NULL);
            break;
        }
    Py_DECREF(filters);
    PyErr_Restore(type, error, traceback);
    return result;
}

/* Check whether NumPy changes the same arrays in the same way. */
static bool changes_are_same(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++) {
        struct saved *saved = &check->saved[i];
        PyArrayObject *a = elements(saved->owner);
        if (PyArray_NBYTES(a) != saved->size)
            return false;
        if (!equals(a, saved->is_changed ? saved->after : saved->before, saved->spare))
            return false;
    }
    return true;
}

/* Undo what NumPy changed, so that the arrays have the elements that mxnp wrote. */
static void undo_reference(struct check *check)
{
    for (int i = 0; i < check->n_saved; i++) {
        struct saved *saved = &check->saved[i];
        PyArrayObject *a = elements(saved->owner);
        const char *ours = saved->is_changed ? saved->after : saved->before;
        if (PyArray_NBYTES(a) == saved->size && !equals(a, ours, saved->spare))
            unpack(a, ours);
    }
}

static int checks_compare(struct check *check, PyObject *result)
{
    if (!settings_are_plain())
        return PyErr_Occurred() ? -1 : 0;
    checks_rewind(check);
    PyObject *theirs = call_quietly(check);
    bool is_same =
        theirs &&
        are_same(result, theirs, check->is_basic && check->operation.role == ROLE_GET_ITEM) &&
        changes_are_same(check);
    if (!is_same &&
        (theirs || (PyErr_ExceptionMatches(PyExc_Exception) && !refusal_is_handlers()))) {
        PyErr_Clear();
        undo_reference(check);
    }
    Py_XDECREF(theirs);
    return is_same ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* -- The search for NaN ---------------------------------------------------------------- */

/* SCAN(name, type, exponent) defines a function that searches floats for NaN, or for infinities
 * too.  There is no branch in the loop, so that the compiler can use vector instructions. */
#define SCAN(name, type, exponent)                                           \
    static bool name(const char *bytes, npy_intp n, bool inf)                \
    {                                                                        \
        const type mask = (type) ~((type)1 << (8 * sizeof(type) - 1));       \
        const type most = (type)((exponent) - (inf ? 1 : 0));                \
        for (npy_intp i = 0; i < n;) {                                       \
            npy_intp end = n - i > 4096 ? i + 4096 : n;                      \
            unsigned found = 0;                                              \
            for (; i < end; i++) {                                           \
                type bits;                                                   \
                memcpy(&bits, bytes + (size_t)i * sizeof bits, sizeof bits); \
                found |= (unsigned)((type)(bits & mask) > most);             \
            }                                                                \
            if (found)                                                       \
                return true;                                                 \
        }                                                                    \
        return false;                                                        \
    }
SCAN(scan16, uint16_t, 0x7c00)
SCAN(scan32, uint32_t, 0x7f800000)
SCAN(scan64, uint64_t, 0x7ff0000000000000)

/* Check for a NaN among `n` elements of the dtype `row`. */
static bool scan(int row, const char *bytes, npy_intp n)
{
    bool inf = kind == CHECK_FINITE;
    switch (row) {
    case ROW_float16:
        return scan16(bytes, n, inf);
    case ROW_float32:
        return scan32(bytes, n, inf);
    case ROW_float64:
        return scan64(bytes, n, inf);
    case ROW_complex64:
        return scan32(bytes, 2 * n, inf);
    case ROW_complex128:
        return scan64(bytes, 2 * n, inf);
    default:
        return row < 0 || row == ROW_bfloat16;
    }
}

static bool array_may_have_nan(PyArrayObject *a)
{
    int row = recycle_row(PyArray_DESCR(a));
    npy_intp size = PyArray_NBYTES(a);
    if (size == 0 || (row >= 0 && !mx_dtype_is_inexact(row)))
        return false;
    if (row < 0 || is_one_run(a))
        return scan(row, PyArray_BYTES(a), PyArray_SIZE(a));
    char *bytes = PyArray_NDIM(a) <= DIRECT_NDIM ? PyMem_Malloc((size_t)size) : NULL;
    if (!bytes)
        return true;
    checks_pack(a, bytes);
    bool has = scan(row, bytes, PyArray_SIZE(a));
    PyMem_Free(bytes);
    return has;
}

static bool may_have_nan(PyObject *x)
{
    int row;
    bool is_list = PyList_CheckExact(x);
    if (is_array(x))
        return queue_before_write(x) < 0 || array_may_have_nan(queue_ready(x));
    if (PyObject_TypeCheck(x, np_array_type))
        return Py_TYPE(x) != np_array_type || array_may_have_nan((PyArrayObject *)x);
    if (PyFloat_Check(x) && Py_TYPE(x) != &PyFloat_Type && (row = scalars_row(x)) < 0)
        return true;
    if (PyFloat_Check(x)) {
        double value = PyFloat_AsDouble(x);
        return scan64((char *)&value, 1, kind == CHECK_FINITE);
    }
    if (PyArray_IsScalar(x, Inexact))
        return (row = scalars_row(x)) < 0 || scan(row, (char *)x + sizeof(PyObject), 1);
    if (PyComplex_Check(x))
        return true;
    if (!is_list && !PyTuple_Check(x))
        return false;
    Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
    for (Py_ssize_t i = 0; i < n; i++)
        if (may_have_nan(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i)))
            return true;
    return false;
}

static int checks_search(struct check *check, PyObject *result)
{
    if (may_have_nan(result))
        return 0;
    for (int i = 0; i < check->n_saved; i++)
        if (check->saved[i].is_changed && may_have_nan(check->saved[i].owner))
            return 0;
    return 1;
}

int checks_after(struct check *check, PyObject *result)
{
    PyObject *type, *error, *traceback;
    bool has_failed = !result || (!queue_is_idle() && queue_flush() < 0);
    PyErr_Fetch(&type, &error, &traceback);
    bool has_same_sizes = note_changes(check);
    if (refusal_drop() < 0) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return -1;
    }
    if (has_failed) {
        PyErr_Restore(type, error, traceback);
        return -1;
    }
    if (!has_same_sizes || result == Py_NotImplemented)
        return 1;
    int is_right =
        kind == CHECK_NUMPY ? checks_compare(check, result) : checks_search(check, result);
    n_checked += is_right == 1;
    return is_right;
}

/* -- Settings -------------------------------------------------------------------------- */

bool checks_are_on(void) { return kind != NO_CHECK; }

enum verdict checks_function(PyObject *function)
{
    PyObject *answer = classify ? PyObject_CallFunctionObjArgs(classify, function, NULL) : NULL;
    enum verdict verdict = answer ? (enum verdict)PyLong_AsLong(answer) : CHECK_ASK;
    Py_XDECREF(answer);
    return refusal_drop() < 0 ? CHECK_FAILED : verdict;
}

static void keep(PyObject **place, PyObject *value)
{
    PyObject *before = *place;
    *place = value == Py_None ? NULL : Py_NewRef(value);
    Py_XDECREF(before);
}

static int keep_method(PyObject **place, PyObject *object, const char *name)
{
    PyObject *method =
        object == Py_None ? Py_NewRef(Py_None) : PyObject_GetAttrString(object, name);
    if (!method)
        return -1;
    keep(place, method);
    Py_DECREF(method);
    return 0;
}

static PyObject *set_checks(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function, *variable, *quiet, *policy, *entry;
    const char *name;
    double fraction;
    if (!PyArg_ParseTuple(args, "sdOOOOO:set_checks", &name, &fraction, &function, &variable,
                          &quiet, &policy, &entry))
        return NULL;
    if (!warnings_module && !(warnings_module = PyImport_ImportModule("warnings")))
        return NULL;
    keep(&classify, function);
    if (keep_method(&get_settings, variable, "get") < 0 ||
        keep_method(&set_settings, variable, "set") < 0 ||
        keep_method(&reset_settings, variable, "reset") < 0)
        return NULL;
    keep(&quiet_settings, quiet);
    keep(&is_plain_policy, policy);
    keep(&filter, entry);
    keep(&known_settings, Py_None);
    kind = strcmp(name, "numpy") == 0    ? CHECK_NUMPY
           : strcmp(name, "nan") == 0    ? CHECK_NAN
           : strcmp(name, "finite") == 0 ? CHECK_FINITE
                                         : NO_CHECK;
    limit = fraction >= 1 ? UINT64_MAX : (uint64_t)(fraction * 18446744073709551616.0);
    state_of_random = 0x9e3779b97f4a7c15;
    n_checked = n_left_out = n_operations = 0;
    checks_epoch++;
    Py_RETURN_NONE;
}

static PyObject *take_counts(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *counts = Py_BuildValue("nnn", n_checked, n_left_out, n_operations);
    n_checked = n_left_out = 0;
    return counts;
}

static PyObject *get_is_comparing(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(is_comparing);
}

static PyObject *get_is_selected(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(is_selected);
}

PyMethodDef checks_methods[] = {
    {"set_checks", set_checks, METH_VARARGS,
     "set_checks(kind, fraction, classify, settings, quiet, is_plain, filter)\n--\n\n"
     "Set what is checked without calling the watchers: \"numpy\", \"nan\", \"finite\" or "
     "\"\"."},
    {"take_counts", take_counts, METH_NOARGS,
     "take_counts()\n--\n\nReturn and clear the number of calls that were found right, and of "
     "those outside the fraction.  The third number is that of operations."},
    {"is_comparing", get_is_comparing, METH_NOARGS,
     "is_comparing()\n--\n\nCheck whether this thread calls NumPy to compare results."},
    {"is_selected", get_is_selected, METH_NOARGS,
     "is_selected()\n--\n\nCheck whether the call was selected, if a fraction is checked."},
    {NULL, NULL, 0, NULL},
};
