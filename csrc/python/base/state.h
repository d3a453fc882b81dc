/* state.h -- the bridge's pointer to the core, and the counters that its hot paths read. */
#pragma once
#include "api/recorder.h"
#include "python/base/numpy.h"

extern const struct mx_recorder *core;

/* Sequence numbers of the last operation that was recorded and of the last one that has run. */
extern int64_t queue_recorded, queue_done;

/* Operations on arrays with fewer elements are recorded only if an operand is unwritten. */
extern Py_ssize_t queue_threshold;

/* Operations that the queue keeps to compute a lent array again if it is still needed. */
extern size_t queue_rematerializable;

/* Failures that an array refers to, or that have not been raised in their thread. */
extern size_t queue_failures;

/* Running calls of this thread that other code gets arrays in. */
extern _Thread_local int calls_with_arrays;

/* Running calls with more arrays than they note: they may use any array. */
extern int calls_with_more;

/* Buffers with memory on a device that does not share the processor's. */
extern size_t queue_away;

/* Buffers that the processor wrote while other code uses their memory on the device. */
extern size_t queue_edited;

/* The sequence number of an array that is on such a device: as `written` if only the device has
 * its elements, as `used` if the device has them too.  It is above those of all operations, so
 * reads or writes wait, and a wait brings the elements.  With the lesser one it is known that
 * all operations on the array have run.  A greater one marks a failure. */
#define QUEUE_AWAY      (INT64_MAX - 1)
#define QUEUE_AWAY_DONE (INT64_MAX - 2)

static inline bool queue_is_away(int64_t mark)
{
    return mark == QUEUE_AWAY || mark == QUEUE_AWAY_DONE;
}

/* Sequence number of the last operation on shared memory that waits for the rest of its
 * expression.  Until it has run, only code of mxnp and NumPy may run. */
extern int64_t expression_last;

extern bool profile_is_on;

/* Whether calls have to pass the hooks of verify() and trap_nan(). */
extern bool calls_are_intercepted;

static inline bool queue_is_idle(void)
{
    return queue_recorded == queue_done && (queue_failures | queue_away) == 0;
}

static inline bool expression_is_open(void) { return expression_last > queue_done; }

/* Return the number of elements, as PyArray_SIZE does by a call. */
static inline npy_intp array_size(const PyArrayObject *np_array)
{
    npy_intp size = 1;
    for (int axis = 0; axis < PyArray_NDIM(np_array); axis++)
        size *= PyArray_DIM(np_array, axis);
    return size;
}

/* Return the size that is compared with the threshold: the number of elements.  Bytes count an
 * eighth, because NumPy's loops take many of them at a time. */
static inline Py_ssize_t queue_weight(const PyArrayObject *np_array)
{
    Py_ssize_t size = array_size(np_array);
    return PyArray_ITEMSIZE(np_array) == 1 ? size / 8 : size;
}
