#pragma once
/* launch.h -- kernels of a program's own text. */
#include "scheduler/fuse.h"

/* Encodes the kernel of an instruction that is alone in its group; no other backend could run
 * it.  Status. */
int mx_launch_run(const struct mx_group *group, const struct mx_instruction *in);

/* Whether a kernel can be launched as it says.  For whoever is inside the stream.
 * MX_ERROR_DEVICE: there is no device; MX_ERROR_VALUE with the compiler's words. */
int mx_launch_check(const struct mx_launch *launch);
