/* checks.h -- comparisons with NumPy and searches for NaN without Python code: see checks.c. */
#pragma once
#include "python/base/numpy.h"

#define CHECK_ARRAYS 8 /* arrays among the arguments of a call */

#define FIRST_CALLS 10 /* calls of each operation that are checked whatever the fraction */

/* What an operation does with its arguments. */
enum role {
    ROLE_FUNCTION,
    ROLE_OPERATOR, /* it changes no argument */
    ROLE_IN_PLACE,
    ROLE_GET_ITEM,
    ROLE_SET_ITEM,
    ROLE_OTHER, /* only the watchers know */
};

struct call {
    PyObject *const *args;
    size_t n;        /* positional arguments, the keyword arguments follow */
    PyObject *names; /* a tuple of the names of keywords, or NULL */
};

struct operation_check {
    enum role role;
    PyObject *reference; /* the function that does the same on NumPy arrays, or NULL */
    PyObject *choose;    /* a function that returns `reference` for the arguments, or NULL */
    bool is_reflected;   /* `reference` takes the arguments in the other order */
};

/* An array of a call, and the bytes of its elements before the call and afterwards. */
struct saved {
    PyObject *owner; /* an mxnp array or a NumPy array */
    npy_intp size;
    char *before, *after, *spare;
    bool is_changed;
};

struct check {
    struct operation_check operation;
    struct call call;
    int n_saved;
    struct saved saved[CHECK_ARRAYS];
    bool is_basic; /* the subscript consists of integers and slices */
    void *block;   /* the memory of the bytes, if `bytes` is too small */
    char bytes[4096];
};

enum verdict {
    CHECK_ASK,    /* the watchers have to be asked before the call */
    CHECK_SKIP,   /* nothing is checked */
    CHECK_CALL,   /* checks_after has to be called after the call */
    CHECK_FAILED, /* an exception is set */
};

/* Prepare the check of a call.  `calls` counts the calls of the operation. */
enum verdict checks_before(struct check *check, const struct operation_check *operation,
                           const struct call *call, unsigned char *calls);

/* Check a result, or note the changes of a call that failed.  Return 1 if the result is right,
 * 0 if the watchers have to be asked, or -1 with an exception set, which they have to see. */
int checks_after(struct check *check, PyObject *result);

/* Write the elements that the changed arrays had before the call, and those that they had
 * afterwards. */
void checks_rewind(struct check *check);
void checks_restore(struct check *check);

/* Release what the check holds. */
void checks_end(struct check *check);

/* Check whether calls are checked here at all. */
bool checks_are_on(void);

/* Return what the watchers do about a call of a function: its class is found once. */
enum verdict checks_function(PyObject *function);

/* Collect the arguments of a call in a tuple and a dict, which is NULL if there are no
 * keywords. Return 0, or -1 with an exception set. */
int checks_collect(const struct call *call, PyObject **args, PyObject **kwargs);

/* Call a function by the vectorcall protocol, if it has that. */
PyObject *checks_call(PyObject *function, PyObject *const *values, size_t n, PyObject *names);

/* A number that increases when the watchers change.  What is known of functions is then out of
 * date. */
extern unsigned checks_epoch;

/* Methods of the module. */
extern PyMethodDef checks_methods[];
