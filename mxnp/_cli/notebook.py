"""The magics `%mxnp` and `%%mxnp` of IPython and Jupyter, after `%load_ext mxnp`."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from mxnp._doctor.doctor import doctor
from mxnp._engine import core, places, settings
from mxnp._profiler.report import profile
from mxnp._verify.trap_nan import trap_nan
from mxnp._verify.verify import fraction_of, verify

from . import runner

# Options that apply to cells only; their default is None.
_OF_CELLS = ("html", "json", "trace", "verify", "trap_nan")


@magics_class
class Magic(Magics):
    """The line magic and the cell magic `mxnp`."""

    @magic_arguments()
    @argument(
        "switch",
        nargs="?",
        choices=("on", "off", "timeit"),
        help="line magic: whether `import numpy` imports mxnp from now on (default "
        "on). Cell magic: timeit measures the cell, with its results computed",
    )
    @argument("--report", action="store_true", help="show what each line cost")
    @argument("--doctor", action="store_true", help="show slow patterns and rewrites")
    @argument(
        "--verify",
        nargs="?",
        type=fraction_of,
        const=1.0,
        metavar="FRACTION",
        help="compare each operation, or a fraction of them, with NumPy",
    )
    @argument(
        "--trap-nan",
        nargs="?",
        const="nan",
        choices=("nan", "inf"),
        help="stop at the operation that produces the first NaN, or infinity",
    )
    @argument("--html", metavar="FILE", help="write the report as an HTML page")
    @argument("--json", metavar="FILE", help="write the report as JSON")
    @argument("--trace", metavar="FILE", help="write a timeline of what ran")
    @argument("--mode", choices=("strict", "fast"), help="see mxnp.set_mode")
    @line_cell_magic
    def mxnp(self, line: str, cell: str | None = None) -> None:
        """Run a cell with mxnp in place of NumPy, or switch `import numpy` to mxnp."""
        shell: Any = self.shell  # IPython 9.18 declares that it may be None
        options = parse_argstring(self.mxnp, line)
        requested = [name for name in _OF_CELLS if getattr(options, name) is not None]
        requested += [name for name in ("report", "doctor") if getattr(options, name)]
        if cell is None:
            if requested:
                option = requested[0].replace("_", "-")
                raise UsageError(f"--{option} measures a cell: use %%mxnp --{option}")
            if options.mode:
                settings.set_mode(options.mode)
            if options.switch == "timeit":
                raise UsageError("timeit measures a cell: use %%mxnp timeit")
            (runner.uninstall if options.switch == "off" else runner.install)()
            return
        if options.switch == "timeit":
            _time(shell, cell)
            return
        measured = (doctor if options.doctor else profile)(
            trace=options.trace is not None
        )
        verification = None if options.verify is None else verify(options.verify)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_installed())
            stack.enter_context(settings.mode(options.mode or settings.get_mode()))
            if {*requested} - {"verify", "trap_nan"}:
                stack.enter_context(measured)
            if verification:
                stack.enter_context(verification)
            if options.trap_nan:
                stack.enter_context(trap_nan(inf=options.trap_nan == "inf"))
            error = _run(shell, line, cell)
            core.synchronize()
        for kind in ("html", "json", "trace"):
            if getattr(options, kind):
                getattr(measured, f"to_{kind}")(getattr(options, kind))
        if options.report or options.doctor:
            _show(shell, measured, options.report)
        if verification:
            print(textwrap.fill(str(verification), 88))
        _fail(shell, error)


def _run(shell: Any, line: str, cell: str) -> BaseException | None:
    """Run the rest of a cell, and return the error that was shown.

    Its places have the number and the lines of the cell. IPython would use the number
    of the next cell.
    """
    if not cell.lstrip().startswith("%%"):  # a magic must be the first line
        cell = f"# %%mxnp {line}\n{cell}"
    number, cache = _number(shell), shell.compile.cache

    def cache_as_cell(code: str, _: int = 0, **kwargs: Any) -> Any:
        return cache(code, number, **kwargs)

    shell.compile.cache = cache_as_cell
    try:
        result = shell.run_cell(cell, store_history=False)
    finally:
        del shell.compile.cache
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


def _fail(shell: Any, error: BaseException | None) -> None:
    """Raise an error that IPython has shown, so that later cells do not run."""
    if error is None:
        return

    def show_others(*args: Any, **kwargs: Any) -> None:
        del shell.showtraceback
        if sys.exc_info()[1] is not error:
            shell.showtraceback(*args, **kwargs)

    shell.showtraceback = show_others
    raise error


def _number(shell: Any) -> int:
    """Return the number of the cell whose magic is running."""
    frame: types.FrameType | None = sys._getframe()
    while frame:
        name = places.cell_name(frame.f_code.co_filename)
        number = re.search(r"\d+", name or "")
        if number:
            return int(number[0])
        frame = frame.f_back
    return int(shell.execution_count)


def _show(shell: Any, measured: profile, with_tables: bool) -> None:
    """Show a report as HTML in Jupyter, or as text on a terminal."""
    if hasattr(shell, "kernel"):
        display(measured)
        return
    if with_tables:
        profile.print(measured)
    if isinstance(measured, doctor):
        measured.print()


def _time(shell: Any, cell: str) -> None:
    """Measure a cell with `%%timeit`. Each run computes the value of the last line.

    Without that, a run would only record operations, and drop them.
    """
    names = {"_mxnp_synchronize": core.synchronize}
    tree = ast.parse(cell)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        target = ast.Name("_mxnp_value", ast.Store())
        tree.body[-1] = ast.Assign([target], tree.body[-1].value)
    tree.body += ast.parse("_mxnp_synchronize()").body
    code = ast.unparse(ast.fix_missing_locations(tree))
    shell.push(names, interactive=False)
    try:
        with _installed():
            shell.run_cell_magic("timeit", "", code)
    finally:
        shell.drop_by_id(names)


@contextlib.contextmanager
def _installed() -> Iterator[None]:
    """Make `import numpy` import mxnp in a block."""
    was_installed = runner.is_installed()
    runner.install()
    try:
        yield
    finally:
        if not was_installed:
            runner.uninstall()


def load(shell: Any) -> None:
    """Register the magics."""
    shell.register_magics(Magic)
