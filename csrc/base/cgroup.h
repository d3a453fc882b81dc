#pragma once
/* cgroup.h -- the limits that control groups, such as a container's, set for this process.
 *
 * A limit is the least of those of the groups of the process and of the groups above them, in
 * either version of the interface, or MX_NO_LIMIT.  root is a prefix of every path that is
 * read; it is empty except in tests. */
#include "base/base.h"

#define MX_NO_LIMIT UINT64_MAX

uint64_t mx_cgroup_memory(const char *root); /* bytes */
uint64_t mx_cgroup_cpus(const char *root);   /* rounded up */
