/* door.c -- functions of packages, written in Python, receive NumPy arrays.
 *
 * A package tests what it gets in many ways: `type(x) is numpy.ndarray`, `asarray(x) is x`, a
 * table of classes.  So mxnp arrays are converted where the program calls a package.  The
 * functions keep their identity and all attributes.  Only their vectorcall changes, which the
 * interpreter asks from Python 3.12 on:
 *
 * - A door is a function of a package.  The mxnp arrays among its arguments become the NumPy
 *   arrays inside.  NumPy arrays that it returns to the program become mxnp arrays.
 * - A callback is a function of the program that a package got.  If a package calls it, its
 *   arguments and its result are converted in the other direction.
 * - Other functions of classes that the program meets wait until the program calls them.
 *
 * mxnp/_interop/door.py decides what becomes a door, and when.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "python/packages/door.h"
#include "python/base/refusal.h"
#include "python/base/table.h"
#include "python/convert/convert.h"
#include "python/packages/arguments.h"
#include "python/packages/callables.h"
#include "python/packages/crossing.h"
#include "python/packages/iterators.h"
#include "python/packages/layout.h"
#include "python/packages/owners.h"
#include "python/profile/profile.h"
#include <dlfcn.h>

static vector_call run; /* the vectorcall of functions written in Python */
static void (*set_vectorcall)(PyObject *function, vector_call call);

/* Functions of door.py. */
static PyObject *open_class;   /* opens the doors of a class */
static PyObject *see_callable; /* opens other callables */
static PyObject *see_names;    /* opens what the names in code mean, which is running */
static PyObject *see_object;   /* sees what the program may get from attributes of an object */
static PyObject *takes_arrays; /* whether such a package takes mxnp arrays at present */
static PyObject *stop_event;   /* sys.monitoring.DISABLE */

static PyTypeObject *code_class;    /* types.CodeType */
static PyObject *builtins;          /* the module */
static PyTypeObject *partial_class; /* functools.partial */
static PyTypeObject *cached_class;  /* of functions that functools.cache() made */
static PyObject *module_string, *globals_string, *name_string, *function_string, *self_string,
    *partial_string, *wrapped_string, *code_string, *names_string, *count_string;

/* Call a function of door.py.  Return 0, or -1 with an exception set. */
static int show(PyObject *function, PyObject *x)
{
    PyObject *done = PyObject_CallFunctionObjArgs(function, x, NULL);
    int status = done ? 0 : refusal_drop();
    Py_XDECREF(done);
    return status;
}

/* -- Owners ---------------------------------------------------------------------------- */

/* Return the owner of a function's code, or of the module that the function names.  The code of
 * functools.wraps() and the like is the standard library's. */
static int owner_of(PyObject *function)
{
    PyObject *globals = PyObject_GetAttr(function, globals_string);
    PyObject *name = globals ? PyDict_GetItemWithError(globals, name_string) : NULL;
    int owner = name ? owners_of_module(name, globals) : refusal_drop();
    Py_XDECREF(globals);
    if (owner != NOBODY)
        return owner;
    name = PyObject_GetAttr(function, module_string);
    owner = name ? owners_of_module(name, NULL) : refusal_drop();
    Py_XDECREF(name);
    return owner;
}

/* -- Counts ---------------------------------------------------------------------------- */

struct count {              /* how often a call was seen */
    struct table_key place; /* the address may be reused */
    int n;
    unsigned age;
};

static unsigned age; /* of the code at an address: counts begin again after new code is seen */

static bool is_recent(void *row) { return ((struct count *)row)->age == age; }
static struct table counts = {.row_size = sizeof(struct count), .keep = is_recent};

static struct count *find_count(const void *subject, long number)
{
    static struct count lost;
    struct count *count = table_add(&counts, subject, number);
    if (!count) {
        PyErr_Clear();
        count = &lost;
    }
    if (count->age != age || count == &lost)
        count->n = 0;
    count->age = age;
    return count;
}

static int count_up(const void *subject, long number)
{
    return ++find_count(subject, number)->n;
}

/* -- Classes --------------------------------------------------------------------------- */

/* The ways in which a class is met, as bits.  The numbers are those of door.py. */
enum way { MET = 1, CALLED = 2, PASSED = 4 };

/* A class that was met. */
struct met {
    struct table_key class; /* the address may be reused */
    PyObject *reference;    /* a weak one */
    bool is_package;        /* one of its bases is a package's */
    bool is_function;       /* its objects are mxnp's functions: packages get NumPy's */
    bool is_simple;         /* its objects need not be searched again */
    unsigned ways;          /* in which it was met */
};

static inline bool is_alive(const struct met *met)
{
    const struct weak_reference *reference = (struct weak_reference *)met->reference;
    return reference && reference->object == met->class.address;
}

static bool keep_class(void *row)
{
    struct met *met = row;
    if (!is_alive(met))
        Py_CLEAR(met->reference);
    return met->reference;
}

static struct table classes = {.row_size = sizeof(struct met), .keep = keep_class};

