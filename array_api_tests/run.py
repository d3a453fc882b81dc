"""Run the official Array API conformance suite against mxnp or another module.

The suite is data-apis/array-api-tests. It runs from its own checkout: the folder passed
with ``--suite``, or a clone at the commit below. The expected failures are listed in
``xfails.txt``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

URL = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
STANDARD = "2025.12"

FOLDER = Path(__file__).parent
PLUGINS = {
    "hypothesis": "hypothesis",
    "ndindex": "ndindex",
    "pytest": "pytest",
    "pytest_jsonreport": "pytest-json-report",
}


class UnusableError(Exception):
    """The reason why the suite cannot be run."""


def arguments(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of this program, and the arguments for pytest."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="Other arguments are passed to pytest: -k, -x, --hypothesis-seed=N, "
        "test names.",
    )
    parser.add_argument(
        "--suite",
        metavar="DIR",
        type=Path,
        help="a checkout of the suite with its submodule; by default one is cloned",
    )
    parser.add_argument(
        "--max-examples", metavar="N", type=int, default=100, help="per test"
    )
    parser.add_argument(
        "--module",
        default="mxnp",
        help="the module to test; expected failures are listed for mxnp only",
    )
    parser.add_argument(
        "-n", dest="jobs", default="0", help="processes, as in pytest-xdist"
    )
    return parser.parse_known_args(argv)


def git(*words: str | Path) -> str:
    """Run git and return its output."""
    try:
        done = subprocess.run(
            ["git", *words], check=False, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise UnusableError("git is not installed") from None
    if done.returncode:
        raise UnusableError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout.strip()


def cloned() -> Path:
    """Return a checkout of the pinned commit, cloned once into the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    suite = cache / "mxnp" / f"array-api-tests-{COMMIT[:12]}"
    if suite.exists():
        return suite
    suite.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=suite.parent) as folder:
        clone = Path(folder, "clone")
        try:
            git("clone", "--quiet", "--filter=blob:none", "--no-checkout", URL, clone)
            git("-C", clone, "checkout", "--quiet", COMMIT)
            git("-C", clone, "submodule", "--quiet", "update", "--init")
        except UnusableError as error:
            raise UnusableError(
                f"cannot clone {URL} at {COMMIT[:12]}: {error}\n"
                "pass --suite DIR with a checkout that has its submodule array-api"
            ) from None
        clone.rename(suite)
    return suite


def check(suite: Path) -> None:
    """Raise unless the folder is a complete checkout and its packages are installed."""
    if not (suite / "array_api_tests" / "__init__.py").is_file():
        raise UnusableError(f"{suite} is not a checkout of {URL}")
    stubs = suite / "array-api" / "src" / "array_api_stubs"
    if not (stubs / f"_{STANDARD.replace('.', '_')}").is_dir():
        raise UnusableError(
            f"{suite} lacks version {STANDARD} of the standard in its submodule; "
            f"run: git -C {suite} submodule update --init"
        )
    find = importlib.util.find_spec
    missing = [name for module, name in PLUGINS.items() if not find(module)]
    if missing:
        raise UnusableError(f"run: pip install {' '.join(missing)}")
    try:
        commit = git("-C", suite, "rev-parse", "HEAD")
    except UnusableError:
        commit = "not a git checkout"
    if commit != COMMIT:
        print(f"note: the suite is {commit}; xfails.txt is for {COMMIT}", flush=True)


def run(
    suite: Path, options: argparse.Namespace, rest: list[str]
) -> tuple[int, Counter]:
    """Run pytest in the suite's folder; return its status and counts of outcomes."""
    lists = FOLDER if options.module == "mxnp" else None
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": options.module,
        "ARRAY_API_TESTS_VERSION": STANDARD,
    }
    if not any(word.startswith("array_api_tests") for word in rest):
        rest = ["array_api_tests", *rest]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-rfEX", "--tb=short"),
            f"--max-examples={options.max_examples}",
            # A busy machine must not make tests fail.
            "--disable-deadline",
            f"--xfails-file={lists / 'xfails.txt' if lists else os.devnull}",
            f"--skips-file={os.devnull}",
            f"--junitxml={report}",
            *(["-n", options.jobs] if options.jobs != "0" else []),
            *rest,
        ]
        status = subprocess.run(
            command, cwd=suite, env=environment, check=False
        ).returncode
        if not report.exists():
            raise UnusableError(f"pytest stopped with status {status}")
        return status, Counter(map(outcome, ET.parse(report).iter("testcase")))


def outcome(case: ET.Element) -> str:
    """Return the outcome of a test: the worst one, if its teardown failed too."""
    found = {child.tag: child for child in case}
    if "error" in found or "failure" in found:
        return "failed"
    if "skipped" not in found:
        return "passed"
    return "expected" if found["skipped"].get("type") == "pytest.xfail" else "skipped"


def main(argv: list[str] | None = None) -> int:
    """
    Run the suite and print the counts on the last line.

    Returns
    -------
    int
        0 if no test failed except those in ``xfails.txt``; 2 if the suite cannot run;
        otherwise pytest's status.
    """
    options, rest = arguments(sys.argv[1:] if argv is None else argv)
    try:
        suite = options.suite.expanduser().resolve() if options.suite else cloned()
        check(suite)
        status, counts = run(suite, options, rest)
    except UnusableError as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        return 2
    print(
        f"{options.module}: {counts['passed']} of {counts.total()} passed, "
        f"{counts['failed']} failed, {counts['expected']} failed as expected, "
        f"{counts['skipped']} skipped "
        f"(standard {STANDARD}, {options.max_examples} examples)"
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
