/* call_args.h -- the arrays among the arguments of a call. */
#pragma once
#include "python/base/state.h"
#include "python/base/types.h"

#define MAX_CALL_ARGS 32 /* arrays of one call whose views are recognised in its results */
#define MAX_OUT       8  /* NumPy arrays passed as out that are recognised */

/* The arrays of one call, so that a result that is one of them, or a view of one, can be
 * recognised.  They are held until call_args_end(). */
struct call_args {
    int n;
    bool is_full;      /* there were more arrays than `arrays` holds */
    bool is_package;   /* the callee is not NumPy: lists and dicts are lent, see loans.h */
    bool gives;        /* or stay as they are, as do tuples that other code has */
    bool keeps_others; /* results stay as they are, except the NumPy arrays of the call */
    bool is_standard;  /* results are arrays, never NumPy scalars */
    bool is_inside;    /* the result was a tuple, list or dict, which refers to its items */
    bool has_items;    /* the callee got tuples or lists in which arrays were replaced */
    bool is_held;      /* so do other objects, which refer to that tuple */
    int n_loans;
    struct loan *loans;
    PyObject *generator; /* of mxnp, or NULL */
    PyObject *failed;    /* one of the arrays beyond `arrays` that was never written, or NULL */
    int place;           /* of the argument that is unwrapped */
    int places[MAX_CALL_ARGS];
    PyObject *arrays[MAX_CALL_ARGS];
    PyObject *more;  /* a list of the arrays beyond `arrays`, or NULL */
    Py_ssize_t next; /* of these, the one after the last that was recognised */
    Py_ssize_t holders[MAX_CALL_ARGS]; /* references to their NumPy arrays before the call */
    int nout;
    PyObject *outs[MAX_OUT]; /* NumPy arrays passed as out, which are returned unchanged */
};

/* Count the references to the NumPy array, and to that of the array it is a view of. */
static inline Py_ssize_t count_holders(PyObject *a)
{
    struct array *root = root_of(a);
    Py_ssize_t count = Py_REFCNT(as_array(a)->unprepared);
    return root == as_array(a) ? count : count + Py_REFCNT(root->unprepared);
}

/* Note that a call of other code uses the memory of an array.  The call may run code of the
 * program, which may write the array and drop its last reference. */
static inline void call_args_hold(PyObject *x)
{
    Py_INCREF(x);
    root_of(x)->n_holds++;
}

static inline void call_args_release(PyObject *x)
{
    root_of(x)->n_holds--;
    Py_DECREF(x);
}

/* Set the counts and flags only: to clear the arrays would take time. */
static inline void call_args_begin(struct call_args *call_args)
{
    call_args->n = call_args->nout = call_args->n_loans = call_args->place = 0;
    call_args->is_full = call_args->is_package = call_args->gives = call_args->keeps_others =
        call_args->is_standard = call_args->is_inside = call_args->has_items =
            call_args->is_held = false;
    call_args->failed = call_args->generator = call_args->more = NULL;
    call_args->loans = NULL;
}

/* Note an array that is not held, so that it is recognised in results.  Without memory it is
 * not noted. */
static inline void call_args_add_more(struct call_args *call_args, PyObject *x)
{
    if (!call_args->more) {
        call_args->more = PyList_New(0);
        call_args->next = 0;
    }
    if (!call_args->more || PyList_Append(call_args->more, x) < 0)
        PyErr_Clear();
}

static inline void call_args_add(struct call_args *call_args, PyObject *x)
{
    root_of(x)->version++; /* NumPy may write it */
    if (call_args->n == MAX_CALL_ARGS) {
        calls_with_more += !call_args->is_full;
        call_args->is_full = true;
        if (!call_args->failed && root_of(x)->failure)
            call_args->failed = x;
        call_args_add_more(call_args, x);
        return;
    }
    calls_with_arrays += call_args->n == 0;
    call_args_hold(x);
    call_args->holders[call_args->n] = count_holders(x);
    call_args->places[call_args->n] = call_args->place;
    call_args->arrays[call_args->n++] = x;
}

/* Let go of the arrays after the call. */
static inline void call_args_end(struct call_args *call_args)
{
    for (int i = 0; i < call_args->n; i++)
        call_args_release(call_args->arrays[i]);
    calls_with_arrays -= call_args->n > 0;
    calls_with_more -= call_args->is_full;
    Py_XDECREF(call_args->more);
}

/* Check for an object in whose place NumPy gets another one. */
static inline bool has_counterpart(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type == array_type || type == ufunc_type || x == (PyObject *)array_type ||
           is_generator(x);
}

/* Check for a function, or an unbound method, of mxnp.  Packages get NumPy's. */
static inline bool is_function(PyObject *x)
{
    return PyType_IsSubtype(Py_TYPE(x), function_type);
}

/* Return a borrowed reference to the object that NumPy gets instead of x. */
static inline PyObject *unwrap(PyObject *x, struct call_args *call_args)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type) {
        call_args_add(call_args, x);
        return as_array(x)->unprepared;
    }
    if (type == ufunc_type)
        return ((struct function *)x)->wrapped;
    if (x == (PyObject *)array_type)
        return (PyObject *)np_array_type;
    if (call_args->is_package && is_function(x))
        return ((struct function *)x)->wrapped;
    return is_generator(x) ? types_generator_inside(x) : x;
}
