"""The command ``python -m mxnp [options] script.py [args]`` and its options."""

from __future__ import annotations

import gc
import os
import platform
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, NoReturn

import numpy

import mxnp
from mxnp._engine import core, environment
from mxnp._engine.devices import describe_auto

from . import runner
from .report_options import ReportOptions

Compile = Callable[[bytes, str], types.CodeType | None]
_NAME = "python -m mxnp"
_VARIABLES = "\n".join(
    f"  {row.name:<18}  {row.meaning}" for row in environment.VARIABLES.values()
)
_HELP = f"""\
usage: {_NAME} [options] script.py [args]
       {_NAME} [options] -m module [args]
       {_NAME} [options] -c code [args]
       {_NAME} [options] [-]

Run a NumPy program with mxnp in place of NumPy. In the program's own files,
`import numpy` imports mxnp. The standard library and installed packages keep NumPy.
Arrays that `dask.array` creates have mxnp chunks: see docs/scaling.md.

program (everything after it is passed to the program):
  script.py           a file, or a folder or zip file that contains __main__.py
  -m module           a module or package, as in `python -m`
  -c code             source code
  -                   the standard input. This is the default; on a terminal it starts
                      an interactive console

options:
  --include PACKAGE   use mxnp in this package too, which is installed, also with pip -e
  --exclude PREFIX    keep NumPy in this module or package of the program, or in the
                      chunks of dask. A PACKAGE or PREFIX that contains a slash is a
                      path. Both options can be repeated
  --mode MODE         strict (the default) or fast: see mxnp.set_mode
  --verify[=FRACTION] compare each operation, or a fraction of them (1%), with NumPy,
                      and stop at the first difference: see mxnp.verify
  --trap-nan[=inf]    stop at the operation that produces the first NaN (or infinity):
                      see mxnp.trap_nan
  --report            when the program ends, print to the standard error what each line
                      cost and where it ran: see docs/report.md
  --report=json FILE  write the report to a file as JSON, for other programs; also
                      without the "="
  --report=html FILE  write the report to a file as a page with the program's lines
  --doctor            when the program ends, print slow patterns and suggested rewrites
                      to the standard error: see docs/doctor.md
  --rewrite[=FILE]    when the program ends, print a patch that replaces its slow loops
                      to the standard error, or write it to a file: see docs/doctor.md
  --trace FILE        write a timeline for chrome://tracing and ui.perfetto.dev
  --fail-on-fallback[=N]
                      exit with status 1, and list the calls, if NumPy ran operations
                      on large arrays more than N times (default 0)
  --fail-on-sync[=N]  exit with status 1, and list the places, if the program waited
                      for recorded operations more than N times (default 0)
  --allow WHAT        do not count an operation (linalg.*), a file (plot.py) or a line
                      (plot.py:14) in these two checks. Can be repeated
  --check-gpu FILE    measure what the documentation says about the GPU, in a minute,
                      write the report to a file, as JSON or as a page (.md), and exit
  --info              print the versions and the hardware that mxnp uses, and exit
  -V, --version       print the versions, and exit
  -h, --help          print this help, and exit

environment variables:
{_VARIABLES}
"""


def main() -> None:
    """Run the command line in `sys.argv`."""
    args = sys.argv[1:]
    names = ("--include", "--exclude", "--mode", "--trace", "--allow")
    values: dict[str, list[str]] = {name: [] for name in names}
    options = ReportOptions()
    watchers: dict[str, Any] = {}
    while args:
        option, equals, value = args[0].partition("=")
        if option in ("-h", "--help"):
            _show(_HELP)
            return
        if option in ("-V", "--version"):
            _show(f"{_version()}\n")
            return
        if option == "--info":
            _show("".join(f"{name:<18}  {text}\n" for name, text in _info()))
            return
        if option == "--check-gpu":
            _check_gpu(_value(option, equals, value, args[1:]))
        if option in (*_WATCHERS, *_REPORT_OPTIONS):
            del args[0]
            if option in _WATCHERS:
                watchers[option] = _watcher(option, value if equals else None)
            else:
                _set_report_option(options, option, value, args)
            continue
        if option not in values:
            break
        del args[0]
        values[option].append(_value(option, equals, value, args))
    if values["--mode"]:
        _set_mode(values["--mode"][-1])
    options.allowed = values["--allow"]
    options.outputs += [("trace", file) for file in values["--trace"]]
    runner.install(values["--include"], values["--exclude"])
    with ExitStack() as stack:
        compiled = stack.enter_context(_report_session(options, args))
        for watcher in watchers.values():
            stack.enter_context(watcher)
        stack.push(partial(_report_verification, watchers.get("--verify")))
        gc.freeze()  # the program's collections need not look at what is loaded
        _run(args, compiled)
        runner.run_deferred()


