/* refusal.h -- exceptions with which Python or NumPy refuse arguments. */
#pragma once
#include "python/base/numpy.h"

/* Clear an exception that NumPy raises for arguments, because NumPy will raise it again.
 * Return 0, or -1 with an exception set that has another cause, such as a signal handler: that
 * one is raised only once. */
int refusal_drop(void);

/* Check whether a signal handler of the program raised the exception that is set. */
bool refusal_is_handlers(void);

/* Methods of the module. */
extern PyMethodDef refusal_methods[];
