#pragma once
/* search.h -- finds the positions of values in a sorted table. */
#include "ir/dtypes.h"

/* Returns a loop over values, the table and the output, which is int64: the position of the
 * first element that is not less than the value or, for the right side, that is greater.  NaN
 * is greater than all numbers.  The data argument of the loop is the instruction, whose
 * `indexing` describes the table.  Returns NULL for dtypes other than integers, float32 and
 * float64. */
mx_loop_function mx_search_loop(int dtype, bool is_right);
