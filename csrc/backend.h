#pragma once
/* backend.h -- what runs instructions: the only place where the stream and a backend meet. */
#include "fuse.h"

struct mx_backend {
    const char *name;

    /* Runs one group of a plan from where it stopped before.  MX_OK; MX_INTERRUPTED with the
     * group ready to be gone on with; or a failure, of memory or of the device. */
    int (*run)(struct mx_group *group, struct mx_instruction *instructions,
               bool (*interrupted)(void));
};

extern const struct mx_backend mx_cpu_backend;
