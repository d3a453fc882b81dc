/* iterators.c -- generators, coroutines and iterators that cross a door.
 *
 * They give their items without a call of a function.  So an object that crosses a door gets
 * another class, which derives from its own and has the same layout: that of those that the
 * program gives to a package, or that of those that it takes from one.  The code that asks for
 * an item decides whether it is converted, because both may use the same object.
 */
#include "python/packages/iterators.h"
#include "python/base/refusal.h"
#include "python/packages/callables.h"
#include "python/packages/crossing.h"
#include "python/packages/layout.h"
#include "python/packages/owners.h"

/* Classes of iterators, and those that objects get in their place.  These are made for the
 * first such object, since a program uses few of 70. */
enum { MAX_KINDS = 64 };
static struct kind {
    PyTypeObject *class, *marked[N_DIRECTIONS];
    bool is_awaited; /* what it gives goes to the event loop, and what it returns to the code */
} kinds[MAX_KINDS];
static int n_kinds;

static struct kind *find_kind(const PyTypeObject *class)
{
    for (int i = 0; i < n_kinds; i++)
        if (kinds[i].class == class)
            return &kinds[i];
    return NULL;
}

static PyTypeObject *own_class(PyObject *self)
{
    return (PyTypeObject *)((struct type_struct *)Py_TYPE(self))->base;
}

static enum direction direction_of(PyObject *self)
{
    for (int i = 0; i < n_kinds; i++)
        if (kinds[i].marked[GIVEN] == Py_TYPE(self))
            return GIVEN;
    return TAKEN;
}

/* -- Conversion -------------------------------------------------------------------------- */

/* Raise StopIteration with a value, whose reference is stolen. */
static PyObject *stop(PyObject *value)
{
    PyObject *error =
        value ? PyObject_CallFunctionObjArgs(PyExc_StopIteration, value, NULL) : NULL;
    Py_XDECREF(value);
    if (error)
        PyErr_SetObject(PyExc_StopIteration, error);
    Py_XDECREF(error);
    return NULL;
}

typedef PySendResult (*send_call)(PyObject *self, PyObject *x, PyObject **result);

static PySendResult iterators_send(PyObject *self, PyObject *x, PyObject **result)
{
    enum direction direction = direction_of(self);
    PyTypeObject *class = own_class(self);
    send_call call = (send_call)PyType_GetSlot(class, Py_am_send);
    PyObject *sent = crossing.send(Py_NewRef(x), direction == TAKEN);
    PySendResult status = sent ? call(self, sent, result) : PYGEN_ERROR;
    Py_XDECREF(sent);
    if (status == PYGEN_ERROR || (status == PYGEN_NEXT && find_kind(class)->is_awaited))
        return status;
    *result = direction == GIVEN ? crossing.give_item(*result) : crossing.take_item(*result);
    return *result ? status : PYGEN_ERROR;
}

static PyObject *send_method(PyObject *self, PyObject *x)
{
    PyObject *result = NULL;
    PySendResult status = iterators_send(self, x, &result);
    return status == PYGEN_RETURN ? stop(result) : status == PYGEN_NEXT ? result : NULL;
}

typedef PyObject *(*conversion)(PyObject *x);

/* Convert the value that a generator returned, which is in the exception. */
static PyObject *stop_with_converted(conversion convert)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyObject *value = PyObject_GetAttrString(error, "value");
    PyObject *converted = convert(Py_XNewRef(value));
    if (!converted || converted != value) {
        Py_CLEAR(type);
        Py_CLEAR(error);
        Py_CLEAR(traceback);
        stop(converted);
    } else {
        Py_DECREF(converted);
        PyErr_Restore(type, error, traceback);
    }
    Py_XDECREF(value);
    return NULL;
}

static PyObject *next_own(PyObject *self)
{
    return ((iternextfunc)((struct type_struct *)own_class(self))->iternext)(self);
}

/* The next item of an object for code that awaits it. */
static PyObject *next_step(PyObject *self)
{
    PyObject *result = NULL;
    if (!PyType_GetSlot(own_class(self), Py_am_send)) {
        result = next_own(self);
        return result || !PyErr_ExceptionMatches(PyExc_StopIteration)
                   ? result
                   : stop_with_converted(crossing.take_item);
    }
    PySendResult status = iterators_send(self, Py_None, &result);
    if (status == PYGEN_RETURN && result == Py_None)
        Py_CLEAR(result);
    return status == PYGEN_RETURN && result ? stop(result) : result;
}

static inline PyObject *next_converted(PyObject *self, conversion convert)
{
    PyObject *item = next_own(self);
    return item || !PyErr_ExceptionMatches(PyExc_StopIteration) ? convert(item)
                                                                : stop_with_converted(convert);
}

static PyObject *next_given(PyObject *self) { return next_converted(self, crossing.give_item); }

static PyObject *next_taken(PyObject *self) { return next_converted(self, crossing.take_item); }

/* The iterators of a view of a dict. */
static PyObject *iterate(PyObject *self, enum direction direction)
{
    getiterfunc inner = (getiterfunc)((struct type_struct *)own_class(self))->iter;
    PyObject *iterator = inner(self);
    if (iterator && iterator_mark(iterator, direction) < 0)
        Py_CLEAR(iterator);
    return iterator;
}

static PyObject *iterate_given(PyObject *self) { return iterate(self, GIVEN); }

static PyObject *iterate_taken(PyObject *self) { return iterate(self, TAKEN); }

/* -- Classes ----------------------------------------------------------------------------- */

static void iterators_release(PyObject *self)
{
    PyTypeObject *marked = Py_TYPE(self), *class = own_class(self);
    destructor dealloc = (destructor)PyType_GetSlot(class, Py_tp_dealloc);
    Py_SET_TYPE(self, class);
    dealloc(self);
    Py_DECREF((PyObject *)marked);
}

