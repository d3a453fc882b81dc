/* profile.h -- the cost of the program's lines, counted while a report is active.
 *
 * A span is one call of the program that is array work.  It measures whether NumPy ran and for
 * how long, without the time for which it waited for the queue.  It is also the reason for a
 * wait that happens in it.
 */
#pragma once
#include "ir/instruction.h"
#include "python/base/state.h"

/* The kinds of spans, and their names in reports.  From FULL on they are the reason for a wait
 * regardless of the spans around them. */
/* clang-format off */
#define SPAN_KINDS(M)                                                                   \
    M(OPERATION, "operation") M(READ, "read") M(ELEMENT, "element") M(EXPORT, "export") \
    M(PACKAGE, "package") M(FULL, "full") M(MEMORY, "memory") M(SHARED, "shared")                             \
    M(SYNCHRONIZE, "synchronize") M(WARNINGS, "warnings") M(EXIT, "exit")               \
    M(REPORT, "report") M(MASK, "mask") M(RANGE, "range") M(ERRSTATE, "errstate")       \
    M(NUMPY, "numpy") M(RESULT, "result")
/* clang-format on */

#define DEFINE_KIND(name, text) SPAN_##name,
enum span_kind { SPAN_KINDS(DEFINE_KIND) N_SPAN_KINDS };
#undef DEFINE_KIND

/* The name of an operation: a function of mxnp, or else a string literal. */
struct span_name {
    PyObject *function; /* borrowed */
    const char *text;
};

struct span {
    bool is_on;
    bool is_numpys;    /* NumPy computes */
    bool is_layer;     /* NumPy's own code runs, and spans inside count for this call */
    bool has_counted;  /* one of these spans, which NumPy computed, */
    bool has_large;    /* and one with a large array */
    bool has_errstate; /* NumPy computes because errors have to be raised immediately */
    int threads;       /* 0, or the number that a call is divided among */
    enum span_kind kind;
    struct span_name name;
    PyObject *frame; /* borrowed from the interpreter, which runs it */
    struct span *outer;
    int64_t elements;       /* 0: the size of the largest operand */
    int64_t begin, counted; /* in nanoseconds; `counted` is that of spans and waits inside */
};

void profile_begin(struct span *span, enum span_kind kind, struct span_name name);

/* End a span and count it.  The arrays among the operands and the result have its size. */
void profile_end(struct span *span, PyObject *const *operands, Py_ssize_t n,
                 int threshold_factor, PyObject *result);
void profile_end_call(struct span *span, PyObject *args, int threshold_factor,
                      PyObject *result);

/* End a span that is not counted, but only the reason for a wait. */
void profile_pop(struct span *span);

/* Return the innermost span of this thread, or NULL. */
struct span *profile_innermost(void);

static inline void span_begin(struct span *span, enum span_kind kind, const char *text)
{
    span->is_on = profile_is_on;
    if (span->is_on)
        profile_begin(span, kind, (struct span_name){NULL, text});
}

/* End a span, and return the result. */
static inline PyObject *span_end(struct span *span, PyObject *a, PyObject *b, PyObject *result)
{
    PyObject *operands[] = {a, b};
    if (span->is_on)
        profile_end(span, operands, b ? 2 : 1, 1, result);
    return result;
}

/* Return the value of `call`, which is a span if a report is active. */
#define RETURN_COUNTED(kind, text, a, b, call) \
    do {                                       \
        if (!profile_is_on)                    \
            return call;                       \
        struct span counted;                   \
        span_begin(&counted, kind, text);      \
        return span_end(&counted, a, b, call); \
    } while (0)

static inline void span_pop(struct span *span)
{
    if (span->is_on)
        profile_pop(span);
}

/* Note in the innermost span that NumPy computes. */
static inline void span_note_numpy(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->is_numpys = true;
}

/* Note that NumPy computed nothing, because it returned a view or refused the arguments. */
static inline void span_note_nothing(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->is_numpys = false;
}

/* Note that NumPy's own code runs over mxnp arrays. */
static inline void span_note_layer(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->is_layer = true;
}

static inline void span_note_errstate(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->has_errstate = true;
}

/* Count a check of indices before an operation was recorded.  A spared check took no time,
 * because the range of the indices was known. */
void profile_checked(int64_t begin, Py_ssize_t elements, bool is_spared);

/* Count an operation that the core has run immediately. */
void profile_computed(int64_t begin, const char *name, Py_ssize_t elements, int64_t bytes_read,
                      int64_t bytes_written);

/* Count a call of a package with so many arguments.  So many arrays in them, each in the
 * argument at its place, were replaced by the NumPy arrays inside.  End the span of the call,
 * which began before that. */
void profile_converted(struct span *span, PyObject *const *arrays, const int *places,
                       int n_arrays, Py_ssize_t n);

/* Count a wait for so many operations. */
void profile_waited(int64_t begin, int64_t operations);

/* Count an instruction that ran, by the cost that the core wrote onto it. */
void profile_ran(const struct mx_instruction *in);

/* Return the kind of span with a name, or SPAN_OPERATION. */
enum span_kind profile_kind(const char *name);

/* Methods of the module. */
extern PyMethodDef profile_methods[];
