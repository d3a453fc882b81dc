/* queue.h -- the queue of recorded operations, as the bridge uses it.
 *
 * The array at the root of a chain of views stands for their memory.  It stores the sequence
 * numbers of the last recorded operations that use it and that write it.  A read through a
 * NumPy array waits until the operations that write the memory have run.  A write waits for all
 * operations that use it.
 */
#pragma once
#include "python/base/state.h"
#include "python/base/types.h"

/* Check whether an operation that may run once more reads the memory of an array. */
bool queue_may_reread(PyObject *a);

/* Check whether the memory of an array has to wait before it is read, or written: a recorded
 * operation writes it, or uses it, or a device has the elements. */
static inline bool queue_writes(PyObject *a) { return root_of(a)->written > queue_done; }
static inline bool queue_uses(PyObject *a)
{
    return root_of(a)->used > queue_done || (queue_rematerializable > 0 && queue_may_reread(a));
}

/* Check whether a recorded operation writes an array that is not on a device. */
static inline bool queue_computes(PyObject *a)
{
    return queue_writes(a) && root_of(a)->written < QUEUE_AWAY_DONE;
}

/* Check whether the elements can be read and written without waiting. */
static inline bool queue_is_free(PyObject *a) { return queue_is_idle() || !queue_uses(a); }

/* Run everything that is recorded.  Return 0, or -1 with an exception set. */
int queue_flush(void);

/* The same, where a report counts the time for a reason. */
int queue_flush_for(const char *reason);

/* Do the same, and bring all arrays from the device, which no longer has them. */
int queue_flush_and_bring(void);

/* Run what an array waits for, and make its elements current on the processor, to read them or
 * to write them too.  Return 0, or -1 with an exception set, which is that of its failure if it
 * has one. */
int queue_wait(PyObject *a);
int queue_wait_to_write(PyObject *a);

/* Wait before memory is read or written through the NumPy array.  Return 0, or -1 with an
 * exception set. */
static inline int queue_before_read(PyObject *a) { return queue_writes(a) ? queue_wait(a) : 0; }
static inline int queue_before_write(PyObject *a)
{
    return queue_uses(a) ? queue_wait_to_write(a) : 0;
}

/* Allocate the memory of an array before a view of it is made.  Return 0, or -1 with an
 * exception set. */
int queue_before_view(PyObject *a);

/* Return a borrowed reference to the NumPy array inside, for code that takes a view of it,
 * reads it or writes it, or NULL with an exception set. */
static inline PyObject *queue_to_view(PyObject *a)
{
    return queue_before_view(a) < 0 ? NULL : as_array(a)->unprepared;
}
static inline PyObject *queue_to_read(PyObject *a)
{
    return queue_before_read(a) < 0 ? NULL : as_array(a)->unprepared;
}
static inline PyObject *queue_to_write(PyObject *a)
{
    return queue_before_write(a) < 0 ? NULL : as_array(a)->unprepared;
}

/* The same where it is known that nothing has to wait. */
static inline PyArrayObject *queue_ready(PyObject *a)
{
    MX_ASSERT(!queue_writes(a));
    return (PyArrayObject *)as_array(a)->unprepared;
}

/* Let go of the operations that are kept for an array that is gone. */
void queue_drop_rematerializable(void);

/* Note that other code may hold the NumPy array, so operations on its memory cannot wait. */
static inline void queue_export(PyObject *a)
{
    root_of(a)->is_exported = true;
    root_of(a)->version++;
}

/* Check whether other code has released the NumPy array again: that of the array, or that of
 * its only view.  Call it before a recorded operation holds the NumPy array. */
static inline void queue_settle_export(PyObject *a)
{
    struct array *root = root_of(a);
    bool is_view = (PyObject *)root != a;
    if (root->is_exported && Py_REFCNT(root->unprepared) == 1 + is_view &&
        (!is_view || Py_REFCNT(as_array(a)->unprepared) == 1))
        root->is_exported = false;
    root->version += root->is_exported;
}

/* Check whether an operation on an array is recorded, rather than run by NumPy immediately. */
static inline bool queue_accepts(PyObject *a)
{
    return queue_weight(np_array_of(a)) >= queue_threshold || queue_writes(a);
}

/* Check whether the result of two arrays is large.  Each may be repeated along axes of the
 * other. */
bool queue_has_large_result(const PyArrayObject *a, const PyArrayObject *b);

/* Check whether the result of two small operands is large. */
static inline bool queue_takes_result(PyObject *a, PyObject *b)
{
    if (!is_array(a) || !is_array(b))
        return false;
    const PyArrayObject *x = np_array_of(a), *y = np_array_of(b);
    return (PyArray_NDIM(x) > 1 || PyArray_NDIM(y) > 1) &&
           (double)array_size(x) * (double)array_size(y) >= (double)queue_threshold &&
           queue_has_large_result(x, y);
}

/* Check whether an operation on two operands is recorded, because an array is large or
 * unwritten, or because the result is large. */
static inline bool queue_takes_both(PyObject *a, PyObject *b)
{
    return (is_array(a) && queue_accepts(a)) || (is_array(b) && queue_accepts(b)) ||
           queue_takes_result(a, b);
}

/* Check whether nothing waits, and an operation on `size` elements, which is recorded
 * otherwise, may be computed immediately. */
bool queue_may_be_passed(npy_intp size);

/* Check whether a cheap operation should not be recorded, because its result is expected to be
 * needed immediately: the last flushes ran one operation each.  Then nothing can be fused, and
 * recording `size` elements and running the queue takes longer than it saves.  Some operations
 * are recorded nevertheless, to notice when the program goes on to longer expressions. */
bool queue_is_eager(npy_intp size);

#define QUEUE_LIGHT_BYTES (1 << 16) /* of a result with few bytes */

/* The same for the first check of an operation, also after flushes of few bytes if the result
 * has few.  After false, queue_is_eager() does not decide otherwise. */
bool queue_is_eager_first(npy_intp size, npy_intp nbytes);

/* Call a function of the core inside the stream and without the GIL, and note the places of
 * buffers.  Return 0, or -1 with an exception set. */
int queue_call_locked(int (*function)(struct mx_buffer *), struct mx_buffer *buffer);

/* Copy to the device what the processor wrote to lent arrays.  Call it after what
 * queue_before_write has prepared.  An exception that is set stays. */
void queue_return_edited(void);
static inline void queue_after_write(void)
{
    if (queue_edited > 0)
        queue_return_edited();
}

/* Enter the stream, which waits for the threads inside, and leave it.  Return 0, or -1 with an
 * exception set. */
int queue_enter(void);

/* The same without waiting for another thread, so that no code of the program runs.  Return
 * whether the queue is entered. */
bool queue_try_enter(void);
void queue_leave(void);

/* Methods of the module. */
extern PyMethodDef queue_methods[];
