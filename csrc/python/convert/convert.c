/* convert.c -- arguments on their way to NumPy, and results on their way back. */
#include "python/convert/convert.h"
#include "python/base/recursion.h"
#include "python/base/refusal.h"
#include "python/convert/loans.h"
#include "python/profile/profile.h"
#include "python/record/expression.h"
#include "python/record/failure.h"
#include "python/record/queue.h"
#include "python/record/wrapper.h"

/* -- Unwrapping: replace arrays by the NumPy arrays inside ------------------------------ */

/* Steal a reference to a tuple of new items for another tuple.  Return it, or a named tuple, or
 * the other tuple if its class cannot make one. */
static PyObject *rebuild(PyObject *tuple, PyObject *items)
{
    PyObject *out = NULL;
    if (PyTuple_CheckExact(tuple))
        return items;
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(tuple), "_make");
    if (make)
        out = PyObject_CallFunctionObjArgs(make, items, NULL);
    else if (refusal_drop() == 0)
        out = Py_NewRef(tuple);
    Py_XDECREF(make);
    Py_DECREF(items);
    return out;
}

/* Return a new reference to a tuple or list with its items unwrapped, which is the same object
 * if none of them is an array. */
static PyObject *unwrap_items(PyObject *items, struct call_args *call_args, int depth)
{
    bool is_list = PyList_CheckExact(items);
    Py_ssize_t n = is_list ? PyList_Size(items) : PyTuple_Size(items);
    PyObject *copy = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = is_list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);
        PyObject *value = convert_unwrap(item, call_args, depth);
        if (!value) {
            Py_XDECREF(copy);
            return NULL;
        }
        if (value != item && !copy) {
            copy = is_list ? PyList_GetSlice(items, 0, n) : PyTuple_New(n);
            call_args->has_items = true;
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
    if (!copy)
        return Py_NewRef(items);
    return is_list ? copy : rebuild(items, copy);
}

/* Lend a list or dict: unwrap its items in place until the call ends.  Return a new reference
 * to it. */
static PyObject *unwrap_in_place(PyObject *container, struct call_args *call_args, int depth)
{
    bool is_dict = PyDict_CheckExact(container);
    PyObject *key = NULL, *item;
    Py_ssize_t at = 0;
    int status = 0;
    for (Py_ssize_t i = 0; status == 0; i++) {
        if (is_dict ? !PyDict_Next(container, &at, &key, &item) : i >= PyList_Size(container))
            break;
        if (!is_dict)
            item = PyList_GetItem(container, i);
        PyObject *given = convert_unwrap(item, call_args, depth);
        if (!given)
            status = -1;
        else if (given != item)
            status = loans_lend(call_args, container, i, key, given);
        Py_XDECREF(given);
    }
    return status < 0 ? NULL : Py_NewRef(container);
}

/* Return a new reference to what the callee gets for a tuple, list or dict. */
static PyObject *unwrap_container(PyObject *x, struct call_args *call_args, int depth)
{
    bool is_tuple = PyTuple_Check(x);
    if (call_args->gives && (!is_tuple || Py_REFCNT(x) > 1))
        return Py_NewRef(x);
    return is_tuple || !call_args->is_package ? unwrap_items(x, call_args, depth)
                                              : unwrap_in_place(x, call_args, depth);
}

/* Return a new reference to the method of a NumPy array or ufunc, for one of mxnp. */
static PyObject *unwrap_method(PyObject *method, struct call_args *call_args)
{
    PyObject *self = PyObject_GetAttrString(method, "__self__"), *result = NULL;
    PyObject *inside = self ? unwrap(self, call_args) : NULL;
    if (inside == self)
        result = Py_XNewRef(method);
    else if (inside) {
        PyObject *name = PyObject_GetAttrString(method, "__name__");
        result = name ? PyObject_GetAttr(inside, name) : NULL;
        Py_XDECREF(name);
    }
    Py_XDECREF(self);
    return result;
}

