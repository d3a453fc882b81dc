/* bridge.h -- what the files of the bridge share.
 *
 * An mxnp array holds a numpy.ndarray, np_array.  Every operator, method and function
 * does the same three things: put the NumPy array in the place of each array argument, call
 * NumPy, and adopt what comes back.  The prefix of a name is the file that defines it.
 */
#pragma once
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION     NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL mxnp_numpy_api
#ifndef MX_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

#define MAX_CALL_ARGS 32 /* arrays of one call whose identity is kept */
#define MAX_OUT       4  /* NumPy arrays given as out that are recognised */
#define MAX_DEPTH     8  /* nested lists and tuples searched for arrays */

struct array {
    PyObject_HEAD PyObject
        *np_array;  /* the numpy.ndarray; never NULL in an array that escaped */
    PyObject *base; /* the array this one is a view of, or NULL */
    PyObject *weakrefs;

    /* Of an array that is no view: the last recorded operations that use and that write its
     * memory, and who outside of mxnp may do so at any time. */
    int64_t used, written;
    int64_t version;           /* counts what may have written its memory */
    struct failure *failure;   /* why it was never written; NULL */
    struct index_range *range; /* of its elements as indices, if that was asked for */
    int n_exports;             /* buffers */
    bool is_exported;          /* the NumPy array was handed out */
    bool is_pinned;            /* its address was handed out */
    bool is_standard;          /* what is computed from it are arrays, never NumPy scalars */
};

struct function {
    PyObject_HEAD PyObject *wrapped; /* the NumPy callable */
    PyObject *choose;                /* tells what to call instead, given the arguments */
    PyObject *implementation;        /* called first when an array is large: it may record */
    int threshold_factor;            /* thresholds: from these on an array is large */
    char size_rule;                  /* what is large: see function_members */
    int operation;                   /* of a ufunc: its row in ops.def, or -1 */
    bool adopts;                     /* whether results become mxnp arrays */
    bool is_maker;                   /* gives new numbers, of a default dtype */
    bool is_view;                    /* gives views, where it need not read the elements */
    bool is_member;                  /* belongs to the class of its first argument */
    bool is_standard;                /* results are arrays, never NumPy scalars */
    int depth;                       /* how many levels of tuples and lists are unwrapped */
    PyObject *dict;
    PyObject *weakrefs;
};

extern PyTypeObject *array_type;    /* mxnp.ndarray */
extern PyTypeObject *ufunc_type;    /* mxnp.ufunc */
extern PyTypeObject *np_array_type; /* numpy.ndarray */
extern PyTypeObject *function_type;
extern PyObject *method_class;     /* types.MethodType */
extern PyTypeObject *object_dtype; /* the class of numpy.dtype(object) */
extern PyObject *described;        /* _array.ndarray.described */
extern PyObject *is_from_package;  /* _cli.runner.is_from_package */

static inline bool is_array(PyObject *x) { return Py_TYPE(x) == array_type; }
static inline struct array *as_array(PyObject *x) { return (struct array *)x; }
static inline bool is_standard(PyObject *x) { return is_array(x) && as_array(x)->is_standard; }

/* -- convert.c ----------------------------------------------------------------------- */

/* The arrays of one call, so that a result that is one of them, or a view of one,
 * can be recognised.  Borrowed references. */
struct call_args {
    int n;
    bool is_full;     /* there were more arrays */
    bool into_dicts;  /* arrays that are values of dicts are unwrapped too */
    bool is_standard; /* results are arrays, never NumPy scalars */
    bool is_inside;   /* a result was a tuple, list or dict, which holds what is in it */
    PyObject *failed; /* one of them that was never written, or NULL */
    PyObject *arrays[MAX_CALL_ARGS];
    Py_ssize_t holders[MAX_CALL_ARGS]; /* references to their NumPy arrays before the call */
    int nout;
    PyObject *outs[MAX_OUT]; /* NumPy arrays given as out: they are given back as such */
};

/* The array that stands for the memory of a and of all other views of it. */
static inline struct array *root_of(PyObject *a)
{
    PyObject *base = as_array(a)->base;
    return as_array(base ? base : a);
}

/* References to the NumPy array, and to that of the array it is a view of. */
static inline Py_ssize_t count_holders(PyObject *a)
{
    struct array *root = root_of(a);
    Py_ssize_t count = Py_REFCNT(as_array(a)->np_array);
    return root == as_array(a) ? count : count + Py_REFCNT(root->np_array);
}

/* The arrays are many: only what says how many there are is set. */
static inline void call_args_begin(struct call_args *call_args)
{
    call_args->n = call_args->nout = 0;
    call_args->is_full = call_args->into_dicts = call_args->is_standard = call_args->is_inside =
        false;
    call_args->failed = NULL;
}

