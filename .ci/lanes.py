"""
Run lanes of the checks: ``python3 .ci/lanes.py LANE...``, ``gate`` or ``full``.

A lane is a list of shell commands with a limit of its own. A red lane stops no other.
At the end, each red test stands with the command that runs it alone. The exit status is
1 if anything is red. ``.ci/run`` runs the lanes of the gate, and ``.ci/full`` all.

The packages have the versions of ``.ci/constraints.txt`` and come from the registries.
Only an install is tried again. The environments are made in a temporary folder. If
CI_FOLDER names a folder, they are kept there and used again, so that a lane can be
repeated in seconds.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Lane(NamedTuple):
    """
    Commands that run in turn.

    Attributes
    ----------
    limit : int
        The seconds after which the lane is ended, several times what it takes.
    commands : tuple of str
        Commands of bash. Settings of mxnp stand before a command, for its red tests.
    needs : tuple of str
        The lanes that prepare this one. They run before it, once.
    in_gate : bool
        Whether `.ci/run` has the lane.
    """

    limit: int
    commands: tuple[str, ...]
    needs: tuple[str, ...] = ("install",)
    in_gate: bool = False


class Outcome(NamedTuple):
    """How a lane ended: what is red are commands."""

    name: str
    seconds: float = 0
    red: tuple[str, ...] = ()
    passed: int = 0  # tests


# -- The table -------------------------------------------------------------------------

PRELUDE = """
again() { "$@" || { sleep 5; "$@"; }; }  # for installs
newer() {
    local python=$CI_FOLDER/newer/bin/python
    if [ -x "$python" ]; then "$python" "$@"; else echo "left out: Python 3.13 is not installed"; fi
}
touches() {  # whether the change touches files whose names match
    git diff --name-only "$(git rev-parse --verify --quiet origin/main || echo HEAD)" | grep -qE "$1"
}
share() {  # make an environment that has the packages of the first one too
    python -m venv "$1"
    python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$(echo "$1"/lib/python*/site-packages)/outer.pth"
}
"""


def gate(limit: int, *commands: str, needs: tuple[str, ...] = ("install",)) -> Lane:
    """Return a lane of the gate."""
    return Lane(limit, commands, needs, in_gate=True)


def full(limit: int, *commands: str, needs: tuple[str, ...] = ("install",)) -> Lane:
    """Return a lane that only `.ci/full` has."""
    return Lane(limit, commands, needs)


def readme_command() -> str:
    """Return the first code block of the README after the line <!-- test -->."""
    text = (ROOT / "README.md").read_text()
    found = re.search(r"<!-- test -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1].strip()


# Without isolation, as 0 says, and in the same folder, a second build takes seconds.
REUSE = (
    'export PIP_NO_BUILD_ISOLATION=0 PIP_CONFIG_SETTINGS="build-dir=$CI_FOLDER/build"; '
)
ENGINE = "tests/{arguments,array,engine,fuzz,indexing,routines}"
ON_METAL = (
    "tests/metal tests/metal_emulator tests/routines/test_{ranges,selections}.py"
    " tests/project/test_{docs,examples}.py tests/array/test_at.py"
    " tests/array/test_tracebacks.py::test_no_public_function_has_a_frame"
    " tests/engine/test_{devices,lending,modes,order,pairs}.py"
    " tests/indexing/test_{failures,masks}.py tests/suites/array_api/test_standard.py"
    " tests/tools/test_{profile,trace}.py"
)
ON_EMULATOR = (
    'PATH="$CI_FOLDER/emulated/bin:$PATH" MXNP_DEVICE=metal MXNP_THRESHOLD=0 python'
)
METAL = f"{ON_EMULATOR} -P -m"
CUDA = 'MXNP_CUDA_STAND_IN="$CI_FOLDER/standin.so" MXNP_DEVICE=cuda MXNP_THRESHOLD=0'
ON_CUDA = (
    "tests/array/test_{array,at,bool_bytes,classes,conversions,dtype_names,errors}.py"
    " tests/array/test_{iterators,masked}.py"
    " tests/array/test_{namespace,object_arrays,operators,overlaps,overrides,pickles}.py"
    " tests/array/test_{subclasses,tracebacks,typing,where}.py"
    " tests/array/test_de*.py tests/array/test_direct_{arguments,parts,path}.py"
    " tests/engine/test_{casts,devices,elements,modes,numbers,order,threads}.py"
    " tests/engine/test_{waits,warnings}.py"
    " tests/indexing tests/routines/test_{grids,random_streams}.py"
)
OF_GPU = "^(csrc/(gpu|memory|ir)|mxnp/(_gpu|_engine)|tests/(metal|cuda|support))/"
JIT = "MXNP_JIT=always MXNP_THRESHOLD=0"
ARM64 = '"$CI_FOLDER/arm64/bin/python" -P -m'
C_TESTS = "$(basename -s .c tests/c/test_*.c)"

# The lanes that others need, the other lanes of the gate, and the rest.
LANES = {
    "environment": gate(
        900,
        '"$CI_PYTHON" -m venv "$CI_FOLDER/venv"',
        "again pip install --quiet uv",
        "again uv pip install --quiet -r pyproject.toml --extra test-all --extra lint"
        " --extra docs build meson-python ndindex pytest-json-report",
        needs=(),
    ),
    # The only build of a release. The command of the README uses its folder again.
    "wheel": gate(
        900,
        "find mxnp -name __pycache__ -prune -exec rm -r {} +",
        f'{REUSE}pip wheel --quiet --no-deps --wheel-dir "$CI_FOLDER/wheels" .',
        'python -m build --sdist --no-isolation --outdir "$CI_FOLDER/sdist" .'
        ' >"$CI_FOLDER/log" || { cat "$CI_FOLDER/log"; false; }',
        'python .ci/contents.py "$CI_FOLDER"/sdist/*.tar.gz "$CI_FOLDER"/wheels/*.whl',
        needs=("environment",),
    ),
    "install": gate(
        300, 'pip install --quiet --no-deps "$CI_FOLDER"/wheels/*.whl', needs=("wheel",)
    ),
    "newer": gate(
        600,
        "python=$(.ci/newer-python);"
        ' [ -z "$python" ] || "$python" -m venv "$CI_FOLDER/newer"',
        "newer -m pip install --quiet uv",
        "again newer -m uv pip install --quiet pandas scikit-learn 'meson>=1.3' ninja"
        ' \'cffi>=2.1\' "mxnp[test] @ file://$(echo "$CI_FOLDER"/wheels/*.whl)"'
        ' --python "$CI_FOLDER/newer/bin/python"',
        needs=("wheel",),
    ),
    "emulator": gate(
        900,
        'share "$CI_FOLDER/emulated"',
        '"$CI_FOLDER/emulated/bin/python" -m pip install --quiet --no-deps --no-build-isolation .'
        " -Csetup-args=-Dmetal=emulator -Csetup-args=-Doptimization=1"
        ' -Cbuild-dir="$CI_FOLDER/build-emulator"',
        needs=("environment",),
    ),
    "lint": gate(
        600,
        "ruff check",
        "ruff format --check",
        "codespell",
        "mypy",
        "find csrc metal tests/c -name '*.[chm]' -o -name '*.metal' |"
        " xargs clang-format --dry-run -Werror",
        needs=("environment",),
    ),
    "readme": gate(1800, REUSE + readme_command()),
    "docs": gate(
        600,
        "pytest --slow --quiet tests/project/test_docs.py -k test_code_runs",
        'python -m sphinx -W --keep-going -n -q docs "$CI_FOLDER/site"',
    ),
    # The suite of the standard is a checkout of its own, in a folder beside this one.
    "standard": gate(
        600,
        "suite=${ARRAY_API_SUITE:-$(find .. -maxdepth 3 -name array-api-tests -type d 2>/dev/null | sed -n 1p || true)};"
        ' if [ -z "$suite" ]; then echo "left out: no checkout of array-api-tests was found"; else'
        ' PYTEST_ADDOPTS="" python array_api_tests/run.py --suite "$suite" --max-examples 5'
        " --hypothesis-seed=0; fi",
    ),
    "recorded": gate(
        600,
        "MXNP_THRESHOLD=0 pytest --quiet tests/array/test_{array,at,operators}.py"
        " tests/engine/test_{elementwise,order,warnings}.py tests/indexing"
        " tests/routines/test_{reductions,selections}.py",
    ),
    "unfused": gate(
        600,
        "MXNP_FUSE=0 pytest --quiet tests/engine/test_{elementwise,order,warnings}.py",
    ),
    # A process compiles 2,048 groups, so the tests that count them have their own.
    "compiled": gate(
        600,
        f"{JIT} pytest --quiet tests/engine/test_compiled.py",
        f"! touches 'jit|compiled' || {JIT} pytest --slow --quiet tests/engine/test_compiled.py",
        f"{JIT} pytest --quiet tests/routines/test_sums.py tests/engine/test_pairs.py",
    ),
    "programs": gate(
        600,
        "python -m tests.fuzz --programs 400 --seed 100000",
        "python -m tests.fuzz --programs 400 --seed 200000 --threshold 16384",
        "MXNP_FUSE=0 python -m tests.fuzz --programs 400 --seed 300000",
        "MXNP_NUM_THREADS=3 python -m tests.fuzz --programs 400 --seed 400000",
        "MXNP_JIT=always python -m tests.fuzz --programs 200 --seed 500000",
    ),
    "door": gate(
        600,
        "newer -P -m pytest --quiet tests/packages/test_{boundary,disguise,door}*.py"
        " tests/array/test_{array,operators,pickles,small_arrays,subclasses}.py",
        needs=("newer",),
    ),
    "c": gate(
        900,
        'meson setup "$CI_FOLDER/addresses" -Dctests=true -Doptimization=1'
        " -Db_sanitize=address,undefined -Dwerror=true",
        f'meson compile -C "$CI_FOLDER/addresses" {C_TESTS}',
        'meson test -C "$CI_FOLDER/addresses" --no-rebuild --print-errorlogs'
        " --timeout-multiplier 10",
        needs=("environment",),
    ),
    "metal": gate(
        900,
        f"{METAL} pytest --quiet tests/metal/test_scatters.py -k 'float32 or modes or bounds'",
        f"! touches '{OF_GPU}|metal' || {METAL} pytest --quiet"
        " tests/metal/test_{custom_kernels,functions,operations,updates}.py",
        needs=("emulator",),
    ),
    "standin": gate(300, 'python tests/cuda_standin/build.py "$CI_FOLDER/standin.so"'),
    "cuda": gate(
        900,
        f"{CUDA} pytest --quiet tests/cuda/test_memory.py -k 'not random_programs'",
        f"! touches '{OF_GPU}|cuda' || {CUDA} pytest --quiet tests/cuda/test_{{calls,linear}}.py"
        " tests/metal/test_{custom_kernels,functions,operations}.py -k 'not test_rows'",
        needs=("standin",),
    ),
    # -- What .ci/run leaves out
    "slow": full(7200, "pytest --only-slow --quiet"),
    "recorded-all": full(3600, f"MXNP_THRESHOLD=0 pytest --slow --quiet {ENGINE}"),
    "unfused-all": full(3600, f"MXNP_FUSE=0 pytest --slow --quiet {ENGINE}"),
    "compiled-all": full(
        5400,
        f"{JIT} pytest --slow --quiet --ignore tests/engine/test_compiled.py"
        " tests/{arguments,array,engine,indexing,routines}",
    ),
    "metal-all": full(
        7200,
        f"{METAL} pytest --slow --quiet {ON_METAL}",
        f"{METAL} pytest --slow --quiet tests/engine/test_allocation_failures.py -k twice",
        f"{ON_EMULATOR} -m tests.fuzz --programs 300 --seed 100000",
        needs=("emulator",),
    ),
    "cuda-all": full(
        5400,
        f"{CUDA} pytest --slow --quiet -k 'not test_rows or float64' tests/cuda"
        " tests/metal/test_{custom_kernels,operations,random,functions}.py"
        " tests/project/test_docs.py::test_the_column_of_a_gpu",
        f"{CUDA} python -m tests.fuzz --programs 300 --seed 100000",
        needs=("standin", "install"),
    ),
    # Tests of the processor's engine, with all operations on a GPU. Others take too long.
    "cuda-engine": full(
        3600, f"{CUDA} pytest --quiet {ON_CUDA}", needs=("standin", "install")
    ),
    "newer-all": full(
        5400,
        "newer -P -m pytest --quiet",
        *(
            f"{setting} newer -P -m pytest --slow --quiet"
            " tests/{packages,processes,tools}"
            for setting in ("MXNP_FUSE=1", "MXNP_THRESHOLD=0")
        ),
        "newer -m tests.fuzz --programs 1000 --seed 100000",
        "newer -m tests.mutations door",
        needs=("newer",),
    ),
    "macos": full(1800, ".ci/macos", needs=("environment",)),
    "arm64": full(
        7200,
        '.ci/arm64 "$CI_FOLDER/arm64"',
        f"{JIT} {ARM64} pytest --slow --quiet tests/engine/test_compiled.py",
        # docs/design/01-build.md names what differs in the tests that are left out.
        f"{ARM64} pytest --quiet tests/engine"
        " --deselect tests/engine/test_bfloat16.py::test_casts_of_every_number"
        " --deselect tests/engine/test_bfloat16.py::test_conditions_of_comparisons_are_numpys"
        " --deselect tests/engine/test_own_loops.py::test_conditions_of_single_quotients"
        " --deselect tests/engine/test_signaling_nan.py::test_small_arrays"
        " --deselect tests/engine/test_signaling_nan.py::test_large_arrays_of_float16",
        needs=("environment",),
    ),
    **{
        f"faults-{i}": full(3600, f"python -m tests.mutations --share {i}/16")
        for i in range(16)
    },
    "arguments": full(
        5400,
        *(
            f"{setting} python -m tests.arguments --calls 20000 --jobs 2 --seed 7"
            for setting in ("MXNP_JIT=0", "MXNP_THRESHOLD=0", "MXNP_FUSE=0", JIT)
        ),
    ),
    "programs-all": full(
        7200,
        "python -m tests.fuzz.lanes --programs 20000 --night 0 --jobs 2"
        " recorded small mixed unfused threads compiled",
    ),
    "interrupts": full(
        3600,
        "python -m tests.fuzz.interrupts --programs 500 --seed 7",
        *(
            f"python -m tests.fuzz.threads --threads {n} --programs 500 --seed 7"
            for n in (2, 8, 16)
        ),
    ),
    "indexing": full(
        5400,
        *(
            f"MXNP_FUZZ=20000 {setting} pytest --slow --quiet"
            " tests/{fuzz/test_indexing,packages/test_shared_memory}.py"
            for setting in ("MXNP_FUSE=1", "MXNP_FUSE=0", "MXNP_NUM_THREADS=3")
        ),
    ),
    "parallel": full(
        3600,
        "pytest --slow --quiet --parallel-threads=4 --iterations=1"
        " tests/array/test_{array,at,classes}.py tests/suites/array_api/test_standard.py"
        " tests/engine/test_{elementwise,order,pairs}.py tests/indexing/test_masks.py"
        " tests/routines",
    ),
    "memory": full(
        5400,
        "python -m tests.processes.flat_memory",
        "MXNP_LARGE=1 pytest --slow --quiet tests/engine/test_large_arrays.py",
    ),
    "threads": full(
        900,
        'meson setup "$CI_FOLDER/threads" -Dctests=true -Doptimization=1'
        " -Db_sanitize=thread",
        'meson test -C "$CI_FOLDER/threads" --print-errorlogs --suite threads'
        " --timeout-multiplier 10",
        needs=("environment",),
    ),
    "sanitizers": full(5400, ".ci/sanitizers", ".ci/thread-sanitizer"),
    "distributions": full(1800, ".ci/wheels"),
    "packages": full(3600, ".ci/interop"),
    "packages-all": full(7200, ".ci/interop interop-all"),
    # The newest packages: what is red here is not red because of this commit.
    "newest": full(
        3600,
        'python -m venv "$CI_FOLDER/newest"',
        "unset PIP_CONSTRAINT;"
        f' PATH="$CI_FOLDER/newest/bin:$PATH"; again pip install --quiet pytest-xdist;'
        f" {readme_command()}",
        needs=("environment",),
    ),
}


# -- Running ---------------------------------------------------------------------------

RED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.*?)?)(?: - .*)?$")
PASSED = re.compile(r"^[= ]*(?:\d+ \w+, )*(\d+) passed\b")  # the last line of pytest


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of all commands, with few settings of the caller."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MXNP_", "METAL_EMULATOR_", "PYTEST_", "PYTHON"))
        or name == "MXNP_NUM_THREADS"
    }
    constraints = str(ROOT / ".ci/constraints.txt")
    return kept | {
        "VIRTUAL_ENV": str(folder / "venv"),
        "PATH": f"{folder}/venv/bin{os.pathsep}{kept['PATH']}",
        "CI_FOLDER": str(folder),
        "CI_PYTHON": os.environ.get("PYTHON") or sys.executable,
        "PIP_CONSTRAINT": constraints,
        "UV_CONSTRAINT": constraints,
        "METAL_EMULATOR_CACHE": str(folder / "kernels"),
        "MXNP_CUDA_CACHE": str(folder / "cubins"),
        "PYTEST_ADDOPTS": "-n 2 --dist loadfile -p no:cacheprovider",
    }


class Command:
    """A command of a lane, whose output is printed and searched for red tests."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self.text = text
        self.red: list[str] = []
        self.passed = 0
        self._process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", PRELUDE + text],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                print(line, end="", flush=True)
                self._see(line.rstrip())

    def _see(self, line: str) -> None:
        if found := PASSED.match(line):
            self.passed += int(found[1])
        if found := RED.match(line):
            before = re.split(r"&& |; |\|\| ", self.text.partition("pytest")[0])[-1]
            test = re.sub(r"\[\d+ sets-.*", "", found[1])  # with --slow, each is a test
            self.red.append(f"{before}pytest --slow {shlex.quote(test)}")

    def wait(self, limit: float) -> None:
        """Wait until the command ends, and end it after some seconds."""
        try:
            status = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            status = self._process.wait()
        self._reader.join(10)
        if status and not self.red:
            self.red.append(self.text)


