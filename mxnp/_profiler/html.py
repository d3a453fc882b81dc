"""Show a report as a self-contained HTML page with the program's lines."""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape

from mxnp._engine import figures
from mxnp._engine.devices import GPU
from mxnp._interop.dask_protocols import describe_chunks

from .model import BACKENDS, Line, Report, Row
from .text import TITLES, percent, place, shown, summary, used_backends

_CONTEXT = 4  # lines shown before and after a line that did array work
_MOST_LINES = 1500  # of a file whose other lines are on the page too, folded

# A notebook has its own colours and its own style of tables. There, the text takes the
# colour of the notebook. The rules for tables are more specific than JupyterLab's.
_STYLE = """
.mxnp { --ink: currentcolor; --line: rgb(128 128 128 / .4); --paper: transparent;
  --shade: rgb(128 128 128 / .14); --gpu: #2a9d5c; --cpu: #2979c8; --numpy: #d98a00;
  --wait: #d1453b;
  color: var(--ink); background: var(--paper); font: 15px/1.45 system-ui, sans-serif; }
.mxnp.page { --ink: #1d2327; --soft: #667; --line: #dde2e6; --paper: #fff;
  --shade: #f4f6f8; --wait: #b3261e; }
@media (prefers-color-scheme: dark) { .mxnp.page { --ink: #e4e7ea; --soft: #9aa4ad;
  --line: #333b42; --paper: #15191c; --shade: #1e2428; --gpu: #4fc283; --cpu: #63a9ee;
  --numpy: #f0b040; --wait: #ff897d; } }
.mxnp.page { margin: 0 auto; max-width: 1180px; padding: 16px; }
.mxnp h1 { font-size: 1.5em; margin: 0 0 .2em; overflow-wrap: anywhere; }
.mxnp h2 { font-size: 1.15em; margin: 1.6em 0 .5em; overflow-wrap: anywhere; }
.mxnp p { margin: .3em 0; }
.mxnp code, .mxnp .code { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; }
.mxnp .soft { color: var(--soft); }
.mxnp .bar { display: flex; height: 14px; border-radius: 4px; overflow: hidden;
  background: var(--line); margin: .6em 0; }
.mxnp .gpu { background: var(--gpu); } .mxnp .cpu { background: var(--cpu); }
.mxnp .numpy { background: var(--numpy); }
.mxnp .key { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  margin-right: .3em; }
.mxnp .keys > span { margin-right: 1.2em; white-space: nowrap; }
.mxnp .backend { white-space: nowrap; }
.mxnp .cards { display: flex; flex-wrap: wrap; gap: 8px; margin: .8em 0; }
.mxnp .cards div { background: var(--shade); border-radius: 6px; padding: 8px 12px; }
.mxnp .cards b { display: block; font-size: 1.15em; }
.mxnp .wide { overflow-x: auto; }
.mxnp .wide table { border-collapse: collapse; width: 100%; font-size: 14px;
  margin: 0 0 1em; table-layout: auto; }
.mxnp .wide tr { background: none; }
.mxnp .wide th, .mxnp .wide td { text-align: left; padding: 4px 8px; max-width: none;
  vertical-align: top; border-bottom: 1px solid var(--line); background: none;
  color: inherit; white-space: normal; }
.mxnp .wide th { white-space: nowrap; }
.mxnp th button { font: inherit; font-weight: 600; color: inherit; background: none;
  border: 0; padding: 0; cursor: pointer; }
.mxnp th button::after { content: " \\2195"; color: var(--soft); }
.mxnp th[aria-sort=ascending] button::after { content: " \\2191"; }
.mxnp th[aria-sort=descending] button::after { content: " \\2193"; }
.mxnp .wide td.n, .mxnp .wide th.n { text-align: right; white-space: nowrap; }
.mxnp td .code { overflow-wrap: anywhere; }
.mxnp .file { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
.mxnp .lines { min-width: max-content; padding: 4px 0; }
.mxnp .row { display: grid; grid-template-columns: 3.2em 5.2em 4em 1fr;
  column-gap: .7em; padding: 0 8px; white-space: pre; }
.mxnp .row > :first-child, .mxnp .row > :nth-child(2) { text-align: right; }
.mxnp summary.row { cursor: pointer; list-style: none; }
.mxnp summary.row::-webkit-details-marker { display: none; }
.mxnp summary.row:hover, .mxnp details[open] > summary.row { background: var(--shade); }
.mxnp .waits { color: var(--wait); }
.mxnp .row .bar { height: 9px; margin: 5px 0; border-radius: 2px; background: none; }
.mxnp .inside { padding: 4px 8px 10px 13em; max-width: 900px; }
.mxnp .finding { border-left: 3px solid var(--wait); padding: 2px 12px;
  margin: 0 0 1em; }
.mxnp .finding pre { background: var(--shade); color: inherit; margin: .3em 0;
  padding: 6px 10px; overflow-x: auto; }
.mxnp .skip > summary { padding: 0 8px; color: var(--soft); cursor: pointer; }
@media (max-width: 600px) {
  .mxnp.page { padding: 10px; }
  .mxnp .row { grid-template-columns: 2.2em 4.6em 1.6em 1fr; column-gap: .5em; }
  .mxnp .wide table { min-width: 46em; }
  .mxnp .inside { padding-left: 8px; max-width: calc(100vw - 40px); }
}
"""

