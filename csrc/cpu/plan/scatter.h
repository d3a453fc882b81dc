#pragma once
/* scatter.h -- groups that are one scatter: elements that indices find are updated.
 *
 * The order of the updates of an element is that of the indices, whatever the threads: these
 * share the elements that are updated and not the updates.  Each goes through all indices, and
 * has columns of its own where rows are long, or else elements of its own.  Only where the
 * order makes no difference do they share the indices, with a copy of the elements for each.
 */
#include "cpu/plan/program.h"

/* Plans the parts of a program whose only call is a scatter.  Status. */
int mx_scatter_plan(struct mx_program *program);
void mx_scatter_run_chunk(const struct mx_program *program, size_t part);
void mx_scatter_finish(const struct mx_program *program); /* after the last part */
