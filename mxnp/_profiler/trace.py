"""Write the events of a report as a trace for chrome://tracing and Perfetto."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from mxnp._engine import core
from mxnp._engine.devices import GPU

from .model import ENGINES, Event, Report

_GROUPS = {GPU: (1, core.gpu().title), "cpu": (2, "engine")}
_FIRST_THREAD = 10  # the track of the first thread of the program
_MICROSECOND = 1e6  # microseconds in a second


def trace(report: Report) -> dict[str, Any]:
    """
    Return the trace as an object that can be written as JSON.

    Each device has a track with its groups. The operations of a group are below it,
    each as long as its share of the group's time. NumPy calls, waits and checks are on
    the track of the thread that called.
    """
    process = os.getpid()
    threads: dict[int, int] = {}
    groups: dict[int, list[Event]] = defaultdict(list)
    events: list[dict[str, Any]] = []
    for event in report.events:
        if event.category in ENGINES and event.group:
            groups[event.group].append(event)
            continue
        track = threads.setdefault(event.thread, _FIRST_THREAD + len(threads))
        if event.category in ENGINES:
            track = _GROUPS[event.category][0]
        kind = "wait: " if event.category == "wait" else ""
        events.append(_slice(event, kind + event.name, track, process))
    for group in groups.values():
        events += _group(group, process)
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    names = {
        **dict(_GROUPS.values()),
        **{track: f"thread {thread}" for thread, track in threads.items()},
    }
    used = {event["tid"] for event in events}
    metadata: list[dict[str, Any]] = [
        {
            "name": "thread_name",
            "ph": "M",
            "pid": process,
            "tid": track,
            "args": {"name": name},
        }
        for track, name in names.items()
        if track in used
    ]
    return {
        "traceEvents": metadata + events,
        "displayTimeUnit": "ms",
        "otherData": {"dropped": report.dropped},
    }


def _slice(event: Event, name: str, track: int, process: int) -> dict[str, Any]:
    counted = "operations" if event.category == "wait" else "elements"
    return {
        "name": name,
        "cat": event.category,
        "ph": "X",
        "ts": event.begin * _MICROSECOND,
        "dur": event.seconds * _MICROSECOND,
        "pid": process,
        "tid": track,
        "args": {
            "line": str(event.place),
            "expression": event.place.expression,
            counted: event.elements,
        },
    }


def _group(steps: list[Event], process: int) -> list[dict[str, Any]]:
    """Return a group with its operations in sequence, although they ran interleaved."""
    first = steps[0]
    track = _GROUPS[first.category][0]
    seconds = sum(step.seconds for step in steps)
    begin = first.begin
    whole = _slice(first, f"group of {len(steps)}", track, process)
    whole["dur"] = seconds * _MICROSECOND
    whole["args"] = {
        "operations": ", ".join(step.name for step in steps),
        "elements": max(step.elements for step in steps),
    }
    slices = [whole] if len(steps) > 1 else []
    for step in steps:
        one = _slice(step, step.name, track, process)
        one["ts"] = begin * _MICROSECOND
        begin += step.seconds
        slices.append(one)
    return slices
