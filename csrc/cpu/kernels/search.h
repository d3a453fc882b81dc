#pragma once
/* search.h -- where values belong in a sorted table. */
#include "ir/dtypes.h"

/* A loop over values, the table and the output, int64: the place of the first element that is
 * not less than the value or, for the right side, that is greater; NaN is the greatest.  Its
 * data is the instruction, whose indexing tells of the table.  NULL for other dtypes than
 * integers, float32 and float64. */
mx_loop_function mx_search_loop(int dtype, bool is_right);
