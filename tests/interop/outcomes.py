"""
A pytest plugin that writes the outcome of each test to the file ``MXNP_OUTCOMES``.

Each line is a JSON list: ``["begins", test]`` or ``[outcome, test, message]``. A test
that the file names is not run again, so a run that a crash ended can be continued.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

FILE = Path(os.environ["MXNP_OUTCOMES"])
_OF_FAILURE = {"setup": "error", "call": "failed", "teardown": "error"}


def read() -> dict[str, tuple[str, str]]:
    """Return the outcome and message of each test in the file; "crashed" without one."""
    found: dict[str, tuple[str, str]] = {}
    if not FILE.exists():
        return found
    for line in FILE.read_text().splitlines():
        outcome, test, *message = json.loads(line)
        if outcome == "begins":
            found[test] = "crashed", ""
        else:
            found[test] = outcome, message[0]
    return found


def _write(*entry: str) -> None:
    with FILE.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_configure() -> None:
    """Let pandas' assertions compare classes as isinstance does."""
    try:
        from pandas._testing import asserters
    except ImportError:
        return
    asserters.type = lambda x: x.__class__  # instead of the builtin


def pytest_collection_modifyitems(items: list[Any]) -> None:
    done = read()
    items[:] = [item for item in items if _name(item.nodeid) not in done]


def _name(nodeid: str) -> str:
    """Return a test's name with what differs between processes left out."""
    return re.sub(r"0x[0-9a-f]+", "0x", nodeid)


def pytest_runtest_logstart(nodeid: str) -> None:
    _write("begins", _name(nodeid))


def pytest_runtest_logreport(report: Any) -> None:
    name = _name(report.nodeid)
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else str(report.longrepr)
        _write(_OF_FAILURE[report.when], name, message[:1000])
    elif report.when == "call" or report.skipped:
        _write(report.outcome, name, "")
