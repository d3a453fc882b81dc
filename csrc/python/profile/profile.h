/* profile.h -- what the lines of a program cost, counted while somebody wants to know.
 *
 * A span is one call of the program that is array work.  It knows whether NumPy ran and for how
 * long, without the time that it waited for the queue; and it is why a wait was necessary.
 */
#pragma once
#include "python/record/queue.h"

extern bool profile_is_on;

/* What a span is, in the words that Python gets; the last ones are reasons of their own for a
 * wait, whatever is around them. */
/* clang-format off */
#define SPAN_KINDS(M)                                                                   \
    M(OPERATION, "operation") M(READ, "read") M(ELEMENT, "element") M(EXPORT, "export") \
    M(FULL, "full") M(MEMORY, "memory") M(SHARED, "shared")                             \
    M(SYNCHRONIZE, "synchronize") M(WARNINGS, "warnings") M(EXIT, "exit")               \
    M(REPORT, "report") M(MASK, "mask") M(RANGE, "range") M(ERRSTATE, "errstate")       \
    M(NUMPY, "numpy") M(RESULT, "result")
/* clang-format on */

#define DEFINE_KIND(name, word) SPAN_##name,
enum span_kind { SPAN_KINDS(DEFINE_KIND) N_SPAN_KINDS };
#undef DEFINE_KIND

/* An operation: a function of ours, or else a text that lives for good. */
struct span_name {
    PyObject *function; /* borrowed */
    const char *text;
};

struct span {
    bool is_on;
    bool is_numpys;    /* NumPy computes */
    bool has_errstate; /* because errors are to be raised or handled at once */
    enum span_kind kind;
    struct span_name name;
    PyObject *frame; /* borrowed: it is running */
    struct span *outer;
    int64_t elements;       /* 0: as many as the operands tell */
    int64_t begin, counted; /* nanoseconds; those of spans and waits inside it */
};

void profile_begin(struct span *span, enum span_kind kind, struct span_name name);
void profile_end(struct span *span, PyObject *const *operands, Py_ssize_t n,
                 int threshold_factor, PyObject *result);
void profile_end_call(struct span *span, PyObject *args, int threshold_factor,
                      PyObject *result);
void profile_pop(struct span *span);
struct span *profile_innermost(void); /* NULL: none */

static inline void span_begin(struct span *span, enum span_kind kind, const char *text)
{
    span->is_on = profile_is_on;
    if (span->is_on)
        profile_begin(span, kind, (struct span_name){NULL, text});
}

/* The arrays among the operands and the result tell how much was done. */
static inline PyObject *span_end(struct span *span, PyObject *a, PyObject *b, PyObject *result)
{
    PyObject *operands[] = {a, b};
    if (span->is_on)
        profile_end(span, operands, b ? 2 : 1, 1, result);
    return result;
}

/* Returns what `call` gives: a span, if somebody counts. */
#define RETURN_COUNTED(kind, text, a, b, call) \
    do {                                       \
        if (!profile_is_on)                    \
            return call;                       \
        struct span counted;                   \
        span_begin(&counted, kind, text);      \
        return span_end(&counted, a, b, call); \
    } while (0)

/* Nothing was computed: it is only why a wait was necessary. */
static inline void span_pop(struct span *span)
{
    if (span->is_on)
        profile_pop(span);
}

/* From here on it is NumPy that computes what the innermost span is. */
static inline void span_note_numpy(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->is_numpys = true;
}

/* NumPy has computed nothing: it gave a view, or refused. */
static inline void span_note_nothing(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->is_numpys = false;
}

static inline void span_note_errstate(void)
{
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->has_errstate = true;
}

/* Indices were looked at before something was recorded, or they need not be. */
void profile_checked(int64_t begin, Py_ssize_t elements, bool is_spared);

/* Elements that a mask selects were taken since `begin`. */
void profile_selected(int64_t begin, const char *name, Py_ssize_t elements, int64_t bytes);

/* Whoever waited from `begin` on had so many operations run. */
void profile_waited(int64_t begin, int64_t operations);

void profile_ran(const struct mx_instruction *in); /* what it took is on it */

enum span_kind profile_kind(const char *word); /* SPAN_OPERATION: it is none */

extern PyMethodDef profile_methods[];
