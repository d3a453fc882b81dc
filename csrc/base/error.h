#pragma once
/* error.h -- the message of the last failure of this thread. */
#include "base/base.h"

/* Stores the message that mx_error_message() returns, and returns status: `return
 * mx_fail(...)`.
 */
int mx_fail(int status, const char *format, ...) MX_PRINTF(2, 3);
