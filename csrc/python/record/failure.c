/* failure.c -- errors that are found after the program has gone on: indices out of bounds,
 * errors of a device, and warnings that are errors.
 *
 * The thread that recorded the failed operation raises the error once, when it waits for its
 * operations.  An array that was not written because of it raises the error each time it is
 * read.
 */
#include "python/record/failure.h"
#include "python/base/refusal.h"
#include "python/base/state.h"
#include "python/profile/call_site.h"

struct failure {
    long count;       /* arrays that refer to it, and 1 until its thread has raised it */
    int64_t sequence; /* of the check */
    uintptr_t thread;
    bool is_raised;
    PyObject *type, *message; /* the type is borrowed, because it is a static type */
    PyObject *file;           /* that recorded the operation, or NULL if it is unknown */
    int line;
    struct failure *next;
};

unsigned long failures_raised;

/* The latest failure is first.  The GIL guards the list. */
static struct failure *failures;
static PyObject *notes_name;

/* `unnoted` stands for all failures for which there was no memory.  `forgotten` stands for
 * those that were freed when another operation failed because of them. */
static struct failure unnoted, forgotten;

static void failure_release(struct failure *failure)
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
    Py_XDECREF(failure->file);
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
        return PyUnicode_FromString(core->mx_stream_device_message());
    const struct mx_indexing *indexing = &check->indexing;
    if (!core->mx_index_find_invalid(check, &index)) /* another thread has changed it since */
        return PyUnicode_FromFormat("an index is out of bounds for axis %d with size %zd",
                                    indexing->axis, indexing->sizes[0]);
    return PyUnicode_FromFormat("index %lld is out of bounds for axis %d with size %zd",
                                (long long)index, indexing->axis, indexing->sizes[0]);
}

/* The thread and the reads of the arrays raise a MemoryError instead. */
static struct failure *keep_unnoted(const struct mx_instruction *check)
{
    if (unnoted.count == 0)
        insert(&unnoted);
    if (unnoted.count == 0 || unnoted.is_raised)
        unnoted.count++;
    unnoted.is_raised = false;
    unnoted.sequence = check->sequence;
    unnoted.thread = check->thread;
    return &unnoted;
}

/* Steal a reference to the message; the type is borrowed. */
static struct failure *failure_new(const struct mx_instruction *in, PyObject *type,
                                   PyObject *message)
{
    struct failure *failure = PyMem_Calloc(1, sizeof *failure);
    if (!failure) {
        Py_XDECREF(message);
        return keep_unnoted(in);
    }
    failure->count = 1;
    failure->sequence = in->sequence;
    failure->thread = in->thread;
    failure->type = type;
    failure->message = message;
    failure->file = call_site_place(in->call_site, &failure->line);
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
    failure_release(array->failure);
    array->failure = NULL;
    array->used = array->written = 0;
}

/* Return where the operation was recorded, as a list with a note for the exception, or NULL. An
 * exception that is set is one of a signal handler. */
static PyObject *notes_of(const struct failure *failure)
{
    PyObject *places = failure->file ? PyImport_ImportModule("mxnp._engine.places") : NULL;
    PyObject *place =
        places ? PyObject_CallMethod(places, "describe", "Oi", failure->file, failure->line)
               : NULL;
    PyObject *note = place ? PyUnicode_FromFormat("recorded at %S", place) : NULL;
    PyObject *notes = note ? PyList_New(0) : NULL;
    if (notes && PyList_Append(notes, note) < 0)
        Py_CLEAR(notes);
    Py_XDECREF(note);
    Py_XDECREF(place);
    Py_XDECREF(places);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) && !refusal_is_handlers())
        PyErr_Clear();
    return notes;
}

/* Let the exception that is set follow another one, as if it had been raised in its handler. */
static void set_context(PyObject *exception)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *last = Py_NewRef(value), *before;
    while ((before = PyException_GetContext(last)) && before != exception) {
        Py_DECREF(last);
        last = before;
    }
    if (!before)
        PyException_SetContext(last, Py_NewRef(exception));
    Py_XDECREF(before);
    Py_DECREF(last);
    PyErr_Restore(type, value, traceback);
}

static void raise_copy(const struct failure *failure)
{
    PyObject *exception = PyObject_CallFunctionObjArgs(failure->type, failure->message, NULL);
    if (!exception)
        return;
    PyObject *notes = notes_of(failure);
    if (PyErr_Occurred()) {
        set_context(exception);
    } else {
        if (notes)
            PyObject_SetAttr(exception, notes_name, notes);
        PyErr_SetObject(failure->type, exception);
    }
    Py_XDECREF(notes);
    Py_DECREF(exception);
}

/* The note of the exception runs Python code, and other threads may run meanwhile. */
static void raise_once(struct failure *failure)
{
    failures_raised++;
    bool was_raised = failure->is_raised;
    failure->is_raised = true;
    failure->count++;
    raise_copy(failure);
    failure_release(failure);
    if (!was_raised)
        failure_release(failure);
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
        if (!at->is_raised && (of_all_threads || at->thread == core->mx_stream_thread()))
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
    unnoted.message = PyUnicode_FromString("unable to keep the error of a recorded operation");
    forgotten = (struct failure){.count = 1, .is_raised = true, .type = PyExc_RuntimeError};
    forgotten.message =
        PyUnicode_FromString("a recorded operation that this array depends on has failed");
    return notes_name && unnoted.message && forgotten.message ? 0 : -1;
}
