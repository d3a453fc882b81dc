#pragma once
/* fuse.h -- plans groups: recorded instructions that run as one pass over memory.
 *
 * The instructions of a group go over the same shape.  A view that one of them writes and
 * another one uses is the same view in both, so element i of all instructions can be computed
 * before element i + 1.  Groups run one after the other, and so do the steps of a group on each
 * element. Only independent instructions leave program order.
 *
 * A bounds check may fail.  Instructions that the same thread recorded after the check run in
 * its group or later.  Those of them that change memory that existed before the check run in a
 * later group, and so do instructions of other threads.
 */
#include "ir/instruction.h"

#define MX_MAX_STEPS 40 /* of one group */
#define MX_MAX_KEPT  24 /* buffers of arrays that a group of a device uses */

struct mx_view {
    struct mx_buffer *buffer;
    intptr_t at;
    int itemsize;
    int dtype; /* of the first operand with this view */
    intptr_t strides[MX_MAX_NDIM];
    intptr_t low, high; /* the range of bytes that it lies in, counted as `at` is */
    int n_uses;         /* operands with this view */
    bool is_read, is_written;
    bool is_reduced;   /* the output of a reduction, an argmax or an argmin */
    bool is_indexed;   /* any element from low to high may be used at any time */
    bool is_checked;   /* indices, which are read again if one of them is out of bounds */
    bool begins_empty; /* written before it is read */
    bool is_temporary; /* only this plan uses it, so it needs no memory */
    bool is_elided;    /* a temporary whose owner may still request the result */
};

struct mx_step {
    int instruction;
    int views[MX_MAX_OPERANDS]; /* -1 for a value */
};

struct mx_group {
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    int inner;              /* the axis with the smallest stride in the first step, or -1 */
    bool is_alone;          /* its only step is of a kind that runs alone, such as a scan */
    bool is_for_device;     /* all steps suit the device, which is asked first */
    bool has_check;         /* a bounds check is among its steps */
    int64_t newest_buffer;  /* of the first check: see struct mx_instruction */
    uintptr_t check_thread; /* the thread that recorded the first check */
    bool has_reductions;
    unsigned reduced;  /* axes that the reductions go over, one bit each */
    int ordered;       /* the input of a reduction that keeps NumPy's order, or -1 */
    int ordered_inner; /* its axis with the smallest stride, or -1 */
    struct mx_step *steps;
    struct mx_view *views;
    int n_steps, n_views, step_capacity, view_capacity;
    int n_kept;          /* buffers that arrays refer to, and other memory */
    void *program;       /* private to the backend while the group is interrupted, or NULL */
    int threads;         /* threads that it ran on */
    int n_compiled;      /* steps that compiled kernels computed */
    int mark;            /* private to the device: where its time begins, or 0 */
    bool is_measured;    /* costs are written onto its instructions */
    int64_t nanoseconds; /* that it ran before it was interrupted */
};

struct mx_plan {
    struct mx_group *groups;
    int n_groups, capacity;
    void *elision_owner; /* the owner of the elided view, or NULL */
};

/* Returns whether a group writes all of a view's buffer and reads nothing of it. */
bool mx_fuse_overwrites(const struct mx_group *group, const struct mx_view *view);

/* Puts the instructions that are not finished into groups, or each into a group of its own if
 * fuse is false.  Returns a status; after a failure the plan is empty. */
int mx_fuse_plan(struct mx_plan *plan, const struct mx_instruction *instructions, int count,
                 bool fuse);

/* Finds the views that are temporary: those of buffers that only the operands of the plan hold.
 * In addition one view may be elided, whose owner may be about to drop it.  It must be possible
 * to compute it again later, so neither its group nor a later one may overwrite what the group
 * reads. */
void mx_fuse_find_temporaries(struct mx_plan *plan);

/* Marks the steps that compute the elided view. */
void mx_fuse_find_elided_steps(const struct mx_group *group,
                               const struct mx_instruction *instructions, bool *is_marked);

void mx_fuse_clear(struct mx_plan *plan); /* does not free the programs of groups */
