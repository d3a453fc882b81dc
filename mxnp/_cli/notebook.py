"""Magics of IPython and Jupyter: `%load_ext mxnp`, then `%mxnp` and `%%mxnp`."""

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
    """The magic `mxnp`, of a line and of a cell."""

    @magic_arguments()
    @argument(
        "switch",
        nargs="?",
        choices=("on", "off"),
        help="of a line: whether `import numpy` gives mxnp from here on; default on",
    )
    @argument("--report", action="store_true", help="show what each line cost")
    @argument("--html", metavar="FILE", help="write the report as a page")
    @argument("--json", metavar="FILE", help="write the report for other programs")
    @argument("--trace", metavar="FILE", help="write what ran when")
    @argument("--mode", choices=("strict", "fast"), help="see mxnp.set_mode")
    @line_cell_magic
    def mxnp(self, line: str, cell: str | None = None) -> None:
        """Run a cell in which `import numpy` gives mxnp, or switch that on or off."""
        shell: Any = self.shell  # of IPython 9.18 the type says that it may be None
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
    """Show a report as a page where there is one, else on the terminal."""
    if hasattr(shell, "kernel"):
        display(measured)
    else:
        measured.print()


@contextlib.contextmanager
def _installed() -> Iterator[None]:
    """Let `import numpy` give mxnp in a block."""
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
