"""A report's events as a trace, which Chrome (chrome://tracing) and Perfetto show."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from .model import ENGINES, Event, Report

_GROUPS = {"metal": (1, "Metal"), "cpu": (2, "engine")}
_FIRST_THREAD = 10  # of the program's own, in the order in which they are seen
_MICROSECOND = 1e6  # to the second


def trace(report: Report) -> dict[str, Any]:
    """
    Give the trace as the object that is to be written as json.

    Groups are on a track for each device, with the operations below them, each as long
    as its share of the group; calls of NumPy, waits and checks are on the track of the
    thread that called.
    """
    process = os.getpid()
    threads: dict[int, int] = {}
    groups: dict[int, list[Event]] = defaultdict(list)
    events: list[dict[str, Any]] = []
    for event in report.events:
        if event.lane in ENGINES and event.group:
            groups[event.group].append(event)
            continue
        track = threads.setdefault(event.thread, _FIRST_THREAD + len(threads))
        if event.lane in ENGINES:
            track = _GROUPS[event.lane][0]
        kind = "wait: " if event.lane == "wait" else ""
        events.append(_slice(event, kind + event.name, track, process))
    for group in groups.values():
        events += _group(group, process)
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    names = {
        **dict(_GROUPS.values()),
        **{track: f"thread {thread}" for thread, track in threads.items()},
    }
    used = {event["tid"] for event in events}
    about: list[dict[str, Any]] = [
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
        "traceEvents": about + events,
        "displayTimeUnit": "ms",
        "otherData": {"dropped": report.dropped},
    }


def _slice(event: Event, name: str, track: int, process: int) -> dict[str, Any]:
    counted = "operations" if event.lane == "wait" else "elements"
    return {
        "name": name,
        "cat": event.lane,
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
    """Give a group, and its operations one after the other: they ran interleaved."""
    first = steps[0]
    track = _GROUPS[first.lane][0]
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
