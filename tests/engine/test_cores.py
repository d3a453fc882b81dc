"""Test the cores and the clock of a Mac, with a library in place of the system."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from support.paths import ROOT

# The levels of cores of Macs, from the fastest on, and the number that mxnp uses.
MACS = {
    "M1": ([("Performance", 4), ("Efficiency", 4)], 4),
    "M1 Max": ([("Performance", 8), ("Efficiency", 2)], 8),
    "M5 Max": ([("Super", 6), ("Performance", 12)], 18),
    "M5": ([("Super", 4), ("Efficiency", 6)], 4),
    "one level": ([("Standard", 7)], 7),
    "levels without names": ([("", 3), ("", 2)], 5),
    "no levels": ([], 1),
}

SYSTEM = """
#include "base/cgroup.h"
#include "cpu/threads/cores.h"
#include <stdio.h>
#include <string.h>

static const struct { const char *name; int cores; } levels[] = {LEVELS};

int sysctlbyname(const char *name, void *out, size_t *size, void *set, size_t set_size)
{
    int level;
    char what[40];
    (void)set, (void)set_size;
    if (sscanf(name, "hw.perflevel%d.%39s", &level, what) != 2 || level >= N_LEVELS)
        return -1;
    if (strcmp(what, "physicalcpu") == 0)
        memcpy(out, &levels[level].cores, *size = sizeof(int));
    else if (strcmp(what, "name") == 0 && *levels[level].name)
        memcpy(out, levels[level].name, *size = strlen(levels[level].name) + 1);
    else
        return -1;
    return 0;
}

long sysconf(int name) { return name == _SC_NPROCESSORS_ONLN ? 1 : -1; }

int clock_gettime(clockid_t clock, struct timespec *time)
{
    *time = (struct timespec){clock, 0};
    return 0;
}

uint64_t mx_cgroup_cpus(const char *root) { return root ? 0 : UINT64_MAX; }

int main(void)
{
    printf("%d %d", mx_cores_count(NULL), (int)(mx_now() / 1000000000));
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize("mac", MACS)
def test_fast_cores_of_a_mac(mac: str, tmp_path: Any) -> None:
    levels, expected = MACS[mac]
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "sysctl.h").write_text(
        "int sysctlbyname(const char *, void *, size_t *, void *, size_t);\n"
    )
    text = ", ".join(f'{{"{name}", {cores}}}' for name, cores in levels)
    (tmp_path / "system.c").write_text(
        "#include <unistd.h>\n" + SYSTEM.replace("LEVELS}", (text or '{"", 0}') + "}")
    )
    command = ["cc", "-std=c11", "-D_DEFAULT_SOURCE", "-U__linux__", "-D__APPLE__"]
    command += ["-DCLOCK_UPTIME_RAW=8", f"-DN_LEVELS={len(levels)}", f"-I{tmp_path}"]
    command += [f"-I{ROOT / 'csrc'}", tmp_path / "system.c"]
    command += [ROOT / "csrc" / "cpu" / "threads" / "cores.c", "-o", tmp_path / "cores"]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "cores"], capture_output=True, check=True)
    assert done.stdout.decode() == f"{expected} 8"
