"""Run NumPy's own tests against mxnp.

Each run copies the tests from the installed numpy and rewrites their imports. The
README.md of this folder describes what is counted, and why.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from classify import Classifier  # noqa: E402
from rewrite import COPIES, SOURCE, copy_tests  # noqa: E402

# These files take one to two minutes together, and cover all features of arrays.
QUICK = (
    "_core/tests/test_indexing.py",
    "_core/tests/test_shape_base.py",
    "_core/tests/test_numeric.py",
    "fft/tests/test_pocketfft.py",
    "lib/tests/test_function_base.py",
    "lib/tests/test_shape_base.py",
    "lib/tests/test_stride_tricks.py",
    "linalg/tests/test_linalg.py",
    "polynomial/tests/test_polynomial.py",
    "random/tests/test_generator_mt19937.py",
)
# This file tests each vector instruction of the processor, but no arrays.
NEVER = ("_core/tests/test_simd.py",)

SILENCE = 300  # A test without output for so many seconds hangs.
MEMORY = "4 GB"  # NumPy skips tests that need more.
BROKEN = ("failed", "crashed", "hung", "lost")
TARGETS = {"numeric": 99.0, "public": 97.0}  # per cent, for a run of all files


@dataclass
class Results:
    """
    The outcomes of the tests of a run.

    Attributes
    ----------
    outcomes : dict of dict of str
        The outcome of each case, by test function and case.
    notes : dict of str
        The end of the traceback, by case.
    origins : dict of list
        Files and qualified names of a function and its classes, by function.
    seconds : dict of float
        The duration, by file.
    """

    outcomes: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    origins: dict[str, list[list[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, outcome: str, case: str, note: str = "") -> None:
        """Record the outcome of a case. If there are several, the worst one counts."""
        cases = self.outcomes.setdefault(case.partition("[")[0], {})
        if cases.get(case) not in BROKEN:
            cases[case] = outcome
        if note:
            self.notes[case] = note

    def has(self, function: str, outcomes: Collection[str]) -> bool:
        """Return whether any case of a function has one of some outcomes."""
        return any(
            each in outcomes for each in self.outcomes.get(function, {}).values()
        )

    def passed(self, function: str) -> bool:
        """Return whether a function ran and none of its cases failed."""
        return self.has(function, ("passed",)) and not self.has(function, BROKEN)


def run_file(folder: Path, file: Path, only: Collection[str] = ()) -> Results:
    """
    Run one test file in separate processes.

    A crash or a hang of a process counts as a failure of the test that was running. A
    new process then continues with the other tests.

    Parameters
    ----------
    folder : Path
        The folder passed to `copy_tests`.
    file : Path
        The test file, relative to the folder of the copies.
    only : collection of str
        The names of the test functions to run, by default all.
    """
    results = Results()
    name = "-".join(file.parts)
    log, wanted, done = (folder / f"{name}.{end}" for end in ("jsonl", "only", "done"))
    log.write_text("")
    wanted.write_text("\n".join(f"{COPIES}/{function}" for function in only))
    done.write_text("")
    environment = {
        **os.environ,
        "NUMPY_SUITE_OUTCOMES": str(log),
        "NUMPY_SUITE_ONLY": str(wanted) if only else "",
        "NUMPY_SUITE_DONE": str(done),
        "NPY_AVAILABLE_MEM": MEMORY,
        "PYTEST_ADDOPTS": "",  # The variable is for the calling pytest.
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
        ),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "outcomes", "--tb=short",
               "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(folder),
               "--no-header", "--disable-warnings", f"{COPIES}/{file}"]  # fmt: skip
    begin = time.monotonic()
    while True:
        with open(folder / f"{name}.txt", "w") as text:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=text,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            is_silent = not _wait(process, log)
        running = _read(log, results)
        if running is None:
            break
        results.add("hung" if is_silent else "crashed", running)
        with open(log, "a") as lines:
            print(json.dumps(["crashed", f"{COPIES}/{running}", ""]), file=lines)
        cases = (case for each in results.outcomes.values() for case in each)
        done.write_text("\n".join(f"{COPIES}/{case}" for case in cases))
    results.seconds[str(file)] = time.monotonic() - begin
    if process.returncode not in {0, 1, 5} and not results.outcomes:
        last = (folder / f"{name}.txt").read_text(encoding="utf-8")[-400:]
        results.add("crashed", str(file), last)
    return results


def _wait(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait for a process; kill it and return False if it writes nothing for too long."""
    size, since = -1, time.monotonic()
    while True:
        try:
            process.wait(1)
            return True
        except subprocess.TimeoutExpired:
            pass
        if log.stat().st_size != size:
            size, since = log.stat().st_size, time.monotonic()
        elif time.monotonic() - since > SILENCE:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def _read(log: Path, results: Results) -> str | None:
    """Read the events of a process; return the test that was running at its end."""
    running = None
    for line in log.read_text(encoding="utf-8").splitlines():
        outcome, case, note = json.loads(line)
        case = case.removeprefix(f"{COPIES}/")
        if outcome == "started":
            running = case
        elif outcome == "defined":
            results.origins[case] = note
        else:
            results.add(outcome, case, note)
            running = None if case == running else running
    return running