PyObject *convert_unwrap(PyObject *x, struct call_args *call_args, int depth)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyUnicode_Type)
        return Py_NewRef(x); /* the items of most long lists */
    if (call_args->is_package &&
        ((PyObject *)type == method_class || type == slot_method_class))
        return unwrap_method(x, call_args);
    bool is_package = call_args->is_package;
    bool is_container = PyList_CheckExact(x) || (is_package && PyDict_CheckExact(x)) ||
                        (is_package ? PyTuple_Check(x) : PyTuple_CheckExact(x));
    if (depth > 0 && is_container)
        return unwrap_container(x, call_args, depth - 1);
    if (is_generator(x))
        call_args->generator = x;
    return Py_NewRef(unwrap(x, call_args));
}

/* Return a new tuple of so many arguments unwrapped, and the others as they are. */
static PyObject *unwrap_args(PyObject *args, struct call_args *call_args, int depth,
                             Py_ssize_t n_unwrapped)
{
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *out = PyTuple_New(n);
    if (!out)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GetItem(args, i);
        PyObject *value = i < n_unwrapped ? convert_unwrap(x, call_args, depth) : Py_NewRef(x);
        if (!value) {
            Py_DECREF(out);
            return NULL;
        }
        PyTuple_SetItem(out, i, value);
    }
    return out;
}

void convert_note_out(struct call_args *call_args, PyObject *out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyTuple_CheckExact(out)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(out); i++)
            convert_note_out(call_args, PyTuple_GetItem(out, i));
    } else if (PyDict_CheckExact(out)) {
        while (PyDict_Next(out, &at, &key, &value))
            convert_note_out(call_args, value);
    } else if (Py_TYPE(out) == np_array_type && call_args->nout < MAX_OUT) {
        call_args->outs[call_args->nout++] = out;
    }
}

