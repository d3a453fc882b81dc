"""The command line: ``python -m mxnp [options] script.py [args]``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy

import mxnp

from . import runner
from .report_options import ReportOptions

_NAME = "python -m mxnp"
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
  --verify[=PART]     let NumPy compute each operation too, or that part of them (0.1),
                      and stop at the first that differs: see mxnp.verify
  --trap-nan[=inf]    stop at the operation that makes the first NaN, or infinity: see
                      mxnp.trap_nan
  --report            print what each line cost and where it ran, to the standard
                      error when the program ends
  --report=json FILE  write it to a file, for other programs: see docs/report.md
  --report=html FILE  write it to a file, as a page with the program's lines
  --doctor            print what the program could do faster, with the lines as they
                      could be, to the standard error when it ends: see docs/doctor.md
  --trace FILE        write what ran when, for chrome://tracing and ui.perfetto.dev
  --fail-on-fallback[=N]
                      exit with status 1 if NumPy ran operations on large arrays (more
                      than N times), and list them
  --fail-on-sync[=N]  exit with status 1 if the program waited for what it had recorded
                      (more than N times), and list where
  --allow WHAT        leave this out there: an operation (linalg.*), a file (plot.py) or
                      a line (plot.py:14). Can be given more than once
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
    names = ("--include", "--exclude", "--mode", "--trace", "--allow")
    choice: dict[str, list[str]] = {name: [] for name in names}
    options = ReportOptions()
    watchers: dict[str, Any] = {}
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
        if option in (*_WATCHERS, *_REPORT_OPTIONS):
            del args[0]
            if option in _WATCHERS:
                watchers[option] = _watcher(option, value if given else None)
            else:
                _set_report_option(options, option, value, args)
            continue
        if option not in choice:
            break
        del args[0]
        choice[option].append(_value(option, given, value, args))
    if choice["--mode"]:
        _set_mode(choice["--mode"][-1])
    options.allowed = choice["--allow"]
    options.outputs += [("trace", file) for file in choice["--trace"]]
    runner.install(choice["--include"], choice["--exclude"])
    with ExitStack() as stack:
        stack.enter_context(_report_session(options, args))
        for watcher in watchers.values():
            stack.enter_context(watcher)
        stack.push(partial(_end, watchers.get("--verify")))
        _run(args)
        mxnp.synchronize()


def _value(option: str, given: str, value: str, args: list[str]) -> str:
    """Give the value of an option that must have one."""
    if not given:
        if not args:
            _refuse(f"argument {option}: expected one argument")
        value = args.pop(0)
    if not value:
        _refuse(f"argument {option}: expected a name")
    return value


_WATCHERS = ("--verify", "--trap-nan")
_REPORT_OPTIONS = ("--report", "--doctor", "--fail-on-fallback", "--fail-on-sync")


def _set_report_option(
    options: ReportOptions, option: str, value: str, args: list[str]
) -> None:
    """Note what an option with a value that may be left out asks for."""
    if option == "--report":
        kind, colon, file = (value or "text").partition(":")
        if kind not in ("text", "json", "html"):
            _refuse(f"argument --report: expected json or html, not {kind!r}")
        if kind != "text" and not colon:
            if not args:
                _refuse(f"argument --report={kind}: expected a file")
            file = args.pop(0)
        options.outputs.append((kind, file))
        return
    if option == "--doctor":
        if value:
            _refuse(f"argument --doctor: expected nothing, not {value!r}")
        options.is_doctor = True
        return
    if value and not value.isdecimal():
        _refuse(f"argument {option}: expected a number, not {value!r}")
    if option == "--fail-on-sync":
        options.waits = int(value or 0)
    else:
        options.fallbacks = int(value or 0)


def _report_session(
    options: ReportOptions, args: Sequence[str]
) -> AbstractContextManager[None]:
    if not options:
        return nullcontext()
    if not args and sys.stdin.isatty():
        _refuse("a report is of a program, and none is given")
    from . import report_session  # takes long to import

    try:
        return report_session.ReportSession(options, _named(args))
    except (ImportError, OSError) as error:
        _refuse(str(error))


def _run(args: Sequence[str]) -> None:
    """Run the program that begins the arguments."""
    first, *rest = args or [""]
    if first in ("", "-"):
        runner.run_stdin(args)
    elif first[:2] in ("-m", "-c"):
        if not first[2:] and not rest:
            _refuse(f"argument expected for the {first} option")
        program = first[2:] or rest.pop(0)
        run = runner.run_module if first[1] == "m" else runner.run_code
        run(program, rest)
    elif first.startswith("-"):
        _refuse(f"unrecognized option: {first}")
    else:
        runner.run_path(first, rest)


def _watcher(option: str, value: str | None) -> mxnp.verify | mxnp.trap_nan:
    """Make who watches the program's operations."""
    if option == "--trap-nan":
        if value not in (None, "inf"):
            _refuse(f"argument {option}: expected inf, not {value!r}")
        return mxnp.trap_nan(inf=value == "inf", everywhere=True)
    try:
        return mxnp.verify(float(value or "nan") if value is not None else 1.0)
    except ValueError:
        _refuse(f"argument {option}: expected a number above 0, at most 1")


def _end(checks: mxnp.verify | None, *error: object) -> None:
    """Say what was verified; a difference that the program caught ends it, too."""
    if checks is None:
        return
    if checks.failure is None:
        sys.stderr.write(f"{_NAME}: {checks}\n")
    elif error[0] is None or error[0] is SystemExit:
        sys.stderr.write(f"{_NAME}: {checks.failure}\n")
        sys.exit(1)


def _named(args: Sequence[str]) -> str:
    """Give what a report calls the program."""
    first = args[0] if args else "-"
    return " ".join(args[:2]) if first == "-m" else first[:60]


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
        from mxnp._engine import core
    except ImportError as error:
        return f"unknown: {error}"
    return ", ".join(core.metal_devices()) or "none"
