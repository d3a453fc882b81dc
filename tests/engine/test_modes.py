"""Test strict and fast mode: the four differences, and no others."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import mxnp as np
from mxnp import _bridge

N = 20_000


@pytest.fixture(autouse=True)
def large() -> Any:
    before = _bridge.set_threshold(1_000)
    yield
    _bridge.set_threshold(before)
    np.set_mode("strict")


def bad(value: int) -> Any:
    i = np.zeros(N, dtype=int)
    i[5] = value
    np.synchronize()
    return i


# -- Which mode it is ------------------------------------------------------------------


def test_the_mode_of_the_process() -> None:
    assert np.get_mode() == "strict"
    assert np.set_mode("fast") == "strict"
    assert np.get_mode() == "fast"
    assert np.set_mode("strict") == "fast"


def test_the_mode_of_a_block() -> None:
    with np.mode("fast") as block:
        assert np.get_mode() == "fast"
        with np.mode("strict"):
            assert np.get_mode() == "strict"
            with block:
                assert np.get_mode() == "fast"
        assert np.get_mode() == "fast"
        assert np.set_mode("fast") == "fast"
    assert np.set_mode("strict") == "fast"


def test_a_block_is_its_threads_and_its_tasks() -> None:
    seen = []

    async def task(mode: str) -> None:
        with np.mode(mode):
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(np.get_mode() == mode)

    async def both() -> None:
        await asyncio.gather(task("fast"), task("strict"))

    asyncio.run(both())
    with np.mode("fast"):
        thread = threading.Thread(target=lambda: seen.append(np.get_mode() == "strict"))
        thread.start()
        thread.join()
    assert seen == [True] * 7


@pytest.mark.parametrize("call", [np.set_mode, np.mode])
def test_no_other_mode(call: Callable[[str], Any]) -> None:
    with pytest.raises(
        ValueError, match="mode must be 'strict' or 'fast', not 'quick'"
    ):
        call("quick")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "variable", "mode"),
    [
        ([], None, "strict"), ([], "fast", "fast"), ([], "", "strict"),
        (["--mode=fast"], None, "fast"), (["--mode", "strict"], "fast", "strict"),
    ],
)  # fmt: skip
def test_the_mode_of_a_program(
    options: list[str], variable: str | None, mode: str
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "MXNP_MODE"}
    if variable is not None:
        environment["MXNP_MODE"] = variable
    command = [sys.executable, "-m", "mxnp", *options]
    command += ["-c", "import numpy as np; print(np.get_mode())"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{mode}\n"


@pytest.mark.slow
def test_no_other_mode_for_a_program() -> None:
    command = [sys.executable, "-m", "mxnp", "--mode=quick", "-c", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "mode must be 'strict' or 'fast', not 'quick'" in done.stderr


# -- Indices ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "taken"), [(5, 4), (2**62, 4), (-1, 4), (-5, 0), (-6, 0), (-(2**62), 0)]
)
def test_reads_take_the_nearest(value: int, taken: int) -> None:
    x = np.arange(5.0)
    for i in (bad(value), bad(value) + 0):
        with pytest.raises(IndexError) if not -5 <= value < 5 else np.mode("strict"):
            x[i].tolist()
        with np.mode("fast"):
            y = x[i]
            z = np.arange(20.0).reshape(4, 5)[:, i]
        assert y[5] == taken
        assert z[:, 5].tolist() == [taken + 5 * k for k in range(4)]


@pytest.mark.parametrize("value", [5, 2**62, -6, -(2**62)])
@pytest.mark.parametrize("rows", [False, True])
def test_writes_leave_out(value: int, rows: bool) -> None:
    for i in (bad(value), bad(value) + 0):
        a, values = np.zeros((5, 3) if rows else 5), np.arange(float(N))
        if rows:
            values = values[:, None] + np.zeros(3)
        with np.mode("fast"):
            a[i] = values
            np.add.at(a, i, 1.0)
        assert a.sum() == (N - 1 + N - 1) * (3 if rows else 1)


def test_negative_indices_still_count_from_the_end() -> None:
    a, i = np.zeros(5), bad(-2) + 0
    with np.mode("fast"):
        a[i] = 3.0
    assert a.tolist() == [3, 0, 0, 3, 0]


def test_the_mode_is_that_of_the_recording() -> None:
    x, i = np.arange(5.0), bad(9) + 0
    with np.mode("fast"):
        y = x[i]
    assert y[5] == 4
    z = x[i + 0]
    with pytest.raises(IndexError):
        z.tolist()


# -- Scalars and warnings --------------------------------------------------------------


def test_reductions_stay_arrays() -> None:
    x = np.arange(float(N)) + 0
    assert isinstance(x.sum(), np.float64)
    x = np.arange(float(N)) + 0
    with np.mode("fast"):
        total, most = x.sum(), np.max(x)
        scaled = x / most + total * 2
        assert _bridge.pending()
    assert type(total) is type(most) is np.ndarray
    assert (total.shape, float(total), int(most)) == ((), N * (N - 1) / 2, N - 1)
    assert scaled[-1] == 1 + N * (N - 1)
    assert f"{total:.1f}" == f"{N * (N - 1) / 2:.1f}"


def test_no_floating_point_warnings() -> None:
    x = np.zeros(N)
    with np.mode("fast"), warnings.catch_warnings():
        warnings.simplefilter("error")
        y = 1 / x + np.log(x) + np.sqrt(x - 1)
        assert numpy.isnan(y[0])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        (1 / x)[0]


def test_nothing_else_differs() -> None:
    x = np.linspace(0.1, 3, N)

    def work() -> list[Any]:
        y = np.sqrt(x) * 3 - x**2
        return [
            y,
            np.cumsum(y),
            y[y > 0],
            y.reshape(100, -1).sum(axis=1),
            y.astype("f4"),
        ]

    strict = [a.tolist() for a in work()]
    with np.mode("fast"):
        fast = [a.tolist() for a in work()]
    assert strict == fast
    with np.mode("fast"), pytest.raises(ValueError, match="could not be broadcast"):
        x + np.zeros(3)
    with np.mode("fast"), pytest.raises(IndexError):
        x[N]