def run(
    package: str, files: Iterable[str], jobs: int, only: Collection[str] = ()
) -> Results:
    """Copy NumPy's tests and run some of the files with a package."""
    total = Results()
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = {str(file): file for file in copy_tests(folder, package)}
        # The longest file runs first, so that all processes finish at about the same time.
        queue = sorted(
            (copies[file] for file in files if file in copies),
            key=lambda file: -(SOURCE / file).stat().st_size,
        )

        def work(file: Path) -> None:
            part = {each for each in only if each.partition("::")[0] == str(file)}
            results = run_file(folder, file, part)
            with lock:
                for table in ("outcomes", "notes", "seconds", "origins"):
                    getattr(total, table).update(getattr(results, table))
                broken = [
                    each for each in results.outcomes if results.has(each, BROKEN)
                ]
                print(f"{file}: {len(results.outcomes)} functions, {len(broken)} broken, "
                      f"{results.seconds[str(file)]:.0f} s", file=sys.stderr)  # fmt: skip
                for each in broken:
                    print(f"  {each}: {_why(results, each)}", file=sys.stderr)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, queue))
        for places in total.origins.values():
            for place in places:
                if place[0].startswith(f"{folder.resolve()}/"):
                    inside = Path(place[0]).relative_to(folder.resolve() / COPIES)
                    place[0] = str(SOURCE / inside)
    if not total.outcomes:
        raise SystemExit("no test ran")
    return total


def read_expected(path: Path) -> dict[str, str]:
    """Return the expected failures: the reason above each test function, by name."""
    expected, reason, fresh = {}, "", True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line[1:].strip() if fresh else f"{reason} {line[1:].strip()}"
            fresh = False
        elif line.strip():
            if not reason or ".py::" not in line or line.strip() in expected:
                raise ValueError(
                    f"{path.name}: {line}: not a test, listed twice, or without a "
                    "reason above it"
                )
            expected[line.strip()] = reason
            fresh = True
        else:
            reason, fresh = "", True
    return expected


def with_numpy(ours: Results, jobs: int) -> Results:
    """Run tests that did not pass with NumPy: those that fail there are not counted."""
    doubtful = {each for each in ours.outcomes if not ours.passed(each)}
    whole = {each for each in doubtful if "::" not in each}  # files not collected
    some = {each for each in doubtful - whole if each.partition("::")[0] not in whole}
    theirs = (
        run("numpy", {each.partition("::")[0] for each in some}, jobs, some)
        if some
        else Results()
    )
    if whole:
        lost = run("numpy", whole, jobs)
        for each in lost.outcomes:
            if lost.passed(each):
                ours.outcomes[each] = {each: "lost"}
        theirs.outcomes |= lost.outcomes
        theirs.origins |= lost.origins
    ours.origins = theirs.origins | ours.origins
    return theirs


def count(
    ours: Results, kinds: dict[str, str], counted: Iterable[str]
) -> dict[str, tuple[int, int]]:
    """Return the numbers of functions that passed and of all functions, by group."""
    groups = {"numeric": ("numeric", "public", "all"), "public": ("public", "all")}
    figures: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for function in counted:
        for group in groups.get(kinds[function], ("all",)):
            figures[group][0] += ours.passed(function)
            figures[group][1] += 1
    return {group: (good, total) for group, (good, total) in figures.items()}


