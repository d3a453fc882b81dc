#pragma once
/* program.h -- a group made ready to run: where each operand of each call is found, block by
 * block.
 *
 * The axes of the group are put in the order of memory and merged where they can be.  A
 * block is a piece of one axis, the split axis, with all of the axes inside it (usually
 * none); it is small enough that what all calls touch for it fits the first-level cache.
 * Temporaries live in a thread's scratch memory and are overwritten by the next block.
 */
#include "cpu/kernels/pair_kernels.h"
#include "scheduler/fuse.h"

#define MX_CACHE_LINE 64 /* bytes */

enum mx_place {
    MX_DIRECT,  /* the loop reads or writes memory itself, with one stride */
    MX_PACKED,  /* copied to or from scratch memory: no single stride leads through a block */
    MX_SCRATCH, /* a temporary */
};

struct mx_access {
    enum mx_place place;
    int itemsize;
    bool is_loaded, is_stored; /* packed: copied before the calls, and after them */
    char *data;                /* of the first element, in the order of the program's axes */
    intptr_t stride;           /* bytes from element to element of a block */
    size_t offset;             /* in scratch memory */
    intptr_t strides[MX_MAX_NDIM];
};

struct mx_call {
    struct mx_instruction *instruction;
    mx_pair_kernel *pair;   /* of this call and the next, or NULL */
    mx_count_kernel *count; /* all of a block as one number for the next call, or NULL */
    int pair_accesses[3];
    int accesses[MX_MAX_OPERANDS];
    intptr_t strides[MX_MAX_OPERANDS];     /* of them, within a block */
    _Atomic int64_t nanoseconds, shortest; /* of a sample of blocks; of one of them */
    _Atomic int64_t n_samples;
};

struct mx_program {
    enum mx_kind kind; /* of its only call, if that runs alone; else MX_MAP */
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    unsigned reduced; /* axes reduced over, one bit each */

    int split;         /* the axis that blocks are pieces of */
    intptr_t length;   /* of a piece; the last may be shorter */
    intptr_t n_pieces; /* of the split axis */
    intptr_t inner;    /* elements of the axes inside the split axis */
    intptr_t n_blocks;

    int n_calls, n_accesses, n_reductions;
    struct mx_call *calls;
    struct mx_access *accesses;
    size_t scratch_size; /* bytes that a thread needs */

    bool is_measured;       /* calls are timed in the first block of each chunk */
    bool is_repeatable;     /* what ran can run again: nothing that it reads was overwritten */
    int fpe_mask;           /* floating-point conditions that some call wants to tell of */
    atomic_int met;         /* of them, before calls that clear them */
    atomic_bool is_watched; /* some were met: chunks look after each call from now on */

    /* Work is handed out in chunks: runs of blocks or, with reductions, see reduce.h. */
    size_t n_chunks, next_chunk;
    intptr_t blocks_per_chunk;
    struct mx_reduce_plan *reduce;
    char *state; /* what a kind that runs alone has found out */
};

static inline bool mx_is_reduced(const struct mx_program *program, int axis)
{
    return program->reduced >> axis & 1;
}

/* Status; *out is freed by mx_program_free.  Memory that the group needs is placed. */
int mx_program_new(struct mx_program **out, const struct mx_group *group,
                   struct mx_instruction *instructions);
void mx_program_free(struct mx_program *program);

/* Runs one chunk; scratch is the thread's own, 64-byte aligned. */
void mx_program_run_chunk(struct mx_program *program, size_t chunk, char *scratch);

/* After the last chunk.  Writes samples of their times onto the instructions. */
void mx_program_finish(struct mx_program *program);

/* Where a block begins on each axis up to the split axis, and the length of its piece. */
struct mx_position {
    intptr_t index[MX_MAX_NDIM];
    intptr_t length;
};

struct mx_partial; /* a reduction's result so far: reduce.h */

/* Runs all calls on one block; watched: with a look for conditions after each. */
void mx_program_run_block(struct mx_program *program, const struct mx_position *at,
                          char *scratch, struct mx_partial *partials, bool watched);
