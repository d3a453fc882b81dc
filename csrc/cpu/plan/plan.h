#pragma once
/* plan.h -- the data structures of a program: a group of instructions, prepared for execution
 * on the processor, block by block.
 *
 * The axes of the group are sorted into the order of memory and merged where possible.  A block
 * is a piece of one axis, the split axis, together with all axes inside it (usually there are
 * none).  It is so small that everything that the calls read and write for it fits the
 * first-level cache.  Temporaries live in the scratch memory of a thread, and the next block
 * overwrites them.
 *
 * The files of this folder build on each other in this order: program.c uses the files that
 * plan and run one kind of group (reduce, scan, argreduce, gather, scatter) and those that
 * prepare blocks (blocks, scratch, runs, pairs).  It also uses interpreter.c, which runs the
 * calls of one block. The interpreter and reduce.c share partial.c.  Gather and scatter share
 * points.c.
 */
#include "cpu/compiled/compiled.h"
#include "cpu/kernels/pair_kernels.h"
#include "cpu/kernels/row_kernels.h"
#include "cpu/threads/thread_pool.h"
#include "scheduler/fuse.h"

#define MX_CACHE_LINE 64 /* bytes */

enum mx_access_kind {
    MX_DIRECT, /* the loop reads or writes memory itself, with a single stride */
    MX_PACKED, /* copied to or from scratch memory, as no single stride leads through a block */
    MX_SCRATCH, /* a temporary */
};

/* How the calls of a program find an operand. */
struct mx_access {
    enum mx_access_kind kind;
    int itemsize;
    bool is_loaded, is_stored; /* if packed: copied before the calls, and after them */
    bool is_ordered;           /* the input of a sum that keeps NumPy's order */
    bool is_saved;             /* before a run, or a block, that overwrites it */
    bool is_in_registers;      /* a temporary of a compiled run */
    bool is_mean;              /* only a kernel of squares reads it, in memory */
    char *data;                /* the first element, in the order of the program's axes */
    intptr_t stride;           /* bytes from element to element of a block */
    size_t offset;             /* in scratch memory */
    size_t saved;              /* offset of the copy, if it is saved */
    intptr_t strides[MX_MAX_NDIM];
};

/* The order in which a program adds up: see order.h. */
enum mx_order {
    MX_ANY_ORDER,
    MX_PAIRWISE,    /* pairs of parts of a row */
    MX_ROW_BY_ROW,  /* the innermost axis is kept */
    MX_SHORT_ROWS,  /* a block has several rows, each of which is reduced to one result */
    MX_FOLDED_ROWS, /* the innermost axis is kept, and rows are reduced in any order */
};

/* Elements from which on threads share a program, whatever its loops. */
#define MX_SHARED_ELEMENTS ((intptr_t)1 << 18)

#define MX_LONG_ROW 64 /* elements: the innermost axis is at least this long, if possible */

struct mx_call {
    struct mx_instruction *instruction;
    const struct mx_compiled_run *run; /* computes this call and those after it, or NULL */
    mx_pair_kernel *pair;              /* computes this call and the next, or NULL */
    mx_count_kernel *count; /* reduces a block to one number for the next call, or NULL */
    const struct mx_square_kernels *squares; /* computes this call and the next two, or NULL */
    int pair_accesses[3];
    int accesses[MX_MAX_OPERANDS];
    intptr_t strides[MX_MAX_OPERANDS];     /* of the accesses, within a block */
    _Atomic int64_t nanoseconds, shortest; /* of the sampled blocks; of the fastest of them */
    _Atomic int64_t n_samples;
};

/* The plan of a group that ends in reductions.  reduce.h explains units, strips and segments.
 */
struct mx_reduce_plan {
    bool is_row_kept; /* the innermost axis is kept: results come in rows */
    intptr_t n_units, units_per_chunk, n_strips, n_segments;
    bool stops_early;         /* a unit is any or all, and ends when its result is known */
    _Atomic uint64_t decided; /* units that one of several segments decided, one bit each */
    void *memory;             /* holds the partials, or NULL */
    char *partials;           /* [segment][reduction][unit][element of row], on a cache line */
    size_t segment_size;      /* bytes of the results of one segment */
    size_t levels;            /* offset in scratch memory of the results that wait on levels */
    int n_row_levels;         /* levels of rows there, without the row of results itself */
    struct mx_leaf *leaves;   /* of a row that is added pairwise, or NULL */
    intptr_t n_leaves;
};

struct mx_program {
    enum mx_kind kind; /* of the only call, if it runs alone; otherwise MX_MAP */
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    unsigned reduced; /* axes reduced over, one bit each */

    int split;          /* the axis that is cut into pieces */
    intptr_t length;    /* of a piece; the last piece may be shorter */
    intptr_t n_pieces;  /* of the split axis */
    intptr_t inner;     /* elements of the axes inside the split axis */
    int parts;          /* the axis of the parts into which rows are cut, or -1 */
    intptr_t last_part; /* elements of the last part, the others have `inner` */
    bool computes_rows; /* calls compute the rows of a block one by one */
    intptr_t n_blocks;

    int n_calls, n_accesses, n_reductions;
    int n_compiled; /* calls that compiled kernels compute */
    enum mx_order order;
    struct mx_call *calls;
    struct mx_access *accesses;
    intptr_t *strides;   /* of the accesses, within a block, for compiled runs */
    size_t scratch_size; /* bytes that each thread needs */

    bool is_measured;       /* calls are timed in the first block of each chunk */
    bool is_repeatable;     /* a chunk may run again: it overwrites nothing that it reads */
    bool saves_blocks;      /* a block may run again, from a copy of what it overwrites */
    bool is_silent;         /* no call can report a condition */
    int fpe_mask;           /* floating-point conditions that some call has to report */
    atomic_int met;         /* conditions met so far, noted before calls that clear them */
    atomic_bool is_watched; /* some were met: chunks now check for them after each call */

    /* Work is distributed in chunks: runs of blocks or, with reductions, see reduce.h. */
    size_t n_chunks;
    struct mx_chunks left; /* chunks that have to run */
    intptr_t blocks_per_chunk;
    struct mx_reduce_plan *reduce; /* NULL without reductions */
    bool searches_rows;            /* an argmax or argmin that argrows.h plans */
    char *state;                   /* private data of a kind that runs alone */
};

/* Where a block begins on each axis up to the split axis, and the length of its piece. */
struct mx_position {
    intptr_t index[MX_MAX_NDIM];
    intptr_t length;
    intptr_t strip; /* of a reduction: see reduce.h */
    bool is_timed;  /* the calls are timed in this block */
};

/* Returns whether blocks have several rows, which reductions go through themselves: they add
 * them to a row of results, or reduce each of them. */
static inline bool mx_has_rows(const struct mx_program *program)
{
    return program->order == MX_SHORT_ROWS || program->order == MX_FOLDED_ROWS ||
           (program->order == MX_ROW_BY_ROW && program->split < program->ndim - 1);
}

/* Returns how many elements of the axes inside the split axis there are at a position. */
static inline intptr_t mx_inner(const struct mx_program *program, const struct mx_position *at)
{
    bool is_last =
        program->parts >= 0 && at->index[program->parts] == program->shape[program->parts] - 1;
    return is_last ? program->last_part : program->inner;
}

static inline bool mx_is_reduced(const struct mx_program *program, int axis)
{
    return program->reduced >> axis & 1;
}
