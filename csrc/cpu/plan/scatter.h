#pragma once
/* scatter.h -- groups that are one scatter: the elements that indices select are updated.
 *
 * Each element is updated in the order of the indices, for any number of threads.  Threads
 * therefore divide the elements that are updated, not the updates: each goes through all
 * indices and updates its columns, where rows are long, or its elements.  Only where the order
 * makes no difference do threads divide the indices, and each updates a copy of the elements.
 */
#include "cpu/plan/plan.h"

/* Plans the parts of a program whose only call is a scatter.  Returns a status. */
int mx_scatter_plan(struct mx_program *program);
void mx_scatter_run_chunk(const struct mx_program *program, size_t part);

/* Joins the copies of the elements, after the last part. */
void mx_scatter_finish(const struct mx_program *program);
