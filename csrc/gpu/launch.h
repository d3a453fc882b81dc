#pragma once
/* launch.h -- kernels whose text the program provides. */
#include "scheduler/fuse.h"

/* Encodes the kernel of an instruction that is alone in its group.  No other backend can run
 * it.  Calls `begin_others` while the kernel is compiled.  Returns a status. */
int mx_launch_run(const struct mx_group *group, const struct mx_instruction *in,
                  void (*begin_others)(void));

void mx_launch_begin(const struct mx_launch *launch); /* begins to compile the kernel */

/* Checks whether a kernel can be launched.  The caller must be inside the stream.
 * MX_ERROR_DEVICE: there is no device.  MX_ERROR_VALUE: the kernel does not compile, and the
 * message is the compiler's, or its threadgroups are too large.  A kernel of mxnp, which has a
 * prelude, is valid: it only begins to be compiled. */
int mx_launch_check(const struct mx_launch *launch);
