/* device_export.c -- memory of the GPU that mxnp shares with other packages, without copies.
 *
 * The structs follow the DLPack specification, version 1.  A consumer may call the deleter in
 * any thread and without the GIL, so it uses the core only.
 */
#include "python/record/device_export.h"
#include "python/base/dtypes.h"
#include "python/record/failure.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/record.h"
#include "python/record/wrapper.h"

#include <stdlib.h>

#define MAX_NDIM 64

/* -- DLPack ------------------------------------------------------------------------ */

#define DLPACK_CUDA      2
#define DLPACK_READ_ONLY 1u /* flags */
#define DLPACK_IS_COPIED 2u

enum { DLPACK_INT, DLPACK_UINT, DLPACK_FLOAT, DLPACK_BFLOAT = 4, DLPACK_COMPLEX, DLPACK_BOOL };

struct tensor {
    void *data;
    int32_t device_type, device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides of elements; NULL: C order */
    uint64_t offset;          /* of bytes */
};

struct managed {
    struct tensor tensor;
    void *context;
    void (*deleter)(struct managed *self);
};

struct versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct versioned *self);
    uint64_t flags;
    struct tensor tensor;
};

static const char *const names[] = {"dltensor", "dltensor_versioned"};
static const char *const used_names[] = {"used_dltensor", "used_dltensor_versioned"};

/* -- Lending ----------------------------------------------------------------------- */

/* Let other code use the memory of an array on the GPU.  Set the buffer, which counts one more
 * user.  Return 1; 0 if other code may use the memory on the processor; or -1 with an exception
 * set. */
static int device_export_lend(PyObject *a, struct mx_buffer **lent)
{
    struct array *root = root_of(a);
    if (queue_flush() < 0 || failure_raise(a) < 0)
        return -1;
    queue_settle_export(a);
    struct mx_buffer *buffer = memory_adopt(root);
    bool is_lent = buffer && mx_coherence_is_lent(buffer);
    if (!buffer || !core->mx_coherence_is_on() || (!is_lent && record_is_shared_here(a)))
        return 0;
    memory_note_written((PyObject *)root);
    buffer->owner = buffer->owner ? buffer->owner : root;
    if (queue_call_locked(core->mx_coherence_lend, buffer) < 0)
        return -1;
    root->is_lent = true;
    root->version++;
    *lent = buffer;
    return 1;
}

/* Return the address on the GPU of the first element of a lent array. */
static char *gpu_address(PyObject *a, const struct mx_buffer *buffer)
{
    const PyArrayObject *first = np_array_of((PyObject *)root_of(a));
    return (char *)core->mx_coherence_address(buffer) +
           (data_address(np_array_of(a)) - data_address(first));
}

/* A capsule's memory. */
struct loan {
    union {
        struct managed managed;
        struct versioned versioned;
    };
    struct mx_buffer *buffer;
    int64_t shape[MAX_NDIM], strides[MAX_NDIM];
};

static void end_loan(struct loan *loan)
{
    core->mx_coherence_end_loan(loan->buffer);
    free(loan);
}

static void delete_managed(struct managed *self) { end_loan(self->context); }

static void delete_versioned(struct versioned *self) { end_loan(self->context); }

/* Call the deleter of a capsule whose name tells that nobody has taken its memory. */
static void drop_capsule(PyObject *capsule)
{
    struct managed *managed =
        PyCapsule_IsValid(capsule, names[0]) ? PyCapsule_GetPointer(capsule, names[0]) : NULL;
    struct versioned *versioned =
        PyCapsule_IsValid(capsule, names[1]) ? PyCapsule_GetPointer(capsule, names[1]) : NULL;
    if (managed && managed->deleter)
        managed->deleter(managed);
    if (versioned && versioned->deleter)
        versioned->deleter(versioned);
}

static int code_of(const PyArrayObject *np_array)
{
    switch (PyArray_DESCR(np_array)->kind) {
    case 'b':
        return DLPACK_BOOL;
    case 'i':
        return DLPACK_INT;
    case 'u':
        return DLPACK_UINT;
    case 'c':
        return DLPACK_COMPLEX;
    default:
        return dtype_row(PyArray_TYPE(np_array)) == ROW_bfloat16 ? DLPACK_BFLOAT : DLPACK_FLOAT;
    }
}

/* Return false if a stride is not a multiple of the size of the elements. */
static bool device_export_describe(struct loan *loan, struct tensor *tensor, PyObject *a,
                                   int device)
{
    const PyArrayObject *np_array = np_array_of(a);
    npy_intp itemsize = PyArray_ITEMSIZE(np_array);
    bool are_multiples = true;
    *tensor = (struct tensor){
        .data = gpu_address(a, loan->buffer),
        .device_type = DLPACK_CUDA,
        .device = device,
        .ndim = PyArray_NDIM(np_array),
        .code = (uint8_t)code_of(np_array),
        .bits = (uint8_t)(8 * itemsize),
        .lanes = 1,
        .shape = loan->shape,
        .strides = loan->strides,
    };
    for (int i = 0; i < tensor->ndim; i++) {
        loan->shape[i] = PyArray_DIM(np_array, i);
        loan->strides[i] = PyArray_STRIDE(np_array, i) / itemsize;
        are_multiples &= PyArray_STRIDE(np_array, i) % itemsize == 0;
    }
    return are_multiples;
}

