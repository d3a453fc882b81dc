"""Compare two results of `process.plain`."""

from __future__ import annotations

from typing import Any

import numpy


def difference(ours: Any, numpys: Any, tolerance: float = 0.0) -> str:
    """Return how a result differs from NumPy's, in one line, or "" if it does not."""
    if isinstance(ours, tuple) and ours[0] == "raised":
        same = isinstance(numpys, tuple) and numpys[:2] == ours[:2]
        return "" if same else ours[1]
    if type(ours) is not type(numpys):
        return f"{type(ours).__name__}, not {type(numpys).__name__}"
    if isinstance(numpys, tuple):
        return _of_named(ours, numpys, tolerance)
    if isinstance(numpys, dict):
        return _of_items(list(ours), list(numpys), 0.0) or _of_items(
            list(ours.values()), list(numpys.values()), tolerance
        )
    if isinstance(numpys, float | complex | numpy.inexact):
        return _of_arrays(numpy.asarray(ours), numpy.asarray(numpys), tolerance)
    return "" if ours == numpys else f"{ours!r}, not {numpys!r}"


def _of_named(ours: Any, numpys: Any, tolerance: float) -> str:
    """Compare pairs of a class name and the contents."""
    if ours[0] != numpys[0]:
        return f"class {ours[0]}, not {numpys[0]}"
    if isinstance(numpys[1], list):
        return _of_items(ours[1], numpys[1], tolerance)
    if isinstance(numpys[1], numpy.ndarray):
        return _of_arrays(ours[1], numpys[1], tolerance)
    return "" if ours[1] == numpys[1] else f"{ours[1]}, not {numpys[1]}"


def _of_items(ours: list[Any], numpys: list[Any], tolerance: float) -> str:
    if len(ours) != len(numpys):
        return f"length {len(ours)}, not {len(numpys)}"
    pairs = zip(ours, numpys, strict=True)
    return next(filter(None, (difference(a, b, tolerance) for a, b in pairs)), "")


def _of_arrays(ours: numpy.ndarray, numpys: numpy.ndarray, tolerance: float) -> str:
    if ours.dtype != numpys.dtype:
        return f"dtype {ours.dtype}, not {numpys.dtype}"
    if ours.shape != numpys.shape:
        return f"shape {ours.shape}, not {numpys.shape}"
    if not _are_equal(ours, numpys, tolerance):
        return f"values {_short(ours)}, not {_short(numpys)}"
    return ""


def _are_equal(ours: numpy.ndarray, numpys: numpy.ndarray, tolerance: float) -> bool:
    if numpys.dtype.kind not in "fc":
        return repr(ours.tolist()) == repr(numpys.tolist())
    if tolerance:
        return numpy.allclose(ours, numpys, tolerance, tolerance, equal_nan=True)
    return numpy.array_equal(ours, numpys, equal_nan=True)


def _short(array: numpy.ndarray) -> str:
    return " ".join(numpy.array2string(array.ravel(), threshold=4, edgeitems=2).split())
