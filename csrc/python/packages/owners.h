/* owners.h -- whose code is running: the program's, a package's, or neither's. */
#pragma once
#include "python/packages/layout.h"

/* The numbers are those of door.py.  A package that is asked may take mxnp arrays at present.
 */
enum owner { NOBODY, PROGRAM, PACKAGE, ASKED_PACKAGE };

extern bool owners_have_asked; /* whether a module of a package that is asked was found */

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

/* Where the caller of compiled code is noted in this thread, and what was noted before. */
struct noted_caller {
    void **place, *former;
};

/* Note the caller of compiled code, whose own calls are the package's, until owners_leave(). */
struct noted_caller owners_enter(void);

static inline void owners_leave(struct noted_caller noted) { *noted.place = noted.former; }

/* Ask again to whom the modules belong. */
void owners_forget(void);

/* Methods of the module. */
extern PyMethodDef owners_methods[];
