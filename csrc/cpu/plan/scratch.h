#pragma once
/* scratch.h -- scratch memory, which holds the temporaries and packed operands of one block. */
#include "cpu/plan/plan.h"

/* Assigns each of them a slot with room for one block.  The blocks are already planned. */
void mx_scratch_plan(struct mx_program *program);
