#pragma once
/* blocks.h -- the axes of a program in the order of memory, and the blocks that they are cut
 * into.
 */
#include "cpu/plan/program.h"

/* Axes that lie one after the other in all operands become one. */
void mx_blocks_merge_axes(struct mx_program *program);

/* Sorts and merges the axes, cuts them into blocks, finds which operands a block goes through
 * with one stride, and hands out the blocks in chunks. */
void mx_blocks_plan(struct mx_program *program);
