"""The report of the check of a GPU as text and as a page of the documentation."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]


def text(name: str, result: Result) -> str:
    """Return a part of the report as lines for a terminal."""
    lines = [name]
    lines += [f"  {key:<46} {_value(value)}" for key, value in result.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        if "ulp" in value:
            mark = "" if value["ulp"] <= value["bound"] else "  ABOVE THE BOUND"
            return f"{value['ulp']} ulp, bound {value['bound']}{mark}"
        if "crossover" in value:
            return f"from {value['crossover'] or 'no measured size'} elements on"
        return ", ".join(f"{key}: {_value(each)}" for key, each in value.items())
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return str(value)


def page(report: Result) -> str:
    """Return the report as a Markdown page."""
    lines = ["# Measured on a GPU", ""]
    lines += [f"{line}" for line in _introduction(report)]
    for name, result in report.items():
        is_hidden = name == "crossovers" and report["is emulated"]
        if isinstance(result, dict) and not is_hidden:
            lines += ["", f"## {name.capitalize()}", "", *_table(name, result)]
    return "\n".join(lines) + "\n"


def _introduction(report: Result) -> list[str]:
    lines = [
        "`python -m mxnp --check-gpu docs/metal-measured.md` wrote this page, in "
        f"{report['seconds']} s.",
    ]
    if report["wrong"]:
        lines += ["", "**These values are wrong:** " + "; ".join(report["wrong"]) + "."]
    if report["is emulated"]:
        lines += [
            "",
            "**It ran on the Metal emulator, not on a Mac.** The precision is that of "
            "the C library. The times",
            "say nothing about a GPU and are left out.",
        ]
    return lines


def _table(name: str, result: Result) -> list[str]:
    if name == "precision" and "error" not in result:
        rows = [(key, each["ulp"], each["bound"]) for key, each in result.items()]
        return _rows(("function", "largest error, ulp", "bound"), rows)
    if name == "crossovers" and "error" not in result:
        rows = [
            (key, n, *(f"{seconds * 1e6:.0f}" for seconds in times.values()))
            for key, each in result.items()
            for n, times in each["seconds"].items()
        ]
        devices = [
            device
            for each in result.values()
            for times in each["seconds"].values()
            for device in times
        ]
        heads = (f"{device}, µs" for device in dict.fromkeys(devices))
        return _rows(("operation", "elements", *heads), rows)
    return _rows(("", ""), [(key, _value(value)) for key, value in result.items()])


def _rows(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    lines = [heads, ("---",) * len(heads), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]
