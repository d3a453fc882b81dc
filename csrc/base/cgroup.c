/* cgroup.c -- the limits that control groups set for this process. */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

/* Reads the limit of the group with this folder. */
typedef uint64_t limit_function(const char *folder);

/* Reads up to count unsigned numbers from the beginning of a file, and returns how many it
 * read.
 */
static int read_numbers(const char *folder, const char *name, unsigned long long *numbers,
                        int count)
{
    char path[1200];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    int found = 0;
    char word[32]; /* scanf would read "-1" as an unsigned number */
    while (found < count && fscanf(file, "%31s", word) == 1 &&
           sscanf(word, "%llu", &numbers[found]) == 1 && word[0] != '-')
        found++;
    fclose(file);
    return found;
}

static uint64_t memory_v2(const char *folder)
{
    unsigned long long nbytes;
    return read_numbers(folder, "memory.max", &nbytes, 1) == 1 ? nbytes : MX_NO_LIMIT;
}

static uint64_t memory_v1(const char *folder)
{
    unsigned long long nbytes;
    return read_numbers(folder, "memory.limit_in_bytes", &nbytes, 1) == 1 ? nbytes
                                                                          : MX_NO_LIMIT;
}

/* Returns how many processors a group may use, rounded up.  In each period it may use them for
 * the quota in total. */
static uint64_t cpus_of(unsigned long long quota, unsigned long long period)
{
    return period > 0 ? quota / period + (quota % period != 0) : MX_NO_LIMIT;
}

static uint64_t cpus_v2(const char *folder)
{
    unsigned long long numbers[2];
    return read_numbers(folder, "cpu.max", numbers, 2) == 2 ? cpus_of(numbers[0], numbers[1])
                                                            : MX_NO_LIMIT;
}

static uint64_t cpus_v1(const char *folder)
{
    unsigned long long quota, period;
    bool known = read_numbers(folder, "cpu.cfs_quota_us", &quota, 1) == 1 &&
                 read_numbers(folder, "cpu.cfs_period_us", &period, 1) == 1;
    return known ? cpus_of(quota, period) : MX_NO_LIMIT;
}

/* Returns the least limit of a group and of the groups above it. */
static uint64_t least_above(const char *mount, const char *group, limit_function *limit)
{
    char folder[1024];
    uint64_t least = MX_NO_LIMIT;
    size_t mount_length = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder)
        return least;
    for (;;) {
        uint64_t found = limit(folder);
        least = found < least ? found : least;
        char *end = strrchr(folder + mount_length, '/');
        if (!end)
            return least;
        *end = '\0';
    }
}

static bool has_controller(const char *controllers, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

/* Returns the least limit of the groups of this process.  Each line of the file reads
 * number:controllers:/group; in version 2 the controllers are missing. */
static uint64_t least_limit(const char *root, const char *controller, limit_function *v1,
                            limit_function *v2)
{
    char path[512], line[1024];
    uint64_t least = MX_NO_LIMIT;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        bool is_v2 = controllers[0] == '\0';
        if (!is_v2 && !has_controller(controllers, controller))
            continue;
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s", root, is_v2 ? "" : "/",
                 is_v2 ? "" : controller);
        uint64_t found = least_above(path, group, is_v2 ? v2 : v1);
        least = found < least ? found : least;
    }
    if (file)
        fclose(file);
    return least;
}

uint64_t mx_cgroup_memory(const char *root)
{
    return least_limit(root, "memory", memory_v1, memory_v2);
}

uint64_t mx_cgroup_cpus(const char *root) { return least_limit(root, "cpu", cpus_v1, cpus_v2); }
