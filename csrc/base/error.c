/* error.c -- the message of the last failure of this thread. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];

int mx_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

const char *mx_error_message(void) { return message; }
