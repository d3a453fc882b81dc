#pragma once
/* casts.h -- loops from each dtype to each other, with NumPy's results. */
#include "../base.h"

/* From and to are rows of dtypes.def; from a dtype to itself it is a copy. */
mx_loop_function mx_cast_loop(int from, int to);