static PyTypeObject *coroutine_class;
static PyTypeObject *view_classes[2]; /* of values and items of dicts */

/* Check for iterators, and the like. */
static inline bool gives_items(PyObject *x)
{
    PyTypeObject *class = Py_TYPE(x);
    return (((struct type_struct *)class)->iternext && PyIter_Check(x)) ||
           class == coroutine_class || class == view_classes[0] || class == view_classes[1];
}

/* Check for a class whose objects have no counterpart in NumPy and hold none. */
static bool is_simple(PyTypeObject *class)
{
    const PyTypeObject *const others[] = {array_type,         ufunc_type,    generator_types[0],
                                          generator_types[1], partial_class, cached_class};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (class == others[i])
            return false;
    return !(((struct type_struct *)class)->flags & (CONTAINERS | Py_TPFLAGS_TYPE_SUBCLASS)) &&
           !iterator_is_markable(class);
}

static unsigned n_opened; /* how often open_class was called */

/* Call open_class for a class.  Set *found to its row, or to NULL if it refused.  Return 0, or
 * -1 with an exception set. */
static int meet_new(PyTypeObject *class, enum way way, const struct met **found)
{
    n_opened++;
    PyObject *is_package = PyObject_CallFunction(open_class, "Oi", class, way);
    PyObject *reference = is_package ? PyWeakref_NewRef((PyObject *)class, NULL) : NULL;
    struct met *met = reference ? table_add(&classes, class, 0) : NULL;
    int status = met ? 0 : reference ? -1 : refusal_drop();
    if (met) {
        PyObject *former = met->reference; /* the call may have met the class itself */
        met->ways = (is_alive(met) ? met->ways : 0) | way;
        met->reference = reference;
        met->is_package = is_package == Py_True;
        met->is_function = PyType_IsSubtype(class, function_type);
        met->is_simple = met->ways & PASSED && !met->is_function && is_simple(class);
        reference = former;
    }
    *found = met;
    Py_XDECREF(reference);
    Py_XDECREF(is_package);
    return status;
}

/* Do the same for a class written in Python, unless it was met in this way. */
static inline int find_met(PyTypeObject *class, enum way way, const struct met **met)
{
    *met = NULL;
    if (!(((struct type_struct *)class)->flags & Py_TPFLAGS_HEAPTYPE))
        return 0;
    *met = table_find(&classes, class, 0);
    return (*met)->ways & way && is_alive(*met) ? 0 : meet_new(class, way, met);
}

/* Return 1 if a class is, or derives from, a class of a package; 0 if not; or -1 with an
 * exception set. */
static inline int meet(PyTypeObject *class, enum way way)
{
    const struct met *met;
    int status = find_met(class, way, &met);
    return status < 0 ? -1 : met && met->is_package;
}

/* -- Arguments ------------------------------------------------------------------------- */

#define DEPTH 5  /* the call itself, and nested tuples, lists and dicts */
#define FEW   64 /* items of these that are searched in one call */

/* A search for objects of the program among the arguments of a door.  Lists, dicts and tuples
 * are the program's own objects, so arrays in them stay there, unless nothing else has the
 * tuple, such as the key in `x[i, j]`.  Functions in them may be callbacks. */
struct search {
    bool has_array; /* that is not in such an object */
    bool is_kept;   /* what is searched is in one */
    int level;      /* the tuples, lists and dicts around it */
    int left;       /* items that may still be searched */
    int owner;      /* of the caller, or -1 if it is not known yet */
};
static const struct search new_search = {false, false, 0, FEW, -1};

static inline int search_object(struct search *search, PyObject *x);
static PyObject *call_callback(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names);

static int make_callback(PyObject *function)
{
    int owner = *layout_vectorcall(function) == run ? owner_of(function) : NOBODY;
    if (owner == PROGRAM)
        set_vectorcall(function, call_callback);
    return owner < 0 ? -1 : 0;
}

static int search_attribute(struct search *search, PyObject *x, PyObject *name)
{
    PyObject *inside = PyObject_GetAttr(x, name);
    int status = inside ? search_object(search, inside) : refusal_drop();
    Py_XDECREF(inside);
    return status;
}

/* Search an item, which another thread may remove. */
static int search_item(struct search *search, PyObject *item)
{
    search->left--;
    if (argument_is_leaf(item))
        return 0;
    Py_INCREF(item);
    int status = search_object(search, item);
    Py_DECREF(item);
    return status;
}

/* Search a tuple, list or dict, also of a subclass. */
static int search_items(struct search *search, PyObject *x)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int status = 0;
    bool was_kept = search->is_kept;
    if (search->level == DEPTH)
        return 0;
    search->is_kept = search->level++ > 0 || !PyTuple_Check(x) || Py_REFCNT(x) > 1;
    if (PyDict_Check(x))
        while (status == 0 && search->left > 0 && PyDict_Next(x, &at, &key, &value))
            status = search_item(search, value);
    else
        for (; status == 0 && search->left > 0 && at < Py_SIZE(x); at++)
            status = search_item(search, layout_items(x)[at]);
    search->level--;
    search->is_kept = was_kept;
    return status;
}

