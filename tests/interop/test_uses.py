"""Test that programs using other packages have the same results with mxnp and NumPy."""

from __future__ import annotations

import pytest
from interop import expected, runs


@pytest.mark.timeout(4 * runs.SECONDS)
@pytest.mark.parametrize("way", runs.WAYS)
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(module, marks=pytest.mark.xdist_group(module))
        for module in runs.modules()
    ],
)
def test_uses_agree_with_numpy(module: str, way: str) -> None:
    if not runs.is_installed(module):
        pytest.skip(f"{module} is not installed")
    try:
        runs.oracle(module)
    except runs.StoppedError as stopped:
        pytest.skip(f"{module} does not run with NumPy: {stopped}")
    found = runs.failures(module, way)
    assert expected.surprises(module, way, found) == []
