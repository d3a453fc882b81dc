/* record.h -- what recorded operations are made of. */
#pragma once
#include "python/record/queue.h"

/* Rows of dtypes.def, and Python's numbers, which take the dtype of what they meet. */
enum {
#define DTYPE(name, ...) ROW_##name,
#include "ir/dtypes.def"
#undef DTYPE
    NTYPES,
    WEAK_INT = NTYPES,
    WEAK_FLOAT,
    WEAK_COMPLEX,
    NCODES,
};

static inline bool is_integer_row(int row) { return row >= ROW_int8 && row <= ROW_uint64; }
static inline bool is_complex_row(int row) { return row >= ROW_complex64 && row < NTYPES; }

extern const int itemsizes[NTYPES];

/* -- source.c ---------------------------------------------------------------------- */

/* An argument: an array, or a scalar. */
struct source {
    int code;                /* row of its dtype, or the kind of a weak number */
    PyObject *array;         /* borrowed; NULL for a scalar */
    PyArrayObject *np_array; /* the array's, or that of a view of it */
    PyObject *scalar;        /* borrowed; NULL for an array */
};

struct shape {
    int ndim;
    npy_intp dims[MX_MAX_NDIM * 2];
};

int source_row(int type_number); /* -1: none */
int source_type_number(int row);
bool source_can_cast(int from, int to, NPY_CASTING casting);

/* False: it is not for the queue. */
bool source_read(PyObject *x, struct source *source);
bool source_read_array(PyObject *x, struct source *source);

/* The dtype that a value of itself has: what a weak scalar has before it meets another. */
int source_own_row(const struct source *source);

bool source_is_value(const struct source *source);

/* The source as one value of the dtype `row`; false where NumPy would raise or warn. */
bool source_value(const struct source *source, int row, char *value);

/* Whether NumPy would assign the scalar to elements of this dtype without a word. */
bool source_fits(const struct source *scalar, int row);

/* The strides of a source along the axes of the instruction. */
void source_strides(const struct source *source, const struct shape *shape, intptr_t *strides);

/* The order of axes in memory of a new result, outermost first, as NumPy's iterator chooses
 * it. */
void source_order_axes(const struct source *sources, int n, const struct shape *shape,
                       int *order);

/* The order of axes in memory of a copy, as numpy.empty_like chooses it: the longest strides
 * first, and C order where they are the same. */
void source_sort_axes(const struct source *source, int *order);

bool shape_broadcast(struct shape *shape, const struct source *source);

/* Whether the source can be broadcast to the shape as it is. */
bool shape_takes(const struct shape *shape, const struct source *source);

struct shape shape_of(const PyArrayObject *np_array);
npy_intp shape_size(const struct shape *shape);
/* With axes in this order in memory; NULL: C order. */
void shape_strides(const struct shape *shape, const int *order, int itemsize,
                   npy_intp *strides);

/* More than is taken without asking: NumPy says at once whether there is so much. */
bool shape_is_too_large(const struct shape *shape);

/* -- signature.c ------------------------------------------------------------------- */

/* The loop that a ufunc has for some dtypes. */
struct signature {
    bool is_known, exists;
    bool is_silent;            /* NumPy looks for no conditions */
    signed char in[3], out[2]; /* rows */
    struct mx_loop loop;
    struct mx_loop numpys; /* also where elements of its output are inputs of later ones */
};

/* The loop for these inputs; NULL when there is none that can be recorded, or with an
 * exception set. */
const struct signature *signature_of(int op, const struct source *inputs, int nin);
int signature_load(PyObject *numpy); /* -1 with an exception set */

/* The loop of a ufunc for elements of these rows; false: it has none. */
bool signature_loop(struct mx_loop *out, PyObject *ufunc, const int *rows);

int signature_op(PyObject *ufunc); /* its row in ops.def, or MX_NO_OP */

/* -- record.c ---------------------------------------------------------------------- */

/* Whether somebody outside may read or write its memory at any time. */
bool record_is_shared(PyObject *a);

/* The memory of a source: counted, or kept by the place. */
void record_memory(struct mx_operand *operand, const struct source *source,
                   struct call_site *site);

/* An array is going whose memory the queue still needs. */
void record_hold(PyObject *a);

/* An instruction without operands. */
void record_begin(struct mx_instruction *in, const struct mx_loop *loop, int op,
                  const char *name, int nin, int nout, const struct shape *shape, int fpe_mask);

struct mx_operand record_value(int row); /* one for all elements, still to be set */

/* An input of the instruction: a value, a view, or a temporary with the loop's dtype.  What
 * *made gets is to be released once the instruction is recorded.  1, 0 or -1. */
int record_input(struct mx_operand *operand, const struct source *source, int row,
                 const struct shape *shape, int fpe_mask, struct call_site *site,
                 struct mx_buffer **made);

/* An operand that is memory for an intermediate result, with the strides that suit the
 * sources. */
struct mx_buffer *record_new_temporary(const struct source *sources, int n, int row,
                                       const struct shape *shape, npy_intp *strides);
void record_temporary(struct mx_operand *operand, struct mx_buffer *buffer, int row,
                      const struct shape *shape, const npy_intp *strides);

/* An operand that is a view with one axis of its own for each of the instruction's. */
void record_view(struct mx_operand *operand, const struct source *source,
                 const struct shape *shape, struct call_site *site);

/* Appends it; the place is taken.  The sequence number, or -1 with an exception set. */
int64_t record_append(struct mx_instruction *in, struct call_site *site);

void record_mark(const struct source *source, int64_t sequence, bool is_written);

/* An instruction with one input, from and to a view or else a temporary.  1 or -1. */
int record_copy(const struct source *from, struct mx_buffer *from_buffer,
                const npy_intp *from_strides, int from_row, const struct source *to,
                struct mx_buffer *to_buffer, const npy_intp *to_strides, int to_row,
                const struct shape *shape, int fpe_mask);

/* Whether writing `out` element by element could change an element of `source` that is still
 * to be read: they overlap and are not the same view. */
bool record_collides(const struct source *out, const struct source *source);

bool record_can_write(const struct source *out, const struct shape *shape);

/* New reference: an array still to be written, with axes in this order in memory; NULL: C
 * order. */
PyObject *record_new(int row, const struct shape *shape, const int *order);

/* New reference: a recorded array cast to another dtype; NULL with an exception set. */
PyObject *record_cast(PyObject *a, int row, const char *name, int fpe_mask);

/* What a method of the module gives: out, which is taken, NotImplemented for 0, or NULL. */
PyObject *record_result(int status, PyObject *out);

/* Runs what the outside can see, unless the rest of its expression comes first, and everything
 * when there is much of it.  1 or -1. */
int record_done(const struct source *sources, int n);

/* -- call.c ------------------------------------------------------------------------ */

extern PyMethodDef call_methods[];
int call_load(void); /* -1 with an exception set */

/* -- assignment.c ------------------------------------------------------------------ */

extern PyMethodDef assignment_methods[];

/* -- selection.c ------------------------------------------------------------------- */

extern PyMethodDef selection_methods[];

/* -- indexing.c -------------------------------------------------------------------- */

extern PyMethodDef index_methods[];

/* -- update.c ---------------------------------------------------------------------- */

extern PyMethodDef update_methods[];

/* -- launch.c ---------------------------------------------------------------------- */

extern PyMethodDef launch_methods[];

/* -- settings.c --------------------------------------------------------------------- */

extern PyMethodDef setting_methods[];
int settings_load(void); /* -1 with an exception set */

/* -- reduction.c ------------------------------------------------------------------- */

extern PyMethodDef reduction_methods[];
