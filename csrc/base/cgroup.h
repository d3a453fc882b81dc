#pragma once
/* cgroup.h -- what the control groups of this process (a container's, say) let it use.
 *
 * The least of the limits of its groups and of those above them, in either version of the
 * interface; UINT64_MAX where there is none.  root is put before every path: "", but for
 * tests. */
#include "base/base.h"

#define MX_NO_LIMIT UINT64_MAX

uint64_t mx_cgroup_memory(const char *root); /* bytes */
uint64_t mx_cgroup_cpus(const char *root);   /* rounded up */
