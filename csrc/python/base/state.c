/* state.c -- the variables of state.h. */
#include "python/base/state.h"

const struct mx_recorder *core;
int64_t queue_recorded, queue_done, expression_last;
Py_ssize_t queue_threshold = PY_SSIZE_T_MAX;
size_t queue_rematerializable, queue_failures, queue_away, queue_edited;
_Thread_local int calls_with_arrays;
int calls_with_more;
bool profile_is_on, calls_are_intercepted;
