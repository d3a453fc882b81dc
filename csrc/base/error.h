#pragma once
/* error.h -- the last failure of this thread: a status and its text. */
#include "base/base.h"

/* Stores the text for mx_error_message() and gives status back: return mx_fail(...). */
int mx_fail(int status, const char *format, ...) MX_PRINTF(2, 3);
