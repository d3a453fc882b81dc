#pragma once
/* metal.h -- what the core's own API says of Metal. */
#include "../backend.h"

extern const struct mx_backend mx_metal_backend;

bool mx_metal_is_used(void); /* whether groups may run on a device */

/* Whether a kernel can be launched as it says.  For whoever is inside the stream.
 * MX_ERROR_VALUE with the compiler's words. */
int mx_metal_check(const struct mx_launch *launch);
