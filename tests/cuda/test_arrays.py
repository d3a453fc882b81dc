"""Test arrays of a GPU in calls that look at their layout, or that code interrupts."""

from __future__ import annotations

import os
import pickle
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import mxnp as np

pytestmark = [
    pytest.mark.skipif(
        "cuda" not in np.devices() or not os.environ.get("MXNP_CUDA_STAND_IN"),
        reason="needs the stand-in for CUDA",
    ),
    pytest.mark.usefixtures("on_metal"),
]

N = 50_000


def select_with_handler(
    change: Callable[[Any, Any], None], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Select by a mask while a warning handler gets the array and the mask."""
    x, mask = np.arange(1.0, N + 1), np.arange(N) % 2 == 0
    with warnings.catch_warnings(), monkeypatch.context() as context:
        warnings.simplefilter("always")
        context.setattr(warnings, "showwarning", lambda *_, **__: change(x, mask))
        x /= np.zeros(N)
        return x[mask]


def test_a_handler_shrinks_what_a_mask_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IndexError, match="boolean index did not match"):
        select_with_handler(lambda x, _: x.resize(16, refcheck=False), monkeypatch)


def test_a_handler_changes_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many elements are written as the mask selects."""
    found = select_with_handler(lambda _, mask: mask.fill(True), monkeypatch)
    assert found.shape == (N,)
    assert numpy.isinf(found).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_that_share_memory_are_sorted_as_numpy_sorts_them(
    xp: Any, axis: int
) -> Any:
    x = xp.arange(2000) * 7 % 100
    windows = xp.lib.stride_tricks.sliding_window_view(x, 3, writeable=True)
    windows.sort(axis)
    return x


def test_methods_of_arrays_are_pickled() -> None:
    for name in ("to_device", "__dlpack__", "__dlpack_device__", "__array__"):
        member = getattr(np.ndarray, name)
        assert pickle.loads(pickle.dumps(member)) is member


def test_errors_of_methods_show_no_frames_of_mxnp() -> None:
    x = np.zeros(3, "M8[s]")
    for call in (
        lambda: x.to_device("nowhere"),
        lambda: x.__cuda_array_interface__,
        lambda: x.__dlpack__(dl_device=(2, 0)),
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        files = {each.filename for each in traceback.extract_tb(caught.tb)}
        assert files == {__file__}
