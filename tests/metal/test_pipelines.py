"""Test that kernels are compiled on threads of their own, several at the same time."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.metal import HOST, needs_host, needs_metal, run

import mxnp
from mxnp._engine import core

pytestmark = [needs_metal, needs_host, pytest.mark.usefixtures("on_metal")]

BEGIN = """
import ctypes, numpy, os
import mxnp as np
host = ctypes.CDLL(os.environ["CORE"])
"""
END = "print(host.metal_emulator_most_compiled_together())"

# Programs that need several kernels at the same time, and how many.
PROGRAMS = {
    "groups of a flush": (
        """
        x, y = np.arange(500, dtype="f4"), np.arange(600, dtype="i4")
        z = np.arange(700, dtype="u2")
        kept = np.sqrt(x), y * y - 1, z ^ 5
        np.synchronize()
        """,
        3,
    ),
    "passes of a group": (
        """
        x = np.arange(2**17, dtype="f4")
        np.synchronize()
        total = x.sum()
        np.synchronize()
        """,
        2,
    ),
    "kernels of a sort": (
        """
        x = np.array(numpy.arange(5000, dtype="f4")[::-1])
        np.synchronize()
        assert (np.sort(x) == numpy.arange(5000)).all()
        """,
        2,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_together(tmp_path: Path, name: str) -> None:
    """Each compilation waits until several are in progress; one alone would wait long."""
    program, expected = PROGRAMS[name]
    assert HOST
    text = BEGIN + textwrap.dedent(program) + END
    assert (
        int(
            start(
                text,
                tmp_path,
                METAL_EMULATOR_TOGETHER=str(expected),
                CORE=HOST.library._name,
            )
        )
        >= expected
    )


def start(program: str, folder: Path, **environment: str) -> str:
    """Run a program that has to compile all its kernels."""
    return run(
        program,
        MXNP_DEVICE="metal",
        MXNP_THRESHOLD="0",
        METAL_EMULATOR_CACHE=str(folder / "kernels"),
        **environment,
    )


def test_fork_while_kernels_are_compiled(tmp_path: Path) -> None:
    program = """
        import os
        import mxnp as np
        x = np.arange(5000, dtype="f4")
        y = np.sort(-x)
        child = os.fork()
        if child == 0:
            try:
                y[0]
            except RuntimeError as error:
                os._exit("process that forked" not in str(error))

        assert os.waitpid(child, 0)[1] == 0
        assert y[0] == -4999
        print("right")
    """
    assert start(program, tmp_path) == "right"


def test_end_while_kernels_are_compiled(tmp_path: Path) -> None:
    program = """
        import mxnp as np
        x = np.arange(5000, dtype="f4")
        y = np.sort(-x)
        print("end")
    """
    assert start(program, tmp_path) == "end"


def without_kernels(limit: int, call: Callable[[], Any]) -> Any:
    """Return the result of a call with an empty cache of few kernels."""
    mxnp.synchronize()
    before = core.set_kernel_limit(0)
    core.set_kernel_limit(limit)
    try:
        return call()
    finally:
        mxnp.synchronize()
        core.set_kernel_limit(before)


def groups() -> list[Any]:
    x = mxnp.arange(3000, dtype="f4")
    y = mxnp.arange(4000, dtype="i4")
    return [mxnp.sqrt(x), x.sum(), y * y, y.max(), mxnp.sort(-x), y.cumsum(dtype="i4")]


def check(found: list[Any]) -> None:
    x, y = numpy.arange(3000, dtype="f4"), numpy.arange(4000, dtype="i4")
    numpy.testing.assert_array_equal(found[0], numpy.sqrt(x))
    assert float(found[1]) == pytest.approx(x.sum())
    numpy.testing.assert_array_equal(found[2], y * y)
    assert int(found[3]) == 3999
    numpy.testing.assert_array_equal(found[4], numpy.sort(-x))
    numpy.testing.assert_array_equal(found[5], numpy.cumsum(y, dtype="i4"))


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 100])
def test_few_kernels_are_kept(limit: int) -> None:
    check(without_kernels(limit, groups))


def test_one_of_several_kernels_is_rejected() -> None:
    """The processor runs the group of the kernel, and the others run on the GPU."""
    assert HOST
    before = core.gpu_counts()

    def call() -> list[Any]:
        assert HOST
        x, y = mxnp.arange(3000, dtype="f4"), mxnp.arange(4000, dtype="i4")
        mxnp.synchronize()
        with HOST.configured(fail_next_library=3):
            found = [mxnp.sqrt(x), y * y, y ^ 3, x.max()]
            mxnp.synchronize()
        return found

    found = without_kernels(100, call)
    after = core.gpu_counts()
    assert after["rejected"] == before["rejected"] + 1
    assert "injected fault" in core.gpu_rejection()
    numpy.testing.assert_array_equal(
        found[0], numpy.sqrt(numpy.arange(3000, dtype="f4"))
    )
    numpy.testing.assert_array_equal(found[1], numpy.arange(4000) ** 2)
    numpy.testing.assert_array_equal(found[2], numpy.arange(4000) ^ 3)
    assert found[3] == 2999


def test_a_check_between_groups() -> None:
    """The kernels behind a check, which test whether it failed, are foreseen too."""
    x = mxnp.arange(100, dtype="f4")
    places = mxnp.arange(3000) % 100

    def call() -> list[Any]:
        mxnp.synchronize()
        before = core.gpu_counts()["compiled"]
        y = x[places] + 1
        x[places] = 2
        z = y.sum()
        mxnp.synchronize()
        compiled = core.gpu_counts()["compiled"] - before
        return [y, z, compiled]

    y, z, compiled = without_kernels(100, call)
    numpy.testing.assert_array_equal(y, numpy.arange(3000) % 100 + 1)
    assert z == 30 * sum(range(1, 101))
    assert (x == 2).all()
    assert compiled <= 6
