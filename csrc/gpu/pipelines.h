#pragma once
/* pipelines.h -- compiled kernels, one for each text.
 *
 * What tells kernels apart is all of their text, never a name.  At most so many are kept, and
 * the one that goes is that which was used least lately; whoever runs it holds it on its own.
 */
#include "base/base.h"

/* Gives a status, and the compiled kernel of the function in `prelude` and `text` together.  It
 * is the cache's: to be used before the next call. */
int mx_pipeline_get(const void **compiled, const char *prelude, const char *text,
                    const char *function);

int mx_pipelines_set_limit(int limit); /* the limit before */
int mx_pipelines_kept(void);
