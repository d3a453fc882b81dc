"""The command ``python -m mxnp.bench [options] [suite ...]``."""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from mxnp._engine import core

from . import machine, suites
from .case import Case
from .measure import measure
from .page import read_page
from .peers import PEERS, Peer, start
from .report import Report, Row, read_reports, size_text

_NAME = "python -m mxnp.bench"
ALLOWANCE = 3.0  # seconds for a case; `MIN_ROUNDS` rounds may take longer
QUICK_ALLOWANCE = 0.03


def main(args: Sequence[str] | None = None) -> int:
    """
    Run the command.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments, by default those of ``sys.argv``.

    Returns
    -------
    int
        The exit status: 1 if a result was wrong or a peer failed, else 0.
    """
    args = sys.argv[1:] if args is None else args
    parser = _parser()
    options = parser.parse_args(args)
    if options.list:
        _print_list()
        return 0
    for package, use in _needed(options).items():
        if importlib.util.find_spec(package) is None:
            parser.error(f"{use} requires {package}: pip install {package}")
    if options.read:
        try:
            report = _read_report(options)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    else:
        try:
            cases = _select_cases(options)
        except ValueError as error:
            parser.error(str(error))
        report = _run(cases, options, [_NAME, *args])
    _show(report, options)
    return 1 if report.failures() else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_NAME,
        description="Time mxnp against NumPy, and against numexpr, JAX and torch if "
        "they are installed. Every result is compared with NumPy's before it is timed.",
    )
    add = parser.add_argument
    add("suites", nargs="*", metavar="suite", help="suites to run (default: all)")
    add("--list", action="store_true", help="print the suites and peers, and exit")
    add(
        "-k",
        dest="text",
        metavar="TEXT",
        default="",
        help="run only the cases whose name contains TEXT",
    )
    add("--sizes", type=_sizes, metavar="N,N", help="numbers of elements: 1e4,1e6")
    add(
        "--dtypes",
        type=lambda text: text.split(","),
        metavar="A,B",
        help="run only the cases of these dtypes: float64,int64",
    )
    add(
        "--peers",
        type=_peers,
        metavar="A,B",
        help="peers besides NumPy and mxnp (default: all that are installed)",
    )
    add(
        "--threads",
        type=_count,
        metavar="N",
        help="number of threads of each peer (default: mxnp's number of threads)",
    )
    add(
        "--quick",
        action="store_true",
        help="use small sizes and few rounds, for a first impression",
    )
    add(
        "--time-budget",
        type=float,
        metavar="SECONDS",
        help="approximate time of the whole run",
    )
    add(
        "--above",
        type=float,
        metavar="RATIO",
        help="list the cases that take mxnp more than RATIO times NumPy's time",
    )
    add("--json", type=Path, metavar="FILE", help="write the whole report as JSON")
    add("--markdown", type=Path, metavar="FILE", help="write the report as a page")
    add("--plot", type=Path, metavar="FILE", help="draw a chart for each suite")
    add(
        "--read",
        type=Path,
        action="append",
        metavar="FILE",
        help="run nothing, and read the report from a --json file, or for --plot from "
        "a --markdown page; several --read make one report",
    )
    return parser


def _sizes(text: str) -> list[int]:
    sizes = [float(part) for part in text.split(",")]
    if any(size < 1 or size != math.floor(size) for size in sizes):
        raise argparse.ArgumentTypeError(
            f"sizes must be positive whole numbers: {text}"
        )
    return [int(size) for size in sizes]


