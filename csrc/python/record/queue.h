/* queue.h -- operations that are recorded now and run later, as the bridge sees them.
 *
 * The array at the root of a chain of views stands for their memory: it knows the last
 * recorded operations that use it and that write it.  A read through a NumPy array waits until
 * the operations that write the memory have run; a write waits for all that use it.
 */
#pragma once
#include "api/recorder.h"
#include "ir/ops.h"
#include "python/base/bridge.h"
#include "python/profile/call_site.h"

extern const struct mx_recorder *core;

/* Sequence numbers of the last operation recorded and of the last one that has run. */
extern int64_t queue_recorded, queue_done;

/* Operations on arrays of fewer elements are not recorded, unless these wait themselves. */
extern Py_ssize_t queue_threshold;

/* Operations that compute once more, if it is still there, what was lent. */
extern size_t queue_rematerializable;

/* Failures that arrays have or a thread is to be told of. */
extern size_t queue_failures;

static inline bool queue_is_idle(void)
{
    return queue_recorded == queue_done && queue_failures == 0;
}

/* Whether what is kept may use its memory. */
bool queue_may_reread(PyObject *a);

/* Whether something that writes its memory, or uses it, still has to run. */
static inline bool is_unwritten(PyObject *a) { return root_of(a)->written > queue_done; }
static inline bool is_in_use(PyObject *a)
{
    return root_of(a)->used > queue_done || (queue_rematerializable > 0 && queue_may_reread(a));
}

/* Run everything recorded; -1 with an exception set. */
int queue_flush(void);

/* Run what an array waits for; -1 with an exception set, that of its failure if it has one. */
int queue_wait(PyObject *a);

/* Before memory is read or written through the NumPy array; -1 with an exception set. */
static inline int queue_before_read(PyObject *a) { return is_unwritten(a) ? queue_wait(a) : 0; }
static inline int queue_before_write(PyObject *a) { return is_in_use(a) ? queue_wait(a) : 0; }

void queue_load(void);

/* An array that nothing but the arguments of a call refers to lends its memory for the time of
 * the call: see stream.h.  NULL, or what queue_end_lending takes. */
struct mx_buffer *queue_elide(PyObject *callee, PyObject *args);
struct mx_buffer *queue_elide_array(PyObject *a);
static inline void queue_end_elision(struct mx_buffer *elided)
{
    if (elided)
        elided->elision_owner = NULL;
}

/* Its elements are needed by a function of ours, whoever else needs them; -1 with an exception
 * set. */
int queue_write(PyObject *a);

/* An array is gone: lets go of what was kept for it. */
void queue_drop_rematerializable(void);

/* Before a view of it is made: it gets its address; -1 with an exception set. */
int queue_before_view(PyObject *a);

/* Somebody outside has the NumPy array now: an operation on its memory runs at once. */
static inline void queue_export(PyObject *a)
{
    root_of(a)->is_exported = true;
    root_of(a)->version++;
}

/* Other code that had the NumPy array may have released it: of an array, or of its only view.
 * To be asked before a recorded operation holds it. */
static inline void queue_settle_export(PyObject *a)
{
    struct array *root = root_of(a);
    bool is_view = (PyObject *)root != a;
    if (root->is_exported && Py_REFCNT(root->np_array) == 1 + is_view &&
        (!is_view || Py_REFCNT(as_array(a)->np_array) == 1))
        root->is_exported = false;
    root->version += root->is_exported;
}

/* What is compared with the threshold: its elements, but bytes count an eighth, because NumPy
 * takes many at once. */
static inline Py_ssize_t queue_weight(const PyArrayObject *np_array)
{
    Py_ssize_t size = PyArray_SIZE((PyArrayObject *)np_array);
    return PyArray_ITEMSIZE(np_array) == 1 ? size / 8 : size;
}

/* Whether an operation on it is to be recorded rather than to run in NumPy at once. */
static inline bool queue_takes(PyObject *a)
{
    return queue_weight((PyArrayObject *)as_array(a)->np_array) >= queue_threshold ||
           is_unwritten(a);
}

/* Between them nobody else is inside the stream: waits for that.  -1 with an exception set. */
int queue_enter(void);
void queue_leave(void);

/* Methods of the module. */
extern PyMethodDef queue_methods[];

/* -- call.c and assignment.c --------------------------------------------------------- */

/* Each gives 1; 0: it is not for the queue, nothing happened; -1 with an exception set. */

/* Records a ufunc over inputs (arrays, scalars), into outs (borrowed; NULL: new arrays).
 * Results are new references in results[].  The callee is the function that the program calls;
 * NULL: an operator. */
int call_ufunc(PyObject *callee, int op, PyObject *const *inputs, int nin,
               PyObject *const *outs, int nout, PyObject **results);

/* Records a[mask] = value for a mask of a's shape and a scalar. */
int call_masked_fill(PyObject *a, PyObject *mask, PyObject *value);

/* Records an assignment to all elements of the view `NumPy array` of array a. */
int assignment_record(PyObject *a, PyObject *np_array, PyObject *value);

/* New reference: the places in a flat mask, which is worth it and in C order; NULL, with an
 * exception set or not. */
PyObject *selection_places(PyObject *mask);

