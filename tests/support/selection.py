"""
A pytest plugin that selects the tests to run.

Slow tests run only with ``--slow``, or alone with ``--only-slow``. Tests that cannot
run on this machine are deselected. The summary has one line for each reason, with the
number of tests.

The order of the checks matters for the summary alone: a slow test whose package is
missing counts as slow in a run without ``--slow``.
"""

from __future__ import annotations

import functools
import importlib.util
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from mutations.tables import AREAS, read

SLOW = "slow (--slow runs them)"
FAST = "neither slow nor in need of packages"
MARKERS = (
    "slow: runs with --slow only",
    "sampled(n): every n-th set of parameters runs always, and those that planted "
    "faults name; the others run with --slow only",
    "needs(package, ...): runs where these packages are installed",
)
DESELECTED = pytest.StashKey[Counter[str]]()
SAMPLED = pytest.StashKey[set[str]]()  # functions with the sets of their sample alone


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow", action="store_true", help="also run the tests that are marked as slow"
    )
    parser.addoption(
        "--only-slow",
        action="store_true",
        help="run the tests that are marked as slow, and those that need packages",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[DESELECTED] = Counter()
    config.stash[SAMPLED] = set()
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """Count a file that skips itself as deselected, not as a skipped test."""
    report = yield
    if report.skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        collector.config.stash[DESELECTED][f"{reason} (files)"] += 1
        report.outcome, report.longrepr, report.result = "passed", None, []
    return report


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keep the sample of a sampled test, before pytest makes a test of each set."""
    config = metafunc.config
    mark = metafunc.definition.get_closest_marker("sampled")
    is_whole = config.option.slow or config.option.only_slow
    if mark is None or is_whole or any("::" in each for each in config.args):
        return
    function = metafunc.definition.nodeid
    calls = [
        each
        for place, each in enumerate(metafunc._calls)
        if _is_in_sample(f"{function}[{each.id}]", place, mark)
    ]
    config.stash[DESELECTED][SLOW] += len(metafunc._calls) - len(calls)
    config.stash[SAMPLED].add(function)
    metafunc._calls = calls


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Any:
    """Deselect tests after ``-k`` and ``-m``, but count parameter sets before them."""
    for item in _not_in_the_sample(items):
        item.add_marker(pytest.mark.slow)
    result = yield
    selected, deselected = [], []
    for item in items:
        reason = reason_to_deselect(item)
        (deselected if reason else selected).append(item)
        if reason:
            config.stash[DESELECTED][reason] += 1
    items[:] = selected
    config.hook.pytest_deselected(items=deselected)
    return result


@functools.cache
def _named_by_faults() -> frozenset[str]:
    return frozenset(
        test
        for area in AREAS
        for fault in read(area, is_planted=True)
        for test in fault.tests
    )


def _is_in_sample(nodeid: str, place: int, mark: pytest.Mark) -> bool:
    """Return whether a set of parameters is an n-th one, or a planted fault names it."""
    return place % mark.args[0] == 0 or nodeid in _named_by_faults()


def _not_in_the_sample(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the items of sampled tests that are not in their sample."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        function = item.nodeid.partition("[")[0]
        if mark and function not in item.config.stash[SAMPLED]:
            if not _is_in_sample(item.nodeid, seen[function], mark):
                yield item
            seen[function] += 1


def reason_to_deselect(item: pytest.Item) -> str:
    """Return why a test does not run, or an empty string."""
    options = item.config.option
    is_slow = item.get_closest_marker("slow") is not None
    packages = {name for mark in item.iter_markers("needs") for name in mark.args}
    if is_slow and not (options.slow or options.only_slow):
        return SLOW
    if options.only_slow and not (is_slow or packages):
        return FAST
    missing = sorted(name for name in packages if not importlib.util.find_spec(name))
    if missing:
        return f"{', '.join(missing)} must be installed (pip install '.[test-all]')"
    for mark in item.iter_markers("skipif"):
        if mark.args[0] is True:
            return str(mark.kwargs["reason"])
    return ""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the counts of a worker of pytest-xdist to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        counts = dict(session.config.stash[DESELECTED])
        session.config.workeroutput["deselected"] = counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Store the counts of a worker. All workers collect the same tests."""
    counts = getattr(node, "workeroutput", {}).get("deselected", {})
    node.config.stash[DESELECTED] = Counter(counts)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for reason, count in config.stash[DESELECTED].most_common():
        terminalreporter.write_line(f"{count:,} deselected: {reason}")
