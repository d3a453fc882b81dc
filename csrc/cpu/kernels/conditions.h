#pragma once
/* conditions.h -- the floating-point conditions that an instruction has met. */
#include "base/conditions.h"
#include "ir/instruction.h"

/* Adds the conditions met since the last call to those of an instruction, and clears them. */
static inline void mx_conditions_report(struct mx_instruction *in)
{
    int met = mx_conditions_met();
    if (!met)
        return;
    mx_conditions_clear();
    if ((met & in->fpe_mask) & ~atomic_load_explicit(&in->fpe_flags, memory_order_relaxed))
        atomic_fetch_or(&in->fpe_flags, met & in->fpe_mask);
}
