"""Functions of floating-point numbers in the Metal emulator's library, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.msl import HEAD, evaluate, kernel_of, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.5, 2.5, 0.3, 7.25, -3.7, 12.0, 1e-3]
UNIT = [0.0, 1.0, -1.0, 0.5, -0.25, 0.9, -0.99, 1e-3]
POSITIVE = [0.25, 1.0, 1.5, 2.0, 9.0, 0.1, 100.0, 1e-3]
ABOVE_ONE = [1.0, 1.5, 2.0, 9.0, 100.0]

with np.errstate(all="ignore"):
    FLOAT_1 = {
        "acos": (np.arccos, UNIT),
        "acosh": (np.arccosh, ABOVE_ONE),
        "asin": (np.arcsin, UNIT),
        "asinh": (np.arcsinh, FLOATS),
        "atan": (np.arctan, FLOATS),
        "atanh": (np.arctanh, UNIT[3:]),
        "abs": (np.abs, FLOATS),
        "fabs": (np.abs, FLOATS),
        "ceil": (np.ceil, FLOATS),
        "cos": (np.cos, FLOATS),
        "cosh": (np.cosh, [*UNIT, 5.0, -5.0]),
        "cospi": (
            lambda x: np.array([_exact_cospi(v) for v in x]),
            [*FLOATS, 100.5, 3.25],
        ),
        "exp": (np.exp, [*UNIT, 5.0, -5.0]),
        "exp2": (np.exp2, FLOATS),
        "exp10": (lambda x: 10.0**x, UNIT),
        "floor": (np.floor, FLOATS),
        "fract": (lambda x: x - np.floor(x), FLOATS),
        "log": (np.log, POSITIVE),
        "log2": (np.log2, POSITIVE),
        "log10": (np.log10, POSITIVE),
        "rint": (np.rint, FLOATS),
        "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), FLOATS),
        "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
        "saturate": (lambda x: np.clip(x, 0, 1), FLOATS),
        "sign": (np.sign, FLOATS),
        "sin": (np.sin, FLOATS),
        "sinh": (np.sinh, [*UNIT, 5.0, -5.0]),
        "sinpi": (
            lambda x: np.array([_exact_sinpi(v) for v in x]),
            [*FLOATS, 100.5, -3.25],
        ),
        "sqrt": (np.sqrt, POSITIVE),
        "tan": (np.tan, UNIT),
        "tanh": (np.tanh, FLOATS),
        "tanpi": (lambda x: np.tan(np.pi * x), [0.0, 0.25, -0.25, 0.125, 1.125]),
        "trunc": (np.trunc, FLOATS),
    }

PAIRS = [(a, b) for a in (0.5, -1.5, 2.0, 7.25, -0.0) for b in (1.0, -2.0, 0.75, 3.5)]
GROWING = [(abs(a), b) for a, b in PAIRS if a]
TRIPLES = [(a, b, c) for a, b in PAIRS for c in (0.0, 0.5, 4.0)]
BOUNDED = [
    (x, low, low + d) for x in FLOATS for low in (-1.0, 0.25) for d in (0.5, 3.0)
]

FLOAT_2 = {
    "atan2": (np.arctan2, PAIRS),
    "copysign": (np.copysign, PAIRS),
    "fdim": (lambda a, b: np.maximum(a - b, 0), PAIRS),
    "fmax": (np.fmax, [*PAIRS, (math.nan, 1.0), (1.0, math.nan)]),
    "fmin": (np.fmin, [*PAIRS, (math.nan, 1.0), (1.0, math.nan)]),
    "max": (np.fmax, PAIRS),
    "min": (np.fmin, PAIRS),
    "fmod": (np.fmod, PAIRS),
    "pow": (np.power, GROWING),
    "powr": (np.power, GROWING),
    "step": (lambda edge, x: np.where(x < edge, 0.0, 1.0), PAIRS),
}
FLOAT_3 = {
    "clamp": (np.clip, BOUNDED),
    "fma": (lambda a, b, c: a * b + c, TRIPLES),
    "mix": (lambda x, y, a: x + (y - x) * a, TRIPLES),
    "fmin3": (lambda a, b, c: np.minimum(np.minimum(a, b), c), TRIPLES),
    "fmax3": (lambda a, b, c: np.maximum(np.maximum(a, b), c), TRIPLES),
    "fmedian3": (lambda *abc: np.median(np.array(abc), axis=0), TRIPLES),
    "median3": (lambda *abc: np.median(np.array(abc), axis=0), TRIPLES),
    "smoothstep": (
        lambda low, high, x: _smooth(np.clip((x - low) / (high - low), 0, 1)),
        [(low, low + 2, x) for low in (-1.0, 0.25) for x in FLOATS],
    ),
}


def _smooth(t):
    return t * t * (3 - 2 * t)


def _exact_sinpi(x):
    r = math.fmod(x, 2.0)
    return 0.0 if r in (-1.0, 0.0, 1.0) else math.sin(math.pi * r)


def _exact_cospi(x):
    r = abs(math.fmod(x, 2.0))
    return 0.0 if r in (0.5, 1.5) else math.cos(math.pi * r)


FLOAT_CASES = {
    f"{name}_{arity}": (name, arity, reference, np.array(values, np.float64))
    for arity, table in ((1, FLOAT_1), (2, FLOAT_2), (3, FLOAT_3))
    for name, (reference, values) in table.items()
}
PRECISE = {"abs", "median3", "sign", "fmin3", "fmax3", "fmedian3"}  # not in precise::


def float_program():
    kernels = []
    for key, (name, arity, *_) in FLOAT_CASES.items():
        arguments = ", ".join("abc"[:arity])
        for t in ("float", "half"):
            kernels.append(
                kernel_of(f"{key}_{t}", t, [t] * arity, f"{name}({arguments})")
            )
        vectors = ", ".join(f"float3({x}, 1, {x})" for x in "abc"[:arity])
        kernels.append(
            kernel_of(
                f"{key}_vector", "float", ["float"] * arity, f"{name}({vectors}).z"
            )
        )
        if name not in PRECISE:
            expression = f"precise::{name}({arguments}) - {name}({arguments})"
            kernels.append(
                kernel_of(f"{key}_precise", "float", ["float"] * arity, expression)
            )
    return HEAD + "".join(kernels)


@pytest.mark.parametrize("key", FLOAT_CASES)
def test_floating_point_function(key, build):
    name, arity, reference, values = FLOAT_CASES[key]
    library = build(float_program())
    columns = np.ascontiguousarray(values.reshape(len(values), arity).T)
    for kind, dtype, ulps in (("float", np.float32, 4), ("half", np.float16, 1)):
        inputs = [column.astype(dtype) for column in columns]
        expected = np.asarray(reference(*(x.astype(np.float64) for x in inputs)))
        expected = expected.astype(dtype)
        result = evaluate(library, f"{key}_{kind}", dtype, *inputs)
        tiny = np.finfo(dtype).tiny
        close = ulps * np.maximum(np.spacing(np.abs(expected)), tiny)
        same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        assert (same | (np.abs(result - expected) <= close)).all(), (result, expected)
    inputs = [column.astype(np.float32) for column in columns]
    scalar = evaluate(library, f"{key}_float", np.float32, *inputs)
    vector = evaluate(library, f"{key}_vector", np.float32, *inputs)
    np.testing.assert_array_equal(scalar, vector)
    if name not in PRECISE:
        difference = evaluate(library, f"{key}_precise", np.float32, *inputs)
        finite = np.isfinite(scalar)
        assert (difference[finite] == 0).all()
