#pragma once
/* scratch.h -- scratch memory, in which a block has its temporaries and packed operands. */
#include "cpu/plan/program.h"

/* Gives each of them a slot for one block, once the blocks are cut. */
void mx_scratch_plan(struct mx_program *program);
