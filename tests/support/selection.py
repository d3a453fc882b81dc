"""
A pytest plugin that selects the tests to run.

Slow tests run only with ``--slow``, or alone with ``--only-slow``. Tests that cannot
run on this machine are deselected. The summary has one line for each reason, with the
number of tests.

The order of the checks matters for the summary alone: a slow test whose package is
missing counts as slow in a run without ``--slow``.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from mutations.tables import AREAS, read

SLOW = "slow (--slow runs them)"
FAST = "neither slow nor in need of packages"
SETS = 24
SHARED = {"xp"}  # fixtures that are the same for all sets of parameters
MARKERS = (
    "slow: runs with --slow only",
    "sampled(n): n sets of parameters run always, and those that planted faults name; "
    f"the others run with --slow only. If parameters are combined, n is {SETS} by default",
    "needs(package, ...): runs where these packages are installed",
    "sets(params, names): the sets of parameters that run as one test, and their names",
    "thread_unsafe(reason): runs in one thread with pytest-run-parallel",
)
DESELECTED = pytest.StashKey[Counter[str]]()
COLLECTED = pytest.StashKey[frozenset[str]]()  # the tests of the files of this run


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
    """Keep a sample of the sets of parameters, before pytest makes a test of each set."""
    if any("::" in each for each in metafunc.config.args):
        return
    choose(metafunc)
    options = metafunc.config.option
    if not (options.slow or options.only_slow or options.keyword):
        join(metafunc)


def choose(metafunc: pytest.Metafunc) -> None:
    """Mark the sets outside the sample as slow, or leave them out."""
    config, calls = metafunc.config, metafunc._calls
    definition = metafunc.definition
    mark = definition.get_closest_marker("sampled")
    is_table = all(len(each._idlist) < 2 for each in calls)
    size = mark.args[0] if mark else len(calls) if is_table else SETS
    if len(calls) <= size:
        return
    ids = [each.id for each in calls]
    chosen = sample(ids, size)
    chosen |= {id for id in ids if f"{definition.nodeid}[{id}]" in _named_by_faults()}
    others = [each for each in calls if each.id not in chosen]
    if config.option.slow or config.option.only_slow:
        for each in others:
            each.marks.append(pytest.mark.slow.mark)
    else:
        config.stash[DESELECTED][SLOW] += len(others)
        metafunc._calls = [each for each in calls if each.id in chosen]


def join(metafunc: pytest.Metafunc) -> None:
    """
    Make one test of the sets of parameters that need no fixtures of their own.

    A set that takes a millisecond costs pytest ten as a test. `with_each` runs the sets of
    a test in turn, and names the one that fails.
    """
    definition, calls = metafunc.definition, metafunc._calls
    direct = {
        name
        for mark in definition.iter_markers("parametrize")
        if not mark.kwargs.get("indirect")
        for name in _names(mark.args[0])
    }
    fixtures = [
        fixture
        for name in metafunc.fixturenames
        if name not in direct
        for fixture in metafunc._arg2fixturedefs.get(name, ())
    ]
    if (
        getattr(metafunc.function, "is_hypothesis_test", False)
        or {*definition._fixtureinfo.argnames} - direct - SHARED
        or any(direct.intersection(fixture.argnames) for fixture in fixtures)
    ):
        return
    groups = defaultdict(list)
    for i, call in enumerate(calls):
        of_fixtures = {k: n for k, n in call.indices.items() if k not in direct}
        groups[i if call.marks else tuple(of_fixtures.items())].append(call)
    joined = [group for group in groups.values() if len(group) > 1]
    for group in joined:
        sets = pytest.mark.sets({call.id: call.params for call in group}, direct)
        first = dataclasses.replace(group[0], marks=[sets.mark])
        # A test with all sets has no id, so that its name runs them alone.
        ids = [f"{len(group)} sets", *first._idlist] if len(joined) > 1 else []
        group[:] = [dataclasses.replace(first, _idlist=ids)]
    metafunc._calls = [call for group in groups.values() for call in group]


def _names(names: str | Sequence[str]) -> list[str]:
    return names.replace(",", " ").split() if isinstance(names, str) else [*names]


def sample(ids: Sequence[str], size: int) -> set[str]:
    """
    Choose sets of parameters by their ids, which pytest joins from the parameters' own.

    The sets have as many different parameters as possible. Those that occur in more sets
    come first. Among equals a checksum decides, since an order by place would choose the
    same parameters wherever the tables have the same lengths.
    """
    parts = {id: frozenset(id.split("-")) for id in ids}
    counts = Counter(itertools.chain.from_iterable(parts.values()))
    sets = defaultdict(list)
    gains = {}  # how often the parameters of a set occur that no chosen set has
    for id in sorted(parts, key=lambda id: zlib.crc32(id.encode())):
        gains[id] = sum(counts[part] for part in parts[id])
        for part in parts[id]:
            sets[part].append(id)
    chosen: set[str] = set()
    seen: set[str] = set()
    for _ in range(min(size, len(parts))):
        best = max(gains, key=gains.__getitem__)
        chosen.add(best)
        gains[best] = -1
        for part in parts[best] - seen:
            for id in sets[part]:
                gains[id] -= counts[part]
        seen |= parts[best]
    return chosen


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Any:
    """Deselect tests after ``-k`` and ``-m``, but count parameter sets before them."""
    config.stash[COLLECTED] = frozenset(
        f"{item.nodeid.partition('[')[0]}[{id}]" if id else item.nodeid
        for item in items
        for id in ids_of(item)
    )
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


def ids_of(item: pytest.Item) -> list[str]:
    """Return the ids of the sets of parameters that run as one test, or an empty one."""
    sets = item.get_closest_marker("sets")
    return [*sets.args[0]] if sets else [""]


@functools.cache
def _named_by_faults() -> frozenset[str]:
    return frozenset(
        test
        for area in AREAS
        for fault in read(area, is_planted=True)
        for test in fault.tests
    )


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
