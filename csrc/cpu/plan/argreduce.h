#pragma once
/* find.h -- groups that are one search: the place of the first least or greatest element.
 *
 * A line along the axis is one unit.  Long ones are cut into pieces, of which the winners
 * meet at the end; which elements those are does not depend on the number of threads.
 */
#include "cpu/plan/program.h"

/* Plans the chunks of a program whose only call is a search.  Status. */
int mx_argreduce_plan(struct mx_program *program);

void mx_argreduce_run_chunk(const struct mx_program *program, size_t chunk, char *scratch);

/* After the last chunk. */
void mx_argreduce_finish(const struct mx_program *program);
