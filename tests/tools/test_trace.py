"""Test traces: the time and track of each operation."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest
from support.lanes import needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._profiler import counter as _counter
from mxnp._profiler import trace as _trace

N = 50_000


@pytest.fixture(autouse=True)
def threshold():
    before = _bridge.set_threshold(16384)
    yield
    _bridge.set_threshold(before)


def traced(profile: mxnp.profile) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return the slices of a trace, and the names of its tracks."""
    made = json.loads(profile.to_trace())
    assert made["displayTimeUnit"] == "ms"
    names = {e["tid"]: e["args"]["name"] for e in made["traceEvents"] if e["ph"] == "M"}
    slices = [e for e in made["traceEvents"] if e["ph"] == "X"]
    assert len(slices) + len(names) == len(made["traceEvents"])
    assert {e["tid"] for e in slices} == set(names)
    return slices, names


def test_groups_calls_and_waits():
    x = mxnp.full(N, 2.0)
    with mxnp.profile(trace=True) as profile:
        y = mxnp.sqrt(x * x + 1)
        total = y.sum()
        mxnp.linalg.inv(mxnp.eye(3))
    assert total > N
    slices, names = traced(profile)
    by_name = {each["name"]: each for each in slices}
    steps = [by_name[name] for name in ("multiply", "add", "sqrt", "add.reduce")]
    calls, waits = by_name["linalg.inv"], by_name["wait: sum returns a number"]
    assert (
        names[calls["tid"]] == names[waits["tid"]] == f"thread {threading.get_ident()}"
    )
    assert {e["tid"] for e in steps} != {calls["tid"]}
    assert calls["cat"] == "numpy"
    assert waits["cat"] == "wait"
    assert waits["args"]["operations"] == 4
    assert steps[0]["args"]["expression"] == "x * x"
    assert steps[0]["args"]["elements"] == N
    assert steps[0]["args"]["line"].startswith(__file__)
    for step in steps:  # the operations run during the wait
        assert waits["ts"] <= step["ts"]
        assert step["ts"] + step["dur"] <= waits["ts"] + waits["dur"] + 0.01
    assert {e["pid"] for e in slices} == {os.getpid()}
    assert [e["ts"] for e in slices] == sorted(e["ts"] for e in slices)


@needs_fusion
def test_operations_are_in_their_group():
    x = mxnp.full(N, 2.0)
    with mxnp.profile(trace=True) as profile:
        y = mxnp.sqrt(x * x + 1)
        mxnp.synchronize()
    assert y[0] == 5**0.5
    slices, _ = traced(profile)
    group = next(e for e in slices if e["name"] == "group of 3")
    assert group["args"]["operations"] == "multiply, add, sqrt"
    at = group["ts"]
    for name in ("multiply", "add", "sqrt"):
        step = next(e for e in slices if e["name"] == name)
        assert step["tid"] == group["tid"]
        assert step["ts"] == pytest.approx(at, abs=0.01)
        at += step["dur"]
    assert at == pytest.approx(group["ts"] + group["dur"], abs=0.01)


def test_threads_have_tracks_of_their_own():
    started = threading.Barrier(2)  # concurrent threads have different identifiers

    def work() -> None:
        started.wait()
        mxnp.ones(3) + 1
        started.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    with mxnp.profile(trace=True) as profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    slices, names = traced(profile)
    assert len({e["tid"] for e in slices if e["name"] == "add"}) == 2
    assert len(names) == 2


def test_events_are_bounded_and_dropped_events_are_counted():
    counter = _counter.Counter(n_events=10)
    counter.start()
    x = mxnp.arange(3)
    for _ in range(50):
        x = x + 1
    report = counter.stop()
    assert len(report.events) == 10
    assert report.dropped == 41
    assert sum(row.calls for row in report.rows) == 51
    assert _trace.trace(report)["otherData"] == {"dropped": 41}


def test_events_are_off_by_default():
    with mxnp.profile() as profile:
        mxnp.arange(3) + 1
    assert profile.report.events == []
    assert json.loads(profile.to_trace())["traceEvents"] == []


def test_a_trace_in_a_block_begins_with_the_block():
    with mxnp.profile(trace=True) as outer:
        mxnp.arange(3) + 1
        with mxnp.profile(trace=True) as inner:
            mxnp.arange(4) * 2
    assert [e.name for e in inner.report.events] == ["arange", "multiply"]
    assert [e.name for e in outer.report.events][:2] == ["arange", "add"]
    assert all(event.begin >= 0 for event in inner.report.events)
