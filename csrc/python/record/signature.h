/* signature.h -- the loop that a ufunc has for some dtypes. */
#pragma once
#include "ir/layouts.h"
#include "ir/loop.h"
#include "python/record/source.h"

struct signature {
    bool is_known, exists;
    bool is_silent;            /* NumPy ignores the conditions of this loop */
    bool has_numpys_bits;      /* `loop` returns the same as `numpys` */
    signed char in[3], out[2]; /* rows */
    signed char layouts;       /* of enum mx_layout: `numpys` has other bits there */
    struct mx_loop loop;
    struct mx_loop numpys; /* used where elements of the output are inputs of later ones */
};

/* Return the loop for these inputs, or NULL if there is none that can be recorded.  An
 * exception is set if the search failed. */
const struct signature *signature_of(int op, const struct source *inputs, int nin);

/* The same for a ufunc of another package, with one output. */
const struct signature *signature_of_others(PyObject *ufunc, const struct source *inputs,
                                            int nin);

/* Find the loop of a ufunc for elements of these rows. */
bool signature_loop(struct mx_loop *out, PyObject *ufunc, const int *rows);

/* The loops of a ufunc whose operands all have one dtype, by row. */
struct uniform_loops {
    PyObject *ufunc;
    struct {
        bool is_known, exists;
        struct mx_loop loop;
    } rows[NTYPES];
};

/* Return the loop for elements of one row, or NULL. */
const struct mx_loop *signature_uniform(struct uniform_loops *loops, int row);

/* Return the row of a ufunc in ops.def, or MX_NO_OP. */
int signature_op(PyObject *ufunc);

int signature_load(PyObject *numpy); /* -1 with an exception set */

/* Check for the operations of arithmetic.  NumPy reports all conditions that their loops meet,
 * and results that are real numbers do not depend on the strides. */
bool signature_is_arithmetic(int op);

/* Check whether the only element of an array of the program has other last bits than that of a
 * new one: NumPy's iterator passes strides of its own there. */
bool signature_asks_iterator(const struct signature *signature, int op, npy_intp size);
