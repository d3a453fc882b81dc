/* owners.h -- whose code is running: the program's, a package's, or neither's. */
#pragma once
#include "python/packages/layout.h"

/* The numbers are those of door.py.  A package that is asked may take mxnp arrays at present.
 */
enum owner { NOBODY, PROGRAM, PACKAGE, ASKED_PACKAGE };

/* Return the owner of a module, or -1 with an exception set. */
int owners_of_module(PyObject *name, PyObject *globals);

/* Return whose code is running: in a vectorcall, the caller's.  Return -1 with an exception
 * set.
 */
int owners_of_caller(void);

/* Check whether code of the program is running.  Return 1, 0, or -1 with an exception set. */
static inline int owners_is_program(void)
{
    int owner = owners_of_caller();
    return owner < 0 ? -1 : owner == PROGRAM;
}

/* The frame that called compiled code of a package in this thread, or NULL.  Compiled code has
 * no frame, so its own calls seem to come from there. */
extern _Thread_local void *compiled_caller;

/* Note the caller of compiled code.  Return what was noted before. */
static inline void *owners_enter(void)
{
    void *former = compiled_caller;
    compiled_caller = layout_running_frame();
    return former;
}

static inline void owners_leave(void *former) { compiled_caller = former; }

/* Ask again to whom the modules belong. */
void owners_forget(void);

/* Methods of the module. */
extern PyMethodDef owners_methods[];
