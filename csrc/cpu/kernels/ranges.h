#pragma once
/* ranges.h -- numbers at equal distances, from the first two of them. */
#include "ir/loop.h"

/* The loop of a MX_RANGE (instruction.h): first two, out; NULL for dtypes without one. */
mx_loop_function mx_range_loop(int dtype);
