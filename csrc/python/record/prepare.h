/* prepare.h -- what waits before NumPy's code receives the NumPy arrays of an operation. */
#pragma once
#include "python/profile/profile.h"
#include "python/record/expression.h"
#include "python/record/memory.h"
#include "python/record/queue.h"

/* Wait before NumPy's slot receives the NumPy arrays of two operands; `b` may be NULL.  Return
 * 0, or -1 with an exception set.  Lent arrays are prepared for reads only: see
 * prepare_to_write(). */
static inline int prepare_operands(PyObject *a, PyObject *b)
{
    span_note_numpy();
    if (queue_is_idle())
        return 0;
    if (expression_close() < 0)
        return -1;
    bool is_lent = is_array(a) && memory_is_lent(a);
    if (is_array(a) && (is_lent ? queue_before_read(a) : queue_before_write(a)) < 0)
        return -1;
    return b && is_array(b) ? queue_before_read(b) : 0;
}

/* The same before the slot writes `a`.  queue_after_write is called when it has. */
static inline int prepare_to_write(PyObject *a, PyObject *b)
{
    if (prepare_operands(a, b) < 0)
        return -1;
    return queue_is_idle() ? 0 : queue_before_write(a);
}

/* Prepare an array for code that reads it.  Return a borrowed reference to the NumPy array, or
 * NULL with an exception set. */
static inline PyObject *prepare_array(PyObject *a)
{
    return prepare_operands(a, NULL) < 0 ? NULL : queue_to_read(a);
}