PyObject *convert_unwrap_kwargs(PyObject *kwargs, struct call_args *call_args, int depth)
{
    PyObject *out = PyDict_Copy(kwargs);
    PyObject *key, *item;
    Py_ssize_t at = 0;
    while (out && PyDict_Next(kwargs, &at, &key, &item)) {
        int level = depth == 0 && PyTuple_CheckExact(item) ? 1 : depth;
        if (PyUnicode_CompareWithASCIIString(key, "out") == 0)
            convert_note_out(call_args, item);
        PyObject *value = convert_unwrap(item, call_args, level);
        if (!value || (value != item && PyDict_SetItem(out, key, value) < 0))
            Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

/* -- Adopting: replace NumPy arrays by arrays ------------------------------------------- */

/* Some functions, such as linspace, return a view of an array that nothing else refers to. That
 * array becomes the root.  Otherwise its memory would count as that of other code. */
static void adopt_base(struct array *out, PyObject *base)
{
    if (Py_TYPE(base) != np_array_type || Py_REFCNT(base) != 1)
        return;
    out->base = wrapper_new(Py_NewRef(base));
    if (out->base)
        as_array(out->base)->is_exported = out->is_exported;
    else
        PyErr_Clear(); /* its memory counts as that of other code */
}

/* Return a borrowed reference to the array of the call that has a NumPy array inside, or NULL.
 * Many are mostly found in their order.  One to which nothing else refers is new. */
static PyObject *find_array(struct call_args *call_args, PyObject *np_array)
{
    bool is_new = Py_REFCNT(np_array) == 1;
    Py_ssize_t n = call_args->more && !is_new ? PyList_Size(call_args->more) : 0;
    for (int i = 0; i < call_args->n; i++)
        if (as_array(call_args->arrays[i])->unprepared == np_array)
            return call_args->arrays[i];
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t at = (call_args->next + i) % n;
        PyObject *x = PyList_GetItem(call_args->more, at);
        if (as_array(x)->unprepared != np_array)
            continue;
        call_args->next = at + 1;
        return x;
    }
    return NULL;
}

/* NumPy may have made a new array of objects of the items of a list, or a view of one.  Those
 * that are arrays of the call become elements in place of the NumPy arrays inside. */
static void adopt_elements(PyArrayObject *np_array, struct call_args *call_args)
{
    PyObject *base = PyArray_BASE(np_array);
    if (base && Py_TYPE(base) == np_array_type && Py_REFCNT(base) == 1)
        np_array = (PyArrayObject *)base;
    if (!call_args->has_items || PyArray_DESCR(np_array)->kind != 'O' ||
        PyArray_BASE(np_array) || !PyArray_ISONESEGMENT(np_array))
        return;
    PyObject **elements = (PyObject **)PyArray_BYTES(np_array);
    for (npy_intp i = 0; i < PyArray_SIZE(np_array); i++) {
        PyObject *element = elements[i];
        PyObject *array = element && Py_TYPE(element) == np_array_type
                              ? find_array(call_args, element)
                              : NULL;
        if (array) {
            elements[i] = Py_NewRef(array);
            Py_DECREF(element);
        }
    }
}

PyObject *convert_adopt_array(PyObject *np_array, struct call_args *call_args)
{
    for (int i = 0; i < call_args->nout; i++)
        if (call_args->outs[i] == np_array)
            return np_array;
    PyObject *found = find_array(call_args, np_array);
    if (found) {
        Py_INCREF(found);
        Py_DECREF(np_array);
        return found;
    }
    if (call_args->keeps_others)
        return np_array;
    adopt_elements((PyArrayObject *)np_array, call_args);
    PyObject *base = PyArray_BASE((PyArrayObject *)np_array);
    PyObject *out = wrapper_new(np_array);
    for (int i = 0; out && base && i < call_args->n; i++) {
        struct array *x = as_array(call_args->arrays[i]);
        bool direct = x->unprepared == base;
        if (!direct && PyArray_BASE((PyArrayObject *)x->unprepared) != base)
            continue;
        as_array(out)->base = Py_XNewRef(direct ? (PyObject *)x : x->base);
        /* A package that keeps the view too may write to the memory of the array. */
        call_args->holders[i] += !call_args->is_package || !as_array(out)->is_exported;
        break;
    }
    if (out && base && !as_array(out)->base)
        adopt_base(as_array(out), base);
    return out;
}

/* -- Before and after a call -------------------------------------------------------- */

static int convert_wait_for(struct call_args *call_args, bool reads)
{
    int status = call_args->is_full ? queue_flush_and_bring() : expression_close();
    if (call_args->failed && status == 0)
        status = failure_raise(call_args->failed);
    for (int i = 0; i < call_args->n && status == 0; i++) {
        PyObject *a = call_args->arrays[i]; /* of a view, the first one; others are read */
        status = reads || i > 0 ? queue_before_write(a) : queue_before_view(a);
    }
    return status;
}

int convert_prepare(struct call_args *call_args, bool reads)
{
    Py_ssize_t before[MAX_CALL_ARGS];
    if (reads)
        span_note_numpy();
    if (queue_is_idle())
        return 0;
    for (int i = 0; i < call_args->n; i++)
        before[i] = count_holders(call_args->arrays[i]);
    int status = convert_wait_for(call_args, reads);
    for (int i = 0; i < call_args->n; i++) /* the queue releases arrays when it runs */
        call_args->holders[i] -= before[i] - count_holders(call_args->arrays[i]);
    return status;
}

void convert_mark_exported(struct call_args *call_args)
{
    for (int i = 0; i < call_args->n; i++)
        if (count_holders(call_args->arrays[i]) > call_args->holders[i])
            queue_export(call_args->arrays[i]);
    queue_after_write();
}

void convert_end_call(struct call_args *call_args)
{
    convert_mark_exported(call_args);
    call_args_end(call_args);
}

PyObject *convert_export(PyObject *x, int depth, bool is_package)
{
    struct call_args call_args;
    struct span span;
    call_args_begin(&call_args);
    call_args.gives = call_args.is_package = is_package;
    PyObject *out = convert_unwrap(x, &call_args, depth);
    span_begin(&span, SPAN_EXPORT, NULL);
    if (out && convert_prepare(&call_args, true) < 0)
        Py_CLEAR(out);
    span_pop(&span);
    for (int i = 0; i < call_args.n; i++)
        queue_export(call_args.arrays[i]);
    call_args_end(&call_args);
    queue_after_write();
    return out;
}

static PyObject *adopt_tuple(PyObject *tuple, struct call_args *call_args, int depth);

/* Adopt the items of a list, which NumPy has just made, or of a tuple that nothing else refers
 * to, in place.  An array is taken out first, so that nothing holds it besides its new one.
 * Code of the program, such as the hash of a key, may find the tuple meanwhile. */
static PyObject *adopt_in_place(PyObject *items, struct call_args *call_args, int depth)
{
    bool is_list = PyList_CheckExact(items), is_alone = Py_REFCNT(items) == 1;
    PyObject *(*get)(PyObject *, Py_ssize_t) = is_list ? PyList_GetItem : PyTuple_GetItem;
    int (*set)(PyObject *, Py_ssize_t, PyObject *) = is_list ? PyList_SetItem : PyTuple_SetItem;
    for (Py_ssize_t i = 0; i < Py_SIZE(items); i++) {
        if (!is_list && Py_REFCNT(items) > 1)
            return adopt_tuple(items, call_args, depth);
        PyObject *item = Py_NewRef(get(items, i));
        bool is_taken = is_alone && Py_TYPE(item) == np_array_type;
        if (is_taken)
            set(items, i, Py_NewRef(Py_None));
        PyObject *value = convert_adopt(item, call_args, depth);
        if (value && value == item && !is_taken)
            Py_DECREF(value);
        else if (!value || set(items, i, value) < 0) {
            Py_DECREF(items);
            return NULL;
        }
    }
    return items;
}

/* Do the same with the values of a dict. */
static PyObject *adopt_dict(PyObject *dict, struct call_args *call_args, int depth)
{
    PyObject *keys = PyDict_Keys(dict); /* references to values would make them look held */
    for (Py_ssize_t i = 0; keys && i < PyList_Size(keys); i++) {
        PyObject *key = PyList_GetItem(keys, i);
        PyObject *item = PyDict_GetItemWithError(dict, key);
        PyObject *value = item ? convert_adopt(Py_NewRef(item), call_args, depth) : NULL;
        if (value ? value != item && PyDict_SetItem(dict, key, value) < 0
                  : PyErr_Occurred() != NULL)
            Py_CLEAR(keys);
        Py_XDECREF(value);
    }
    if (!keys) {
        Py_DECREF(dict);
        return NULL;
    }
    Py_DECREF(keys);
    return dict;
}

/* Tuples, and named tuples such as linalg's SVDResult, are rebuilt if something else refers to
 * them. */
static PyObject *adopt_tuple(PyObject *tuple, struct call_args *call_args, int depth)
{
    if (Py_REFCNT(tuple) == 1)
        return adopt_in_place(tuple, call_args, depth);
    Py_ssize_t n = PyTuple_Size(tuple);
    PyObject *items = PyTuple_New(n);
    bool changed = false;
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i);
        PyObject *value = convert_adopt(Py_NewRef(item), call_args, depth);
        changed |= value != item;
        if (!value)
            Py_CLEAR(items);
        else
            PyTuple_SetItem(items, i, value);
    }
    if (!items || !changed) {
        Py_XDECREF(items);
        if (!items)
            Py_CLEAR(tuple);
        return tuple;
    }
    PyObject *out = rebuild(tuple, items);
    Py_DECREF(tuple);
    return out;
}

