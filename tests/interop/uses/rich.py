"""rich: texts and tables in terminals."""

import io

from rich.console import Console
from rich.pretty import pretty_repr
from rich.progress import track
from rich.table import Table


def _printed(*things):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(*things)
    return console.file.getvalue()


def texts(small):
    y = small[:6] * 2
    return _printed(y), _printed("a", y[0], [y[:2], (y[2:4],)]), _printed({"y": y})


def pretty(x):
    y = x * 1.0 + 1
    return pretty_repr(y[:3]), pretty_repr({"a": [y[:2]], "b": y.shape}), pretty_repr(y)


def tables(small):
    made = Table("i", "value")
    for i, value in enumerate(small[:3] + 1):
        made.add_row(str(i), f"{value:.3f}")
    return _printed(made)


def progress(x):
    console = Console(file=io.StringIO())
    rows = track(x.reshape(-1, 20) * 2, console=console)
    return [row.sum() for row in rows]


def locals_in_tracebacks(small):
    values = small[:3] * 2
    console = Console(file=io.StringIO(), width=100, color_system=None)
    try:
        values[9]
    except IndexError:
        console.print_exception(show_locals=True)
    lines = console.file.getvalue().splitlines()
    return [line for line in lines if "values = " in line or "small = " in line]


def inspected(small):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    from rich import inspect

    inspect({"a": small[:2] * 3}, console=console, value=True)
    return "0." in console.file.getvalue()
