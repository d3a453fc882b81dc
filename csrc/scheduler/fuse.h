#pragma once
/* fuse.h -- a plan: recorded instructions put into groups that run as one pass over memory.
 *
 * The instructions of a group go over the same shape, and whatever one of them writes and
 * another uses is the same view in both, so that element i of each can be computed before
 * element i + 1 of any.  Groups run one after the other, and so do the steps of a group on
 * each element; only what is independent has changed places against program order.
 *
 * A check may fail.  What its thread recorded after it does not run before its group, and what
 * changes memory that was there before runs in a later one; so does what other threads record.
 */
#include "ir/instruction.h"

#define MX_MAX_STEPS 40 /* of one group */

struct mx_view {
    struct mx_buffer *buffer;
    intptr_t at;
    int itemsize;
    int dtype; /* of the first operand that is it */
    intptr_t strides[MX_MAX_NDIM];
    intptr_t low, high; /* bytes it lies in, counted as `at` is */
    int n_uses;         /* operands that are it */
    bool is_read, is_written;
    bool is_reduced;   /* the output of a reduction or a search */
    bool is_indexed;   /* any element from low to high may be used at any time */
    bool is_checked;   /* indices, which are looked at again if one of them is none */
    bool begins_empty; /* written before it is read */
    bool is_temporary; /* nobody else sees it: it needs no memory */
    bool is_elided;    /* a temporary only if its owner does not come back to it */
};

struct mx_step {
    int instruction;
    int views[MX_MAX_OPERANDS]; /* -1: a value */
};

struct mx_group {
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    int inner;          /* axis along which the first step moves least in memory, or -1 */
    bool is_alone;      /* its only step is of a kind that is no pass over elements */
    bool is_for_device; /* all its steps suit the device, which is asked first */
    bool
        has_check; /* a bounds check is among its steps; the fields below are the first one's */
    int64_t newest_buffer;
    uintptr_t check_thread;
    bool has_reductions;
    unsigned reduced; /* axes that they go over, one bit each */
    struct mx_step *steps;
    struct mx_view *views;
    int n_steps, n_views, step_capacity, view_capacity;
    void *program;       /* the backend's, between a stop and its going on */
    int threads;         /* that it ran on */
    bool is_measured;    /* its instructions are told what they took */
    int64_t nanoseconds; /* that it ran before it was stopped */
};

struct mx_plan {
    struct mx_group *groups;
    int n_groups, capacity;
    void *elision_owner; /* of the view that is lent, or NULL */
};

/* Puts the instructions that are not over into groups; each alone when fuse is false.  Status;
 * after a failure the plan is empty. */
int mx_fuse_plan(struct mx_plan *plan, const struct mx_instruction *instructions, int count,
                 bool fuse);

/* Settles which views are temporary: those of buffers that only the instructions still hold,
 * with a count for each operand, and one that is lent, if it can be computed again later:
 * then nothing that its group reads is overwritten by the group or after it. */
void mx_fuse_find_temporaries(struct mx_plan *plan);

/* Marks the steps that compute the lent view. */
void mx_fuse_find_elided_steps(const struct mx_group *group,
                               const struct mx_instruction *instructions, bool *is_marked);

void mx_fuse_clear(struct mx_plan *plan); /* what the backend put in `program` is its own */