/* Check for dtypes of the Array API standard, numbers and bools.  Arrays of dates, strings and
 * objects have NumPy's behaviour: libraries such as xarray ask an array of dates for its
 * namespace and expect scalars from it. */
static bool is_of_standard(int type)
{
    return PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) || PyTypeNum_ISUSERDEF(type);
}

/* Steal a reference to an array.  Return the array itself, marked, if nothing else refers to
 * it, or a marked view of it. */
static PyObject *mark_standard(PyObject *a, bool is_inside)
{
    if (as_array(a)->is_standard || !is_of_standard(PyArray_TYPE(np_array_of(a))))
        return a;
    if (Py_REFCNT(a) > 1 + is_inside) {
        struct call_args call_args = {.n = 1, .arrays = {a}};
        PyObject *np_array = queue_to_view(a);
        PyObject *view = np_array ? PyArray_View((PyArrayObject *)np_array, NULL, NULL) : NULL;
        PyObject *other = view ? convert_adopt_array(view, &call_args) : NULL;
        Py_DECREF(a);
        a = other;
    }
    if (a)
        as_array(a)->is_standard = true;
    return a;
}

/* Steal a reference to a NumPy scalar.  Return an array without dimensions, or the scalar if
 * its dtype is not of the standard. */
static PyObject *without_dimensions(PyObject *scalar)
{
    PyArray_Descr *dtype = PyArray_DescrFromScalar(scalar);
    bool is_kept = dtype && !is_of_standard(dtype->type_num);
    Py_XDECREF((PyObject *)dtype);
    if (is_kept)
        return scalar;
    PyObject *np_array = PyArray_FromScalar(scalar, NULL);
    Py_DECREF(scalar);
    PyObject *a = np_array ? wrapper_new(np_array) : NULL;
    return a ? mark_standard(a, false) : NULL;
}