static PyObject *to_dlpack(PyObject *module, PyObject *args)
{
    PyObject *a;
    int device, is_versioned, is_copy;
    struct mx_buffer *buffer;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!ipp:to_dlpack", array_type, &a, &device, &is_versioned,
                          &is_copy))
        return NULL;
    int status = device_export_lend(a, &buffer);
    if (status < 0)
        return NULL;
    if (status == 0)
        Py_RETURN_NONE;
    struct loan *loan = calloc(1, sizeof *loan);
    if (!loan) {
        core->mx_coherence_end_loan(buffer);
        return PyErr_NoMemory();
    }
    loan->buffer = buffer;
    bool is_writable = PyArray_ISWRITEABLE(np_array_of(a));
    if (is_versioned)
        loan->versioned = (struct versioned){.major = 1,
                                             .context = loan,
                                             .deleter = delete_versioned,
                                             .flags = (is_writable ? 0 : DLPACK_READ_ONLY) |
                                                      (is_copy ? DLPACK_IS_COPIED : 0)};
    else
        loan->managed = (struct managed){.context = loan, .deleter = delete_managed};
    struct tensor *tensor = is_versioned ? &loan->versioned.tensor : &loan->managed.tensor;
    PyObject *capsule = NULL;
    if (!device_export_describe(loan, tensor, a, device))
        PyErr_SetString(PyExc_BufferError,
                        "DLPack only supports strides which are a multiple of itemsize.");
    else
        capsule = PyCapsule_New(loan, names[is_versioned], drop_capsule);
    if (!capsule)
        end_loan(loan);
    return capsule;
}

/* The memory is lent for as long as the array lives, because nothing tells when a user of the
 * address is done. */
static PyObject *device_address(PyObject *module, PyObject *a)
{
    struct mx_buffer *buffer;
    (void)module;
    if (!is_array(a)) {
        PyErr_SetString(PyExc_TypeError, "device_address() takes an mxnp array");
        return NULL;
    }
    int status = device_export_lend(a, &buffer);
    if (status < 0)
        return NULL;
    if (status == 0)
        Py_RETURN_NONE;
    core->mx_buffer_release(buffer); /* the array keeps it, and the user the array */
    return PyLong_FromVoidPtr(gpu_address(a, buffer));
}

static PyObject *is_lent(PyObject *module, PyObject *a)
{
    (void)module;
    return PyBool_FromLong(is_array(a) && memory_is_lent(a));
}

