"""A copy of the sources, which is built and tested."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .tables import ROOT, Fault

LIMIT = 600  # seconds for a test; the slowest takes about 60
NOT_COPIED = (".*", "build", "__pycache__", "*.so", "*.egg-info", "_build")
MODULES = ("_bridge", "_core")


class BuildError(Exception):
    """What does not compile."""


class Copy:
    """
    A copy of the sources in a folder.

    Parameters
    ----------
    folder : Path
        An empty folder.
    faults : list of Fault
        The faults that will be planted. They determine what is built.
    """

    def __init__(self, folder: Path, faults: list[Fault]) -> None:
        self.root = folder / "mxnp"
        self.folder = folder
        self._is_stale = False  # the compiled modules differ from the sources
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MXNP_", "METAL_EMULATOR_", "PYTEST_"))
        }
        scripts = sysconfig.get_path("scripts")
        self._environment["PATH"] = scripts + os.pathsep + self._environment["PATH"]
        self._environment["PYTHONPATH"] = str(self.root)
        kernels = os.environ.get("METAL_EMULATOR_CACHE", str(folder / "kernels"))
        self._environment["METAL_EMULATOR_CACHE"] = kernels
        is_emulated = any(fault.lane == "metal" for fault in faults)
        options = ["-Dmetal=emulator"] if is_emulated else []
        self._run(["meson", "setup", "build", *options])
        self._build()
        for module in MODULES:
            (built,) = (self.root / "build").glob(f"{module}.*so")
            (self.root / "mxnp" / built.name).symlink_to(built)
        if any(fault.is_c_test for fault in faults):
            self._run(["meson", "setup", "build-c", "-Dctests=true"])
        if any(fault.lane == "cuda" for fault in faults):
            script = "tests/cuda_standin/build.py"
            self._run([sys.executable, script, str(folder / "standin.so")])

    def _run(self, command: list[str]) -> None:
        result = subprocess.run(
            command,
            cwd=self.root,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if result.returncode:
            raise BuildError(f"{' '.join(command)}\n{result.stdout[-3000:]}")

    def _build(self) -> None:
        self._run(["ninja", "-C", "build"])
        self._is_stale = False

    # -- Faults ------------------------------------------------------------------------

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.write_text(text)
        self._is_stale |= path.startswith("csrc/")
        if file.suffix == ".py":  # Python compares the time in seconds, and the size.
            Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)

    def _build_changes(self, fault: Fault) -> None:
        if fault.is_c_test:
            self._run(["ninja", "-C", "build-c", fault.c_program])
        elif self._is_stale:
            self._build()

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Plant a fault for a block."""
        text = (self.root / fault.path).read_text(encoding="utf-8")
        try:
            self._write(fault.path, fault.apply(text))
            self._build_changes(fault)
            yield
        finally:
            self._write(fault.path, text)

    # -- Tests -------------------------------------------------------------------------

    def _settings(self, fault: Fault) -> dict[str, str]:
        settings = {"MXNP_DEVICE": fault.lane}
        if fault.lane != "cpu":
            settings["MXNP_THRESHOLD"] = "0"
        if fault.lane == "cuda":
            settings["MXNP_CUDA_STAND_IN"] = str(self.folder / "standin.so")
            settings["MXNP_CUDA_CACHE"] = str(self.folder / "cubins")
        return settings | fault.settings

    def _run_test(
        self, command: list[str], settings: dict[str, str], n_tests: int
    ) -> tuple[int, str]:
        """Run a command and return its status, -SIGALRM after the limit, and its output."""
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self._environment | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=n_tests * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return -signal.SIGALRM, ""
        return process.returncode, output

    def _run_tests(self, tests: list[str], settings: dict[str, str]) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "--slow", "-x", "-q", "--tb=short"]
        command += ["--timeout=0", "-p", "no:cacheprovider", *tests]
        return self._run_test(command, settings, len(tests))

    def _run_program(self, fault: Fault) -> tuple[int, str]:
        program = str(self.root / "build-c" / fault.c_program)
        return self._run_test([program], self._settings(fault), 1)

    def passes_without_faults(self, faults: list[Fault]) -> bool:
        """Run the tests of all faults, and print what fails. Each adds to the time limit."""
        by_settings = defaultdict(set)
        programs = {}
        for fault in faults:
            if fault.is_c_test:
                programs[fault.c_program] = fault
            else:
                settings = tuple(sorted(self._settings(fault).items()))
                by_settings[settings].update(fault.tests)
        results = [
            (dict(settings), *self._run_tests(sorted(tests), dict(settings)))
            for settings, tests in by_settings.items()
        ]
        for name, fault in programs.items():
            self._run(["ninja", "-C", "build-c", name])
            results.append(({}, *self._run_program(fault)))
        for settings, status, output in results:
            if status:
                print(f"{output[-3000:]}\nfails without a fault: {settings}")
        return not any(status for _, status, _ in results)

    def test(self, fault: Fault) -> str:
        """Run the test of the planted fault, and return how it ended."""
        if fault.is_c_test:
            status, output = self._run_program(fault)
        else:
            status, output = self._run_tests(fault.tests, self._settings(fault))
        if status == -signal.SIGALRM:
            return "hung"
        # 1: a test failed; less than 0: a signal. The others are errors of the call.
        if status > 1 and not fault.is_c_test:
            print(output[-3000:])
            return f"status {status}"
        return "caught" if status else "survived"
