#pragma once
/* backend.h -- the interface between the stream and the backends that run its groups. */
#include "scheduler/fuse.h"

#define MX_DECLINED (-1) /* the status of a group that the device leaves to the processor */

struct mx_backend {
    const char *name;

    /* Returns whether the device should run an instruction, as far as the instruction alone
     * shows it.  NULL for the processor, which runs the others. */
    bool (*suits)(const struct mx_instruction *in);

    /* Passes the groups that it may be asked to run.  They stay where they are until the
     * last of them has run.  May be NULL. */
    void (*begin)(struct mx_plan *plan, struct mx_instruction *instructions);

    /* Runs a group of a plan, or continues one that was interrupted.  A backend with `finish`
     * only starts it.  Returns MX_OK; MX_INTERRUPTED, if the next call has to continue the
     * group; MX_DECLINED, if nothing was done; or a failure of memory or of the device. */
    int (*run)(struct mx_group *group, struct mx_instruction *instructions,
               bool (*interrupted)(void));

    /* Waits for all groups that were started.  Groups after a failed check have not run.  NULL
     * if a group has run when `run` returns. */
    int (*finish)(void);

    /* Sets when a measured group, which was started and has run, began after the first one, and
     * how long it ran, in nanoseconds.  Returns false if that is not known.  May be NULL. */
    bool (*times)(const struct mx_group *group, int64_t *begin, int64_t *nanoseconds);
};

extern const struct mx_backend mx_cpu_backend;