/* New reference: a tuple of the places where a mask is true, along each axis; NULL with an
 * exception set. */
PyObject *selection_nonzero(PyObject *mask);

/* -- expression.c ------------------------------------------------------------------- */

/* Sequence number of the last operation on shared memory that waits for the rest of its
 * expression.  While it waits no code runs but mxnp's and NumPy's. */
extern int64_t expression_last;

static inline bool expression_is_open(void) { return expression_last > queue_done; }

/* Around a call that runs no code from outside.  `callee` is the function, NULL for an
 * operator; `result` is what it gives, the inputs are what may be lent.  -1 with an exception
 * set: what it recorded had to run, and failed.
 */
void expression_enter(void);
int expression_leave(PyObject *callee, PyObject *result, PyObject *const *inputs, int n);

/* Whether a call with these arguments runs no code from outside. */
bool expression_takes(PyObject *args, PyObject *kwargs);

/* Lets an operation that was just recorded wait, on shared memory of that size; false: it has
 * to run now. */
bool expression_defer(Py_ssize_t size);

/* Before other code gets control: runs what waits.  -1 with an exception set. */
int expression_close(void);

/* Whether an argument may be lent to the function: what waits is computed from shared memory,
 * and must not be needed once more.  An exception may be set: that of a handler of signals. */
bool expression_may_elide(PyObject *callee, int argument);

extern PyMethodDef expression_methods[];

/* -- failure.c ---------------------------------------------------------------------- */

/* What comes of an instruction that did not run, or of the failed check itself. */
void failure_tell(const struct mx_instruction *in);

/* Keeps the error that is set, a warning's, for the thread that recorded the instruction. */
void failure_keep(const struct mx_instruction *in);

/* -1 with the exception set if the array was never written because of one; or 0. */
int failure_raise(PyObject *a);

/* -1 with the exception set if this thread, or any, has not been told of one; or 0. */
int failure_raise_pending(bool of_all_threads);

void failure_forget(struct array *array); /* that has one */
int failure_load(void);                   /* -1 with an exception set */

/* -- selection.c --------------------------------------------------------------------- */

/* a[mask] for a mask of a's shape, in *out.  1; 0: that is for NumPy; -1 with an exception
 * set. */
int selection_take(PyObject *a, PyObject *mask, PyObject **out);

/* -- indexing.c and update.c -------------------------------------------------------- */

/* a[key] and a[key] = value for a key that may be worth it. */
int index_take(PyObject *a, PyObject *key, PyObject **out);
int index_assign(PyObject *a, PyObject *key, PyObject *value);

/* -- index.c ------------------------------------------------------------------------ */

/* A first look, which spares small arrays the rest: whether a key has arrays that may select as
 * much as is recorded, or something waits: an array of the key or, as the caller says, a. */
bool index_may_be_worth_it(PyObject *a, PyObject *key, bool is_waiting);

void index_forget(struct array *array); /* that has a range */

/* -- mode.c ------------------------------------------------------------------------- */

/* Whether the program gives up the checks of strict mode: see mxnp/_engine/modes.py. */
bool mode_is_fast(void);

/* What operations are recorded for. */
enum mx_device device_now(void);

/* Whether float64 on a device that has none is an error. */
bool device_refuses_doubles(void);

/* Whether new arrays get float32 and complex64 by default. */
bool device_narrows_doubles(void);

/* In the order of the words of mxnp._engine.devices. */
enum { DOUBLES_ARE_THE_PROCESSORS, DOUBLES_ARE_REFUSED, DOUBLES_ARE_NARROWED };

/* What is Python's to do on a device: products of large matrices (a, b); what a mask selects
 * (mask, items or None); updates in order (see update.c); results of a call in the dtype that
 * the device has (result, args, kwargs). */
enum device_function {
    DEVICE_MATMUL,
    DEVICE_SELECT,
    DEVICE_UPDATE,
    DEVICE_NARROW,
    N_DEVICE_FUNCTIONS
};

/* Whether there is one, and "metal" is the device. */
bool device_has(enum device_function name);

/* Takes the arguments (NULL passes through).  1 with a new reference; 0: it is not for the
 * device; -1 with an exception set. */
int device_call(enum device_function name, PyObject *args, PyObject **out);

enum setting_name { SETTING_FAST, SETTING_DEVICE, SETTING_DOUBLES, N_SETTINGS };

/* -- memory.c ---------------------------------------------------------------------- */

/* New reference to a numpy.ndarray whose memory is still to be taken. */
PyObject *memory_new_host(int type, int ndim, const npy_intp *shape, const npy_intp *strides);

/* The counted memory that a NumPy array at the root of views owns; NULL if NumPy allocated it.
 */
struct mx_buffer *memory_of(PyObject *np_array);
void memory_own(PyObject *a); /* notes in it that the array stands for it */

/* Takes a NumPy array and gives one: the same elements in counted memory, which a device can
 * use, if it is an array that only the caller knows and a device may be asked for; else itself.
 */
PyObject *memory_pool(PyObject *np_array);
void memory_disown(PyObject *a); /* and that it no longer does */
void memory_raise_error(void);   /* what NumPy raises, after the core refused memory */

int memory_load(void); /* -1 with an exception set */