PyObject *convert_standard(PyObject *result, int depth)
{
    struct call_args call_args = {.is_standard = true};
    return convert_adopt(result, &call_args, depth);
}

/* Check for a container of a package that has it elsewhere too. */
static bool is_held(PyObject *result, const struct call_args *call_args)
{
    return call_args->is_package && Py_REFCNT(result) > 1 + call_args->is_inside;
}

/* Adopt the items of a tuple, list or dict.  The lists and dicts in a tuple that is held stay
 * as they are. */
static PyObject *adopt_items(PyObject *result, struct call_args *call_args, int depth)
{
    bool was_held = call_args->is_held;
    call_args->is_held |= is_held(result, call_args);
    call_args->is_inside = true;
    if (PyTuple_Check(result))
        result = adopt_tuple(result, call_args, depth);
    else if (!call_args->is_held && PyList_CheckExact(result))
        result = adopt_in_place(result, call_args, depth);
    else if (!call_args->is_held && PyDict_CheckExact(result))
        result = adopt_dict(result, call_args, depth);
    call_args->is_held = was_held;
    return result;
}

PyObject *convert_adopt(PyObject *result, struct call_args *call_args, int depth)
{
    if (!result)
        return NULL;
    if (call_args->is_standard && is_array(result))
        return mark_standard(result, call_args->is_inside);
    if (call_args->is_standard && PyArray_IsScalar(result, Generic))
        return without_dimensions(result);
    if (Py_TYPE(result) == np_array_type) {
        result = convert_adopt_array(result, call_args);
        return result && call_args->is_standard ? mark_standard(result, false) : result;
    }
    if (call_args->generator && types_generator_inside(call_args->generator) == result) {
        Py_DECREF(result);
        return Py_NewRef(call_args->generator);
    }
    return depth > 0 ? adopt_items(result, call_args, depth - 1) : result;
}

/* Check for the name of a dtype with objects, such as "O" and "object": no other name has an O
 * or a j.  Strings of the program may have them too. */
static bool names_objects(PyObject *string)
{
    Py_ssize_t n = PyUnicode_GetLength(string);
    return PyUnicode_FindChar(string, 'O', 0, n, 1) >= 0 ||
           PyUnicode_FindChar(string, 'j', 0, n, 1) >= 0;
}

/* Check for a dtype with objects among the items of a list or tuple. */
static bool is_described(PyObject *items, int depth)
{
    bool is_list = PyList_CheckExact(items), is = false;
    Py_ssize_t n = is_list ? PyList_Size(items) : PyTuple_Size(items);
    for (Py_ssize_t i = 0; i < n && !is; i++)
        is = convert_is_object_dtype(
            is_list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i), depth);
    return is;
}

