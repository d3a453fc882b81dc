#pragma once
/* reduce.h -- groups that end in reductions.
 *
 * A unit is what ends in one result, or one row of results when the innermost axis is kept:
 * a position on the axes kept.  It is reached through strips, the positions on the axes
 * reduced over.  Where units are few the strips of each are cut into segments, which
 * are chunks of their own and are put together at the end.  All of this depends on
 * shapes alone, so that the same array has the same sum whatever the number of threads.
 *
 * Blocks of a strip are reduced by the loop itself (in pairs, for NumPy's sums of floats),
 * and so are their results, 64 at a time, and the results of these.  Rows are added up 32 at
 * a time, and then their sums: the error of a sum does not grow with its length.
 */
#include "cpu/plan/program.h"

#define MX_LEVELS 4
#define MX_FAN    64 /* values on a level */
#define MX_ROWS   32 /* rows that are added up on a level */

struct mx_partial {
    char *target;    /* where the result of this unit and segment goes */
    intptr_t stride; /* of a row of results */
    char *levels;    /* results waiting to be reduced: MX_FAN of them, or a row, on each */
    int counts[MX_LEVELS];
};

/* Plans the chunks of a program whose blocks are settled.  Status. */
int mx_reduce_plan(struct mx_program *program);

void mx_reduce_run_chunk(struct mx_program *program, size_t chunk, char *scratch, bool watched);

/* One call on one block, n elements of its input from `data` on. */
void mx_reduce_block(const struct mx_program *program, const struct mx_call *call, char *data,
                     intptr_t stride, intptr_t n, struct mx_partial *partial);

void mx_reduce_finish(struct mx_program *program);
void mx_reduce_free(struct mx_program *program);