def main() -> int:
    """Run the tests, compare them with the expected failures, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="parts of paths: linalg, _core/tests/test_umath.py"
    )
    parser.add_argument("--module", default="mxnp", help="mxnp, or numpy to compare")
    parser.add_argument("--quick", action="store_true", help="run a few files only")
    parser.add_argument(
        "-n", dest="jobs", type=int, default=2, help="number of processes"
    )
    parser.add_argument("--report", type=Path, help="write all outcomes to this file")
    options = parser.parse_args()
    start = time.monotonic()

    chosen = tuple(options.files) or (QUICK if options.quick else ())
    everything = [
        str(file.relative_to(SOURCE)) for file in SOURCE.rglob("tests/test_*.py")
    ]
    files = [
        file
        for file in everything
        if not file.endswith(NEVER)
        and (not chosen or any(each in file for each in chosen))
    ]
    ours = run(options.module, files, options.jobs)
    expected = {}
    theirs = Results()
    if options.module != "numpy":
        expected = read_expected(HERE / "expected.txt")
        theirs = with_numpy(ours, options.jobs)

    classifier = Classifier()
    kinds = {
        function: classifier.kind(
            [(Path(path), name) for path, name in ours.origins.get(function, ())]
        )
        for function in ours.outcomes
    }
    counted = [
        each for each in ours.outcomes if ours.passed(each) or theirs.passed(each)
    ]
    if options.module == "numpy":
        counted += [each for each in ours.outcomes if ours.has(each, BROKEN)]
    failed = sorted(each for each in counted if not ours.passed(each))
    surprises = [each for each in failed if each not in expected]
    # Some versions of NumPy lack some of the listed tests.
    passing = [
        each for each in expected if each in ours.outcomes and each not in failed
    ]
    for each in surprises:
        print(f"not expected [{kinds[each]}]: {each}: {_why(ours, each)}")
    for each in passing:
        print(f"listed in expected.txt, but not failing: {each}")

    figures = count(ours, kinds, counted)
    _print_figures(options.module, ours, figures, time.monotonic() - start)
    if options.report:
        rows = {
            each: {
                "kind": kinds[each],
                "counted": each in counted,
                "passed": ours.passed(each),
                "expected": expected.get(each),
                "cases": ours.outcomes[each],
                "notes": {
                    c: ours.notes[c] for c in ours.outcomes[each] if c in ours.notes
                },
            }
            for each in sorted(ours.outcomes)
        }
        report = {"seconds": ours.seconds, "tests": rows}
        options.report.write_text(json.dumps(report, indent=1))
    short = [] if chosen else _short_of_target(figures)
    for each in short:
        print(each)
    return 1 if surprises or passing or short else 0


def _why(ours: Results, function: str) -> str:
    for case, outcome in ours.outcomes[function].items():
        if outcome in BROKEN:
            lines = [line for line in ours.notes.get(case, "").splitlines() if line]
            errors = [line for line in lines if line.startswith("E ")] or lines
            return f"{outcome}: {errors[-1][:160] if errors else ''}"
    return "skipped with mxnp, but not with NumPy"


def _short_of_target(figures: dict[str, tuple[int, int]]) -> list[str]:
    targets = TARGETS
    if "NUMPY_SUITE_TARGETS" in os.environ:  # such as "99,97"
        given = os.environ["NUMPY_SUITE_TARGETS"].split(",")
        targets = dict(zip(TARGETS, map(float, given), strict=True))
    return [
        f"short of the target: {group} {100 * good / total:.2f}% < {targets[group]}%"
        for group, (good, total) in figures.items()
        if 100 * good / max(total, 1) < targets.get(group, 0)
    ]


def _print_figures(
    package: str,
    ours: Results,
    figures: dict[str, tuple[int, int]],
    seconds: float,
) -> None:
    print(f"NumPy's own tests with {package}, functions that pass:")
    names = {
        "numeric": "public numeric API",
        "public": "all of the public API",
        "all": "private parts too",
    }
    for group, what in names.items():
        good, total = figures.get(group, (0, 0))
        print(f"  {what:22}{good:6} of {total:6} {good / max(total, 1):8.2%}")
    cases = [each for cases in ours.outcomes.values() for each in cases.values()]
    counts = {each: cases.count(each) for each in sorted(set(cases))}
    print("cases: " + ", ".join(f"{n} {each}" for each, n in counts.items()))
    bad = sum(map(cases.count, ("crashed", "hung")))
    print(f"crashes and hangs: {bad}; {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
