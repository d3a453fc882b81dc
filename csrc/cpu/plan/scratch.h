#pragma once
/* scratch.h -- scratch memory, which holds the temporaries and packed operands of one block. */
#include "cpu/plan/plan.h"

/* Assigns each of them a slot with room for one block.  The blocks are already planned. */
void mx_scratch_plan(struct mx_program *program);

/* Returns the size of a slot for one block of an access. */
size_t mx_scratch_slot_size(const struct mx_program *program, const struct mx_access *access);
