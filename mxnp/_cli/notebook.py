"""The magics `%mxnp` and `%%mxnp` of IPython and Jupyter, after `%load_ext mxnp`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from mxnp._engine import modes
from mxnp._profiler.report import profile

from . import runner


@magics_class
class Magic(Magics):
    """The line magic and the cell magic `mxnp`."""

    @magic_arguments()
    @argument(
        "switch",
        nargs="?",
        choices=("on", "off"),
        help="line magic: whether `import numpy` imports mxnp from now on (default on)",
    )
    @argument("--report", action="store_true", help="show what each line cost")
    @argument("--html", metavar="FILE", help="write the report as an HTML page")
    @argument("--json", metavar="FILE", help="write the report as JSON")
    @argument("--trace", metavar="FILE", help="write a timeline of what ran")
    @argument("--mode", choices=("strict", "fast"), help="see mxnp.set_mode")
    @line_cell_magic
    def mxnp(self, line: str, cell: str | None = None) -> None:
        """Run a cell with mxnp in place of NumPy, or switch `import numpy` to mxnp."""
        shell: Any = self.shell  # IPython 9.18 declares that it may be None
        options = parse_argstring(self.mxnp, line)
        if cell is None:
            if options.mode:
                modes.set_mode(options.mode)
            (runner.uninstall if options.switch == "off" else runner.install)()
            return
        measured = profile(trace=options.trace is not None)
        mode = modes.mode(options.mode or modes.get_mode())
        is_measured = any((options.report, options.html, options.json, options.trace))
        with _installed(), mode, measured if is_measured else contextlib.nullcontext():
            shell.run_cell(cell, store_history=False)
        for kind in ("html", "json", "trace"):
            if getattr(options, kind):
                getattr(measured, f"to_{kind}")(getattr(options, kind))
        if options.report:
            _show(shell, measured)


def _show(shell: Any, measured: profile) -> None:
    """Show a report as HTML in Jupyter, or as text on a terminal."""
    if hasattr(shell, "kernel"):
        display(measured)
    else:
        measured.print()


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
