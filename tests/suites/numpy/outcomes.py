"""
A pytest plugin that writes the events of tests to a file, one per line.

It writes where each collected test function is defined, the start of each test, and the
outcome of each test. The starts show in which test a process crashed or hung.
"""

import inspect
import json
import os
from pathlib import Path

_FINAL = {"failed", "skipped"}


def pytest_collection_modifyitems(config, items):
    """Write where the test functions are defined; deselect those that need not run."""
    wanted = _read("NUMPY_SUITE_ONLY")
    done = _read("NUMPY_SUITE_DONE")
    keep = []
    seen = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if item.nodeid in done or (wanted and function not in wanted):
            continue
        keep.append(item)
        if function not in seen:
            seen.add(function)
            _write("defined", function, _origins(item))
    config.hook.pytest_deselected(items=[x for x in items if x not in set(keep)])
    items[:] = keep


def pytest_runtest_logstart(nodeid):
    """Write the start of a test."""
    _write("started", nodeid, "")


def pytest_runtest_logreport(report):
    """Write the outcome of a test's call, or of a failed or skipped set-up."""
    if report.when != "call" and report.outcome not in _FINAL:
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
    if report.outcome == "passed":
        outcome = "passed"
    _write(outcome, report.nodeid, _text(report))


def pytest_collectreport(report):
    """Write the error of a file that could not be collected."""
    if report.failed:
        _write("failed", report.nodeid, _text(report))


def _text(report):
    return str(report.longrepr)[-400:] if report.outcome == "failed" else ""


def _origins(item):
    """Return file and name of a test function and of the classes in which it runs."""
    places = [inspect.unwrap(item.function)]
    if item.cls is not None:
        places += [cls for cls in item.cls.__mro__ if cls.__module__ != "builtins"]
    origins = []
    for place in places:
        try:
            origins.append([inspect.getsourcefile(place), place.__qualname__])
        except (OSError, TypeError):
            continue
    return origins


def _read(variable):
    path = os.environ.get(variable)
    return set(Path(path).read_text(encoding="utf-8").splitlines()) if path else set()


def _write(*row):
    with open(os.environ["NUMPY_SUITE_OUTCOMES"], "a") as file:
        print(json.dumps(row), file=file)