/* Convert the items of an iterator of the program from now on. */
static int search_iterator(struct search *search, PyObject *x)
{
    if (search->owner < 0)
        search->owner = owners_of_caller();
    if (search->owner < 0)
        return -1;
    return search->owner == PROGRAM ? iterator_mark(x, GIVEN) : 0;
}

/* Search an object that is not known to be simple. */
static int search_other(struct search *search, PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == &PyType_Type)
        return meet((PyTypeObject *)x, PASSED) < 0 ? -1 : 0;
    if (has_counterpart(x)) {
        search->has_array |= !search->is_kept;
        return 0;
    }
    if (type == function_class)
        return make_callback(x);
    if (type == &PyTuple_Type || type == &PyList_Type || type == &PyDict_Type)
        return search_items(search, x);
    if ((PyObject *)type == method_class)
        return search_attribute(search, x, function_string) < 0
                   ? -1
                   : search_attribute(search, x, self_string);
    if (type == slot_method_class)
        return search_attribute(search, x, self_string);
    if (type == partial_class && search_attribute(search, x, partial_string) < 0)
        return -1;
    if (type == cached_class)
        return search_attribute(search, x, wrapped_string);
    if (layout_has_flag(x, Py_TPFLAGS_TYPE_SUBCLASS) && meet((PyTypeObject *)x, PASSED) < 0)
        return -1;
    const struct met *met;
    if (find_met(type, PASSED, &met) < 0)
        return -1;
    search->has_array |= !search->is_kept && met && met->is_function;
    if (!(met && met->is_package) && gives_items(x))
        return search_iterator(search, x);
    return layout_has_flag(x, CONTAINERS) ? search_items(search, x) : 0;
}

/* Search an object.  Return 0, or -1 with an exception set. */
static inline int search_object(struct search *search, PyObject *x)
{
    if (argument_is_leaf(x))
        return 0;
    const struct met *met = table_find(&classes, Py_TYPE(x), 0);
    if (met->is_simple && is_alive(met))
        return 0;
    return search_other(search, x);
}

/* -- Doors ----------------------------------------------------------------------------- */

/* Check whether a function takes mxnp arrays at present. Return 1, 0, or -1 with an exception
 * set. */
static int is_asked(PyObject *function)
{
    int owner = owners_have_asked ? owner_of(function) : NOBODY;
    if (owner != ASKED_PACKAGE)
        return owner < 0 ? -1 : 0;
    PyObject *takes = PyObject_CallFunctionObjArgs(takes_arrays, NULL);
    bool does = takes == Py_True;
    int status = takes ? 0 : refusal_drop();
    Py_XDECREF(takes);
    return status < 0 ? -1 : does;
}

/* See an object that the program gets.  Return 0, or -1 with an exception set. */
static int see_result(PyObject *x)
{
    unsigned before = n_opened;
    int is_own = gives_items(x) ? owners_is_program() : 0;
    if (is_own < 0)
        return -1;
    if (is_own && iterator_mark(x, TAKEN) < 0)
        return -1;
    int is_package = meet(Py_TYPE(x), MET);
    return is_package > 0 && n_opened != before ? show(see_object, x) : is_package;
}

