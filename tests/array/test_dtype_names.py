"""Test that a name of a dtype warns as often and at the place as with NumPy."""

from __future__ import annotations

import types
import warnings
from typing import Any

import pytest

from mxnp import _bridge

SIZES = [5, max(_bridge.get_threshold(), 6)]
NAMES = """
'a5'
'|a3'
'1a3'
'i4,a2'
'a2,i4'
b'a5'
[('x', 'a5')]
('a5', (2,))
{'names': ['x'], 'formats': ['a5']}
'1f4'
'(2,)f4'
'f4'
'>f4'
'float32'
''
'zz'
""".strip().splitlines()
CALLS = """
a.astype(D)
a.astype(dtype=D, copy=False)
np.astype(a, D)
np.array(a, D)
np.asarray(a, dtype=D)
np.asanyarray(a, D)
np.ascontiguousarray(a, D)
np.zeros(n, D)
np.ones(n, dtype=D)
np.empty(n, D).dtype
np.full(n, 1, D)
np.zeros_like(a, D)
np.full_like(a, 1, dtype=D)
np.arange(n, dtype=D)
np.linspace(0, 1, n, dtype=D)
np.eye(20, dtype=D)
a.view(D)
np.fromiter(iter([1.0] * n), D)
np.frombuffer(b'12345678' * 9 * n, D)
np.concatenate([a, a], dtype=D, casting='unsafe')
np.sum(a, dtype=D)
a.mean(dtype=D)
a.cumsum(dtype=D)
np.add(a, a, dtype=D)
np.add.reduce(a, dtype=D)
np.add.accumulate(a, dtype=D)
np.einsum('i->i', a, dtype=D, casting='unsafe')
np.random.default_rng(1).random(n, dtype=D)
np.can_cast('f4', D)
""".strip().splitlines()


def outcome(call: str, names: dict[str, Any]) -> Any:
    """Return the dtype of a result or the error, and the warnings with their places."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            result = eval(call, names)
        except Exception as error:
            result = type(error), str(error)
    places = [(str(each.message), each.filename, each.lineno) for each in shown]
    return getattr(result, "dtype", result), places


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_warnings_of_names(xp: types.ModuleType, call: str, name: str) -> Any:
    outcomes = []
    for size in SIZES:
        a = xp.arange(float(size)) + 1  # which is computed later, if it is large
        outcomes.append(outcome(call.replace("D", name), {"np": xp, "a": a, "n": size}))
    return outcomes
