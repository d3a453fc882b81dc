#pragma once
/* cores.h -- counts the cores that this process may use. */
#include "base/base.h"

/* Returns how many threads this process can run at once, at least 1: the cores of its affinity,
 * or the quota of its control groups, rounded up, if that is less.  On macOS only fast cores
 * count.  cgroup.h explains root. */
int mx_cores_count(const char *root);