static int copy_names(PyTypeObject *from, PyTypeObject *to)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__"};
    int status = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == 0; i++) {
        PyObject *name = PyObject_GetAttrString((PyObject *)from, names[i]);
        status = name ? PyObject_SetAttrString((PyObject *)to, names[i], name) : -1;
        Py_XDECREF(name);
    }
    return status;
}

static PyTypeObject *derive(const struct kind *kind, enum direction direction)
{
    static PyMethodDef methods[] = {
        {"send", send_method, METH_O,
         "send(value, /)\n--\n\nResume the generator or coroutine with a value."},
        {NULL, NULL, 0, NULL},
    };
    PyTypeObject *class = kind->class;
    bool is_given = direction == GIVEN, sends = PyType_GetSlot(class, Py_am_send);
    PyType_Slot slots[7] = {{Py_tp_dealloc, (void *)iterators_release}};
    int n = 1;
    if (sends) {
        slots[n++] = (PyType_Slot){Py_am_send, (void *)iterators_send};
        slots[n++] = (PyType_Slot){Py_tp_methods, methods};
    }
    if (PyType_GetSlot(class, Py_am_await))
        slots[n++] = (PyType_Slot){Py_am_await, (void *)PyObject_SelfIter};
    if (kind->is_awaited) {
        slots[n++] = (PyType_Slot){Py_tp_iternext, (void *)next_step};
    } else if (PyType_GetSlot(class, Py_tp_iternext)) {
        slots[n++] =
            (PyType_Slot){Py_tp_iternext, is_given ? (void *)next_given : (void *)next_taken};
    } else {
        slots[n++] =
            (PyType_Slot){Py_tp_iter, is_given ? (void *)iterate_given : (void *)iterate_taken};
    }
    PyTypeObject *made = callable_derive(class, "builtins.iterator", slots);
    return made && copy_names(class, made) == 0 ? made : NULL;
}

bool iterator_is_markable(const PyTypeObject *class) { return find_kind(class); }

int iterator_mark(PyObject *x, enum direction direction)
{
    struct kind *kind = find_kind(Py_TYPE(x));
    if (kind && !kind->marked[direction]) {
        PyTypeObject *made = derive(kind, direction);
        if (!made)
            return -1;
        if (kind->marked[direction]) /* a finalizer has marked another object meanwhile */
            Py_DECREF((PyObject *)made);
        else
            kind->marked[direction] = made;
    }
    if (kind && Py_TYPE(x) == kind->class) {
        Py_INCREF((PyObject *)kind->marked[direction]);
        Py_SET_TYPE(x, kind->marked[direction]);
    }
    return 0;
}

static void add_kind(PyTypeObject *class, bool is_awaited)
{
    if (n_kinds == MAX_KINDS || find_kind(class))
        return;
    Py_INCREF((PyObject *)class);
    kinds[n_kinds++] = (struct kind){.class = class, .is_awaited = is_awaited};
}

/* -- Futures and asynchronous generators -------------------------------------------------- */

enum { AWAIT, ANEXT = 2, N_SLOTS }; /* places in PyAsyncMethods */
static unaryfunc originals[N_SLOTS];

/* Steal a reference to an object that awaits a result; NULL passes through.  The code that runs
 * gets the result. */
static PyObject *mark_awaiting(PyObject *x)
{
    int owner = x ? owners_of_caller() : NOBODY;
    if (owner < 0)
        Py_CLEAR(x);
    else if (owner != NOBODY && iterator_mark(x, TAKEN) < 0)
        Py_CLEAR(x);
    return x;
}

static PyObject *await_marked(PyObject *x) { return mark_awaiting(originals[AWAIT](x)); }

static PyObject *anext_marked(PyObject *x) { return mark_awaiting(originals[ANEXT](x)); }

/* Replace a slot, unless the class has another function there than those before it. */
static void replace_slot(PyTypeObject *class, int i, int number, unaryfunc replacement)
{
    unaryfunc now = (unaryfunc)PyType_GetSlot(class, number);
    void **slot = ((struct type_struct *)class)->as_async + i;
    if (!now || *slot != (void *)now || (originals[i] && now != originals[i]))
        return;
    originals[i] = now;
    *slot = (void *)replacement;
}

static PyObject *convert_awaited(PyObject *self, PyObject *args)
{
    PyTypeObject *class, *awaiting;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!:convert_awaited", &PyType_Type, &class, &PyType_Type,
                          &awaiting))
        return NULL;
    if (!layout_is_known())
        Py_RETURN_NONE;
    add_kind(awaiting, true);
    if (PyType_GetSlot(class, Py_am_anext))
        replace_slot(class, ANEXT, Py_am_anext, anext_marked);
    else
        replace_slot(class, AWAIT, Py_am_await, await_marked);
    Py_RETURN_NONE;
}

static PyObject *set_iterators(PyObject *self, PyObject *classes)
{
    (void)self;
    if (!layout_is_known())
        Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < PyTuple_Size(classes); i++) {
        PyTypeObject *class = (PyTypeObject *)PyTuple_GetItem(classes, i);
        add_kind(class, PyType_GetSlot(class, Py_am_await));
    }
    Py_RETURN_NONE;
}

PyMethodDef iterators_methods[] = {
    {"set_iterators", set_iterators, METH_O,
     "set_iterators(classes)\n--\n\n"
     "Convert the items of objects of these classes that cross a door."},
    {"convert_awaited", convert_awaited, METH_VARARGS,
     "convert_awaited(class, awaiting)\n--\n\n"
     "Convert the results of futures or asynchronous generators of a class for the code that "
     "awaits them, in objects of another class."},
    {NULL, NULL, 0, NULL},
};
