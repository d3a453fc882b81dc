/* call_site.h -- where in the program an operation was recorded: see call_site.c. */
#pragma once
#include "python/base/bridge.h"

/* Where in the program an operation was recorded, and what must live until it has run. */
struct call_site;

/* Conditions that the program wants to be warned of, in NumPy's numbers; -1: it wants more
 * than warnings, which only NumPy can do; -2 with an exception set. */
int call_site_conditions(void);

/* Borrowed: the __package__ of a frame's globals, or NULL. */
const char *call_site_package(PyObject *globals);
/* Whether a package is mxnp itself or one of its private packages; false for NULL. */
bool call_site_is_own(const char *package);
struct call_site *call_site_new(void); /* NULL with an exception set */
void call_site_keep(struct call_site *site, PyObject *object);

/* Borrowed: the code object, and where in it; NULL: unknown. */
PyObject *call_site_code(const struct call_site *site, int *instruction);
PyObject *
call_site_text(const struct call_site *site); /* new reference: in words; NULL: unknown */
int call_site_warn(const struct call_site *site, int conditions, const char *name);
void call_site_free(struct call_site *site);
int call_site_load(PyObject *numpy);
