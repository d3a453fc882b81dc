"""Test that malloc keeps what NumPy frees, within a limit, unless the user decides otherwise."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from support.processes import end_of

from mxnp._engine import core, environment

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or "LD_PRELOAD" in os.environ,
    reason="malloc is not glibc's",
)

DEBUG = "libc_malloc_debug.so.0"  # a malloc in a library of its own, which glibc brings along
SYSTEM = [*Path("/lib").glob(f"*/{DEBUG}"), *Path("/lib64").glob(DEBUG)]

# NumPy's arrays fill half of what malloc keeps, and are freed.
PROGRAM = """
import resource
import numpy
import mxnp
from mxnp._engine import core

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

most = core.lib.mx_alloc_most_kept(2**64 - 1)
before = resident()
arrays = [numpy.ones(most // 8, numpy.uint8) for _ in range(4)]
arrays.clear()
freed = resident()
core.lib.mx_memory_trim(0)
quarter = most // 4
print(core.lib.mx_alloc_kept(), freed - before > quarter, freed - resident() > quarter)
"""


def outcome(**variables: str) -> tuple[int, bool, bool]:
    """Return what malloc keeps at most, whether it did, and whether a trim returned that."""
    own = {"MXNP_WARM": "", "GLIBC_TUNABLES": ""} | variables
    end = end_of("-c", PROGRAM, **own)
    assert end.status == 0, end.err
    kept, stayed, returned = end.out.split()
    return int(kept), stayed == "True", returned == "True"


def test_freed_memory_stays_until_a_trim() -> None:
    kept, stayed, returned = outcome()
    assert kept == core.lib.mx_alloc_kept()
    assert (stayed, returned) == (True, True)


def test_the_limit_is_a_share_of_the_memory() -> None:
    limit = core.lib.mx_alloc_most_kept
    most = limit(2**64 - 1)
    memory = 32 * most
    found = [limit(share) for share in (2 * memory, memory, memory // 2, 0)]
    assert found == [most, most, most // 2, 0]


@pytest.mark.parametrize(
    "variables",
    [
        {"MXNP_WARM": "0"},
        {"MALLOC_TRIM_THRESHOLD_": "131072"},
        {"MALLOC_MMAP_THRESHOLD_": "131072"},
        {"MALLOC_TOP_PAD_": "131072"},
        {"MALLOC_MMAP_MAX_": "65536"},
        {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_the_users_limits_remain(variables: dict[str, str]) -> None:
    assert outcome(**variables) == (0, False, False)


def test_other_settings_of_malloc_remain_beside_the_limit(monkeypatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=3")
    assert environment.get_core_settings()["is_warm"] == 1


@pytest.mark.skipif(not SYSTEM, reason=f"there is no {DEBUG}")
def test_another_malloc_is_left_alone() -> None:
    assert outcome(LD_PRELOAD=str(SYSTEM[0]))[0] == 0
