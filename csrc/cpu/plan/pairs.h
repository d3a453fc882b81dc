#pragma once
/* pairs.h -- the calls of a program that are one run with the next. */
#include "cpu/plan/program.h"

/* Each call is in one pair at most.  After all that settles where operands are. */
void mx_pairs_find(struct mx_program *program);