def _peers(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(
                f"no peer {name!r}: choose from {', '.join(PEERS)}"
            )
    return names


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be positive: {text}")
    return count


def _needed(options: argparse.Namespace) -> dict[str, str]:
    """Return the packages that this run requires, each with its use."""
    needed = {"rich": "the table"}
    if options.plot:
        needed["matplotlib"] = "--plot"
    return needed


def _print_list() -> None:
    print("suites:")
    for name in suites.NAMES:
        suite = suites.load(name)
        sizes = ", ".join(map(size_text, suite.sizes))
        count = len(suite.cases(suite.sizes))
        summary = suite.summary.partition(": ")[2]
        print(f"  {name}: {summary}\n    {count} cases, sizes {sizes}")
    print("peers:")
    for name, peer in PEERS.items():
        is_installed = importlib.util.find_spec(peer.package) is not None
        print(f"  {name:<9}{'' if is_installed else 'not installed'}".rstrip())


def _read_report(options: argparse.Namespace) -> Report:
    """Read an earlier report, and keep the selected suites and cases."""
    is_page = options.read[0].suffix == ".md"
    if is_page and (options.json or options.markdown):
        raise ValueError("a page can only be drawn: pass --plot, or read a JSON file")
    report = read_page(options.read[0]) if is_page else read_reports(options.read)
    suites = options.suites or report.suites()
    report.rows = [
        row
        for row in report.rows
        if row.suite in suites
        and options.text in row.label
        and row.dtype in (options.dtypes or [row.dtype])
        and row.size in (options.sizes or [row.size])
    ]
    if not report.rows:
        names = ", ".join(map(str, options.read))
        raise ValueError(f"no case of {names} is selected")
    return report


def _select_cases(options: argparse.Namespace) -> list[Case]:
    cases: list[Case] = []
    for name in options.suites or suites.NAMES:
        suite = suites.load(name)
        sizes = options.sizes or (suite.quick_sizes if options.quick else suite.sizes)
        cases += [
            case
            for case in suite.cases(sizes)
            if options.text in case.label
            and case.dtype in (options.dtypes or [case.dtype])
        ]
    if not cases:
        of = f" of {', '.join(options.dtypes)}" if options.dtypes else ""
        raise ValueError(f"no case{of} has {options.text!r} in its name")
    return cases


def _run(
    cases: Sequence[Case], options: argparse.Namespace, command: list[str]
) -> Report:
    """Measure the cases."""
    from .table import progress

    threads = options.threads or core.get_num_threads()
    wanted = PEERS if options.peers is None else options.peers
    before = machine.load()
    peers, missing = start(wanted, threads)
    used = next(int(peer.threads) for peer in peers if peer.name == "mxnp")
    warnings.simplefilter("ignore")  # some cases divide by zero
    gc.freeze()  # a collection before each case is shorter
    began = time.perf_counter()
    started = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    rows: dict[int, Row] = {}
    # Small sizes first, so that a time budget leaves out the largest. Memory that large
    # arrays leave in the heap would also change the times of small arrays.
    order = sorted(range(len(cases)), key=lambda index: cases[index].size)
    with progress(len(cases)) as advance:
        for number, index in enumerate(order):
            case = cases[index]
            advance(number, f"{case.suite}: {case.label}, {size_text(case.size)}")
            left = len(cases) - number
            rows[index] = _measure(case, peers, options, began, left)
            rows[index].threads = used
        advance(len(cases), "done")
    return Report(
        " ".join(command),
        started,
        round(time.perf_counter() - began, 1),
        machine.describe(),
        {"before": before, "after": machine.load()},
        {peer.name: peer.version for peer in peers},
        {peer.name: peer.threads for peer in peers},
        missing,
        [rows[index] for index in range(len(cases))],
    )


def _measure(
    case: Case,
    peers: Sequence[Peer],
    options: argparse.Namespace,
    began: float,
    left: int,
) -> Row:
    """Measure one case within its share of the remaining time."""
    allowance = QUICK_ALLOWANCE if options.quick else ALLOWANCE
    if options.time_budget is not None:
        remaining = options.time_budget - (time.perf_counter() - began)
        if remaining <= 0:
            return Row.of(case, skipped="the time budget was used up")
        allowance = remaining / left
    return measure(case, peers, allowance)


def _show(report: Report, options: argparse.Namespace) -> None:
    """Print a report, and write the requested files."""
    from . import markdown, plot, table

    table.show(report)
    if options.above is not None:
        table.show_above(report, options.above)
    if options.json:
        report.write_json(options.json)
    if options.markdown:
        markdown.write(report, options.markdown)
    if options.plot:
        plot.draw(report, options.plot)


if __name__ == "__main__":
    sys.exit(main())
