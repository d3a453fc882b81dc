#pragma once
/* launch.h -- kernels whose text the program provides. */
#include "scheduler/fuse.h"

/* Encodes the kernel of an instruction that is alone in its group.  No other backend can run
 * it. Returns a status. */
int mx_launch_run(const struct mx_group *group, const struct mx_instruction *in);

/* Checks whether a kernel can be launched.  The caller must be inside the stream.
 * MX_ERROR_DEVICE: there is no device.  MX_ERROR_VALUE: the kernel does not compile, and the
 * message is the compiler's, or its threadgroups are too large. */
int mx_launch_check(const struct mx_launch *launch);
