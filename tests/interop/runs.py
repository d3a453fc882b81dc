"""Run the uses of each package with NumPy, and in two ways with mxnp."""

from __future__ import annotations

import functools
import importlib.util
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .results import difference

HERE = Path(__file__).parent
WAYS = ("import", "runner")
SECONDS = 240.0  # time limit for the uses of one package, in one way
# Results must not depend on the number of cores.
SETTINGS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
) | {"NUMBA_NUM_THREADS": "2", "MPLBACKEND": "agg", "XLA_FLAGS": ""}

Failures = dict[str, tuple[str, str]]  # by use: the error, and where it was raised


@functools.cache
def modules() -> tuple[str, ...]:
    """Return the names of the modules with uses, as a program imports them."""
    return tuple(sorted((p.stem for p in (HERE / "uses").glob("*.py")), key=str.lower))


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _text(module: str) -> str:
    return (HERE / "uses" / f"{module}.py").read_text(encoding="utf-8")


def package(module: str) -> tuple[str, str]:
    """Return a package's name on PyPI and its purpose, from the first line of its uses."""
    name, _, purpose = _text(module).split('"""')[1].strip().partition(": ")
    return name, purpose.rstrip(".")


def package_version(module: str) -> str:
    return version(package(module)[0])


def tolerances(module: str) -> dict[str, float]:
    """Return by how much the results of some uses may differ from NumPy's."""
    found = re.search(r"^TOLERANCES = (\{.*?\})", _text(module), re.M | re.S)
    return eval(found[1]) if found else {}


class StoppedError(Exception):
    """A process ended before the first use began."""


@functools.cache
def _programs(module: str) -> tempfile.TemporaryDirectory[str]:
    """Write a package's programs to a folder that is deleted when Python exits."""
    made = tempfile.TemporaryDirectory(prefix=f"mxnp-{module}-")
    shutil.copy(HERE / "process.py", made.name)
    for way in ("numpy", *WAYS):
        np = "mxnp" if way == "import" else "numpy"
        text = _text(module).replace("import numpy as np\n", f"import {np} as np\n", 1)
        Path(made.name, f"{way}_uses.py").write_text(text)
    return made


def _run_process(module: str, way: str, output: Path, names: list[str]) -> str:
    """Run uses in one process; return how the process failed, or ""."""
    runner = ["-m", "mxnp"] if way == "runner" else []
    command = [sys.executable, *runner, "process.py", way, str(output), *names]
    try:
        done = subprocess.run(
            command,
            cwd=_programs(module).name,
            env={**os.environ, **SETTINGS},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"timeout after {SECONDS:g} s"
    if done.returncode < 0:
        return f"terminated by {signal.Signals(-done.returncode).name}"
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def _read(output: Path) -> tuple[dict[str, Any], str]:
    """Return the results in a file, and the use that began last."""
    results: dict[str, Any] = {}
    last = ""
    with output.open("rb") as file:
        while file.peek(1):
            name, result = pickle.load(file)
            if name == "begins":
                last = result
            else:
                results[name] = result
    return results, last


def _results(module: str, way: str, wanted: list[str]) -> dict[str, Any]:
    """Run uses, and continue in a new process after a use that terminated its own."""
    output = Path(_programs(module).name, f"{way}.pickle")
    results: dict[str, Any] = {}
    while True:
        output.write_bytes(b"")
        end = _run_process(module, way, output, wanted)
        found, last = _read(output)
        results |= found
        if not end:
            return results
        if not last:
            raise StoppedError(end)
        results[last] = ("raised", end, "")
        wanted = [name for name in wanted if name not in results]
        if not wanted:
            return results


@functools.cache
def oracle(module: str) -> dict[str, Any]:
    """Return the results of a package's uses with NumPy, which must all succeed."""
    results = _results(module, "numpy", [])
    for name, result in results.items():
        assert _raised(result) == name.startswith("error_"), (
            f"{module}: {name}: {result}"
        )
    return results


def failures(module: str, way: str) -> Failures:
    """Return the uses of a package that differ from NumPy, and how."""
    expected = oracle(module)
    try:
        results = _results(module, way, list(expected))
    except StoppedError as stopped:
        return {name: (str(stopped), "") for name in expected}
    allowed = tolerances(module)
    found: Failures = {}
    for name, numpys in expected.items():
        tolerance = allowed.get(name.partition(" ")[0], 0.0)
        message = difference(results[name], numpys, tolerance)
        if message:
            found[name] = message, _place(results[name])
    return found


def _raised(result: Any) -> bool:
    return isinstance(result, tuple) and result[0] == "raised"


def _place(result: Any) -> str:
    """Return the file and line that raised, relative to the package or the uses."""
    place = result[2] if _raised(result) else ""
    return re.sub(r".*(-packages/|/(import|runner)_)", "", place)
