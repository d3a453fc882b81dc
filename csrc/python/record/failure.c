/* failure.c -- errors found after the program had gone on, of indices or of a device, and
 * warnings that are errors: for whom, and of which arrays.
 *
 * The thread that recorded what failed is told once, when it waits for its work; an array
 * that would have been written but for it tells whoever reads it, each time.
 */
#include "python/record/failure.h"
#include "python/base/state.h"
#include "python/profile/call_site.h"

struct failure {
    long count;       /* arrays that have it, and one while its thread is to be told */
    int64_t sequence; /* of the check */
    uintptr_t thread;
    bool is_told;
    PyObject *type, *message, *note; /* the type is borrowed */
    struct failure *next;
};

/* The latest first; the GIL guards them. */
static struct failure *failures;
static PyObject *notes_name;

/* What there was no memory to note, and what nobody had any more when more came of it. */
static struct failure unnoted, forgotten;

static void release(struct failure *failure)
{
    if (--failure->count > 0)
        return;
    struct failure **at = &failures;
    while (*at != failure)
        at = &(*at)->next;
    *at = failure->next;
    queue_failures--;
    if (failure == &unnoted)
        return;
    Py_XDECREF(failure->message);
    Py_XDECREF(failure->note);
    PyMem_Free(failure);
}

static void insert(struct failure *failure)
{
    failure->next = failures;
    failures = failure;
    queue_failures++;
}

static PyObject *message_of(const struct mx_instruction *check)
{
    int64_t index;
    if (check->kind != MX_BOUNDS_CHECK)
        return PyUnicode_FromString(core->device_message());
    const struct mx_indexing *indexing = &check->indexing;
    if (!core->index_find_invalid(check, &index)) /* another thread has changed it since */
        return PyUnicode_FromFormat("an index is out of bounds for axis %d with size %zd",
                                    indexing->axis, indexing->sizes[0]);
    return PyUnicode_FromFormat("index %lld is out of bounds for axis %d with size %zd",
                                (long long)index, indexing->axis, indexing->sizes[0]);
}

/* The thread is told that there is no memory, and so is who reads the arrays. */
static struct failure *leave_unnoted(const struct mx_instruction *check)
{
    if (unnoted.count == 0)
        insert(&unnoted);
    if (unnoted.count == 0 || unnoted.is_told)
        unnoted.count++;
    unnoted.is_told = false;
    unnoted.sequence = check->sequence;
    unnoted.thread = check->thread;
    return &unnoted;
}

/* Takes the message; the type is one that is there for good. */
static struct failure *failure_new(const struct mx_instruction *in, PyObject *type,
                                   PyObject *message)
{
    struct failure *failure = PyMem_Calloc(1, sizeof *failure);
    if (!failure) {
        Py_XDECREF(message);
        return leave_unnoted(in);
    }
    failure->count = 1;
    failure->sequence = in->sequence;
    failure->thread = in->thread;
    failure->type = type;
    failure->message = message;
    failure->note = call_site_text(in->call_site);
    PyErr_Clear();
    insert(failure);
    return failure;
}

void failure_keep(const struct mx_instruction *in)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    failure_new(in, PyExc_RuntimeWarning, value ? PyObject_Str(value) : NULL);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static struct failure *failure_find(int64_t sequence)
{
    struct failure *failure = failures;
    while (failure && failure->sequence != sequence)
        failure = failure->next;
    return failure ? failure : &forgotten;
}

void failure_report(const struct mx_instruction *in)
{
    PyObject *type = in->kind == MX_BOUNDS_CHECK ? PyExc_IndexError : PyExc_RuntimeError;
    struct failure *failure = in->failed_by == in->sequence
                                  ? failure_new(in, type, message_of(in))
                                  : failure_find(in->failed_by);
    for (int k = in->nin; k < mx_operand_count(in); k++) {
        const struct mx_buffer *buffer = in->operands[k].buffer;
        struct array *array = buffer && buffer->failed_by ? buffer->owner : NULL;
        if (!array || array->failure)
            continue;
        array->failure = failure;
        array->used = array->written = INT64_MAX;
        failure->count++;
    }
}

void failure_forget(struct array *array)
{
    release(array->failure);
    array->failure = NULL;
    array->used = array->written = 0;
}

static void raise_copy(const struct failure *failure)
{
    PyObject *exception = PyObject_CallFunctionObjArgs(failure->type, failure->message, NULL);
    PyObject *notes = exception && failure->note ? PyList_New(0) : NULL;
    if (notes && PyList_Append(notes, failure->note) == 0)
        PyObject_SetAttr(exception, notes_name, notes);
    Py_XDECREF(notes);
    if (exception) {
        PyErr_SetObject(failure->type, exception);
        Py_DECREF(exception);
    }
}

static void raise_once(struct failure *failure)
{
    bool is_told = failure->is_told;
    raise_copy(failure);
    failure->is_told = true;
    if (!is_told)
        release(failure);
}

int failure_raise(PyObject *a)
{
    struct failure *failure = root_of(a)->failure;
    if (!failure)
        return 0;
    raise_once(failure);
    return -1;
}

int failure_raise_pending(bool of_all_threads)
{
    struct failure *first = NULL;
    for (struct failure *at = failures; at; at = at->next)
        if (!at->is_told && (of_all_threads || at->thread == core->thread()))
            first = at;
    if (!first)
        return 0;
    raise_once(first);
    return -1;
}

int failure_load(void)
{
    notes_name = PyUnicode_InternFromString("__notes__");
    unnoted.type = PyExc_MemoryError;
    unnoted.message = PyUnicode_FromString("unable to note an error");
    forgotten = (struct failure){.count = 1, .is_told = true, .type = PyExc_RuntimeError};
    forgotten.message = PyUnicode_FromString("an operation that this needs has failed");
    return notes_name && unnoted.message && forgotten.message ? 0 : -1;
}
