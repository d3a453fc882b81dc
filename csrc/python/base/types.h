/* types.h -- the structs of the bridge's objects, and the classes that they are tested for.
 *
 * An mxnp array holds a numpy.ndarray.  Every operator, method and function replaces array
 * arguments by the NumPy arrays inside, calls NumPy, and adopts the result.
 *
 * Operations that are recorded for an array may not have run, and its memory may not be
 * allocated.  So there are three ways to the NumPy array:
 *
 *   np_array_of()    for shape, dtype, strides and flags.  The pointer is const: it cannot be
 *                    passed on to other code, and PyArray_DATA() does not take it.
 *   queue_to_view(), queue_to_read(), queue_to_write()
 *                    for other code.  They wait for what it needs.  call_args.h notes the
 * arrays of a call, and convert_prepare() waits for all of them. queue_ready()    for elements,
 * where it is known that nothing waits.
 *
 * The field `unprepared` is for reference counts, identity and attributes.
 */
#pragma once
#include "python/base/numpy.h"

#define MAX_DEPTH 8 /* levels of nested lists and tuples that are searched for arrays */

struct array {
    PyObject_HEAD PyObject
        *unprepared; /* the numpy.ndarray; never NULL in an array that Python code can see */
    PyObject *base;  /* the array that this one is a view of, or NULL */
    PyObject *weakrefs;

    /* The fields below are used in the root of a chain of views only. */
    int64_t used, written;   /* sequence numbers of the last operations that use and write it */
    int64_t version;         /* increases whenever the memory may have been written */
    struct failure *failure; /* the error because of which it was never written, or NULL */
    struct index_range *range; /* the cached range of its elements as indices, or NULL */
    int n_holds;               /* buffers of the buffer protocol, and running calls */
    bool is_exported;          /* other code may hold the NumPy array */
    bool is_address_taken;     /* other code may know the address of the memory */
    bool is_lent;              /* other code used the device's memory: see device_export.h */
    bool is_standard;          /* results of operations on it are arrays, never NumPy scalars */
    bool is_unwritten;         /* its buffer counts as not written yet: see memory/buffer.h */
};

typedef PyObject *(*vector_call)(PyObject *, PyObject *const *, size_t, PyObject *);

#define HAS_VECTORCALL \
    (1ul << 11) /* Py_TPFLAGS_HAVE_VECTORCALL, not in the limited API of 3.11 */

/* An implementation of a function for small arrays: see direct/functions.h. */
typedef int direct_call(PyObject *const *args, size_t n, PyObject **result);

/* Check whether `direct` computes a number of the arguments. */
typedef bool number_test(PyObject *const *args, size_t n);

/* A recorded form of a function. */
struct recorded_way {
    PyObject *implementation; /* called first when an array is large: it may record */
    int threshold_factor;     /* an array of this many thresholds is large */
    char size_rule;           /* which argument has to be large: see function_members */
    int size_place;           /* the place of the size, with the rules 'd', 'i' and 'p' */
};