def run(name: str, lane: Lane, variables: dict[str, str]) -> Outcome:
    """Run a lane and print its seconds."""
    print(f"--- {name}", flush=True)
    begin, red, passed = time.monotonic(), [], 0
    for text in lane.commands:
        left = lane.limit - (time.monotonic() - begin)
        if left <= 0:
            red.append(f"{text}  # not run: the lane took its {lane.limit} s")
            continue
        command = Command(text, variables)
        command.wait(left)
        red += command.red
        passed += command.passed
    seconds = time.monotonic() - begin
    if seconds >= lane.limit:
        print(f"--- {name}: still running after its {lane.limit} s, and ended")
    print(f"--- {name}: {'red' if red else 'passed'} in {seconds:.0f} s", flush=True)
    return Outcome(name, seconds, tuple(red), passed)


def with_needs(names: list[str]) -> Iterator[str]:
    """Yield lanes and, once and before them, the lanes that they need."""
    seen = set()

    def visit(name: str) -> Iterator[str]:
        if name not in seen:
            seen.add(name)
            for needed in LANES[name].needs:
                yield from visit(needed)
            yield name

    for name in names:
        yield from visit(name)


def run_all(names: list[str], folder: Path) -> list[Outcome]:
    """Run lanes, except those whose needs are red."""
    variables, outcomes = environment(folder), {}
    for name in with_needs(names):
        lane = LANES[name]
        missing = [each for each in lane.needs if outcomes[each].red]
        mark = folder / f"{name}.made"
        if missing:
            red = (f"{name} did not run: {missing[0]} is red",)
            outcome = Outcome(name, red=red)
        elif mark.exists():
            outcome = Outcome(name)
        else:
            outcome = run(name, lane, variables)
            is_needed = any(name in each.needs for each in LANES.values())
            if is_needed and not outcome.red:
                mark.touch()
        outcomes[name] = outcome
    return [*outcomes.values()]


def main() -> int:
    """Run the lanes that the arguments name, and print what is red."""
    names = []
    for word in sys.argv[1:]:
        every = [name for name, lane in LANES.items() if lane.in_gate or word == "full"]
        names += every if word in ("gate", "full") else [word]
    unknown = [name for name in names if name not in LANES]
    if unknown or not names:
        print(__doc__, f"Lanes: {', '.join(LANES)}", sep="\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="ci-") as temporary:
        folder = Path(os.environ.get("CI_FOLDER") or temporary).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = run_all(names, folder)
    for each in outcomes:
        print(f"--- {each.seconds:5.0f} s {each.name}{' RED' if each.red else ''}")
    red = [command for each in outcomes for command in each.red]
    if red:
        print("--- red, with the command that runs it alone:", *red, sep="\n")
    print(f"{sum(each.passed for each in outcomes)} passed, {len(red)} failed")
    return bool(red)


if __name__ == "__main__":
    sys.exit(main())
