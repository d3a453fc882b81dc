"""Pictures: the speed of each peer over NumPy's, by size; they need matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import Report, Row

# Okabe and Ito's colours, which colour-blind people tell apart; mxnp is drawn thickest.
COLOURS = {
    "numpy": "#000000",
    "mxnp": "#D55E00",
    "numexpr": "#009E73",
    "jax": "#56B4E9",
    "jax.jit": "#0072B2",
    "torch": "#CC79A7",
}
LOWEST = 0.04  # speed over NumPy's that is shown; a slower one is a triangle there
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def draw(report: Report, path: Path) -> list[Path]:
    """
    Draw a picture for each suite: a panel for each case, the sizes across.

    Parameters
    ----------
    report : Report
        What is drawn.
    path : Path
        Where; with several suites, each adds its name to the stem.

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

    mpl.use("Agg")
    suites = [
        suite
        for suite in report.suites()
        if any(row.timings for row in report.of_suite(suite))
    ]
    written = []
    for suite in suites:
        name = path if len(suites) == 1 else path.with_stem(f"{path.stem}-{suite}")
        _draw_suite(report, suite, name)
        written.append(name)
    return written


def _draw_suite(report: Report, suite: str, path: Path) -> None:
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    panels: dict[str, list[Row]] = {}
    for row in report.of_suite(suite):
        if row.timings:
            panels.setdefault(row.label, []).append(row)
    # The layouts of one case come side by side.
    wanted = 6 if any(row.layout for rows in panels.values() for row in rows) else 4
    columns = min(wanted, len(panels))
    lines = math.ceil(len(panels) / columns)
    width, height = 3.4 * columns + 0.4, 2.5 * lines + 1.2  # inches
    figure, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(width, height),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    # For many panels matplotlib takes long to find a layout, and limits.
    figure.subplots_adjust(
        left=0.65 / width,
        right=1 - 0.15 / width,
        bottom=1.0 / height,
        top=1 - 1.0 / height,
        hspace=0.5,
        wspace=0.08,
    )
    shown = [row for rows in panels.values() for row in rows]
    peers = [p for p in report.peers if any(p in row.timings for row in shown)]
    sizes = [row.size for row in shown]
    speeds = [timing.speed for row in shown for timing in row.timings.values()]
    # Set once for all: the panels share their axes.
    first = axes[0, 0]
    first.set(xscale="log", yscale="log")
    first.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
    low = max(LOWEST, min(0.45, 0.8 * min(speeds)))
    high = max(2.2, 1.25 * max(speeds))
    inside = [tick for tick in TICKS if low <= tick <= high]
    first.set_yticks(inside, [f"{tick:g}" for tick in inside])
    first.minorticks_off()
    first.set_ylim(low, high)
    for axis in axes.flat:
        axis.autoscale(enable=False)
    for axis, (label, rows) in zip(axes.flat, panels.items(), strict=False):
        _draw_panel(axis, label, rows, peers)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    # The lowest panel of a column keeps its sizes, also above an empty place.
    for column in range(columns):
        lowest = (len(panels) - 1 - column) // columns
        axes[lowest, column].tick_params(labelbottom=True)
        axes[lowest, column].set_xlabel("elements")
    for axis in axes[:, 0]:
        axis.set_ylabel("NumPy's time / time")
    handles = [
        Line2D([], [], color=_colour(peer), lw=_width(peer), marker="o", ms=4)
        for peer in peers
    ]
    processor, threads = report.machine["processor"], report.threads["mxnp"]
    figure.suptitle(
        f"{suite}: speed over NumPy's (above 1 is faster)\n"
        f"{processor}, {threads} thread{'s' if threads != '1' else ''}",
        fontsize=11,
        y=1 - 0.15 / height,
    )
    figure.legend(handles, peers, loc="lower center", ncols=len(peers))
    _save(figure, path)
    pyplot.close(figure)


def _save(figure: Any, path: Path) -> None:
    """Write a picture; one of pixels with few colours, which takes less bytes."""
    figure.savefig(path, dpi=110)
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
            marker=None if peer == "numpy" else "o",
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
    axis.set_title(textwrap.fill(label, 38), fontsize=9)
    axis.grid(alpha=0.25, lw=0.5)


def _colour(peer: str) -> str:
    return COLOURS.get(peer, "#888888")


def _width(peer: str) -> float:
    return {"mxnp": 2.2, "numpy": 1.0}.get(peer, 1.3)