/* Steal a reference to what a door returns; NULL passes through. */
static PyObject *come_back(PyObject *result)
{
    PyTypeObject *type = result ? Py_TYPE(result) : NULL;
    if (!result || (type != np_array_type && argument_is_leaf(result)))
        return result;
    bool is_tuple = layout_has_flag(result, Py_TPFLAGS_TUPLE_SUBCLASS),
         is_np = type == np_array_type;
    int status = is_np || is_tuple ? 0 : see_result(result);
    if (status >= 0 && (is_np || is_tuple || type == &PyList_Type || type == &PyDict_Type)) {
        int owner = owners_of_caller();
        if (owner == PROGRAM)
            return arguments_adopt(result);
        status = owner < 0 ? -1 : 0;
    }
    if (status < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *call_with_arrays(PyObject *function, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    int takes = is_asked(function), owner = takes == 0 ? owners_of_caller() : NOBODY;
    if (takes < 0 || owner < 0)
        return NULL;
    if (takes)
        return run(function, args, flags, names);
    PyObject *result =
        arguments_call_with_arrays(run, function, args, flags, names, owner == PROGRAM);
    if (owner == PROGRAM && result && !is_array(result) && !argument_is_leaf(result) &&
        see_result(result) < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *call_door(PyObject *function, PyObject *const *args, size_t flags,
                           PyObject *names)
{
    struct search search = new_search;
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    for (Py_ssize_t i = 0; i < n; i++)
        if (search_object(&search, args[i]) < 0)
            return NULL;
    return search.has_array ? call_with_arrays(function, args, flags, names)
                            : come_back(run(function, args, flags, names));
}

enum { N_WAITING = 64 };

/* Meet the class of an object that __new__ returns, whose __init__ is called next. */
static int see_made(PyObject *x)
{
    return meet(Py_TYPE(x), CALLED) < 0 ? -1 : show(see_object, x);
}

/* Call an __init__ or __new__ of a package, and see the first objects. */
static PyObject *call_maker(PyObject *function, PyObject *const *args, size_t flags,
                            PyObject *names)
{
    PyObject *result = call_door(function, args, flags, names);
    if (result && arguments_positional(flags) > 0 &&
        see_made(result == Py_None ? args[0] : result) < 0)
        Py_CLEAR(result);
    vector_call *now = layout_vectorcall(function);
    if (count_up(function, -3) > N_WAITING && *now == call_maker)
        *now = call_door;
    return result;
}

/* Check whether a function counts references to its arguments: pandas does, to see whether an
 * object has a name.  In any vectorcall but Python's own, the caller keeps one more.  Return 1,
 * 0, or -1 with an exception set. */
static int counts_references(PyObject *function)
{
    PyObject *code = PyObject_GetAttr(function, code_string);
    PyObject *names = code ? PyObject_GetAttr(code, names_string) : NULL;
    int status = names ? PySequence_Contains(names, count_string) : refusal_drop();
    Py_XDECREF(names);
    Py_XDECREF(code);
    return status;
}

/* Return the owner of a function that may get another vectorcall, or NOBODY, or -1 with an
 * exception set. */
static int owner_to_replace(PyObject *function)
{
    int owner = owner_of(function);
    int does_count = owner >= PACKAGE ? counts_references(function) : 0;
    return does_count < 0 ? -1 : does_count ? NOBODY : owner;
}

static bool is_waiting(vector_call call);

/* Open a door, if the function is a package's.  Return 0, or -1 with an exception set. */
static int open_function(PyObject *function)
{
    vector_call now = *layout_vectorcall(function);
    bool is_open = now != run && !is_waiting(now);
    int owner = is_open ? NOBODY : owner_to_replace(function);
    if (owner >= PACKAGE)
        set_vectorcall(function, call_door);
    return owner < 0 ? -1 : 0;
}

/* The same for an __init__ or __new__. */
static int open_maker(PyObject *function)
{
    int status = open_function(function);
    vector_call *now = layout_vectorcall(function);
    if (*now == call_door && find_count(function, -3)->n <= N_WAITING)
        *now = call_maker;
    return status;
}

/* -- Callbacks ------------------------------------------------------------------------- */

/* Steal a reference to an object that a package gets from the program; NULL passes through.
 * Return it with NumPy arrays in place of mxnp arrays, also in a tuple that nothing else has.
 */
static PyObject *give(PyObject *x)
{
    if (!x || argument_is_plain(x))
        return x;
    PyObject *given = convert_export(x, 1, true);
    Py_DECREF(x);
    return given;
}

/* Wait for the operations on arrays that a callback got, whose memory is the package's.  Steal
 * a reference to the result and return it, or NULL with an exception set. */
static PyObject *end_callback(PyObject *const *args, PyObject *const *row, Py_ssize_t n,
                              PyObject *result)
{
    struct call_args call_args;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    call_args_begin(&call_args);
    for (Py_ssize_t i = 0; i < n; i++)
        if (row[i] != args[i] && is_array(row[i]))
            call_args_add(&call_args, row[i]);
    int status = convert_prepare(&call_args, true);
    convert_end_call(&call_args);
    if (type)
        PyErr_Restore(type, value, traceback);
    if (status < 0)
        Py_CLEAR(result);
    if (result && gives_items(result) && iterator_mark(result, GIVEN) < 0)
        Py_CLEAR(result);
    struct search search = new_search;
    if (result && search_object(&search, result) < 0)
        Py_CLEAR(result);
    return give(result);
}

static PyObject *run_callback(PyObject *function, PyObject *const *args, size_t flags,
                              PyObject *names, PyObject **row)
{
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names), made = 0;
    PyObject *result = NULL;
    for (; made < n; made++)
        if (!(row[made] = arguments_adopt(Py_NewRef(args[made]))))
            break;
    if (made == n)
        result = run(function, row, flags & ~ARGUMENTS_OFFSET, names);
    result = end_callback(args, row, made, result);
    while (made > 0)
        Py_DECREF(row[--made]);
    return result;
}

/* Check for NumPy's own arrays, which the program hardly has.  A package then called through
 * the standard library, such as a pool of threads. */
static bool has_numpys(PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    while (i < n && Py_TYPE(args[i]) != np_array_type)
        i++;
    return i < n;
}

/* Check for numbers and the like, which neither are nor hold arrays, callbacks or iterators. */
static bool are_leaves(PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    while (i < n && argument_is_leaf(args[i]) && Py_TYPE(args[i]) != np_array_type)
        i++;
    return i == n;
}

/* Run a callback whose arguments are leaves, as those of an integrand are. */
static PyObject *run_simple_callback(PyObject *function, PyObject *const *args, size_t flags,
                                     PyObject *names, Py_ssize_t n)
{
    PyObject *result = run(function, args, flags, names);
    bool is_done = queue_is_idle() && !profile_is_on && (!result || are_leaves(&result, 1));
    return is_done ? result : end_callback(args, args, n, result);
}

static PyObject *call_callback(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    enum { N_INLINE = 16 };
    PyObject *inlined[N_INLINE], *result;
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    int owner = owners_of_caller();
    if (owner < 0)
        return NULL;
    if (owner < PACKAGE && !(owner == NOBODY && has_numpys(args, n)))
        return run(function, args, flags, names);
    if (are_leaves(args, n))
        return run_simple_callback(function, args, flags, names, n);
    PyObject **row = n <= N_INLINE ? inlined : PyMem_Malloc((size_t)n * sizeof *row);
    if (!row)
        return PyErr_NoMemory();
    result = run_callback(function, args, flags, names, row);
    if (row != inlined)
        PyMem_Free(row);
    return result;
}

/* -- Objects that a package gets in other ways ------------------------------------------ */

/* The crossings of crossing.h. */
static PyObject *door_give(PyObject *x)
{
    struct search search = new_search;
    return search_object(&search, x) < 0 ? NULL : give(Py_NewRef(x));
}

static PyObject *give_item(PyObject *x)
{
    if (!x || argument_is_leaf(x))
        return x;
    int owner = owners_of_caller();
    if (owner < PACKAGE && owner >= 0)
        return x;
    struct search search = new_search;
    if (owner < 0 || search_object(&search, x) < 0)
        Py_CLEAR(x);
    return give(x);
}

static PyObject *door_send(PyObject *x, bool is_of_package)
{
    if (x == Py_None)
        return x;
    int owner = owners_of_caller();
    if (!is_of_package && owner >= PACKAGE)
        return arguments_adopt(x);
    if (is_of_package && owner == PROGRAM)
        return give(x);
    if (owner < 0)
        Py_CLEAR(x);
    return x;
}

/* Make a function or method written in C call another one, also where the interpreter would
 * call it directly. */
static int replace_call(PyObject *function, vector_call replacement)
{
    bool is_method = callable_is_method(function);
    struct c_function *f = (struct c_function *)function;
    struct method_descriptor *m = (struct method_descriptor *)function;
    PyMethodDef **place = is_method ? &m->def : &f->def;
    PyMethodDef *def = PyMem_Malloc(sizeof *def); /* as long as the function */
    if (!def) {
        PyErr_NoMemory();
        return -1;
    }
    *def = **place;
    def->ml_flags |= METH_COEXIST;
    *place = def;
    return callable_replace(function, is_method ? &m->call : &f->call, replacement);
}

/* Steal a reference to an object that a function of the program or of a package gave.  Convert
 * it for the code that asks for it. */
static PyObject *pass_item(PyObject *x) { return come_back(give_item(x)); }

/* A function of the standard library that returns such an object, as __enter__ of contextlib.
 */
static PyObject *call_passing(PyObject *function, PyObject *const *args, size_t flags,
                              PyObject *names)
{
    return pass_item(run(function, args, flags, names));
}

/* The same for one written in C. */
static PyObject *call_compiled(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    return pass_item(callable_original(function)(function, args, flags, names));
}

static int open_passing(PyObject *function)
{
    vector_call *now = layout_vectorcall(function);
    if (*now == run)
        set_vectorcall(function, call_passing);
    else if (Py_TYPE(function) != function_class && *now != call_compiled)
        return replace_call(function, call_compiled);
    return 0;
}

/* A function written in C that makes objects, such as pickle.loads: the program gets what was
 * pickled, also if that is a NumPy array. */
static PyObject *call_making(PyObject *function, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    PyObject *made = give_item(callable_original(function)(function, args, flags, names));
    int is_own = made && !argument_is_leaf(made) ? owners_is_program() : 0;
    if (is_own < 0 || (is_own && see_result(made) < 0))
        Py_CLEAR(made);
    return made;
}

/* -- Functions that wait ---------------------------------------------------------------- */

/* Functions of a class are replaced when the program meets the class.  Their version is not
 * changed, so code of the package that ran often still calls them as fast as before, past the
 * replacement.  An operator becomes a door when the program calls it.  So does a method, whose
 * calls by the program are mostly events.  An accessor shows which objects it returns.  Methods
 * and accessors are as before after a few calls by the package. */
static void retire(PyObject *function)
{
    vector_call *now = layout_vectorcall(function);
    if (count_up(function, -1) > N_WAITING && is_waiting(*now))
        *now = run;
}

/* Check whether the program calls, also through functions such as map().  Return 1, 0, or -1
 * with an exception set. */
static int is_call_of_program(PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (has_counterpart(args[i]))
            return 1;
    int owner = owners_of_caller();
    return owner < 0 ? -1 : owner == PROGRAM;
}

static PyObject *call_waiting(PyObject *function, PyObject *const *args, size_t flags,
                              PyObject *names, bool retires)
{
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    int is_own = is_call_of_program(args, n);
    if (is_own < 0)
        return NULL;
    if (is_own) {
        set_vectorcall(function, call_door);
        return call_door(function, args, flags, names);
    }
    if (retires)
        retire(function);
    return run(function, args, flags, names);
}

static PyObject *call_operator(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    return call_waiting(function, args, flags, names, false);
}

static PyObject *call_method(PyObject *function, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    return call_waiting(function, args, flags, names, true);
}

static PyObject *call_accessor(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    PyObject *result = run(function, args, flags, names);
    if (result && see_result(result) < 0)
        Py_CLEAR(result);
    retire(function);
    return result;
}

static bool is_waiting(vector_call call)
{
    return call == call_operator || call == call_method || call == call_accessor;
}

static int door_replace(PyObject *function, vector_call call)
{
    vector_call *now = layout_vectorcall(function);
    bool is_operator = call == call_operator; /* its caller, a slot, keeps references anyway */
    int owner = *now != run   ? NOBODY
                : is_operator ? owner_of(function)
                              : owner_to_replace(function);
    if (owner >= PACKAGE) {
        find_count(function, -1)->n = 0;
        *now = call;
    }
    return owner < 0 ? -1 : 0;
}

static int open_operator(PyObject *function) { return door_replace(function, call_operator); }
static int open_method(PyObject *function) { return door_replace(function, call_method); }
static int open_accessor(PyObject *function) { return door_replace(function, call_accessor); }

/* -- Events of calls -------------------------------------------------------------------- */

enum { N_EVENTS = 256 }; /* at one place, until its calls are no longer seen */

static int arrive(PyObject *callable);

static int arrive_bound(PyObject *method)
{
    PyObject *function = PyObject_GetAttr(method, function_string);
    PyObject *self = function ? PyObject_GetAttr(method, self_string) : NULL;
    int status = self ? 0 : refusal_drop();
    if (self && (arrive(function) < 0 || meet(Py_TYPE(self), MET) < 0))
        status = -1;
    Py_XDECREF(function);
    Py_XDECREF(self);
    return status;
}

/* Check whether the interpreter may call the __init__ of a class past its vectorcall: from
 * Python 3.13 on, if the class has no __new__ of its own. */
static bool calls_init(PyObject *class)
{
    const struct type_struct *object = (struct type_struct *)&PyBaseObject_Type;
    return Py_Version >= 0x030D0000 && ((struct type_struct *)class)->new == object->new;
}

/* Open the doors of what a program calls.  Return 1 if the event has to stay, because the
 * interpreter would call __init__ without its vectorcall; 0 if not; or -1 with an exception
 * set. */
static int arrive(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    if (type == function_class)
        return open_function(callable);
    if ((PyObject *)type == method_class)
        return arrive_bound(callable);
    if (PyType_Check(callable)) {
        int is_package = meet((PyTypeObject *)callable, CALLED);
        return is_package > 0 ? calls_init(callable) : is_package;
    }
    return meet(type, MET) < 0 ? -1 : 0;
}

/* See the names in code, unless no module was imported since they were last seen.  Return 0, or
 * -1 with an exception set. */
static int see_code_again(PyObject *code)
{
    struct count *seen = find_count(code, -2);
    int n = (int)PyDict_Size(PyImport_GetModuleDict());
    if (seen->n == n)
        return 0;
    seen->n = n;
    return show(see_names, code);
}

/* Check for callables that are known without a look: functions written in Python, and Python's
 * own. */
static bool is_ordinary(PyObject *callable)
{
    if (Py_TYPE(callable) == &PyCFunction_Type)
        return ((struct c_function *)callable)->self == builtins;
    return Py_TYPE(callable) == function_class ||
           (PyType_Check(callable) && is_static((PyTypeObject *)callable));
}

/* CALL events: (code, offset, callable, first argument).  PY_START events: (code, offset). */
static PyObject *door_event(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    PyObject *modules = PySys_GetObject("modules");
    if (!modules || !PyDict_Check(modules)) /* the interpreter ends */
        return Py_NewRef(stop_event);
    if (n == 2) /* the code may have operators, and no calls */
        return see_code_again(args[0]) < 0 ? NULL : Py_NewRef(stop_event);
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "door_event() takes 2 or 4 arguments");
    int seen = count_up(args[0], PyLong_AsLong(args[1]));
    int stays = arrive(args[2]);
    if (stays < 0 || arrive(args[3]) < 0) /* the first argument of map(), for example */
        return NULL;
    if (seen == 1 && !is_ordinary(args[2]) && show(see_callable, args[2]) < 0)
        return NULL;
    if (seen == 1 && see_code_again(args[0]) < 0)
        return NULL;
    return Py_NewRef(seen > N_EVENTS && !stays ? stop_event : Py_None);
}

/* -- Code that is about to run ----------------------------------------------------------- */

static PyObject *see_code, *quiet_folders, *user_name;
static PyInterpreterState *interpreter;

/* Check for code in a folder of which see_code() knows that it has no code of the program. Code
 * that has the name of mxnp may become the program's. */
static bool is_quiet(PyObject *code)
{
    PyObject *names = PyObject_GetAttrString(code, "co_names");
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    bool is_code = names && file && PyTuple_Check(names) && PyUnicode_Check(file);
    Py_ssize_t n = is_code ? PyUnicode_GetLength(file) : 0;
    Py_ssize_t slash = is_code ? PyUnicode_FindChar(file, '/', 0, n, -1) : -1;
    PyObject *folder = slash > 0 ? PyUnicode_Substring(file, 0, slash) : NULL;
    bool is = folder && PySet_Contains(quiet_folders, folder) > 0;
    for (Py_ssize_t i = 0; is && i < PyTuple_Size(names); i++)
        is = PyTuple_GetItem(names, i) != user_name; /* such names are interned */
    Py_XDECREF(folder);
    Py_XDECREF(file);
    Py_XDECREF(names);
    PyErr_Clear();
    return is;
}

static int hear_code(PyObject *code)
{
    if (!see_code || PyInterpreterState_Get() != interpreter || is_quiet(code))
        return 0;
    PyObject *is_seen = PyObject_CallFunctionObjArgs(see_code, code, NULL);
    int status = is_seen ? 0 : refusal_drop();
    age += is_seen == Py_True;
    Py_XDECREF(is_seen);
    return status;
}

static int hear_event(const char *event, PyObject *args, void *unused)
{
    (void)unused;
    return strcmp(event, "exec") == 0 ? hear_code(PyTuple_GetItem(args, 0)) : 0;
}

static bool hears_events;

/* Hear of all code by an audit hook.  Python then makes the arguments of each event, also the
 * bytes of each module that is imported. */
static int hear_events(void)
{
    int (*add)(int (*)(const char *, PyObject *, void *), void *);
    *(void **)&add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
    hears_events = true;
    return add ? add(hear_event, NULL) : -1;
}

/* exec() and eval().  They compile the text that a program passes. */
static PyObject *call_and_hear(PyObject *function, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    if (!hears_events && arguments_positional(flags) > 0) {
        bool is_code = Py_TYPE(args[0]) == code_class;
        int owner = is_code ? NOBODY : owners_of_caller();
        if (owner < 0 || (is_code && hear_code(args[0]) < 0) ||
            (owner == PROGRAM && hear_events() < 0))
            return NULL;
    }
    return callable_original(function)(function, args, flags, names);
}

static int hear_calls(const char *name)
{
    PyObject *function = PyObject_GetAttrString(builtins, name);
    int status = !function ? -1 : Py_TYPE(function) != &PyCFunction_Type ? hear_events() : 0;
    if (status == 0 && !hears_events)
        status = replace_call(function, call_and_hear);
    Py_XDECREF(function);
    return status;
}

static PyObject *hook_code(PyObject *self, PyObject *args)
{
    PyObject *function, *folders;
    int is_interactive, is_first = !see_code;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO!p:hook_code", &function, &PySet_Type, &folders,
                          &is_interactive))
        return NULL;
    user_name = PyUnicode_InternFromString("mxnp");
    if (!user_name)
        return NULL;
    see_code = Py_NewRef(function);
    quiet_folders = Py_NewRef(folders);
    interpreter = PyInterpreterState_Get();
    if (is_first &&
        (is_interactive ? hear_events() < 0 : hear_calls("exec") < 0 || hear_calls("eval") < 0))
        return NULL;
    Py_RETURN_NONE;
}