_SCRIPT = """
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, body = head.closest("table").tBodies[0];
    const column = head.cellIndex, up = head.ariaSort === "descending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
    const compare = (x, y) => {
      const a = key(x), b = key(y), difference = Number(a) - Number(b);
      return Number.isNaN(difference) ? a.localeCompare(b) : difference;
    };
    const rows = [...body.rows].sort((x, y) => (up ? compare(x, y) : compare(y, x)));
    body.append(...rows);
  });
}
"""

# The page loads nothing, and only its own script runs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(report: Report, program: str = "", findings: str = "") -> str:
    """Return the complete page, with the doctor's findings as HTML if there are any."""
    title = f"mxnp report{': ' + program if program else ''}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>html {{ background: light-dark(#fff, #15191c); }} body {{ margin: 0; }}
{_STYLE}</style>
</head>
<body>
<main class="mxnp page">
<h1>{escape(program or "mxnp report")}</h1>
{_head(report)}
{findings}
{_sources(report)}
<h2>Waits</h2>
{_waits(report)}
<h2>Operations</h2>
{_operations(report.rows, report)}
{_conversions(report)}
{_checks(report)}
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def fragment(report: Report, findings: str = "") -> str:
    """Return the tables for a notebook, without a script and without the source."""
    slowest = report.rows[:20]
    return (
        f'<style>{_STYLE}</style><div class="mxnp">{_head(report)}{findings}'
        f"{_operations(slowest, report, sortable=False)}"
        f"{_waits(report, sortable=False) if report.waits else ''}"
        f"{_conversions(report, sortable=False)}</div>"
    )


# -- The sums --------------------------------------------------------------------------


def _head(report: Report) -> str:
    total = report.total
    keys = "".join(
        f"<span>{_key_of(backend)} {figures.time(total.seconds_on(backend))}</span>"
        for backend in used_backends(report)
    )
    cards = [
        ("array work", figures.time(total.array)),
        ("whole run", figures.time(total.wall)),
        ("fused", percent(total.fused, total.array)),
        ("waits", f"{total.waits:,} ({figures.time(total.waiting)})"),
        ("recording", figures.time(total.recording)),
        ("peak memory, arrays", figures.nbytes(total.pool_peak)),
        ("peak memory, process", figures.nbytes(total.process_peak)),
    ]
    sentences = filter(None, [summary(report), describe_chunks()])
    return (
        f"<p>{escape('. '.join(sentences))}</p>"
        f"{_bar(map(total.seconds_on, BACKENDS))}"
        f'<p class="keys">{keys}</p><div class="cards">'
        + "".join(f"<div><b>{text}</b>{name}</div>" for name, text in cards)
        + "</div>"
    )


def _style(backend: str) -> str:
    return "gpu" if backend == GPU else backend


def _bar(seconds: Iterable[float], whole: float = 0) -> str:
    parts = list(zip(BACKENDS, seconds, strict=True))
    whole = whole or sum(part for _, part in parts)
    segments = "".join(
        f'<span class="{_style(backend)}" '
        f'style="width:{100 * part / whole:.2f}%"></span>'
        for backend, part in parts
        if part and whole
    )
    return f'<div class="bar">{segments}</div>'


