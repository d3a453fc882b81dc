"""Charts of speeds relative to NumPy, by size. Drawing them needs matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import Report, Row, size_text

# Okabe and Ito's colours, which colour-blind people can distinguish.
COLOURS = {
    "numpy": "#000000",
    "mxnp": "#D55E00",
    "numexpr": "#009E73",
    "jax": "#56B4E9",
    "jax.jit": "#0072B2",
    "torch": "#CC79A7",
}
LOWEST = 0.04  # lowest speed that is shown; a slower one is a triangle there
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
WIDTH = 9.0  # inches; a page shows a chart at about 100 pixels per inch
SPEED = "speed relative to NumPy (above 1 is faster)"


def draw(report: Report, path: Path) -> list[Path]:
    """
    Draw a chart for each suite.

    A suite that was measured with NumPy and mxnp alone becomes one chart with a row for
    each case. With other peers it has a panel for each case.

    Parameters
    ----------
    report : Report
        The report to draw.
    path : Path
        The file to write. With several suites, the name of each is added to the stem.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("Agg")
    mpl.rcParams["font.size"] = 11
    suites = [
        suite
        for suite in report.suites()
        if any(row.timings for row in report.of_suite(suite))
    ]
    written = []
    for suite in suites:
        name = path if len(suites) == 1 else path.with_stem(f"{path.stem}-{suite}")
        cases: dict[str, list[Row]] = {}
        for row in report.of_suite(suite):
            if row.timings:
                cases.setdefault(row.label, []).append(row)
        shown = {
            peer for rows in cases.values() for row in rows for peer in row.timings
        }
        peers = [peer for peer in report.peers if peer in shown]
        if shown == {"numpy", "mxnp"}:
            figure = _draw_rows(cases)
        else:
            figure = _draw_panels(cases, peers)
        processor, threads = report.machine["processor"], report.threads["mxnp"]
        figure.suptitle(
            f"{suite}: {SPEED}\n"
            f"{processor}, {threads} thread{'s' if threads != '1' else ''}",
            fontsize=12,
            y=1 - 0.1 / figure.get_figheight(),
            va="top",
        )
        _save(figure, name)
        pyplot.close(figure)
        written.append(name)
    return written


def _limits(rows: Sequence[Row]) -> tuple[float, float, list[float]]:
    """Return the lowest and the highest speed of an axis, and its ticks."""
    speeds = [timing.speed for row in rows for timing in row.timings.values()]
    low = max(LOWEST, min(0.45, 0.8 * min(speeds)))
    high = max(2.2, 1.25 * max(speeds))
    return low, high, [tick for tick in TICKS if low <= tick <= high]


def _draw_rows(cases: dict[str, list[Row]]) -> Any:
    """Draw a row for each case, with a dot for each size; the fastest is on top."""
    from matplotlib import pyplot

    rows = [row for each in cases.values() for row in each if "mxnp" in row.timings]
    speeds: dict[str, dict[int, float]] = {}
    for row in rows:
        speeds.setdefault(row.label, {})[row.size] = row.timings["mxnp"].speed
    at_largest = {label: by_size[max(by_size)] for label, by_size in speeds.items()}
    order = sorted(speeds, key=at_largest.__getitem__)
    height = 0.32 * len(order) + 1.9  # inches
    figure, axis = pyplot.subplots(figsize=(WIDTH, height))
    figure.subplots_adjust(
        left=0.28, right=0.9, bottom=1.0 / height, top=1 - 0.85 / height
    )
    low, high, ticks = _limits(rows)
    axis.set(xscale="log", xlim=(low, high), ylim=(-0.7, len(order) - 0.3))
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_yticks(range(len(order)), order)
    axis.tick_params(axis="y", length=0)
    axis.minorticks_off()
    axis.grid(axis="x", alpha=0.25, lw=0.5)
    axis.axvspan(low, 1, color="#000000", alpha=0.07, lw=0)  # slower than NumPy
    axis.axvline(1, color=COLOURS["numpy"], lw=1.0)
    right: dict[str, Any] = {
        "transform": axis.get_yaxis_transform(),
        "va": "center_baseline",
    }
    for y, label in enumerate(order):
        axis.text(1.02, y, f"{at_largest[label]:#.2g}".rstrip("."), **right)
    sizes = {row.size for row in rows}
    if len(sizes) > 1 and len(speeds) == len(rows):  # each case has its own size
        _draw_dots(axis, [{0: at_largest[label]} for label in order])
        return figure
    _draw_dots(axis, [speeds[label] for label in order])
    axis.text(1.02, len(order), size_text(max(sizes)), **right)
    figure.legend(
        *axis.get_legend_handles_labels(),
        title="elements",
        loc="lower center",
        ncols=len(rows),
        frameon=False,
        handletextpad=0.2,
    )
    return figure


