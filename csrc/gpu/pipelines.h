#pragma once
/* pipelines.h -- the cache of compiled kernels.
 *
 * The key of a kernel is its whole text, not its name.  The cache has a limit, and drops the
 * kernel that was used least recently.  A kernel that is running has a reference of its own.
 *
 * Kernels are compiled on threads of their own, several at the same time.
 */
#include "gpu/kernel.h"

/* Gets the compiled kernel of a function in `prelude` followed by `text`.  The cache owns it,
 * so it must be used before the next call.  If it is not cached yet, calls `begin_others`,
 * unless that is NULL, while it is compiled.  Returns a status. */
int mx_pipelines_get(const void **compiled, const char *prelude, const char *text,
                     const char *function, void (*begin_others)(void));

/* Notes preludes that are never freed: those of all kernels but the program's. */
void mx_pipelines_keep(const char *const *preludes);

/* Begins to compile a kernel that will be needed, unless it is cached or the cache is full. */
void mx_pipelines_begin(const char *prelude, const char *text, const char *function);

int mx_pipelines_set_limit(int limit); /* returns the previous limit */
