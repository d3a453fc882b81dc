#pragma once
/* backend.h -- what runs instructions: the only place where the stream and a backend meet. */
#include "scheduler/fuse.h"

#define MX_DECLINED (-1) /* the status of a group that a backend leaves to others */

struct mx_backend {
    const char *name;

    /* Of a device: whether it is to be asked to run an instruction, as far as that alone says
     * it.  The processor is asked for the others. */
    bool (*suits)(const struct mx_instruction *in);

    /* Runs one group of a plan from where it stopped before, or begins to: see finish.  MX_OK;
     * MX_INTERRUPTED with the group ready to be gone on with; MX_DECLINED, with nothing done;
     * or a failure, of memory or of the device. */
    int (*run)(struct mx_group *group, struct mx_instruction *instructions,
               bool (*interrupted)(void));

    /* Waits for all groups that were begun; those after a check that failed have not run. NULL:
     * a group has run when run() is back. */
    int (*finish)(void);
};

extern const struct mx_backend mx_cpu_backend;
