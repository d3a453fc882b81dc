/* record.h -- operands and instructions. */
#pragma once
#include "ir/ops.h"
#include "python/base/state.h"
#include "python/profile/call_site.h"
#include "python/record/shape.h"

/* Check whether other code may read or write the memory of an array at any time: on either side
 * or on the processor. */
bool record_is_shared(PyObject *a);
bool record_is_shared_here(PyObject *a);

/* Count the memory of an array that is gone while the queue still needs it. */
void record_hold(PyObject *a);

/* Begin an instruction; its operands are set afterwards. */
void record_begin(struct mx_instruction *in, const struct mx_loop *loop, int op,
                  const char *name, int nin, int nout, const struct shape *shape, int fpe_mask);

/* Set the memory of an operand: a buffer, or an address that the call site keeps alive. */
void record_memory(struct mx_operand *operand, const struct source *source,
                   struct call_site *site);

/* Return an operand that is one value for all elements; the value is set afterwards. */
struct mx_operand record_value(int row);

/* Set an operand to a view with an axis for each axis of the instruction. */
void record_view(struct mx_operand *operand, const struct source *source,
                 const struct shape *shape, struct call_site *site);

/* Set an operand to memory for an intermediate result.  The strides of new memory suit the
 * sources.  record_new_temporary() returns NULL with an exception set. */
struct mx_buffer *record_new_temporary(const struct source *sources, int n, int row,
                                       const struct shape *shape, npy_intp *strides);
void record_temporary(struct mx_operand *operand, struct mx_buffer *buffer, int row,
                      const struct shape *shape, const npy_intp *strides);

/* Set an operand to an input: a value, a view, or a temporary of the loop's dtype.  The buffer
 * in *made is released after the instruction is recorded.  Return 1; 0 if NumPy has to compute;
 * or -1 with an exception set. */
int record_input(struct mx_operand *operand, const struct source *source, int row,
                 const struct shape *shape, int fpe_mask, struct call_site *site,
                 struct mx_buffer **made);

/* Append the instruction to the queue, which takes over the call site.  Return the sequence
 * number, or -1 with an exception set. */
int64_t record_append(struct mx_instruction *in, struct call_site *site);

/* Note in the array that an operation uses or writes its memory. */
void record_mark(const struct source *source, int64_t sequence, bool is_written);

/* Record a copy or cast from a view or a temporary to another one.  Return 1, or -1 with an
 * exception set. */
int record_copy(const struct source *from, struct mx_buffer *from_buffer,
                const npy_intp *from_strides, int from_row, const struct source *to,
                struct mx_buffer *to_buffer, const npy_intp *to_strides, int to_row,
                const struct shape *shape, int fpe_mask);

/* Check whether writing `out` element by element could change an element of `source` that is
 * read later: they overlap and are not the same view. */
bool record_collides(const struct source *out, const struct source *source);

bool record_can_write(const struct source *out, const struct shape *shape);

/* Return a new reference to an array without memory, with its axes in this order, or C order
 * for NULL.  Return NULL with an exception set. */
PyObject *record_new(int row, const struct shape *shape, const int *order);

/* Record a cast of an array into another one of its shape.  Return 1, or -1 with an exception
 * set. */
int record_cast(PyObject *a, PyObject *out, const char *name, int fpe_mask);

/* Return what a method of the module returns for a status of 1, 0 or -1: `out`, whose reference
 * it steals, NotImplemented, or NULL. */
PyObject *record_result(int status, PyObject *out);

/* Finish recording.  Run the queue if it is long, or if the memory of a source is shared and
 * the operation cannot wait for the rest of its expression.  Return 1, or -1 with an exception
 * set.
 */
int record_done(const struct source *sources, int n);
