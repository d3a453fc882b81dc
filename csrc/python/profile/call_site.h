/* call_site.h -- the place in the program that recorded an operation.
 *
 * A call site also holds references to what must live until the operation has run.
 */
#pragma once
#include "ir/instruction.h"
#include "python/base/numpy.h"

struct call_site;

/* Return the call site of the innermost frame outside of mxnp, or NULL with an exception set.
 * If NumPy's code in that frame has called a function of mxnp, it is the innermost frame
 * outside of NumPy, too. */
struct call_site *call_site_new(void);
void call_site_free(struct call_site *site);

/* Hold a reference to the object until the call site is freed. */
void call_site_keep(struct call_site *site, const void *object);

/* Return a borrowed reference to the code object that a report names, and its instruction, or
 * NULL if the call site is unknown. */
PyObject *call_site_code(const struct call_site *site, int *instruction);

/* Return a new reference to the name of the file, and set the line, or return NULL if the call
 * site is unknown.  This runs no Python code. */
PyObject *call_site_place(const struct call_site *site, int *line);

/* Join the operations that this thread records from now on: where NumPy makes one call of a
 * ufunc, each of its warnings is issued once.  They have the given name, or those of the
 * operations if it is NULL.  The name is never freed. */
void call_site_join(const char *name);
void call_site_end_join(void);

/* Return the conditions, of those that an operation met, of which no operation has warned that
 * is joined to it, and set the name for the warnings. */
int call_site_conditions(const struct call_site *site, int met, const char **name);

/* Issue a RuntimeWarning there.  Return 0, or -1 with an exception set. */
int call_site_warn(const struct call_site *site, const char *text);

/* Return a new reference to the innermost running frame that is not skipped, or NULL.  No
 * exception is set. */
PyObject *call_site_find_frame(bool (*is_skipped)(PyObject *frame));

/* Return the instruction that a frame runs, or -1. */
int call_site_instruction(PyObject *frame);

/* Return the __package__ of a frame's globals, or NULL.  The text lives as long as they do. */
const char *call_site_package(PyObject *frame);

/* Check whether a package is mxnp itself or one of its private packages; false for NULL. */
bool call_site_is_own(const char *package);

/* Check whether a package is NumPy, mxnp, or a part of them; false for NULL. */
bool call_site_is_library(const char *package);

extern PyMethodDef call_site_methods[];

int call_site_load(void); /* -1 with an exception set */