/* The same for a list of fields, each of which is a tuple with the name first. */
static bool are_fields(PyObject *list, int depth)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *field = PyList_GetItem(list, i);
        PyObject *name = PyTuple_CheckExact(field) && PyTuple_Size(field) > 1
                             ? PyTuple_GetItem(field, 0)
                             : NULL;
        if (!name || !(PyUnicode_Check(name) || PyTuple_CheckExact(name)))
            return false;
        if (convert_is_object_dtype(PyTuple_GetItem(field, 1), depth))
            return true;
    }
    return false;
}

bool convert_is_object_dtype(PyObject *x, int depth)
{
    PyObject *key, *item;
    Py_ssize_t at = 0;
    bool is = false;
    if (PyUnicode_Check(x))
        return names_objects(x);
    if (PyObject_TypeCheck(x, &PyArrayDescr_Type))
        return PyDataType_REFCHK((PyArray_Descr *)x);
    if (depth > 0 && PyTuple_CheckExact(x)) /* a dtype, and its shape or other fields */
        return PyTuple_Size(x) == 2 && is_described(x, depth - 1);
    if (depth > 0 && PyList_CheckExact(x))
        return are_fields(x, depth - 1);
    while (depth > 0 && !is && PyDict_CheckExact(x) && PyDict_Next(x, &at, &key, &item))
        is = PyList_CheckExact(item) || PyTuple_CheckExact(item)
                 ? is_described(item, depth - 1)
                 : convert_is_object_dtype(item, depth - 1);
    return is || x == (PyObject *)&PyBaseObject_Type;
}

/* With a dtype that has objects, the items of a list become elements, and keep their identity.
 */
static bool makes_objects(PyObject *args, PyObject *kwargs)
{
    static PyObject *name;
    PyObject *dtype = kwargs ? convert_keyword(kwargs, &name, "dtype") : NULL;
    if (!dtype && PyTuple_Size(args) > 1)
        dtype = PyTuple_GetItem(args, 1);
    return dtype && convert_is_object_dtype(dtype, MAX_DEPTH);
}

#define FEW 8 /* items of a list that are looked at for a callback */

/* Check for a callback, or a list of them, as for piecewise. */
static bool are_callbacks(PyObject *x)
{
    if (!PyList_CheckExact(x))
        return is_callback(x);
    Py_ssize_t i = 0, n = PyList_Size(x) < FEW ? PyList_Size(x) : FEW;
    while (i < n && !is_callback(PyList_GetItem(x, i)))
        i++;
    return i < n;
}

/* Check whether a test is true of an argument. */
static bool has_argument(PyObject *args, PyObject *kwargs, bool (*test)(PyObject *x))
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
        if (test(PyTuple_GetItem(args, i)))
            return true;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        if (test(value))
            return true;
    return false;
}

bool convert_has_callback(PyObject *args, PyObject *kwargs)
{
    return has_argument(args, kwargs, are_callbacks);
}

bool convert_holds_objects(PyObject *x)
{
    const PyArrayObject *np_array = is_array(x) ? np_array_of(x) : (PyArrayObject *)x;
    return (is_array(x) || PyArray_Check(x)) && PyDataType_REFCHK(PyArray_DESCR(np_array));
}

/* Check for an argument to which the function may hand items of lists and tuples on: to a
 * callback, or to an array, as elements. */
static bool gets_items(PyObject *x) { return are_callbacks(x) || convert_holds_objects(x); }

bool convert_keeps_items(PyObject *args, PyObject *kwargs)
{
    return makes_objects(args, kwargs) || has_argument(args, kwargs, gets_items);
}

/* Check whether the first argument stores the others as they are. */
static bool stores_others(const struct function *f, PyObject *args)
{
    PyObject *first = f->stores && PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None;
    return is_array(first) && PyArray_DESCR(np_array_of(first))->kind == 'O';
}

