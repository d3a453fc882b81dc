#pragma once
/* reduce.h -- groups that end in reductions.
 *
 * A unit computes one result or, if the innermost axis is kept, one row of results: it is a
 * position on the axes that are kept.  It is reached through strips, which are positions on the
 * axes that are reduced over.  Where units are few, the strips of each are cut into segments.
 * Segments are chunks of their own, and their results are joined at the end.  All of this
 * depends on shapes alone, so the sum of an array is the same for any number of threads.
 * partial.h explains how the blocks of a strip are reduced.
 */
#include "cpu/plan/plan.h"

/* Plans the chunks of a program after mx_blocks_plan and mx_scratch_plan.  Returns a status. */
int mx_reduce_plan(struct mx_program *program);

/* Runs a chunk.  If is_timed, the calls are timed in its first block. */
void mx_reduce_run_chunk(struct mx_program *program, size_t chunk, char *scratch,
                         bool is_watched, bool is_timed);

/* Joins the segments after the last chunk. */
void mx_reduce_finish(struct mx_program *program);
void mx_reduce_free(struct mx_program *program);
