/* record.h -- what recorded operations are made of. */
#pragma once
#include "python/queue.h"

#define RECORD_NTYPES 14 /* rows of dtypes.def */

/* A number of Python's, which takes the dtype of what it meets. */
enum { WEAK_INT = RECORD_NTYPES, WEAK_FLOAT, WEAK_COMPLEX, NCODES };

/* An argument: an array, or a scalar. */
struct source {
    int code;             /* row of its dtype, or the kind of a weak number */
    PyObject *array;      /* borrowed; NULL for a scalar */
    PyArrayObject *host;  /* the array's, or that of a view of it */
    PyObject *scalar;     /* borrowed; NULL for an array */
};

struct shape {
    int ndim;
    npy_intp dims[MX_MAX_NDIM * 2];
};

/* The loop that a ufunc has for some dtypes. */
struct signature {
    bool is_known, exists;
    signed char in[3], out[2]; /* rows */
    struct mx_loop loop;
};

/* The loop for these inputs; NULL when there is none that can be recorded, or with an
 * exception set. */
const struct signature *signature_of(int op, const struct source *inputs, int nin);
int signature_load(PyObject *numpy); /* -1 with an exception set */

/* An array is going whose memory the queue still needs. */
void record_hold(PyObject *a);


int record_row(int type_number); /* -1: none */
int record_type_number(int row);
bool record_can_cast(int from, int to, NPY_CASTING casting);
bool record_read(PyObject *x, struct source *source); /* false: it is not for the queue */
bool record_is_too_large(const struct shape *shape);
int record_done(const struct source *sources, int n);
