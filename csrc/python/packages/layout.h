/* layout.h -- the beginnings of CPython's structs that its limited API hides.
 *
 * They are the same from Python 3.8 to 3.14, with the global interpreter lock.  Before anything
 * is changed through them, layout_is_known() compares them with the results of the limited API
 * for a few of Python's own objects.
 */
#pragma once
#include "python/base/types.h"

typedef PyObject *(*method_call)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

struct c_function { /* PyCFunctionObject */
    PyObject_HEAD PyMethodDef *def;
    PyObject *self, *module, *weakrefs;
    vector_call call;
};

struct descriptor { /* PyDescrObject */
    PyObject_HEAD PyTypeObject *type;
    PyObject *name, *qualname;
};

struct method_descriptor { /* PyMethodDescrObject */
    struct descriptor common;
    PyMethodDef *def;
    vector_call call;
};

struct attribute_descriptor { /* PyGetSetDescrObject */
    struct descriptor common;
    PyGetSetDef *def;
};

struct wrapper_base { /* struct wrapperbase */
    const char *name;
    int offset;
    void *function;
    PyObject *(*wrapper)(PyObject *self, PyObject *args, void *wrapped);
    const char *doc;
    int flags;
    PyObject *name_string;
};

struct slot_descriptor { /* PyWrapperDescrObject */
    struct descriptor common;
    struct wrapper_base *base;
    void *wrapped;
};

struct type_struct { /* PyTypeObject */
    PyVarObject head;
    const char *name;
    Py_ssize_t basicsize, itemsize;
    void *dealloc;
    Py_ssize_t vectorcall_offset;
    void *getattr, *setattr;
    void **as_async;
    void *repr;
    void **as_number, **as_sequence, **as_mapping;
    void *hash, *call, *str, *getattro, *setattro, *as_buffer;
    unsigned long flags;
    const char *doc;
    void *traverse, *clear, *richcompare;
    Py_ssize_t weaklistoffset;
    void *iter, *iternext;
    void *methods, *members, *getset;
    PyTypeObject *base;
    PyObject *dict;
    void *descr_get, *descr_set;
    Py_ssize_t dictoffset;
    void *init, *alloc, *new, *free, *is_gc;
    PyObject *bases, *mro, *cache;
    void *subclasses; /* of a class of Python's own, it is elsewhere */
};

#define PYTHONS_OWN (1ul << 1) /* _Py_TPFLAGS_STATIC_BUILTIN, from Python 3.12 on */

struct list_struct { /* PyListObject */
    PyVarObject head;
    PyObject **items;
};

struct weak_reference { /* PyWeakReference */
    PyObject_HEAD PyObject *object;
};

#define METHOD_FLAGS (HAS_VECTORCALL | 1ul << 17) /* Py_TPFLAGS_METHOD_DESCRIPTOR */

/* The number of functions in PyNumberMethods, PySequenceMethods and PyMappingMethods. */
enum { N_NUMBER_SLOTS = 36, N_SEQUENCE_SLOTS = 10, N_MAPPING_SLOTS = 3 };
enum { SEQUENCE_CONCAT = 1, SEQUENCE_ITEM = 3, SEQUENCE_INPLACE_CONCAT = 8 };

/* Check whether the class of an object has one of some flags. */
static inline bool layout_has_flag(PyObject *x, unsigned long flags)
{
    return ((struct type_struct *)Py_TYPE(x))->flags & flags;
}

/* Return the items of a list or, after the fields of its class, of a tuple. */
static inline PyObject *const *layout_items(PyObject *x)
{
    const struct type_struct *tuple = (struct type_struct *)&PyTuple_Type;
    return layout_has_flag(x, Py_TPFLAGS_TUPLE_SUBCLASS)
               ? (PyObject *const *)((char *)x + tuple->basicsize)
               : ((struct list_struct *)x)->items;
}

/* Where the state of a thread has the address of the frame that runs: at this number of bytes,
 * or, before Python 3.13, in a struct whose address is there, after the inner fields.  0 if it
 * is not known. */
extern size_t layout_frame_offset;
extern bool layout_frame_is_inside;
extern size_t layout_frame_inner;

/* Return the address that distinguishes the running frame from all others, or NULL.  To ask for
 * its object would make one. */
static inline void *layout_running_frame(void)
{
    if (!layout_frame_offset)
        return NULL;
    void *at = *(void **)((char *)PyThreadState_Get() + layout_frame_offset);
    return layout_frame_is_inside && at ? ((void **)at)[layout_frame_inner] : at;
}

/* Find where the state of a thread has the running frame. */
void layout_find_frame(void);

/* Check whether the structs of this Python are as declared here. */
bool layout_is_known(void);

/* Return a new list of the classes that derive from a class directly. */
PyObject *layout_subclasses(PyObject *class);

/* Return the address of an object's vectorcall, or NULL if its class has none. */
vector_call *layout_vectorcall(PyObject *x);