/* Check whether a function that returns views if possible had to read elements after all. */
static bool has_read(PyObject *result, const struct call_args *call_args)
{
    if (PyTuple_CheckExact(result) || PyList_CheckExact(result)) {
        bool is_list = PyList_CheckExact(result), reads = false;
        Py_ssize_t n = is_list ? PyList_Size(result) : PyTuple_Size(result);
        for (Py_ssize_t i = 0; i < n && !reads; i++)
            reads = has_read(is_list ? PyList_GetItem(result, i) : PyTuple_GetItem(result, i),
                             call_args);
        return reads;
    }
    if (Py_TYPE(result) != np_array_type)
        return PyArray_CheckScalar(result) || PyArray_Check(result);
    PyObject *base = PyArray_BASE((PyArrayObject *)result);
    for (int i = 0; i < call_args->n; i++) {
        PyObject *np_array = as_array(call_args->arrays[i])->unprepared;
        if (np_array == result || np_array == base ||
            (PyObject *)root_of(call_args->arrays[i])->unprepared == base)
            return false;
    }
    return true;
}

/* Check whether the result is a view, or several, for which no elements were computed. */
static bool is_view(PyObject *result)
{
    if (PyTuple_CheckExact(result) || PyList_CheckExact(result)) {
        bool is_list = PyList_CheckExact(result);
        Py_ssize_t n = is_list ? PyList_Size(result) : PyTuple_Size(result);
        bool are_views = n > 0;
        for (Py_ssize_t i = 0; i < n && are_views; i++)
            are_views =
                is_view(is_list ? PyList_GetItem(result, i) : PyTuple_GetItem(result, i));
        return are_views;
    }
    PyObject *base =
        Py_TYPE(result) == np_array_type ? PyArray_BASE((PyArrayObject *)result) : NULL;
    return base && Py_TYPE(base) == np_array_type && Py_REFCNT(base) > 1;
}

static PyObject *call_numpy(PyObject *callable, PyObject *positional, PyObject *named)
{
    if (recursion_enter() < 0)
        return NULL;
    PyObject *result = PyObject_Call(callable, positional, named);
    recursion_leave();
    return result;
}

/* Check for a subclass of numpy.ndarray as an argument.  NumPy calls its method
 * __array_finalize__, which may read elements, and must be called once. */
static bool is_subclass(PyObject *x)
{
    return PyType_Check(x) && x != (PyObject *)np_array_type &&
           PyType_IsSubtype((PyTypeObject *)x, np_array_type);
}

/* Run what the arrays of a call wait for, after the call failed.  An exception from there comes
 * first. */
static void fail_after_queue(struct call_args *call_args)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (convert_prepare(call_args, true) == 0) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static PyObject *call(const struct function *f, PyObject *callable, PyObject *positional,
                      PyObject *named, struct call_args *call_args)
{
    bool reads = !f->is_view || queue_is_idle() || has_argument(positional, named, is_subclass);
    if (convert_prepare(call_args, reads) < 0)
        return NULL;
    PyObject *result = call_numpy(callable, positional, named);
    if (!reads && !result)
        fail_after_queue(call_args);
    if (!reads && result && has_read(result, call_args)) {
        Py_CLEAR(result);
        if (convert_prepare(call_args, true) < 0)
            return NULL;
        result = call_numpy(callable, positional, named);
    }
    if (profile_is_on && result &&
        (f->is_view ? !has_read(result, call_args) : is_view(result)))
        span_note_nothing();
    return result;
}

PyObject *convert_call(const struct function *f, PyObject *callable, PyObject *args,
                       PyObject *kwargs)
{
    struct call_args call_args;
    call_args_begin(&call_args);
    call_args.keeps_others = f->keeps_others;
    int depth = f->depth > 0 && convert_keeps_items(args, kwargs) ? 0 : f->depth;
    bool has_named = kwargs && PyDict_Size(kwargs) > 0;
    Py_ssize_t n_unwrapped = stores_others(f, args) ? 1 : PyTuple_Size(args);
    PyObject *positional = unwrap_args(args, &call_args, depth, n_unwrapped), *named = NULL,
             *result = NULL;
    if (positional && has_named)
        named = convert_unwrap_kwargs(kwargs, &call_args, depth);
    if (positional && (named || !has_named))
        result = call(f, callable, positional, named, &call_args);
    if (f->adopts)
        result = convert_adopt(result, &call_args, MAX_DEPTH);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    convert_end_call(&call_args);
    return result;
}
