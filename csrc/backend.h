#pragma once
/* backend.h -- what runs instructions: the only place where the stream and a backend meet.
 *
 * An instruction is legal when it gets here: whoever recorded it has settled shapes,
 * dtypes and overlap, so a backend can fail only for memory or for its device.
 */
#include "base.h"

struct mx_instruction {
    struct mx_loop loop;
    struct mx_operand operands[MX_MAX_OPERANDS];
    intptr_t n;       /* elements */
    int64_t sequence; /* place in program order, from 1 */
};

struct mx_backend {
    const char *name;

    /* Runs count instructions as if one after the other; adds the floating-point
     * conditions met (see mx_flush) to *floating_status.  A status. */
    int (*run)(const struct mx_instruction *instructions, size_t count, int *floating_status);
};

extern const struct mx_backend mx_cpu_backend;
