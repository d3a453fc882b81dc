"""Run NumPy's own tests against mxnp.

They are copied from the installed numpy at run time with their imports rewritten; see
README.md beside this file for what is counted and why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from classify import Classifier  # noqa: E402
from rewrite import copy_tests  # noqa: E402

QUICK = (
    "_core/test_umath.py",
    "_core/test_ufunc.py",
    "_core/test_indexing.py",
    "_core/test_numeric.py",
    "fft/test_pocketfft.py",
    "linalg/test_linalg.py",
    "lib/test_shape_base.py",
    "lib/test_stride_tricks.py",
    "polynomial/test_polynomial.py",
)
# Compile extensions, or report what the machine's processor can do.
NEVER = ("_core/test_cython.py", "_core/test_limited_api.py", "random/test_extending.py",
         "_core/test_cpu_features.py", "_core/test_cpu_dispatcher.py",
         "_core/test_simd.py", "_core/test_simd_module.py",
         "_core/test_array_interface.py")  # fmt: skip
TIMEOUT = 300  # seconds for one test: a hang is a failure, not the end of the run

Outcomes = dict[str, dict[str, str]]  # test function: case: outcome


def read_expected(path: Path) -> dict[str, str]:
    """Read the expected differences: test functions, the reason above them."""
    expected, reason, fresh = {}, "", True
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            reason = line[1:].strip() if fresh else f"{reason} {line[1:].strip()}"
            fresh = False
        elif line.strip():
            if not reason:
                raise ValueError(f"{path.name}: {line} has no reason above it")
            expected[line.strip()] = reason
            fresh = True
        else:
            reason, fresh = "", True
    return expected


def run_pytest(folder: Path, jobs: str, selection: list[str]) -> Outcomes:
    """Run tests in `folder` and give what each came to."""
    lines = folder / "outcomes.jsonl"
    lines.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "NUMPY_SUITE_OUTCOMES": str(lines),
        "PYTHONPATH": os.pathsep.join(
            [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "outcomes", "-W", "ignore",
               "-p", "no:cacheprovider", "--timeout", str(TIMEOUT), "-n", jobs,
               "--rootdir", str(folder), "--no-header", "--tb=short",
               "--disable-warnings", *selection]  # fmt: skip
    with (folder / "pytest.log").open("w") as log:
        subprocess.run(
            command, cwd=folder, env=environment, stdout=log, stderr=log, check=False
        )
    outcomes: Outcomes = defaultdict(dict)
    for line in lines.read_text().splitlines() if lines.exists() else ():
        node, outcome, text = json.loads(line)
        function = node.partition("[")[0].removeprefix("numpy_tests/")
        outcomes[function][node] = f"{outcome}: {text}" if text else outcome
    if not outcomes:
        raise SystemExit(f"no test ran: {(folder / 'pytest.log').read_text()[-2000:]}")
    return outcomes


def has(cases: dict[str, str], outcome: str) -> bool:
    """Tell whether any case of a test function came to an outcome."""
    return any(each.startswith(outcome) for each in cases.values())


def fails_with_numpy_too(failed: list[str], outcomes: Outcomes, jobs: str) -> set[str]:
    """Run failed tests on NumPy itself: what fails there is not counted."""
    if not failed:
        return set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_tests(folder, "numpy")
        nodes = [node for each in failed for node in outcomes[each]]
        files = sorted({node.partition("::")[0] for node in nodes})
        theirs = run_pytest(folder, jobs, files)
    return {each for each in failed if has(theirs.get(each, {"": "failed"}), "failed")}


def main() -> int:
    """Run, compare with the expected differences, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="such as _core/test_umath.py")
    parser.add_argument("--module", default="mxnp", help="mxnp, or numpy to compare")
    parser.add_argument("--quick", action="store_true", help="a few files, in a minute")
    parser.add_argument("-n", dest="jobs", default="2", help="processes")
    parser.add_argument("--report", type=Path, help="write all outcomes to this file")
    options = parser.parse_args()
    chosen = tuple(options.files) or (QUICK if options.quick else ())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = copy_tests(folder, options.module)
        files = [
            file
            for file in files
            if (not chosen or file.as_posix().endswith(chosen))
            and not file.as_posix().endswith(NEVER)
        ]
        kinds = {
            file.relative_to("numpy_tests").as_posix(): Classifier(
                (folder / file).read_text().replace(options.module, "numpy")
            )
            for file in files
        }
        outcomes = run_pytest(folder, options.jobs, [str(file) for file in files])

    failed = sorted(each for each in outcomes if has(outcomes[each], "failed"))
    expected = read_expected(HERE / "expected.txt")
    if options.module == "numpy":
        expected, not_counted = {}, set()
    else:
        unexpected = [each for each in failed if each not in expected]
        not_counted = fails_with_numpy_too(unexpected, outcomes, options.jobs)
    failed = [each for each in failed if each not in not_counted]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for function, cases in outcomes.items():
        skipped = all(each.startswith("skipped") for each in cases.values())
        if skipped or function in not_counted:
            continue
        file, _, test = function.partition("::")
        kind = kinds[file].kind(test) if file in kinds else "private"
        groups = {"numeric": ("numeric", "public", "all"), "public": ("public", "all")}
        for group in groups.get(kind, ("all",)):
            counts[group][0] += function not in failed
            counts[group][1] += 1
    if options.report:
        rows = {each: {"cases": outcomes[each]} for each in sorted(outcomes)}
        options.report.write_text(json.dumps(rows, indent=1))

    surprises = [each for each in failed if each not in expected]
    passing = [each for each in expected if each in outcomes and each not in failed]
    for each in surprises:
        why = next(o for o in outcomes[each].values() if o.startswith("failed"))
        print(f"failed, not expected: {each}\n    {why.splitlines()[-1][:160]}")
    for each in passing:
        print(f"passed, but listed in expected.txt: {each}")
    for each in sorted(not_counted):
        print(f"not counted, fails with NumPy too: {each}")
    print(f"NumPy's own tests with {options.module}: test functions passed")
    for group, what in (
        ("numeric", "public numeric API"),
        ("public", "public API"),
        ("all", "all, private ones too"),
    ):
        good, total = counts[group]
        print(f"  {what:24}{good:6} of {total:6}  {good / max(total, 1):8.2%}")
    cases = [case for each in outcomes.values() for case in each.values()]
    print(f"  cases: {sum(c == 'passed' for c in cases)} passed, "
          f"{sum(c.startswith('failed') for c in cases)} failed")  # fmt: skip
    return 1 if surprises or passing else 0


if __name__ == "__main__":
    sys.exit(main())