def _show(text: str) -> None:
    """Print a text, which a reader such as ``head`` may close before its end."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # raised again when Python flushes the output at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_gpu(file: str) -> NoReturn:
    """Measure the GPU, write the report and exit."""
    from mxnp._metal import check  # its import takes long

    sys.exit(0 if check.main(file, sys.stdout.write) else 1)


def _value(option: str, equals: str, value: str, args: list[str]) -> str:
    """Return the value of an option that requires one, from `args` without an "="."""
    if not equals:
        if not args:
            _refuse(f"argument {option}: expected one argument")
        value = args.pop(0)
    if not value:
        _refuse(f"argument {option}: expected a name")
    return value


_WATCHERS = ("--verify", "--trap-nan")
_REPORT_OPTIONS = (
    "--report",
    "--doctor",
    "--rewrite",
    "--fail-on-fallback",
    "--fail-on-sync",
)


def _set_report_option(
    options: ReportOptions, option: str, value: str, args: list[str]
) -> None:
    """Set what an option of the report, whose value is optional, requests."""
    if option == "--report":
        if not value and args[:1] in (["json"], ["html"]) and args[1:]:
            value = args.pop(0)  # --report html FILE
            if args[0].startswith("-") and args[0] != "-":
                _refuse(f"argument --report={value}: expected a file, not {args[0]!r}")
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
            _refuse(f"argument --doctor: expected no value, not {value!r}")
        options.is_doctor = True
        return
    if option == "--rewrite":
        options.patch = value
        return
    if value and not value.isdecimal():
        _refuse(f"argument {option}: expected a number, not {value!r}")
    if option == "--fail-on-sync":
        options.waits = int(value or 0)
    else:
        options.fallbacks = int(value or 0)


def _report_session(
    options: ReportOptions, args: Sequence[str]
) -> AbstractContextManager[Compile | None]:
    if not options:
        return nullcontext()
    if options.patch is not None:
        _check_rewritable(options, args)
    if not args and sys.stdin.isatty():
        _refuse("a report requires a program: pass a script, -m, -c or -")
    from . import report_session  # its import takes long

    try:
        return report_session.ReportSession(options, _program_name(args))
    except OSError as error:
        _refuse(str(error))


def _check_rewritable(options: ReportOptions, args: Sequence[str]) -> None:
    """Refuse a program that has no file with lines of Python, and a limit of waits."""
    if options.waits is not None:  # recording waits too
        _refuse("argument --rewrite: not allowed with argument --fail-on-sync")
    first = args[0] if args else "-"
    if first == "-" or first.startswith("-c"):
        _refuse("argument --rewrite: expected a script or -m module, which has a file")
    if first.endswith(".ipynb"):
        _refuse("argument --rewrite: expected a script, not a notebook; save it as one")


def _run(args: Sequence[str], compiled: Compile | None) -> None:
    """Run the program that the first arguments name."""
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
        _refuse(f"unrecognized option: {first}{_suggestion(first)}")
    else:
        runner.run_path(first, rest, compiled)


def _suggestion(option: str) -> str:
    """Return a question with the known option that is most like an unknown one."""
    import difflib  # few programs need it

    known = re.findall(r"^  .*?(--[a-z-]+)", _HELP, re.MULTILINE)
    name, equals, value = option.partition("=")
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}{equals}{value}?" if close else ""


def _watcher(option: str, value: str | None) -> mxnp.verify | mxnp.trap_nan:
    """Return the context manager that watches the program's operations."""
    if option == "--trap-nan":
        if value not in (None, "inf"):
            _refuse(f"argument {option}: expected inf, not {value!r}")
        return mxnp.trap_nan(inf=value == "inf", everywhere=True)
    # Imported here, because few programs need it and it takes 8 ms.
    from mxnp._verify.verify import fraction_of

    try:
        return mxnp.verify(fraction_of(value) if value is not None else 1.0)
    except ValueError:
        _refuse(f"argument {option}: expected a number above 0, at most 1, or 1%")


def _report_verification(checks: mxnp.verify | None, *error: object) -> None:
    """Print the result of --verify. Exit with status 1 if there was a difference.

    The program may have caught the VerificationError.
    """
    if checks is None:
        return
    if checks.failure is None:
        sys.stderr.write(f"{_NAME}: {checks}\n")
    elif error[0] is None or error[0] is SystemExit:
        sys.stderr.write(f"{_NAME}: {checks.failure}\n")
        sys.exit(1)


def _program_name(args: Sequence[str]) -> str:
    """Return the name of the program for a report."""
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
    """Yield the names and texts of the lines of --info."""
    yield "mxnp", f"{mxnp.mxnp_version}, {os.path.dirname(mxnp.__file__)}"
    yield "NumPy", f"{numpy.__version__}, {os.path.dirname(numpy.__file__)}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield "Python", f"{python}, {sys.executable}"
    yield "platform", platform.platform()
    used, usable = core.get_num_threads(), core.usable_threads()
    yield "threads", f"{used} used, {usable} usable, of {os.cpu_count()} processors"
    yield "BLAS", _blas()
    yield from _gpus()
    if core.gpu().models:
        yield "auto", describe_auto()
    yield from environment.describe()


def _blas() -> str:
    config: Any = numpy.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    name = f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
    details = blas.get("openblas configuration")
    return f"{name} ({' '.join(details.split())})" if details else name


def _gpus() -> Iterator[tuple[str, str]]:
    for device in core.devices():
        problem = core.device_problem(device)
        models = ", ".join(device.models) or "none"
        yield device.title, f"{models} ({problem})" if problem else models
        if libraries := core.device_libraries(device):
            yield "libraries", libraries
