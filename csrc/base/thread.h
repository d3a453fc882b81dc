#pragma once
/* thread.h -- starts threads of the core. */
#include <stddef.h>

#include "base/base.h"

/* Starts a detached thread.  Signals are handled by the threads of the program, except those
 * that a fault raises in the new thread itself.  Returns whether it was started. */
bool mx_thread_start(void *(*function)(void *), void *argument, size_t stack_size);
