"""
A pytest plugin that writes the outcome of each test to the file ``MXNP_OUTCOMES``.

Each line is a JSON list: ``["begins", test]`` or ``[outcome, test, message]``. Tests in
the file do not run again, so a run can be continued after a crash.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

_OF_FAILURE = {"setup": "error", "call": "failed", "teardown": "error"}


Outcomes = dict[str, tuple[str, str]]  # by test: the outcome, and a failure's message


def read(file: Path) -> Outcomes:
    """Return the outcome of each test in a file: "crashed" if the test did not end."""
    found: Outcomes = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        outcome, test, *message = json.loads(line)
        found[test] = (outcome if message else "crashed"), "".join(message)
    return found


def _file() -> Path:
    return Path(os.environ["MXNP_OUTCOMES"])


def _write(*entry: str) -> None:
    with _file().open("a") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_configure() -> None:
    """Change helpers of suites, with NumPy and with mxnp."""
    with suppress(ImportError):
        _compare_classes_like_isinstance()
    if "scipy.conftest" in sys.modules:
        _pass_arrays_of_the_tests(sys.modules["scipy.conftest"])


def _compare_classes_like_isinstance() -> None:
    """Make pandas' assertions compare classes like isinstance."""
    from pandas._testing import asserters

    asserters.type = lambda x: x.__class__  # This replaces the builtin.


def _pass_arrays_of_the_tests(conftest: Any) -> None:
    """Make the fixture ``xp`` of SciPy's tests the NumPy that they import."""
    import numpy  # mxnp under the runner

    xp = ModuleType("numpy")
    wrapped = vars(conftest.array_namespace(0))
    vars(xp).update({name: getattr(numpy, name, wrapped[name]) for name in wrapped})
    xp.__name__ = "numpy"
    conftest.array_namespace = lambda _: xp


def pytest_collection_modifyitems(items: list[Any]) -> None:
    done = read(_file())
    items[:] = [item for item in items if _name(item.nodeid) not in done]


def _name(nodeid: str) -> str:
    """Return a test's name without addresses, which differ between processes."""
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
