#pragma once
/* ranges.h -- loops that compute numbers at equal distances from the first two of them. */
#include "ir/loop.h"

/* Returns the loop of an MX_ARANGE (instruction.h) over the first two numbers and the output,
 * or NULL for dtypes that have none. */
mx_loop_function mx_range_loop(int dtype);
