#pragma once
/* blocks.h -- sorts the axes of a program into the order of memory, and cuts them into blocks.
 */
#include "cpu/plan/plan.h"

/* Merges axes that follow each other without a gap in all operands. */
void mx_blocks_merge_axes(struct mx_program *program);

/* Sorts and merges the axes and cuts them into blocks.  Finds the operands in which a block has
 * a single stride, and distributes the blocks among chunks. */
void mx_blocks_plan(struct mx_program *program);

/* Makes the blocks longer after compiled runs were found, as what stays in registers needs no
 * cache.  The blocks of reductions stay, because the order of their sums depends on them. */
void mx_blocks_enlarge(struct mx_program *program);
