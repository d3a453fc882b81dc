/* cores.c -- counts the cores that this process may use. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#endif
#ifdef __APPLE__
#include <stdio.h>
#include <string.h>
#include <sys/sysctl.h>
#endif
#include "cpu/threads/cores.h"

#include <limits.h>
#include <unistd.h>

#include "base/cgroup.h"

static long online_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

#if defined(__linux__)
static long allowed_cores(void)
{
    cpu_set_t allowed[16]; /* 16384 cores: the call fails if the kernel supports more */
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0)
        return CPU_COUNT_S(sizeof allowed, allowed);
    return online_cores();
}
#elif defined(__APPLE__)
/* Counts only fast cores: a slow core would still run its chunk when the others have finished.
 * A Mac has levels of cores, from the fastest on, and one or none of them saves energy. */
static long allowed_cores(void)
{
    long n = 0;
    for (int level = 0; level < 8; level++) {
        char cores_name[40], level_name[40], kind[32] = "";
        int cores = 0;
        size_t cores_size = sizeof cores, kind_size = sizeof kind - 1;
        snprintf(cores_name, sizeof cores_name, "hw.perflevel%d.physicalcpu", level);
        snprintf(level_name, sizeof level_name, "hw.perflevel%d.name", level);
        if (sysctlbyname(cores_name, &cores, &cores_size, NULL, 0) != 0)
            break;
        sysctlbyname(level_name, kind, &kind_size, NULL, 0);
        if (strcmp(kind, "Efficiency") != 0)
            n += cores;
    }
    return n > 0 ? n : online_cores();
}
#else
static long allowed_cores(void) { return online_cores(); }
#endif

int mx_cores_count(const char *root)
{
    long cores = allowed_cores();
    uint64_t limit = mx_cgroup_cpus(root);
    if (limit < (uint64_t)cores)
        cores = (long)limit;
    return cores < 1 ? 1 : cores < INT_MAX ? (int)cores : INT_MAX;
}
