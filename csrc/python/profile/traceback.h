/* traceback.h -- tracebacks without the frames of mxnp. */
#pragma once
#include "python/base/numpy.h"

/* Remove the frames of mxnp from the traceback of the exception that is set.  Those of NumPy
 * and of the program's callbacks stay.  Call it where C returns to the program. */
void traceback_hide_own(void);

/* Methods of the module. */
extern PyMethodDef traceback_methods[];
