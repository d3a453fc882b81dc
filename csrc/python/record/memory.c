/* memory.c -- NumPy arrays over the memory of the core, by NumPy's memory handlers (NEP 49).
 *
 * Such a NumPy array owns its data like any other, so NumPy calls the handler of this file when
 * it is freed.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "python/record/memory.h"
#include "python/base/dtypes.h"
#include "python/base/settings.h"
#include <dlfcn.h>

#define HANDLER_NAME "mem_handler"
#define TRACE_DOMAIN 389047 /* numpy.lib.tracemalloc_domain */

static PyObject *handler; /* the capsule that marks NumPy arrays over buffers */

/* The value of `shown` for memory that NumPy itself requested. */
static char *somewhere;

/* Note memory for Python's tracemalloc, as NumPy does with what it requests itself: from the
 * line that made the array on, although it may be allocated later. */
static int (*track)(unsigned domain, uintptr_t memory, size_t nbytes);
static int (*untrack)(unsigned domain, uintptr_t memory);

static void *handler_malloc(void *context, size_t size)
{
    (void)context;
    struct mx_buffer *buffer = core->mx_buffer_new(size);
    if (!buffer)
        return NULL;
    if (core->mx_buffer_publish(buffer) != MX_OK) {
        core->mx_buffer_release(buffer);
        return NULL;
    }
    buffer->published = &somewhere;
    buffer->is_whole = true; /* NumPy writes it */
    return core->mx_buffer_address(buffer);
}

static void *handler_calloc(void *context, size_t n, size_t itemsize)
{
    void *memory = handler_malloc(context, n * itemsize);
    if (memory)
        memset(memory, 0, n * itemsize);
    return memory;
}

static void handler_free(void *context, void *memory, size_t size)
{
    (void)context, (void)size;
    struct mx_buffer *buffer = core->mx_buffer_get(memory);
    /* A thread that runs the queue may look at it: see coherence.c. */
    __atomic_store_n(&buffer->published, NULL, __ATOMIC_RELAXED);
    untrack(TRACE_DOMAIN, (uintptr_t)buffer);
    core->mx_buffer_release(buffer);
}

static void *handler_realloc(void *context, void *memory, size_t size)
{
    struct mx_buffer *old = core->mx_buffer_get(memory);
    char *grown = handler_malloc(context, size);
    if (!grown)
        return NULL;
    memcpy(grown, memory, old->nbytes < size ? old->nbytes : size);
    handler_free(context, memory, old->nbytes);
    return grown;
}

static PyDataMem_Handler the_handler = {
    .name = "mxnp",
    .version = 1,
    .allocator = {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};

PyObject *memory_new_array(int type, int ndim, const npy_intp *shape, const npy_intp *strides)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    size_t nbytes = (size_t)PyDataType_ELSIZE(dtype);
    for (int i = 0; i < ndim; i++)
        nbytes *= (size_t)shape[i];
    Py_DECREF(dtype);
    struct mx_buffer *buffer = core->mx_buffer_new(nbytes);
    return buffer ? memory_new_over(buffer, type, ndim, shape, strides) : PyErr_NoMemory();
}

PyObject *memory_new_over(struct mx_buffer *buffer, int type, int ndim, const npy_intp *shape,
                          const npy_intp *strides)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    PyObject *np_array = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides,
                                              core->mx_buffer_address(buffer),
                                              NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL);
    if (!np_array) {
        core->mx_buffer_release(buffer);
        return NULL;
    }
    PyArrayObject_fields *fields = (PyArrayObject_fields *)np_array;
    fields->flags |= NPY_ARRAY_OWNDATA;
    fields->mem_handler = Py_NewRef(handler);
    buffer->published = &fields->data;
    track(TRACE_DOMAIN, (uintptr_t)buffer, buffer->nbytes);
    return np_array;
}

PyObject *memory_new_filled(int type, int ndim, const npy_intp *shape)
{
    PyObject *np_array = memory_new_array(type, ndim, shape, NULL);
    if (!np_array)
        return NULL;
    struct mx_buffer *buffer = memory_of(np_array);
    if (core->mx_buffer_publish(buffer) != MX_OK) {
        memory_raise_error();
        Py_DECREF(np_array);
        return NULL;
    }
    buffer->is_whole = true;
    return np_array;
}

struct mx_buffer *memory_of(PyObject *np_array)
{
    const PyArrayObject_fields *fields = (const PyArrayObject_fields *)np_array;
    bool is_ours = fields->mem_handler == handler && fields->flags & NPY_ARRAY_OWNDATA;
    return is_ours ? core->mx_buffer_get(fields->data) : NULL;
}

#define POOLED_BYTES 65536 /* arrays from this size on are copied into a buffer */