/* -- Methods of the module ---------------------------------------------------------------- */

static PyObject *set_door(PyObject *self, PyObject *args)
{
    PyObject *example, *partial, *cached, *iterators;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOO:set_door", &example, &partial, &cached, &iterators,
                          &open_class, &see_callable, &see_names, &see_object, &takes_arrays,
                          &stop_event))
        return NULL;
    *(void **)&set_vectorcall = dlsym(RTLD_DEFAULT, "PyFunction_SetVectorcall");
    vector_call *call = layout_is_known() ? layout_vectorcall(example) : NULL;
    if (!set_vectorcall || !call)
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
        Py_INCREF(PyTuple_GetItem(args, i));
    partial_class = (PyTypeObject *)partial;
    cached_class = Py_TYPE(cached);
    run = *call;
    PyObject *code = PyObject_GetAttrString(example, "__code__");
    code_class = code ? Py_TYPE(code) : NULL;
    Py_XDECREF(code);
    crossing = (struct crossing){door_give, give_item, pass_item, door_send};
    coroutine_class = (PyTypeObject *)PyTuple_GetItem(iterators, 0);
    view_classes[0] = (PyTypeObject *)PyTuple_GetItem(iterators, 1);
    view_classes[1] = (PyTypeObject *)PyTuple_GetItem(iterators, 2);
    builtins = Py_XNewRef(PyImport_AddModule("builtins"));
    module_string = PyUnicode_InternFromString("__module__");
    globals_string = PyUnicode_InternFromString("__globals__");
    name_string = PyUnicode_InternFromString("__name__");
    function_string = PyUnicode_InternFromString("__func__");
    self_string = PyUnicode_InternFromString("__self__");
    partial_string = PyUnicode_InternFromString("func");
    wrapped_string = PyUnicode_InternFromString("__wrapped__");
    code_string = PyUnicode_InternFromString("__code__");
    names_string = PyUnicode_InternFromString("co_names");
    count_string = PyUnicode_InternFromString("getrefcount");
    if (PyErr_Occurred() || table_grow(&counts) < 0 || table_grow(&classes) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static PyObject *forget_owners(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    owners_forget();
    if (quiet_folders)
        PySet_Clear(quiet_folders);
    Py_RETURN_NONE;
}

static PyObject *apply(PyObject *x, int (*change)(PyObject *))
{
    if (run && Py_TYPE(x) == function_class && change(x) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *open_door(PyObject *self, PyObject *x)
{
    (void)self;
    return apply(x, open_function);
}

static PyObject *wait_operator(PyObject *self, PyObject *x)
{
    (void)self;
    return apply(x, open_operator);
}

static int open_each(PyObject *references, int (*change)(PyObject *))
{
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(references); i++) {
        PyObject *function = PyWeakref_GetObject(PyList_GetItem(references, i));
        if (Py_TYPE(function) != function_class)
            continue;
        Py_INCREF(function);
        status = change(function);
        Py_DECREF(function);
    }
    return status;
}

static PyObject *open_members(PyObject *self, PyObject *args)
{
    PyObject *makers, *accessors, *operators, *methods;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOO:open_members", &makers, &accessors, &operators, &methods))
        return NULL;
    if (open_each(makers, open_maker) < 0 || open_each(accessors, open_accessor) < 0 ||
        open_each(operators, open_operator) < 0 || open_each(methods, open_method) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *take_callback(PyObject *self, PyObject *x)
{
    (void)self;
    return apply(x, make_callback);
}

static PyObject *pass_on(PyObject *self, PyObject *x)
{
    bool is_compiled = Py_TYPE(x) == &PyCFunction_Type || callable_is_method(x);
    (void)self;
    if (run && (is_compiled || Py_TYPE(x) == function_class) && open_passing(x) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *meet_object(PyObject *self, PyObject *x)
{
    (void)self;
    if (arrive(x) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *patch_callable(PyObject *self, PyObject *x)
{
    (void)self;
    if (callable_patch(x) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *converted_calls(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLongLong(arguments_converted_calls());
}

static PyObject *watch_pickles(PyObject *self, PyObject *x)
{
    (void)self;
    if (run && Py_TYPE(x) == &PyCFunction_Type && replace_call(x, call_making) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef door_methods[] = {
    {"set_door", set_door, METH_VARARGS,
     "set_door(function, partial, cached, iterators, open_class, see_callable, see_names, "
     "see_object, takes_arrays, stop)\n--\n\n"
     "Set the functions of _interop/door.py. Return False if this Python has no doors."},
    {"forget_owners", forget_owners, METH_NOARGS,
     "forget_owners()\n--\n\n"
     "Ask again to whom the modules belong."},
    {"door_event", (PyCFunction)(void (*)(void))door_event, METH_FASTCALL,
     "door_event(code, offset, callable=None, first=None, /)\n--\n\n"
     "Open the doors of what the program calls: the handler of PY_START and CALL events."},
    {"hook_code", hook_code, METH_VARARGS,
     "hook_code(function, folders, is_interactive)\n--\n\n"
     "Call a function with the code of each module, and other code, before it runs, unless its "
     "file is in one of the folders. Python runs what a user types without exec()."},
    {"open_door", open_door, METH_O,
     "open_door(function)\n--\n\n"
     "Make a function receive NumPy arrays, if it is a package's."},
    {"open_members", open_members, METH_VARARGS,
     "open_members(makers, accessors, operators, methods)\n--\n\n"
     "Open the doors of a class of a package. The lists have references to functions: __init__ "
     "and __new__, whose objects are seen when they have run; functions whose next results are "
     "seen; operators, which become doors as soon as the program uses them; and methods, which "
     "are given up after some calls by the package."},
    {"wait_operator", wait_operator, METH_O,
     "wait_operator(function)\n--\n\n"
     "Make an operator of a package a door as soon as the program uses it."},
    {"take_callback", take_callback, METH_O,
     "take_callback(function)\n--\n\n"
     "Make a function of the program receive mxnp arrays when a package calls it."},
    {"pass_on", pass_on, METH_O,
     "pass_on(function)\n--\n\n"
     "Convert what a function of the standard library returns, for the code that calls it."},
    {"watch_pickles", watch_pickles, METH_O,
     "watch_pickles(function)\n--\n\n"
     "See the objects that a function written in C makes, and convert them for packages."},
    {"meet", meet_object, METH_O,
     "meet(object)\n--\n\n"
     "Open the doors of an object, as if the program called it."},
    {"patch_callable", patch_callable, METH_O,
     "patch_callable(function)\n--\n\n"
     "Make a compiled function receive NumPy arrays."},
    {"converted_calls", converted_calls, METH_NOARGS,
     "converted_calls()\n--\n\n"
     "Return how many calls of packages have converted arrays."},
    {NULL, NULL, 0, NULL},
};
