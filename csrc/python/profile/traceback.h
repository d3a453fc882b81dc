/* traceback.h -- tracebacks without the frames of mxnp. */
#pragma once
#include "python/base/numpy.h"

/* Remove the frames of mxnp from the traceback of the exception that is set.  Those of NumPy
 * and of the program's callbacks stay.  Call it where C returns to the program. */
void traceback_hide_own(void);

/* Check whether code of mxnp or NumPy raised the exception that is set, rather than code of the
 * program, such as a signal handler. */
bool traceback_ends_inside(void);

/* Check whether code of mxnp raised it, or compiled code before any other had begun. */
bool traceback_ends_in_own(void);

/* Methods of the module. */
extern PyMethodDef traceback_methods[];
