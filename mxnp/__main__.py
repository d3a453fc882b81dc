"""The command line: ``python -m mxnp [options] script.py [args]``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy

import mxnp
from mxnp import _runner

_NAME = "python -m mxnp"
_TAKE_VALUE = ("--include", "--exclude", "--mode")
_HELP = f"""\
usage: {_NAME} [options] script.py [args]
       {_NAME} [options] -m module [args]
       {_NAME} [options] -c code [args]
       {_NAME} [options] [-]

Run a NumPy program with mxnp in NumPy's place. An `import numpy` in the program's own
files gives mxnp; the standard library and installed packages keep NumPy.

program, and everything after it belongs to the program:
  script.py           a file, or a folder or zip file with a __main__.py
  -m module           a module or package, as `python -m` runs it
  -c code             a text
  -                   the standard input; also without any program (a console, if
                      somebody is typing)

options:
  --include PACKAGE   give mxnp to this installed package too
  --exclude PREFIX    keep NumPy for this module or package of the program; a PREFIX
                      with a slash is a path. Both can be given more than once
  --mode MODE         strict, which is the default, or fast: see mxnp.set_mode
  --info              print what mxnp runs on, and exit
  -V, --version       print the versions, and exit
  -h, --help          print this, and exit

environment:
  MXNP_INCLUDE        more for --include, separated as in PATH
  MXNP_EXCLUDE        more for --exclude
  MXNP_MODE           the mode, without --mode
"""


def main() -> None:
    """Run the command line in `sys.argv`."""
    args = sys.argv[1:]
    choice: dict[str, list[str]] = {"--include": [], "--exclude": [], "--mode": []}
    while args:
        option, given, value = args[0].partition("=")
        if option in ("-h", "--help"):
            print(_HELP, end="")
            return
        if option in ("-V", "--version"):
            print(_version())
            return
        if option == "--info":
            for name, text in _info():
                print(f"{name:<10}  {text}")
            return
        if option not in choice:
            break
        del args[0]
        if not given:
            if not args:
                _refuse(f"argument {option}: expected one argument")
            value = args.pop(0)
        if not value:
            _refuse(f"argument {option}: expected a name")
        choice[option].append(value)
    if choice["--mode"]:
        _set_mode(choice["--mode"][-1])
    _runner.install(choice["--include"], choice["--exclude"])
    _run(args)
    mxnp.synchronize()


def _run(args: Sequence[str]) -> None:
    """Run the program that begins the arguments."""
    first, *rest = args or [""]
    if first in ("", "-"):
        _runner.run_stdin(args)
    elif first[:2] in ("-m", "-c"):
        if not first[2:] and not rest:
            _refuse(f"argument expected for the {first} option")
        program = first[2:] or rest.pop(0)
        run = _runner.run_module if first[1] == "m" else _runner.run_code
        run(program, rest)
    elif first.startswith("-"):
        _refuse(f"unrecognized option: {first}")
    else:
        _runner.run_path(first, rest)


def _set_mode(name: str) -> None:
    try:
        mxnp.set_mode(name)
    except ValueError as error:
        _refuse(f"argument --mode: {error}")


def _refuse(message: str) -> NoReturn:
    usage = _HELP.partition("\n\n")[0]
    sys.stderr.write(f"{usage}\n{_NAME}: error: {message}\n")
    sys.exit(2)


def _version() -> str:
    python = platform.python_version()
    return f"mxnp {mxnp.mxnp_version} (NumPy {numpy.__version__}, Python {python})"


def _info() -> Iterator[tuple[str, str]]:
    """Give the lines of --info: what mxnp is, and what it runs on."""
    yield "mxnp", f"{mxnp.mxnp_version}, {Path(mxnp.__file__).parent}"
    yield "NumPy", f"{numpy.__version__}, {Path(numpy.__file__).parent}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield "Python", f"{python}, {sys.executable}"
    yield "platform", platform.platform()
    yield "threads", f"{_usable_threads()} usable, of {os.cpu_count()} processors"
    yield "BLAS", _blas()
    yield "Metal", _metal()
    settings = sorted(name for name in os.environ if name.startswith("MXNP_"))
    told = " ".join(f"{name}={os.environ[name]}" for name in settings)
    yield "settings", told or "none"


def _usable_threads() -> int:
    """Count the threads that this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = _cpu_quota()
    return count if quota is None else max(1, min(count, int(quota + 0.5)))


def _cpu_quota(
    mount: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> float | None:
    """Give how many processors a container's limit allows, or None without a limit."""
    quotas = []
    try:
        for line in own.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if not controllers:  # version 2
                root, read = mount, _read_cpu_max
            elif "cpu" in controllers.split(","):
                root, read = mount / "cpu", _read_cfs_quota
            else:
                continue
            # The limit of a group holds for those below it too.
            path = root / group.lstrip("/")
            while path.is_relative_to(root):
                quotas.append(read(path))
                path = path.parent
    except (OSError, ValueError):
        return None
    return min((quota for quota in quotas if quota is not None), default=None)


def _read_cpu_max(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)


def _read_cfs_quota(group: Path) -> float | None:
    try:
        quota = int((group / "cpu.cfs_quota_us").read_text())
        period = int((group / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return None if quota < 0 else quota / period


def _blas() -> str:
    config: Any = numpy.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    name = f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
    details = blas.get("openblas configuration")
    return f"{name} ({' '.join(details.split())})" if details else name


def _metal() -> str:
    # The core may be the very thing that somebody looks into.
    try:
        from mxnp import _lib
    except ImportError as error:
        return f"unknown: {error}"
    return ", ".join(_lib.metal_devices()) or "none"


if __name__ == "__main__":
    main()
