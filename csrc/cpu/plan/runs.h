#pragma once
/* runs.h -- finds the runs of calls of a program for which there are compiled kernels. */
#include "cpu/plan/plan.h"

/* Looks up the kernels of a program whose accesses are planned, and sets the runs of its calls.
 * Returns whether there are any. */
bool mx_runs_find(struct mx_program *program);

/* Reserves scratch memory for the copies of what a run overwrites. */
void mx_runs_reserve_copies(struct mx_program *program);