def _draw_dots(axis: Any, speeds: Sequence[dict[int, float]]) -> None:
    """Draw the speeds of each row by size; larger and darker dots are larger sizes."""
    colour = COLOURS["mxnp"]
    for y, by_size in enumerate(speeds):
        found = by_size.values()
        axis.hlines(y, min(found), max(found), color=colour, alpha=0.4, lw=2)
    sizes = sorted({size for by_size in speeds for size in by_size})
    for number, size in enumerate(sizes, 1):
        share = number / len(sizes)
        axis.plot(
            [by_size.get(size, math.nan) for by_size in speeds],
            range(len(speeds)),
            "o",
            color=_tint(colour, share),
            markeredgecolor=colour,
            ms=5 + 3 * share,
            label=size_text(size),
        )


def _tint(colour: str, share: float) -> tuple[float, ...]:
    """Mix a colour with white."""
    from matplotlib.colors import to_rgb

    return tuple(share * part + 1 - share for part in to_rgb(colour))


def _draw_panels(cases: dict[str, list[Row]], peers: Sequence[str]) -> Any:
    """Draw a panel for each case, with a line for each peer over the sizes."""
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    rows = [row for each in cases.values() for row in each]
    columns = min(3, len(cases))
    lines = math.ceil(len(cases) / columns)
    height = 2.3 * lines + 1.4  # inches
    figure, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(WIDTH, height),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    # For many panels matplotlib takes long to find a layout, and limits.
    figure.subplots_adjust(
        left=0.6 / WIDTH,
        right=1 - 0.15 / WIDTH,
        bottom=1.0 / height,
        top=1 - 1.1 / height,
        hspace=0.42,
        wspace=0.08,
    )
    # Set once for all: the panels share their axes.
    first = axes[0, 0]
    sizes = [row.size for row in rows]
    first.set(xscale="log", yscale="log")
    first.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
    low, high, ticks = _limits(rows)
    first.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    first.minorticks_off()
    first.set_ylim(low, high)
    for axis in axes.flat:
        axis.autoscale(enable=False)
    for axis, (label, each) in zip(axes.flat, cases.items(), strict=False):
        _draw_panel(axis, label, each, peers)
    for axis in axes.flat[len(cases) :]:
        axis.set_visible(False)
    # The lowest panel of a column keeps its sizes, also above an empty place.
    for column in range(columns):
        lowest = (len(cases) - 1 - column) // columns
        axes[lowest, column].tick_params(labelbottom=True)
        axes[lowest, column].set_xlabel("elements")
    handles = [
        Line2D([], [], color=_colour(peer), lw=_width(peer), marker=_marker(peer), ms=4)
        for peer in peers
    ]
    figure.legend(handles, peers, loc="lower center", ncols=len(peers), frameon=False)
    return figure


def _save(figure: Any, path: Path) -> None:
    """Write a chart; a PNG file with few colours, which takes fewer bytes."""
    figure.savefig(path, dpi=150)
    if path.suffix == ".png":
        from PIL import Image  # which matplotlib needs

        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(64)
        few.save(path, optimize=True)


def _draw_panel(
    axis: Any, label: str, rows: Sequence[Row], peers: Sequence[str]
) -> None:
    for peer in peers:
        points = sorted(
            (row.size, row.timings[peer], row.timings["numpy"])
            for row in rows
            if peer in row.timings and "numpy" in row.timings
        )
        if not points:
            continue
        sizes = [size for size, _, _ in points]
        speeds = [timing.speed for _, timing, _ in points]
        axis.plot(
            sizes,
            speeds,
            color=_colour(peer),
            lw=_width(peer),
            marker=_marker(peer),
            ms=3.5,
            zorder=3 if peer == "mxnp" else 2,
        )
        below = [
            size for size, speed in zip(sizes, speeds, strict=True) if speed < LOWEST
        ]
        axis.plot(below, [1.15 * LOWEST] * len(below), "v", color=_colour(peer), ms=6)
        if peer != "numpy":
            low = [base.median / timing.high for _, timing, base in points]
            high = [base.median / timing.low for _, timing, base in points]
            axis.fill_between(sizes, low, high, color=_colour(peer), alpha=0.15, lw=0)
    axis.set_title(textwrap.fill(label, 40), fontsize=10)
    axis.grid(alpha=0.25, lw=0.5)


def _colour(peer: str) -> str:
    return COLOURS.get(peer, "#888888")


def _width(peer: str) -> float:
    return {"mxnp": 2.2, "numpy": 1.0}.get(peer, 1.3)


def _marker(peer: str) -> str | None:
    return None if peer == "numpy" else "o"
