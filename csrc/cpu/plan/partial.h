#pragma once
/* partial.h -- the result of one reduction so far, over the blocks of one unit and segment.
 *
 * The loop itself reduces each block (in pairs, for NumPy's sums of floats).  In any order, the
 * results of blocks wait on levels: 64 results on a level are reduced to one on the next.  Rows
 * are added up 32 at a time, and then their sums.  The error of a sum therefore does not grow
 * with its length.
 *
 * In NumPy's order (order.h), the sums of leaves wait on a stack, rows are added one by one to
 * a row of sums, and short rows are reduced each by itself.
 */
#include "cpu/plan/plan.h"

#define MX_LEVELS 4
#define MX_FAN    64 /* values on a level */
#define MX_ROWS   32 /* rows that are added up on a level */

struct mx_partial {
    char *target;    /* receives the result of this unit and segment */
    intptr_t stride; /* of a row of results */
    char *levels; /* results that wait to be reduced: MX_FAN values, or a row, on each level */
    int counts[MX_LEVELS];
    int depth;       /* of the stack of sums that begins at levels */
    bool is_decided; /* no other block can change the result of any or all */
};

/* Bytes that the levels of a reduction take in scratch memory. */
size_t mx_partial_levels_size(const struct mx_program *program, const struct mx_call *call);

/* Reduces the block at a position, n elements that begin at data, into the partial of its call.
 */
void mx_partial_add_block(const struct mx_program *program, const struct mx_call *call,
                          char *data, intptr_t stride, const struct mx_position *at, intptr_t n,
                          struct mx_partial *partial);

/* Adds the squares of the differences between the block at a position and means, as the call
 * with the kernels, the next one and the sum after them do.  The scratch memory can hold the
 * results of the block. */
void mx_partial_add_squares(const struct mx_program *program, const struct mx_call *call,
                            char *data, const char *means, char *scratch,
                            const struct mx_position *at, struct mx_partial *partial);

/* Counts the true elements of each row of a block, which is contiguous. */
void mx_partial_count_rows(const struct mx_program *program, const struct mx_call *call,
                           const char *data, const struct mx_position *at,
                           const struct mx_partial *partial);

/* Reduces what waits on the levels to the result of a unit. */
void mx_partial_finish(const struct mx_program *program, const struct mx_call *call,
                       struct mx_partial *partial, const struct mx_position *at);

/* Joins the sums of all leaves of a unit to its result. */
void mx_partial_join_leaves(const struct mx_program *program, const struct mx_call *call,
                            const char *sums, char *result);

/* Writes the result of any or all that one block decided. */
void mx_partial_decide(const struct mx_call *call, struct mx_partial *partial);

/* Computes *value = loop(*value, x) for each of n elements x. */
void mx_partial_fold(const struct mx_loop *loop, char *value, char *data, intptr_t stride,
                     intptr_t n);