# -- Tables ----------------------------------------------------------------------------

_Cell = tuple[str, float | str | None]  # HTML, and the sort key; None sorts by the text


def _table(
    heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[_Cell]], sortable: bool
) -> str:
    """Return a table. Each head has a name and says whether its column is numeric."""
    kinds = [' class="n"' if numeric else "" for _, numeric in heads]
    head = "".join(
        f"<th{kind}>{f'<button>{name}</button>' if sortable else name}</th>"
        for kind, (name, _) in zip(kinds, heads, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}{_key(key)}>{text}</td>"
            for kind, (text, key) in zip(kinds, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _key(key: float | str | None) -> str:
    return "" if key is None else f' data-key="{escape(str(key))}"'


def _code(text: str) -> str:
    return f'<span class="code">{escape(text)}</span>'


def _key_of(backend: str) -> str:
    key = f'<i class="key {_style(backend)}"></i>'
    return f'<span class="backend">{key}{TITLES[backend]}</span>'


def _where(file: str, line: int) -> _Cell:
    where = escape(place(file, line)).replace(" ", "&nbsp;")
    return where, f"{file}:{line:09}"


def _cells(row: Row) -> list[_Cell]:
    """Return the cells that all tables of operations have."""
    moved = row.bytes_read + row.bytes_written
    return [
        (escape(row.title), None),
        (_code(row.place.expression), None),
        (_key_of(row.backend), row.backend),
        (figures.time(row.seconds), row.seconds),
        (f"{row.calls:,}", row.calls),
        (f"{row.elements:,}", row.elements),
        (figures.nbytes(moved), moved),
        (percent(row.fused_calls, row.calls), row.fused_calls / max(row.calls, 1)),
    ]


_HEADS = [
    ("operation", False),
    ("expression", False),
    ("ran on", False),
    ("time", True),
    ("calls", True),
    ("elements", True),
    ("memory", True),
    ("fused", True),
]


def _operations(rows: list[Row], report: Report, sortable: bool = True) -> str:
    if not report.rows:
        return "<p>No array work.</p>"
    cells = ([_where(row.place.file, row.place.line), *_cells(row)] for row in rows)
    return _table([("line", False), *_HEADS], cells, sortable)


def _waits(report: Report, sortable: bool = True) -> str:
    if not report.waits:
        return "<p>The program never waited for recorded operations.</p>"
    heads = [
        ("line", False),
        ("expression", False),
        ("reason", False),
        ("count", True),
        ("operations", True),
        ("waited", True),
    ]
    rows: Iterable[Sequence[_Cell]] = (
        [
            _where(wait.place.file, wait.place.line),
            (_code(wait.place.expression), None),
            (escape(wait.reason), None),
            (f"{wait.count:,}", wait.count),
            (f"{wait.operations:,}", wait.operations),
            (figures.time(wait.seconds), wait.seconds),
        ]
        for wait in report.waits
    )
    return _table(heads, rows, sortable)


def _conversions(report: Report, sortable: bool = True) -> str:
    if not report.conversions:
        return ""
    heads = [
        ("line", False),
        ("expression", False),
        ("function", False),
        ("calls", True),
        ("arrays", True),
        ("memory", True),
        ("waited", True),
        ("in a loop", False),
    ]
    rows: Iterable[Sequence[_Cell]] = (
        [
            _where(one.place.file, one.place.line),
            (_code(one.place.expression), None),
            (escape(one.function), None),
            (f"{one.calls:,}", one.calls),
            (f"{one.arrays:,}", one.arrays),
            (figures.nbytes(one.nbytes), one.nbytes),
            (figures.time(one.waiting), one.waiting),
            (escape(one.advice), None),
        ]
        for one in report.conversions
    )
    return (
        "<h2>Arrays passed to packages</h2>"
        "<p>The functions got NumPy arrays with the same memory. Nothing was copied."
        f"</p>{_table(heads, rows, sortable)}"
    )


def _checks(report: Report) -> str:
    if not report.checks:
        return ""
    heads = [
        ("line", False),
        ("expression", False),
        ("checked", True),
        ("elements", True),
        ("time", True),
        ("range already known", True),
    ]
    rows: Iterable[Sequence[_Cell]] = (
        [
            _where(check.place.file, check.place.line),
            (_code(check.place.expression), None),
            (f"{check.count:,}", check.count),
            (f"{check.elements:,}", check.elements),
            (figures.time(check.seconds), check.seconds),
            (f"{check.cached:,}", check.cached),
        ]
        for check in report.checks
    )
    return "<h2>Index checks</h2>" + _table(heads, rows, sortable=True)


# -- The program -----------------------------------------------------------------------


def _sources(report: Report) -> str:
    """Return the program's files, the slowest first."""
    files: dict[str, dict[int, Line]] = defaultdict(dict)
    lines = report.lines()
    for line in lines:
        files[line.file][line.line] = line
    longest = max((line.seconds for line in lines), default=0)
    ordered = sorted(
        files, key=lambda file: -sum(x.seconds for x in files[file].values())
    )
    return "".join(_source(file, files[file], longest) for file in ordered)


def _source(file: str, lines: dict[int, Line], longest: float) -> str:
    text = linecache.getlines(file) if file else []
    if not text:  # as for code that was passed to exec()
        numbers = sorted(lines)
        rows = [_line(number, "", lines, longest) for number in numbers]
    else:
        rows = _folded(text, lines, longest)
    return (
        f"<h2>{escape(shown(file))}</h2>"
        f'<div class="file"><div class="lines code">{"".join(rows)}</div></div>'
    )


def _folded(text: list[str], lines: dict[int, Line], longest: float) -> list[str]:
    """Return the lines of a file. Lines far from any array work are folded."""
    around = range(-_CONTEXT, _CONTEXT + 1)
    near = {number + offset for number in lines for offset in around}
    keeps = len(text) <= _MOST_LINES
    rows: list[str] = []
    far: list[str] = []
    for number, line in enumerate(text, 1):
        row = _line(number, line.rstrip("\n"), lines, longest)
        if number in near:
            rows += _fold(far, keeps)
            far = []
            rows.append(row)
        else:
            far.append(row)
    return rows + _fold(far, keeps)


def _fold(far: list[str], keeps: bool) -> list[str]:
    if len(far) <= 1:
        return far
    count = figures.count(len(far), "line")
    if not keeps:
        return [f'<div class="row soft"><span>…</span><span>{count}</span></div>']
    inside = "".join(far)
    return [f'<details class="skip"><summary>… {count}</summary>{inside}</details>']


def _line(number: int, text: str, lines: dict[int, Line], longest: float) -> str:
    line = lines.get(number)
    code = escape(text.expandtabs(8))
    if line is None:
        return (
            f'<div class="row"><span class="soft">{number}</span><span></span>'
            f"<span></span><span>{code}</span></div>"
        )
    seconds = [line.seconds_on(backend) for backend in BACKENDS]
    count = sum(wait.count for wait in line.waits)
    waits = f' <span class="waits">{count:,} waits</span>' if count > 1 else ""
    waits = ' <span class="waits">1 wait</span>' if count == 1 else waits
    passed = sum(one.calls for one in line.conversions)
    if passed:
        calls = "1 call" if passed == 1 else f"{passed:,} calls"
        waits += f'  <span class="soft">{calls} of packages</span>'
    reasons = "".join(
        f'<p class="waits">{wait.count:,} times, {figures.time(wait.seconds)}: '
        f"{_code(wait.place.expression)}: {escape(wait.reason)}</p>"
        for wait in line.waits
    )
    reasons += "".join(
        f"<p>{one.calls:,} times, {_code(one.function)} got "
        f"{figures.count(one.arrays, 'array')} ({figures.nbytes(one.nbytes)} in all). "
        f"{escape(one.advice)}</p>"
        for one in line.conversions
    )
    table = _table(_HEADS, map(_cells, line.rows), sortable=False) if line.rows else ""
    return (
        f'<details><summary class="row"><span>{number}</span>'
        f"<span>{figures.time(line.seconds) if line.seconds else ''}</span>"
        f"{_bar(seconds, longest)}<span>{code}{waits}</span></summary>"
        f'<div class="inside">{table}{reasons}</div></details>'
    )
