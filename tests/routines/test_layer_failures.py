"""Test that NumPy's code warns and fails once over mxnp's arrays, as it does with NumPy's.

Each function is called with elements that warn and arguments that are refused, where NumPy
warns first, or calls the function of `errstate`, and then raises an exception.
"""

from __future__ import annotations

import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from arguments.runs import Names

import mxnp
from mxnp import _bridge
from mxnp._namespace.functions import ROWS, calls_of

pytestmark = pytest.mark.thread_unsafe(reason="warnings are those of all threads")

LAYER = [name for name, row in ROWS.items() if row.layer]
ARRAY = re.compile(r"\b[fpnsijqubc][123]\b")
ELEMENTS = {
    "nan": "(# * np.nan)",
    "inf": "(# * np.inf)",
    "both infinities": "np.where(# > 0.5, -np.inf, np.inf)",
    "overflow": "(# * 1e308)",
    "zero": "(# * 0)",
    "shorter": "#[:-1]",
    "empty": "#[:0]",
    "more axes": "#[None]",
    "complex": "#.astype('c16')",
    "bool": "(# > 0)",
}
ADDED = ["", ", where=[]", ", dtype='a5'", ", keepdims=2**70", ", foo=1"]


@pytest.fixture(autouse=True)
def small_arrays_are_large() -> Iterator[None]:
    before = _bridge.set_threshold(min(200, _bridge.get_threshold()))
    yield
    _bridge.set_threshold(before)


def changed(call: str) -> Iterator[str]:
    """Yield a call with other elements of one array or of all, and other keywords."""
    for elements in ELEMENTS.values():
        for array in (ARRAY, *sorted({*ARRAY.findall(call)})):
            text = re.sub(array, elements.replace("#", r"\g<0>"), call)
            yield from (f"{text[:-1]}{added})" for added in ADDED)


def outcome(xp: types.ModuleType, call: str, report: Any) -> Any:
    """Return the error and where it is raised, the warnings, and what was reported."""
    called: list[Any] = []
    error = place = None
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            with xp.errstate(all=report, call=lambda *args: called.append(args)):
                eval(call, {}, Names(xp, "large"))
                mxnp.synchronize()
        except Exception as raised:
            *_, last = tracebacks(raised.__traceback__)
            error = type(raised).__name__, str(raised)
            place = last.tb_frame.f_code.co_filename, last.tb_lineno
    return error, place, sorted(str(each.message) for each in shown), called


def tracebacks(traceback: Any) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


@pytest.mark.sampled(4)
@pytest.mark.parametrize("report", ["warn", "call", "raise"])
@pytest.mark.parametrize("name", [each for each in LAYER if "freq" not in each])
def test_layers_warn_and_fail_once(
    xp: types.ModuleType, name: str, report: Any
) -> dict[str, Any]:
    return {
        text: outcome(xp, text, report)
        for call in calls_of(name)
        for text in changed(call)
    }


@pytest.mark.parametrize(
    "call",
    [
        "np.polyfit(f1 * np.inf, f1, 2)",
        "np.fft.ifftn(c2, s=(0,))",
        "np.nanmean(n1, where=[])",
        "np.tri(400, like=7)",
        # NumPy's dispatcher raises before the code runs.
        "np.select(7, [f1, i1])",
        "np.select([b1], f1[0], 5)",
        "np.select([b1, b1], np.float64)",
        "np.hstack(np.float64, dtype='f4', casting='no')",
        "np.hstack(7)",
        "np.gradient(7, [f1])",
        # Its code would not raise.
        "np.poly(np.array(2.0))",
        "np.roots(np.array(f1[0]))",
        "np.histogramdd(2, [np.sort(f1)])",
        "np.histogramdd(sample=2, bins=[np.sort(f1)])",
        "np.histogramdd([2], bins=[np.sort(f1)])",
    ],
)
def test_calls_warn_and_fail_once(xp: types.ModuleType, call: str) -> Any:
    return [outcome(xp, call, report) for report in ("warn", "call", "raise")]
