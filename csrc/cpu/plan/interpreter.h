#pragma once
/* interpreter.h -- runs the calls of a program on one block. */
#include "cpu/plan/plan.h"

struct mx_partial; /* the result of a reduction so far: partial.h */

/* Runs all calls on one block.  partials has one element for each call, or is NULL without
 * reductions.  If is_watched, floating-point conditions are reported after each call. */
void mx_interpreter_run_block(struct mx_program *program, const struct mx_position *at,
                              char *scratch, struct mx_partial *partials, bool is_watched);

/* Returns whether a condition was met that some call has to report.  Then the calls are watched
 * from now on, and the thread's conditions are cleared. */
bool mx_interpreter_has_met(struct mx_program *program);