/* Check whether a device may compute with an array of at least so many bytes, in memory that
 * NumPy allocated and no other code knows. */
static bool should_pool(PyArrayObject *np_array, npy_intp least)
{
    const PyArrayObject_fields *fields = (const PyArrayObject_fields *)np_array;
    int row = dtype_row(fields->descr->type_num);
    if (Py_REFCNT((PyObject *)np_array) != 1 || fields->weakreflist || fields->base ||
        row < 0 || !core->mx_device_supports(row) || PyArray_NBYTES(np_array) < least ||
        !(fields->flags & NPY_ARRAY_OWNDATA) || fields->mem_handler == handler ||
        !PyArray_ISONESEGMENT(np_array) || !PyArray_ISBEHAVED(np_array))
        return false;
    PyArray_Descr *plain = PyArray_DescrFromType(fields->descr->type_num);
    Py_DECREF(plain);
    return plain == fields->descr;
}

/* Steal a reference to a NumPy array, and return it or a copy of it in a buffer. */
static PyObject *copy_to_buffer(PyObject *np_array)
{
    PyArrayObject *from = (PyArrayObject *)np_array;
    PyObject *to = memory_new_array(PyArray_TYPE(from), PyArray_NDIM(from), PyArray_DIMS(from),
                                    PyArray_STRIDES(from));
    struct mx_buffer *buffer = to ? memory_of(to) : NULL;
    if (!to || core->mx_buffer_publish(buffer) != MX_OK) {
        PyErr_Clear();
        Py_XDECREF(to);
        return np_array;
    }
    memcpy(core->mx_buffer_address(buffer), PyArray_BYTES(from), (size_t)PyArray_NBYTES(from));
    buffer->is_whole = true;
    Py_DECREF(np_array);
    return to;
}

PyObject *memory_pool(PyObject *np_array)
{
    npy_intp least = queue_threshold > 0 ? POOLED_BYTES : 1;
    bool is_for_gpu = settings_use_gpu() && should_pool((PyArrayObject *)np_array, least);
    return is_for_gpu ? copy_to_buffer(np_array) : np_array;
}

struct mx_buffer *memory_adopt(struct array *a)
{
    bool is_known = a->n_holds > 0 || a->is_exported || a->is_address_taken;
    if (!memory_of(a->unprepared) && !is_known &&
        should_pool((PyArrayObject *)a->unprepared, 0))
        a->unprepared = copy_to_buffer(a->unprepared);
    return memory_of(a->unprepared);
}

void memory_note_written(PyObject *a)
{
    struct mx_buffer *buffer = memory_of(as_array(a)->unprepared);
    as_array(a)->is_unwritten = false;
    if (buffer)
        buffer->is_unwritten = false;
}

void memory_own(PyObject *a) { memory_of(as_array(a)->unprepared)->owner = a; }

void memory_disown(PyObject *a)
{
    struct mx_buffer *buffer =
        as_array(a)->unprepared ? memory_of(as_array(a)->unprepared) : NULL;
    if (buffer && buffer->owner == a)
        buffer->owner = NULL;
}

/* Return a new reference to NumPy's own exception, with the shape and dtype of the array. */
static PyObject *exception_of(const struct mx_buffer *buffer)
{
    size_t offset = offsetof(PyArrayObject_fields, data);
    const PyArrayObject_fields *np_array = (const void *)((char *)buffer->published - offset);
    PyObject *shape = PyArray_IntTupleFromIntp(np_array->nd, np_array->dimensions);
    PyObject *module = PyImport_ImportModule("numpy._core._exceptions");
    PyObject *type = module ? PyObject_GetAttrString(module, "_ArrayMemoryError") : NULL;
    PyObject *exception =
        type && shape ? PyObject_CallFunctionObjArgs(type, shape, np_array->descr, NULL) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(shape);
    return exception;
}

void memory_raise_error(void)
{
    struct mx_buffer *buffer = core->mx_buffer_take_refused();
    PyObject *exception = buffer && buffer->published ? exception_of(buffer) : NULL;
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    else
        PyErr_SetString(PyExc_MemoryError, core->mx_error_message());
    Py_XDECREF(exception);
    if (buffer)
        core->mx_buffer_release(buffer);
}

int memory_load(void)
{
    *(void **)&track = dlsym(RTLD_DEFAULT, "PyTraceMalloc_Track");
    *(void **)&untrack = dlsym(RTLD_DEFAULT, "PyTraceMalloc_Untrack");
    if (!track || !untrack) {
        PyErr_SetString(PyExc_ImportError, "this Python cannot trace memory");
        return -1;
    }
    handler = PyCapsule_New(&the_handler, HANDLER_NAME, NULL);
    return handler ? 0 : -1;
}