static inline void call_args_add(struct call_args *call_args, PyObject *x)
{
    root_of(x)->version++; /* NumPy may write it */
    if (call_args->n == MAX_CALL_ARGS) {
        call_args->is_full = true;
        if (!call_args->failed && root_of(x)->failure)
            call_args->failed = x;
        return;
    }
    call_args->holders[call_args->n] = count_holders(x);
    call_args->arrays[call_args->n++] = x;
}

/* Borrowed: what NumPy is to see instead of x. */
static inline PyObject *unwrap(PyObject *x, struct call_args *call_args)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type) {
        call_args_add(call_args, x);
        return as_array(x)->np_array;
    }
    if (type == ufunc_type)
        return ((struct function *)x)->wrapped;
    if (x == (PyObject *)array_type)
        return (PyObject *)np_array_type;
    return x;
}

/* New reference: x unwrapped, to the given depth of tuples and lists. */
PyObject *convert_unwrap(PyObject *x, struct call_args *call_args, int depth);

/* New reference: keyword arguments unwrapped, and tuples such as out=(a, b) with them. */
PyObject *convert_unwrap_kwargs(PyObject *kwargs, struct call_args *call_args, int depth);

/* Takes a NumPy array: the array that was given and has this NumPy array, or a new array over
 * it.
 */
PyObject *convert_adopt_array(PyObject *np_array, struct call_args *call_args);

/* Takes result (NULL passes through): numpy arrays become mxnp arrays, also inside
 * tuples, lists and dicts. */
PyObject *convert_adopt(PyObject *result, struct call_args *call_args, int depth);

/* Takes result (NULL passes through): arrays and NumPy scalars, also in tuples, lists and
 * dicts, become arrays as the Array API standard has them.  Items of such an array, and what
 * operators and methods compute from it, are arrays of this kind too, and never NumPy scalars.
 */
PyObject *convert_standard(PyObject *result, int depth);

/* Ends an attempt that NumPy is to repeat: drops an error that NumPy makes of arguments.  -1:
 * another one stays set, as that of a handler of signals, which comes once. */
int convert_drop_refusal(void);

/* Before NumPy gets the arrays inside the given ones: what is recorded for their memory
 * runs, or only their addresses are settled when nothing reads them.  -1 with an exception set.
 */
int convert_prepare(struct call_args *call_args, bool reads);

/* After NumPy had them: those whose NumPy array somebody still has are marked as exported. */
void convert_mark_exported(const struct call_args *call_args);

/* Call a NumPy callable with args and kwargs unwrapped. */
PyObject *convert_call(const struct function *f, PyObject *callable, PyObject *args,
                       PyObject *kwargs);

/* -- function.c -------------------------------------------------------------------- */

/* Calls it; what it takes is not counted. */
PyObject *function_run(struct function *f, PyObject *args, PyObject *kwargs);

/* Borrowed: the counterpart of a function of NumPy's, if it records operations, or NULL. */
struct function *function_that_records(PyObject *original);

/* Method of the module. */
PyObject *function_set_counterparts(PyObject *module, PyObject *dict);

/* -- array.c ----------------------------------------------------------------------- */

/* New reference to an array over a NumPy array, which is taken. */
PyObject *array_new(PyObject *np_array);

/* Borrowed: a keyword argument, or NULL.  *key keeps the name, which is made once. */
static inline PyObject *get_keyword(PyObject *kwargs, PyObject **key, const char *name)
{
    if (!*key)
        *key = PyUnicode_InternFromString(name);
    PyObject *value = *key ? PyDict_GetItemWithError(kwargs, *key) : NULL;
    if (!value)
        PyErr_Clear();
    return value;
}

static inline PyArrayObject *np_array_of(PyObject *x)
{
    return (PyArrayObject *)as_array(x)->np_array;
}

/* A fresh result of an operator: an array, unless it is a scalar or another class's. */
static inline PyObject *adopt_fresh(PyObject *result)
{
    return result && Py_TYPE(result) == np_array_type ? array_new(result) : result;
}

/* A TypeError that is not NumPy's to say: a device has no such numbers. */
extern PyObject *device_type_error;

/* Look up NumPy's operators; host_type is known by now. */
void array_load_slots(void);

/* Give the class what NumPy's has: texts of attributes, the way patterns match it; -1 with an
 * exception set. */
int array_load(PyObject *numpy_class);

extern PyType_Spec array_spec;

/* -- function.c, lookup.c ---------------------------------------------------------- */

/* New reference: a copy of a function that gives what cross_standard makes of its results. */
PyObject *function_standard(PyObject *function);

extern PyType_Spec function_spec, method_spec, lookup_spec;

/* -- watch.c ----------------------------------------------------------------------- */

extern PyType_Spec watched_spec;
extern PyMethodDef watch_methods[];
