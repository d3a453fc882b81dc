/* failure.h -- errors that are found after the program has gone on. */
#pragma once
#include "ir/instruction.h"
#include "python/base/types.h"

/* How many exceptions recorded operations have raised. */
extern unsigned long failures_raised;

/* Attach the failure of an instruction to the arrays that it would have written.  The
 * instruction is the failed check itself, or one that did not run because of it. */
void failure_report(const struct mx_instruction *in);

/* Keep the warning that is set as an error for the thread that recorded the instruction. */
void failure_keep(const struct mx_instruction *in);

/* Raise the failure because of which the array was never written: return -1 with the exception
 * set, or 0. */
int failure_raise(PyObject *a);

/* Raise a failure that was not raised in its thread yet, of this thread or of all threads:
 * return -1 with the exception set, or 0. */
int failure_raise_pending(bool of_all_threads);

/* Drop the reference of an array to its failure. */
void failure_forget(struct array *array);

int failure_load(void); /* -1 with an exception set */
