"""Test the figures that `mxnp.explain` prints about a flush."""

from __future__ import annotations

import io
import re

import pytest
from support.lanes import needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._engine import core, explain

pytestmark = needs_fusion


@pytest.fixture(autouse=True)
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the calls of packages by tests before."""
    monkeypatch.setattr(_bridge, "converted_calls", lambda: 0)


def explained() -> str:
    file = io.StringIO()
    mxnp.explain(file)
    return file.getvalue()


def test_a_chain_is_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    x = mxnp.arange(500_000.0).reshape(1000, 500)
    mxnp.synchronize()
    y = mxnp.sqrt(x * x + 1)
    total = float(y.sum())
    mxnp.explain()
    printed = capsys.readouterr().out
    assert total > 0
    assert re.fullmatch(
        r"Last flush: 4 operations in 1 group, 4\.00 MB read, 4\.00 MB written, \S+ [µm]?s\n"
        r"  1\. multiply, add, sqrt, add\.reduce\n"
        r"     \(1000, 500\), 2 results never in memory, 4\.00 MB read, 4\.00 MB written,\s+"
        r"\d+ threads?,\s+(3 compiled,\s+)?\S+ [µm]?s\n",
        printed,
    ), printed


def test_groups_are_listed_in_order_and_pending_operations_counted() -> None:
    x = mxnp.arange(40000.0)
    mxnp.synchronize()
    y = mxnp.cumsum(x + 1) * 2
    mxnp.synchronize()
    z = [x * 3, x / 3, y - 1]
    printed = explained()
    assert "3 operations in 3 groups" in printed
    starts = [line for line in printed.splitlines() if re.match(r" +\d\. ", line)]
    assert starts == ["  1. add", "  2. add.accumulate", "  3. multiply"]
    assert printed.endswith("Recorded since, and not run yet: 3 operations\n")
    assert len(z) == 3


def test_long_groups_are_wrapped() -> None:
    x = mxnp.arange(40000.0)
    mxnp.synchronize()
    for _ in range(30):
        x = mxnp.maximum(x, 1) - 1
    mxnp.synchronize()
    printed = explained()
    assert max(map(len, printed.splitlines())) <= 88
    assert printed.count("maximum") == 30


def test_before_anything_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    mxnp.synchronize()
    monkeypatch.setattr(explain, "last_flush", list)
    assert explained() == "Nothing has been flushed yet\n"


@pytest.mark.parametrize(
    ("nbytes", "seconds", "expected"),
    [
        (1, 0.0, "1 byte read, 1 byte written, 0.00 µs"),
        (999, 9.994e-6, "999 bytes read, 999 bytes written, 9.99 µs"),
        (1000, 99.96e-6, "1.00 kB read, 1.00 kB written, 100 µs"),
        (999_499, 1e-3, "999 kB read, 999 kB written, 1.00 ms"),
        (999_500, 0.0996, "1.00 MB read, 1.00 MB written, 99.6 ms"),
        (8 * 10**12, 61.0, "8.00 TB read, 8.00 TB written, 61.0 s"),
    ],
)
def test_figures_have_three_digits(
    nbytes: int, seconds: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mxnp.synchronize()
    group = core.Group(
        operations=("add",),
        shape=(2, 3),
        temporaries=0,
        bytes_read=nbytes,
        bytes_written=nbytes,
        threads=2,
        compiled=0,
        seconds=seconds,
    )
    monkeypatch.setattr(explain, "last_flush", lambda: [group])
    assert explained() == (
        f"Last flush: 1 operation in 1 group, {expected}\n"
        f"  1. add\n     (2, 3), {expected.replace('written', 'written, 2 threads')}\n"
    )