static PyObject *edit(PyObject *module, PyObject *a)
{
    (void)module;
    if (is_array(a) && memory_is_lent(a) && queue_before_write(a) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *end_edit(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    queue_after_write();
    Py_RETURN_NONE;
}

/* -- Borrowing --------------------------------------------------------------------- */

/* An object that keeps borrowed memory alive, whose array is gone. */
struct dead {
    PyObject *owner;
    struct dead *next;
};

static _Atomic(struct dead *) dead;

static int release_dead(void *unused)
{
    (void)unused;
    struct dead *each = atomic_exchange(&dead, NULL);
    while (each) {
        struct dead *next = each->next;
        Py_DECREF(each->owner);
        free(each);
        each = next;
    }
    return 0;
}

/* The core calls it in any thread, so the object is released by Python's main thread. */
static void end_borrowing(void *owner)
{
    struct dead *each = owner;
    each->next = atomic_load(&dead);
    while (!atomic_compare_exchange_weak(&dead, &each->next, each))
        ;
    Py_AddPendingCall(release_dead, NULL); /* if it is refused, a later one releases all */
}

static PyObject *borrow_buffer(struct mx_buffer *buffer, PyObject *shape, PyObject *strides,
                               int type, bool is_writable)
{
    npy_intp dims[MAX_NDIM], steps[MAX_NDIM];
    Py_ssize_t ndim = PyTuple_Size(shape);
    for (Py_ssize_t i = 0; i < ndim; i++) {
        dims[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        steps[i] = PyLong_AsSsize_t(PyTuple_GetItem(strides, i));
    }
    PyObject *np_array =
        PyErr_Occurred() ? NULL : memory_new_over(buffer, type, (int)ndim, dims, steps);
    if (!np_array)
        return NULL;
    if (!is_writable)
        PyArray_CLEARFLAGS((PyArrayObject *)np_array, NPY_ARRAY_WRITEABLE);
    PyObject *out = wrapper_new(np_array);
    if (!out)
        return NULL;
    memory_own(out);
    as_array(out)->is_lent = true;
    as_array(out)->used = as_array(out)->written = QUEUE_AWAY_DONE;
    queue_away = core->mx_coherence_count();
    return out;
}

static PyObject *borrow(PyObject *module, PyObject *args)
{
    unsigned long long address;
    Py_ssize_t nbytes;
    int type, is_writable;
    PyObject *shape, *strides, *owner;
    (void)module;
    if (!PyArg_ParseTuple(args,
                          "Kn"
                          "O!O!ipO:borrow",
                          &address, &nbytes, &PyTuple_Type, &shape, &PyTuple_Type, &strides,
                          &type, &is_writable, &owner))
        return NULL;
    if (PyTuple_Size(shape) > MX_MAX_NDIM || PyTuple_Size(shape) != PyTuple_Size(strides))
        return PyErr_Format(PyExc_ValueError, "an array cannot have this shape");
    release_dead(NULL);
    struct dead *keeper = malloc(sizeof *keeper);
    if (!keeper)
        return PyErr_NoMemory();
    keeper->owner = Py_NewRef(owner);
    struct mx_buffer *buffer = NULL;
    if (queue_enter() == 0) {
        buffer = core->mx_coherence_borrow((void *)(uintptr_t)address, (size_t)nbytes,
                                           end_borrowing, keeper);
        queue_leave();
        if (!buffer)
            PyErr_NoMemory();
    }
    if (!buffer) {
        Py_DECREF(owner);
        free(keeper);
        return NULL;
    }
    return borrow_buffer(buffer, shape, strides, type, is_writable);
}

/* -- Reading a capsule ------------------------------------------------------------- */

#define KEEPER_NAME "mxnp_dlpack"

static void end_managed(PyObject *keeper)
{
    struct managed *managed = PyCapsule_GetPointer(keeper, KEEPER_NAME);
    if (managed->deleter)
        managed->deleter(managed);
}

static void end_versioned(PyObject *keeper)
{
    struct versioned *versioned = PyCapsule_GetPointer(keeper, KEEPER_NAME);
    if (versioned->deleter)
        versioned->deleter(versioned);
}

static PyObject *read_tensor(const struct tensor *tensor, uint64_t flags, PyObject *keeper)
{
    PyObject *shape = PyTuple_New(tensor->ndim), *strides = PyTuple_New(tensor->ndim);
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; shape && strides && i >= 0; i--) {
        int64_t step = tensor->strides ? tensor->strides[i] : stride;
        stride *= tensor->shape[i];
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(tensor->shape[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(step));
    }
    if (!shape || !strides)
        return NULL;
    return Py_BuildValue("((ii)K(iii)NNON)", (int)tensor->device_type, (int)tensor->device,
                         (unsigned long long)((uintptr_t)tensor->data + tensor->offset),
                         (int)tensor->code, (int)tensor->bits, (int)tensor->lanes, shape,
                         strides, flags & DLPACK_READ_ONLY ? Py_True : Py_False, keeper);
}

static PyObject *read_dlpack(PyObject *module, PyObject *capsule)
{
    (void)module;
    int is_versioned = PyCapsule_IsValid(capsule, names[1]);
    if (!is_versioned && !PyCapsule_IsValid(capsule, names[0])) {
        PyErr_SetString(PyExc_BufferError, "__dlpack__ returned no capsule that can be used");
        return NULL;
    }
    void *pointer = PyCapsule_GetPointer(capsule, names[is_versioned]);
    const struct versioned *versioned = pointer;
    if (is_versioned && versioned->major != 1) {
        PyErr_SetString(PyExc_BufferError, "this version of DLPack is not supported");
        return NULL;
    }
    PyObject *keeper =
        PyCapsule_New(pointer, KEEPER_NAME, is_versioned ? end_versioned : end_managed);
    if (!keeper)
        return NULL;
    PyCapsule_SetName(capsule, used_names[is_versioned]);
    return is_versioned ? read_tensor(&versioned->tensor, versioned->flags, keeper)
                        : read_tensor(&((struct managed *)pointer)->tensor, 0, keeper);
}

PyMethodDef device_export_methods[] = {
    {"to_dlpack", to_dlpack, METH_VARARGS,
     "to_dlpack(array, device, is_versioned, is_copy)\n--\n\nReturn a capsule of DLPack over "
     "the "
     "memory of the array on the GPU, or None if other code uses it on the processor."},
    {"device_address", device_address, METH_O,
     "device_address(array)\n--\n\nReturn the address of the first element on the GPU, which "
     "is "
     "valid for as long as the array lives, or None as to_dlpack() does."},
    {"is_lent", is_lent, METH_O,
     "is_lent(array)\n--\n\nReturn whether other code uses the memory of the array on the "
     "GPU."},
    {"edit", edit, METH_O,
     "edit(array)\n--\n\nPrepare to write the NumPy array inside, until end_edit()."},
    {"end_edit", end_edit, METH_NOARGS,
     "end_edit()\n--\n\nCopy to the GPU what was written to lent arrays."},
    {"borrow", borrow, METH_VARARGS,
     "borrow(address, nbytes, shape, strides, type_number, is_writable, owner)\n--\n\nReturn "
     "an "
     "array over memory of the GPU that the owner keeps alive. No stride is negative."},
    {"read_dlpack", read_dlpack, METH_O,
     "read_dlpack(capsule)\n--\n\nTake the memory of a capsule. Return its device, address, "
     "(code, bits, lanes), shape, strides of elements, whether it is read-only, and its "
     "owner."},
    {NULL, NULL, 0, NULL},
};
