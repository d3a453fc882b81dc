"""A pytest plugin that writes the outcome of each test, a line each, to a file."""

import json
import os
from pathlib import Path

_FINAL = {"failed", "skipped"}


def pytest_runtest_logreport(report):
    """Write what a test came to: its call, or a set-up that did not pass."""
    if hasattr(report, "node") and os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if report.when != "call" and report.outcome not in _FINAL:
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
    text = "" if report.outcome != "failed" else str(report.longrepr)[-300:]
    _write(report.nodeid, outcome, text)


def pytest_collectreport(report):
    """Write a file that could not be collected."""
    if report.failed:
        _write(report.nodeid, "failed", str(report.longrepr)[-300:])


def _write(*row):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ["NUMPY_SUITE_OUTCOMES"]).open("a") as file:
            print(json.dumps(row), file=file)
