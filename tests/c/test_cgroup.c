/* test_cgroup.c -- limits are found in both versions of control groups, also those of the
 * groups above.  Missing and malformed files set no limit. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "check.h"
#include "cpu/threads/cores.h"

static char root[64];

/* Writes a file, and creates its folders. */
static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void remove_tree(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK(system(command) == 0);
}

static void make_root(void)
{
    strcpy(root, "/tmp/mxnp-cgroup-XXXXXX");
    CHECK(mkdtemp(root));
}

static void test_none(void)
{
    make_root();
    CHECK(mx_cgroup_memory(root) == MX_NO_LIMIT && mx_cgroup_cpus(root) == MX_NO_LIMIT);
    write_file("proc/self/cgroup", "0::/a\n");
    CHECK(mx_cgroup_memory(root) == MX_NO_LIMIT && mx_cgroup_cpus(root) == MX_NO_LIMIT);
    remove_tree();
}

static void test_v2(void)
{
    make_root();
    write_file("proc/self/cgroup", "0::/a/b\n");
    write_file("sys/fs/cgroup/a/b/memory.max", "max\n");
    write_file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK(mx_cgroup_memory(root) == MX_NO_LIMIT && mx_cgroup_cpus(root) == MX_NO_LIMIT);

    write_file("sys/fs/cgroup/a/memory.max", "8589934592\n"); /* the group above */
    write_file("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
    CHECK(mx_cgroup_memory(root) == (uint64_t)8 << 30 && mx_cgroup_cpus(root) == 4);

    write_file("sys/fs/cgroup/a/b/memory.max", "4096\n");
    write_file("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    CHECK(mx_cgroup_memory(root) == 4096 && mx_cgroup_cpus(root) == 2);
    write_file("sys/fs/cgroup/a/b/cpu.max", "5000 100000\n");
    CHECK(mx_cgroup_cpus(root) == 1);

    /* The least limit counts, wherever it is. */
    write_file("sys/fs/cgroup/a/b/memory.max", "17179869184\n");
    write_file("sys/fs/cgroup/a/b/cpu.max", "700000 100000\n");
    CHECK(mx_cgroup_memory(root) == (uint64_t)8 << 30 && mx_cgroup_cpus(root) == 4);
    remove_tree();
}

/* In a container, the mount shows the container's group at its root, but /proc names it as on
 * the host. */
static void test_v2_in_namespace(void)
{
    make_root();
    write_file("proc/self/cgroup", "0::/\n");
    write_file("sys/fs/cgroup/cpu.max", "300000 100000\n");
    write_file("sys/fs/cgroup/memory.max", "1000\n");
    CHECK(mx_cgroup_cpus(root) == 3 && mx_cgroup_memory(root) == 1000);
    remove_tree();
}

static void test_v1(void)
{
    make_root();
    write_file("proc/self/cgroup", "12:cpuset:/other\n"
                                   "4:memory:/docker/x\n"
                                   "3:cpu,cpuacct:/docker/x\n"
                                   "1:name=systemd:/\n"
                                   "0::/\n");
    write_file("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    write_file("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
    write_file("sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "100\n"); /* not the controller */
    write_file("sys/fs/cgroup/cpuset/other/cpu.cfs_period_us", "100\n");
    write_file("sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "100\n"); /* nor this group */
    write_file("sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100\n");
    CHECK(mx_cgroup_cpus(root) == MX_NO_LIMIT && mx_cgroup_memory(root) == MX_NO_LIMIT);

    write_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    write_file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
    write_file("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "12345678\n");
    CHECK(mx_cgroup_cpus(root) == 3 && mx_cgroup_memory(root) == 12345678);
    remove_tree();
}

static void test_strange(void)
{
    make_root();
    char path[600];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    write_file("proc/self/cgroup", "\nno colon\n1:cpu\n0::/a\n");
    write_file("sys/fs/cgroup/a/cpu.max", "\n");
    write_file("sys/fs/cgroup/a/memory.max", "plenty\n");
    CHECK(mx_cgroup_cpus(root) == MX_NO_LIMIT && mx_cgroup_memory(root) == MX_NO_LIMIT);
    write_file("sys/fs/cgroup/a/cpu.max", "100000\n"); /* no period */
    CHECK(mx_cgroup_cpus(root) == MX_NO_LIMIT);
    write_file("sys/fs/cgroup/a/cpu.max", "100000 0\n");
    CHECK(mx_cgroup_cpus(root) == MX_NO_LIMIT);
    write_file("proc/self/cgroup", "0::/");
    CHECK(mx_cgroup_cpus(path) == MX_NO_LIMIT); /* a root that is too long for the buffers */
    remove_tree();
}

/* A quota of 1.5 processors allows two threads, if the affinity does. */
static void test_quota_is_rounded_up(void)
{
    make_root();
    int without = mx_cores_count(root), two = without < 2 ? without : 2;
    write_file("proc/self/cgroup", "0::/a\n");
    write_file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    CHECK(mx_cgroup_cpus(root) == 2 && mx_cores_count(root) == two);
    write_file("sys/fs/cgroup/a/cpu.max", "110000 100000\n");
    CHECK(mx_cgroup_cpus(root) == 2 && mx_cores_count(root) == two);
    write_file("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    CHECK(mx_cores_count(root) == 1);
    write_file("sys/fs/cgroup/a/cpu.max", "0 100000\n");
    CHECK(mx_cores_count(root) == 1);
    remove_tree();
}

int main(void)
{
    test_quota_is_rounded_up();
    test_none();
    test_v2();
    test_v2_in_namespace();
    test_v1();
    test_strange();
    CHECK(mx_cgroup_cpus("") > 0 && mx_cgroup_memory("") > 0);
    return 0;
}
