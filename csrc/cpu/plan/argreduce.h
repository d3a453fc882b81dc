#pragma once
/* argreduce.h -- groups that are one argmax or argmin: the index of the first greatest or least
 * element along an axis.
 *
 * A line along the axis is one unit.  A long line is cut into pieces, and the winners of the
 * pieces are compared at the end.  The pieces do not depend on the number of threads.
 */
#include "cpu/plan/plan.h"

/* Plans the chunks of a program whose only call is a search.  Returns a status. */
int mx_argreduce_plan(struct mx_program *program);

void mx_argreduce_run_chunk(const struct mx_program *program, size_t chunk, char *scratch);

/* Compares the winners of the pieces, after the last chunk. */
void mx_argreduce_finish(const struct mx_program *program);
