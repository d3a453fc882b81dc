#pragma once
/* pairs.h -- finds calls of a program that one kernel can compute together with the next ones.
 */
#include "cpu/plan/plan.h"

/* Each call is in one pair at most.  Runs after the accesses and their strides are final. */
void mx_pairs_find(struct mx_program *program);