struct function {
    PyObject_HEAD PyObject *wrapped; /* the NumPy callable */
    PyObject *implementation;        /* what it calls if no argument overrides it, or NULL */
    vector_call call;                /* function_vectorcall, or call_first */
    PyObject *row;                   /* its row's name, or None; NULL once it is prepared */
    direct_call *direct;             /* called when all arrays are small, or NULL */
    bool takes_axis;                 /* by `direct`, as its second argument */
    number_test *gives_number;       /* for an array, or NULL: see direct/functions.c */
    direct_call *glance;             /* called when an array is large, or NULL: it may decide */
    bool passes_queue;               /* `direct` takes recorded sizes too if nothing waits */
    PyObject *choose;            /* a function that returns the callable for given arguments */
    struct recorded_way ways[2]; /* on the processor, and where operations may run on a GPU */
    bool has_gpu_way;            /* whether the second differs */
    PyObject *layer;      /* NumPy's code over mxnp arrays, called next: see run_layer() */
    PyObject *first;      /* what `implementation` gets before the arguments, or NULL */
    PyObject *owner;      /* weak reference to the object whose method it is, or NULL */
    int choose_from;      /* how many arguments or axes `choose` is asked for */
    char choose_rule;     /* which of them: see function_members */
    int layer_factor;     /* an array of so many thresholds is large for the layer */
    int operation;        /* for a ufunc, its row in ops.def, or -1 */
    bool adopts;          /* whether results become mxnp arrays */
    bool keeps_others;    /* if so, only those that are arrays of the call */
    bool is_maker;        /* results have a default dtype */
    bool is_view;         /* results are views if the elements need not be read */
    bool is_member;       /* a method or attribute of its first argument */
    bool is_standard;     /* results are arrays, never NumPy scalars */
    bool is_preparing;    /* a thread adds what the row says, and holds the lock */
    int depth;            /* levels of tuples and lists that are unwrapped */
    bool stores;          /* an array of objects stores the other arguments as they are */
    unsigned check_epoch; /* when the two fields below were set: see object/checks.h */
    unsigned char verdict, n_checked;
    PyObject *dict;
    PyObject *weakrefs;
};

extern PyTypeObject *array_type;         /* mxnp.ndarray */
extern PyTypeObject *ufunc_type;         /* mxnp.ufunc */
extern PyTypeObject *np_array_type;      /* numpy.ndarray */
extern PyTypeObject *subclass_type;      /* the base of classes derived from mxnp.ndarray */
extern PyTypeObject *function_type;      /* mxnp._bridge.Function */
extern PyTypeObject *member_type;        /* mxnp._bridge.Method */
extern PyTypeObject *generator_types[2]; /* mxnp.random.Generator and RandomState */
extern PyTypeObject *function_class;     /* types.FunctionType */
extern PyObject *method_class;           /* types.MethodType */
extern PyTypeObject *slot_method_class;  /* types.MethodWrapperType */
extern PyObject *described;              /* _array.ndarray.described */
extern PyObject *is_from_package;        /* _cli.runner.is_from_package, or NULL */

/* Import NumPy's C API.  Return 0, or -1 with an exception set. */
int types_import_numpy(void);

/* Methods of the module. */
extern PyMethodDef types_methods[];

static inline bool is_array(PyObject *x) { return Py_TYPE(x) == array_type; }
static inline struct array *as_array(PyObject *x) { return (struct array *)x; }
static inline bool is_standard(PyObject *x) { return is_array(x) && as_array(x)->is_standard; }

/* Check whether a class is written in C, so that its methods run no code of the program. */
static inline bool is_static(PyTypeObject *type)
{
    return !(PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE);
}

/* Check for functions and methods written in Python, which other code may call. */
static inline bool is_callback(PyObject *x)
{
    return Py_TYPE(x) == function_class || (PyObject *)Py_TYPE(x) == method_class;
}

static inline bool is_generator(PyObject *x)
{
    return Py_TYPE(x) == generator_types[0] || Py_TYPE(x) == generator_types[1];
}

/* Return a borrowed reference to NumPy's generator in one of mxnp's. */
PyObject *types_generator_inside(PyObject *generator);

/* Return the NumPy array inside, for what describes its elements. */
static inline const PyArrayObject *np_array_of(PyObject *x)
{
    return (const PyArrayObject *)as_array(x)->unprepared;
}

/* Return the NumPy array of an array, a NumPy array itself, or NULL for any other object. */
static inline const PyArrayObject *np_array_in(PyObject *x)
{
    if (is_array(x))
        return np_array_of(x);
    return Py_TYPE(x) == np_array_type ? (const PyArrayObject *)x : NULL;
}

/* Return the array that stands for the memory of `a` and of all other views of it. */
static inline struct array *root_of(PyObject *a)
{
    PyObject *base = as_array(a)->base;
    return as_array(base ? base : a);
}
