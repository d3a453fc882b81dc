#pragma once
/* argrows.h -- argmax and argmin along an axis whose elements have gaps, if those of another
 * axis are adjacent.
 *
 * Rows of adjacent elements are compared with a row of the best elements so far.  A row is cut
 * into pieces of columns.  If there are few of these, the rows are cut into pieces, too, whose
 * winners are compared at the end.  The pieces do not depend on the number of threads.
 */
#include "cpu/plan/plan.h"

/* Returns whether a program whose only call is a search goes through rows. */
bool mx_argrows_suit(const struct mx_program *program);

/* Plans the chunks of such a program.  Returns a status. */
int mx_argrows_plan(struct mx_program *program);

void mx_argrows_run_block(const struct mx_program *program, intptr_t block, char *scratch);

/* Compares the winners of the pieces, after the last block. */
void mx_argrows_finish(const struct mx_program *program);
