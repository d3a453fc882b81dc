#pragma once
/* streams.h -- draws of NumPy's random generators on several threads, with NumPy's bits. */
#include "draws/draws.h"

/* Returns the sampler of a name, or -1: also if the build has no samplers. */
int mx_streams_find(const char *name);

/* Returns the version of the NumPy whose samplers these are, such as "2.4", or "". */
const char *mx_streams_version(void);
const char *mx_streams_name(int sampler);

/* Draws n numbers.  Returns whether it did: if not, nothing but the contents of `out` has
 * changed, and NumPy has to draw. */
bool mx_streams_draw(struct mx_draws *draws);
