/* wrapper.c -- the variables of wrapper.h. */
#include "python/record/wrapper.h"

struct array *wrapper_spare[MAX_SPARE];
int wrapper_n_spare;
