"""Test that the doctor finds each pattern, and that rewrites return the same arrays."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.beginners import PROGRAMS, rewritten
from support.beginners import SETUP as BEGIN
from support.lanes import needs_fusion

import mxnp as np
from mxnp import _bridge
from mxnp._doctor import doctor as _doctor
from mxnp._doctor import numpy_patterns, rendering
from mxnp._profiler.model import Wait

SETUP = """
import math
import mxnp as np

n = 3000
rng = np.random.default_rng(5)
x = rng.standard_normal(n)
w = rng.standard_normal(n)
p = rng.standard_normal((40, 50))
q = rng.standard_normal((40, 50))
d = rng.standard_normal((n, 3))
s32 = rng.standard_normal(n).astype("float32")
k = rng.integers(0, 100, n)
h = np.zeros(100)
r = np.zeros((40, 50))
a, b, t = 2.0, 0.5, 0.0
y = np.zeros(n)
"""


@pytest.fixture(autouse=True)
def processor():
    """Use the same device and threshold in every CI lane."""
    device, threshold = np.set_device("cpu"), _bridge.set_threshold(16384)
    yield
    np.set_device(device)
    _bridge.set_threshold(threshold)


class Run:
    """A program run under the doctor."""

    def __init__(self, folder, text, name="program"):
        path = folder / f"{name}.py"
        path.write_text(text)
        self.names = {"__name__": "program"}
        code = compile(text, str(path), "exec")
        with np.doctor() as self.doctor:
            exec(code, self.names)
        self.findings = self.doctor.findings

    def only(self, pattern):
        """Return the only finding."""
        assert [found.pattern for found in self.findings] == [pattern]
        return self.findings[0]


def same(program, rewritten, is_close=False):
    """Compare arrays and numbers of two runs, except for loop elements."""
    compared = 0
    for name in program.names.keys() & rewritten.names.keys() - {"v", "left"}:
        one, other = program.names[name], rewritten.names[name]
        if isinstance(one, (np.ndarray, list, float, np.generic)):
            one, other = numpy.asarray(one), numpy.asarray(other)
            assert one.shape == other.shape, name
            if is_close:
                numpy.testing.assert_allclose(one, other, rtol=1e-10)
            else:
                numpy.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype, name
            compared += 1
    assert compared


DIGITS = ("the last digits may differ (it adds in another order)",)
FLOAT64 = (
    "the elements are float64, the last digits may differ, and np may return nan with "
    "a warning where math raises",
)
POWERS = ("the last digits may differ (powers of arrays use another algorithm)",)
READ = "{} can be read in each iteration, chosen or not"
WHERE = "warnings for elements that are not chosen can be ignored (`{}` is computed for all)"
PYTHONS = ("Python numbers can replace NumPy scalars",)

# A loop, its rewrite, and the conditions of the rewrite.
LOOPS = {
    "lengths": (
        "for i in range(len(x)): y[i] = a * x[i] + b",
        "y[:len(x)] = a * x + b",
    ),
    "own length": ("for i in range(len(y)): y[i] = a * x[i]", "y[:] = a * x[:len(y)]"),
    "number": ("for i in range(n): y[i] = x[i] - w[i]", "y[:n] = x[:n] - w[:n]"),
    "size": ("for i in range(x.size): y[i] = -x[i]", "y[:x.size] = -x"),
    "neighbours": (
        "for i in range(1, len(x) - 1): y[i] = x[i - 1] - 2 * x[i] + x[i + 1]",
        "y[1:len(x) - 1] = x[:-2] - 2 * x[1:-1] + x[2:]",
        ("`len(x)` is at least 2",),
    ),
    "steps": (
        "for i in range(1, n, 3): y[i] = x[i - 1]",
        "y[1:n:3] = x[:n - 1:3]",
    ),
    "update": ("for i in range(n): y[i] += x[i] - b", "y[:n] = y[:n] + (x[:n] - b)"),
    "itself": ("for i in range(n): x[i] = x[i] ** 2", "x[:n] = x[:n] ** 2", POWERS),
    "ufuncs": (
        "for i in range(n): y[i] = np.sqrt(abs(x[i])) * np.maximum(x[i], w[i])",
        "y[:n] = np.sqrt(abs(x[:n])) * np.maximum(x[:n], w[:n])",
    ),
    "math": (
        "for i in range(n): y[i] = math.exp(x[i])",
        "y[:n] = np.exp(x[:n])",
        FLOAT64,
    ),
    "float": (
        "for i in range(n): y[i] = float(s32[i]) * a",
        "y[:n] = s32[:n].astype(float) * a",
    ),
    "float32": ("for i in range(n): y[i] = s32[i] * a + b", "y[:n] = s32[:n] * a + b"),
    "choice": (
        "for i in range(n): y[i] = x[i] if x[i] > w[i] else b",
        "y[:n] = np.where(x[:n] > w[:n], x[:n], b)",
    ),
    "condition": (
        "for i in range(n):\n    if x[i] > 0 and w[i] > 0:\n        y[i] = x[i] / w[i]",
        "y[:n] = np.where((x[:n] > 0) & (w[:n] > 0), x[:n] / w[:n], y[:n])",
        (WHERE.format("x[:n] / w[:n]"), READ.format("`w[i]`, `y[i]`")),
    ),
    "else": (
        "for i in range(n):\n    if x[i] > 0:\n        y[i] = 1\n    else:\n        y[i] = -x[i]",
        "y[:n] = np.where(x[:n] > 0, 1, -x[:n])",
    ),
    "names of elements": (
        "for i in range(n):\n    left = x[i] - w[i]\n    y[i] = left * left",
        "left = x[:n] - w[:n]\ny[:n] = left * left",
    ),
    "two axes": (
        "for i in range(40):\n    for j in range(50):\n        r[i, j] = p[i, j] * a + x[j] - w[i]",
        "r[:40, :50] = p[:40, :50] * a + x[:50] - w[:40, None]",
    ),
    "stencil": (
        "for i in range(1, p.shape[0] - 1):\n"
        "    for j in range(1, p.shape[1] - 1):\n"
        "        r[i, j] = p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1]",
        "r[1:p.shape[0] - 1, 1:p.shape[1] - 1] = p[:-2, 1:-1] + p[2:, 1:-1] "
        "+ p[1:-1, :-2] + p[1:-1, 2:]",
        (
            "`p.shape[0]` is at least 2",
            "`p.shape[1]` is at least 2",
        ),
    ),
    "columns": (
        "for i in range(n): d[i, 0] = d[i, 1] - d[i, 2]",
        "d[:n, 0] = d[:n, 1] - d[:n, 2]",
    ),
    "gather": ("for i in range(n): y[i] = w[k[i]]", "y[:n] = w[k[:n]]"),
    "histogram": (
        "for i in range(n): h[k[i]] += x[i]",
        "np.add.at(h, k[:n], x[:n])",
    ),
    "bins": (
        "for i in range(n): h[int(abs(x[i]) * 10)] += 1",
        "np.add.at(h, (abs(x[:n]) * 10).astype(int), 1)",
    ),
    "enumerate": (
        "for i, v in enumerate(x): y[i] = v * v",
        "y[:len(x)] = x * x",
    ),
    "sum": (
        "for i in range(n): t += x[i] * w[i]",
        "t += (x[:n] * w[:n]).sum()",
        DIGITS,
    ),
    "pairs": (
        "for i in range(40):\n    for j in range(50):\n        t += x[i] * w[j]",
        "t += (x[:40, None] * w[:50]).sum()",
        DIGITS,
    ),
    "a missing axis": (
        "for i in range(10):\n    for j in range(10):\n        for k in range(20):\n"
        "            t += p[i, k] * x[j]",
        "t += (p[:10, None, :20] * x[:10, None]).sum()",
        DIGITS,
    ),
    "read after a condition": (
        "for i in range(n): y[i] = (a if x[i] > 0 and w[i] > 0 else b) + k[i]",
        "y[:n] = (np.where((x[:n] > 0) & (w[:n] > 0), a, b)) + k[:n]",
        (READ.format("`w[i]`"),),
    ),
    "elements": ("for v in x: t += v * v", "t += (x * x).sum()", DIGITS),
    "zip": (
        "for v, u in zip(x, w): t += v * u",
        "t += (x * w).sum()",
        ("`x` and `w` are arrays of the same length", *DIGITS),
    ),
    "sum under a condition": (
        "for i in range(n):\n    if x[i] > 0:\n        t += w[i]",
        "t += np.where(x[:n] > 0, w[:n], 0).sum()",
        (*DIGITS, READ.format("`w[i]`")),
    ),
    "count": (
        "for i in range(n):\n    if x[i] > 0:\n        t += 1",
        "t += np.count_nonzero(x[:n] > 0)",
    ),
    "greatest": (
        "for i in range(n): t = max(t, x[i])",
        "t = max(t, x[:n].max())",
        ("`x[:n]` is not empty and has no NaN",),
    ),
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("case", LOOPS)
def test_loop_is_rewritten(case, tmp_path):
    written, expected, *conditions = LOOPS[case]
    program = Run(tmp_path, SETUP + written)
    found = program.only("element loop")
    assert "\n".join(found.rewrite) == expected
    assert found.conditions == (conditions[0] if conditions else ())
    assert not found.is_example
    *before, _ = written.partition("for ")[0].split("\n")
    assert found.line == SETUP.count("\n") + len(before) + 1
    assert found.count >= 1000
    rewritten = Run(tmp_path, SETUP + "\n".join([*before, expected]), "rewritten")
    assert rewritten.findings == []
    same(program, rewritten, is_close=bool(conditions))


ROWS = ("`d` is an array with two axes",)
APART = (*ROWS, "`d` shares no memory with `x`")
LOOPS |= {
    "rows": ("for i in range(n): d[i] = x[i]", "d[:n] = x[:n, None]", APART),
    "rows of all columns": (
        "for i in range(n): d[i, :] = d[i, :] * x[i]",
        "d[:n] = d[:n] * x[:n, None]",
        APART,
    ),
    "columns are rows": (
        "c = d.T.copy()\nfor i in range(n): y[i] = c[:, i].max()",
        "y[:n] = c.T[:n].max(axis=-1)",
        ("`c` is an array with two axes",),
    ),
    "Python's max of rows": (
        "for i in range(n): y[i] = max(d[i])",
        "y[:n] = d[:n].max(axis=-1)",
        ROWS,
    ),
    "list with other elements": (
        "o = [b]\nfor i in range(n): o.append(x[i] * a)",
        "o.extend(x[:n] * a)",
    ),
    "copy in a list": (
        "o = []\nfor v in x: o.append(v)",
        "o = x.copy()",
        ("`o` can be an array",),
    ),
    "selected elements": (
        "o = []\nfor i in range(n):\n    if x[i] > 0: o.append(x[i] * a)",
        "o = (x[:n] * a)[x[:n] > 0]",
        ("`o` can be an array",),
    ),
    "row and element": (
        "for i in range(n): y[i] = np.max(d[i] * x[i] - a)",
        "y[:n] = np.max(d[:n] * x[:n, None] - a, axis=-1)",
        (*ROWS, "`a` is a number or has one axis"),
    ),
    "exchanged elements": (
        "for i in range(n):\n    v = x[i]\n    x[i] = y[i]\n    y[i] = v",
        "v = x[:n].copy()\nx[:n] = y[:n]\ny[:n] = v",
    ),
    "greater elements": (
        "for i in range(n):\n    if x[i] > w[i]: w[i] = x[i]",
        "w[:n] = np.where(x[:n] > w[:n], x[:n], w[:n])",
        ("`w` shares no memory with `x`",),
    ),
    "pairs in a list": (
        "o = []\nfor i in range(40):\n    for j in range(50): o.append(p[i, j])",
        "o = p[:40, :50].flatten()",
        ("`o` can be an array",),
    ),
    "random numbers": (
        "for i in range(n): y[i] = x[i] + rng.uniform(0, 1)",
        "y[:n] = x[:n] + rng.uniform(0, 1, size=n)",
        ("the random numbers can be drawn in another order",),
    ),
    "random numbers for elements": (
        "for v in x: t += v * rng.random()",
        "t += (x * rng.random(size=len(x))).sum()",
        ("the random numbers can be drawn in another order", *DIGITS),
    ),
}


VIEWS = "np.lib.stride_tricks.sliding_window_view"
LOOPS |= {
    "running product": (
        "t = 1.0\nfor i in range(n):\n    t *= x[i]\n    y[i] = t",
        "t = t * np.cumprod(x[:n])\ny[:n] = t\nt = t[-1]",
        (
            "the last digits may differ (it multiplies in another order)",
            "the loop has an iteration",
        ),
    ),
    "product of those before": (
        "y[0] = 1\nfor i in range(1, n): y[i] = x[i] * y[i - 1]",
        "y[1:n] = y[0] * np.cumprod(x[1:n])",
        (
            "the last digits may differ (it multiplies in another order)",
            "`y` has the dtype of the products",
        ),
    ),
    "greatest so far": (
        "for i in range(1, n): y[i] = max(y[i - 1], x[i])",
        "y[1:n] = np.maximum(y[0], np.maximum.accumulate(x[1:n]))",
        ("no element is NaN", "`y` has the dtype of the results"),
    ),
    "least so far": (
        "for i in range(1, n): y[i] = np.minimum(x[i] * a, y[i - 1])",
        "y[1:n] = np.minimum(y[0], np.minimum.accumulate(x[1:n] * a))",
        ("no element is NaN", "`y` has the dtype of the results"),
    ),
    "greatest with if": (
        "for v in x:\n    if v > t: t = v",
        "t = max(t, x.max())",
        ("`x` is not empty and has no NaN",),
    ),
    "least with if": (
        "for i in range(n):\n    if t >= abs(x[i]): t = abs(x[i])",
        "t = min(t, abs(x[:n]).min())",
        ("`abs(x[:n])` is not empty and has no NaN",),
    ),
    "place of the greatest": (
        "j = 0\nfor i in range(5, n):\n    if x[i] > t:\n        t = x[i]\n        j = i",
        "if x[5:n].max() > t:\n    j = 5 + int(x[5:n].argmax())\n    t = x[5:n].max()",
        ("`x[5:n]` is not empty and has no NaN",),
    ),
    "place of the least": (
        "j = 0\nfor i, v in enumerate(x):\n    if v < t:\n        j = i\n        t = v",
        "if x.min() < t:\n    j = int(x.argmin())\n    t = x.min()",
        ("`x` is not empty and has no NaN",),
    ),
    "rows times columns": (
        "e = q.T.copy()\nfor i in range(40):\n    for j in range(40):\n"
        "        r[i, j] = np.dot(p[i, :], e[:, j])",
        "r[:40, :40] = p[:40] @ e[:, :40]",
        (
            "`p` is an array with two axes",
            "`e` is an array with two axes",
            *DIGITS,
        ),
    ),
    "rows times rows": (
        "for i in range(40):\n    for j in range(1, 40): r[i][j] = p[i] @ q[j - 1]",
        "r[:40, 1:40] = p[:40] @ q[:39].T",
        (
            "`p` is an array with two axes",
            "`q` is an array with two axes",
            *DIGITS,
        ),
    ),
    "rows times a vector": (
        "g = x[:3].copy()\nfor i in range(len(d)): y[i] = d[i].dot(g)",
        "y[:len(d)] = d @ g",
        ("`d` is an array with two axes", "`g` has one axis", *DIGITS),
    ),
    "windows before each": (
        "c = 9\nfor i in range(c, n): y[i] = sum(x[i - c:i]) / c",
        f"y[c:n] = {VIEWS}(x, c)[:n - c].sum(axis=-1) / c",
        (
            "`x` has one axis, and each window has c elements",
            *DIGITS,
            "`n - c` is not negative",
        ),
    ),
    "windows around each": (
        "c = 4\nfor i in range(c, n - c): y[i] = x[i - c:i + c + 1].max()",
        f"y[c:n - c] = {VIEWS}(x, 2 * c + 1)[:n - 2 * c].max(axis=-1)",
        (
            "`x` has one axis, and each window has 2 * c + 1 elements",
            "`n - 2 * c` is not negative",
            "`n - c` is not negative",
        ),
    ),
    "windows with the next": (
        "for i in range(1, n - 1): y[i] = x[i - 1:i + 2].min()",
        f"y[1:n - 1] = {VIEWS}(x, 3)[:n - 2].min(axis=-1)",
        ("`x` has one axis, and each window has 3 elements",),
    ),
    "windows of two axes": (
        "for i in range(1, 39):\n    for j in range(1, 49):\n"
        "        r[i, j] = np.max(p[i - 1:i + 2, j - 1:j + 2])",
        f"r[1:39, 1:49] = np.max({VIEWS}(p, (3, 3))[:38, :48], axis=(-2, -1))",
        ("`p` has two axes, and each window has 3 x 3 elements",),
    ),
    "elements beside windows": (
        "for i in range(1, 39):\n    for j in range(1, 49):\n        v = q[i, j] * a\n"
        "        r[i, j] = (p[i - 1:i + 2, j - 1:j + 2] * v - p[i, j]).max()",
        f"v = q[1:39, 1:49] * a\nr[1:39, 1:49] = ({VIEWS}(p, (3, 3))[:38, :48] * "
        "v[..., None, None] - p[1:39, 1:49, None, None]).max(axis=(-2, -1))",
        ("`p` has two axes, and each window has 3 x 3 elements",),
    ),
    "windows with a name": (
        "c = p[:3, :3].copy()\nfor i in range(38):\n    for j in range(48):\n"
        "        left = p[i:i + 3, j:j + 3]\n        r[i, j] = (left * c).sum()",
        f"left = {VIEWS}(p, (3, 3))[:38, :48]\n"
        "r[:38, :48] = (left * c).sum(axis=(-2, -1))",
        (
            "`p` has two axes, and each window has 3 x 3 elements",
            "`c` is a number or has at most two axes",
            *DIGITS,
        ),
    ),
}
REFUSED = {
    "index deleted after": "for i in range(n): y[i] = x[i]\ndel i",
    "exchanges in one loop": "for i in range(n - 1):\n"
    "    if x[i] > x[i + 1]: x[i], x[i + 1] = x[i + 1], x[i]",
    "value in a list": "v = [1.0]\nfor i in range(n): y[i] = x[i] in v",
    "value not in a list": "v = [1.0]\nfor i in range(n): y[i] = x[i] not in v",
    "object": "for i in range(n): y[i] = x[i] is b",
    "another object": "for i in range(n): y[i] = x[i] is not b",
    "element that is false": "for i in range(n): y[i] = not x[i]",
    "index increased after": "for i in range(n): y[i] = x[i]\ni += 1",
    "recurrence": "for i in range(1, n): y[i] = y[i - 1] * 0.5 + x[i]",
    "later element": "for i in range(n - 1): y[i] = y[i + 1] + x[i]",
    "two stores": "for i in range(n - 1):\n    y[i] = x[i]\n    y[i + 1] = w[i]",
    "negative index": "for i in range(n): y[i] = x[i - 1]",
    "down": "for i in range(n - 1, -1, -1): y[i] = x[i]",
    "own function": "def f(v): return v\nfor i in range(n): y[i] = f(x[i])",
    "count in the formula": "for i in range(n): y[i] = x[i] * i",
    "break": "for i in range(n):\n    y[i] = x[i]\n    if y[i] > 1e9: break",
    "else": "for i in range(n): y[i] = x[i]\nelse: y[0] = 1",
    "last element is used": "for i in range(n):\n    v = x[i]\n    y[i] = v\nprint(v, file=__import__('io').StringIO())",
    "count is used": "for i in range(n): y[i] = x[i]\nt = i * 1.0",
    "sum before": "for i in range(n):\n    y[i] = t\n    t += x[i]",
    "running quotient": "t = 1.0\nfor i in range(n):\n    t /= x[i] * 0 + 1\n    y[i] = t",
    "last of the greatest": "j = 0\nfor i in range(n):\n"
    "    if x[i] >= t:\n        t = x[i]\n        j = i",
    "another place": "j = 0\nfor i in range(n):\n"
    "    if x[i] > t:\n        t = x[i]\n        j = i + 1",
    "another value": "for i in range(n):\n    if x[i] > t:\n        t = w[i]",
    "greatest of two": "for i in range(1, n): y[i] = max(y[i - 1], x[i], b)",
    "greatest with a key": "for i in range(1, n): y[i] = max(y[i - 1], x[i], key=abs)",
    "running maximum that is scaled": "for i in range(1, n):\n"
    "    y[i] = max(y[i - 1], x[i])\n    y[i] *= 0.5",
    "running product that starts again": "for i in range(1, n):\n"
    "    y[i] = y[i - 1] * x[i]\n    if y[i] < 0.01: y[i] = 1.0",
    "running sum that is bounded": "for i in range(1, n):\n"
    "    y[i] = y[i - 1] + x[i]\n    y[i] = max(y[i], 0.0)",
    "sum that is bounded": "for i in range(n):\n    t += x[i]\n    t = max(t, w[i])",
    "number that is bounded": "for i in range(n):\n"
    "    if x[i] > 0: t += 1\n    t = min(t, w[i])",
    "sum that is multiplied": "for i in range(n):\n    t += x[i]\n    t *= w[i]",
    "sum that starts again": "for i in range(n):\n"
    "    t += x[i]\n    y[i] = t\n    t = w[i]",
    "greatest, then least": "for i in range(n):\n"
    "    if x[i] > t: t = x[i]\n    if w[i] < t: t = w[i]",
    "between two arrays": "for i in range(n):\n"
    "    t = max(t, x[i])\n    t = min(t, w[i])",
    "greatest of an element": "for i in range(n):\n"
    "    v = x[i]\n    v = max(v, w[i])\n    y[i] = v",
    "places of two searches": "j = 0\nu = np.round(x, 1)\nv = np.round(w, 1)\n"
    "for i in range(n):\n    if u[i] > t:\n        t = u[i]\n        j = i\n"
    "    if v[i] > t:\n        t = v[i]\n        j = i",
    "place of the greatest of some": "j = 0\nfor i in range(n):\n"
    "    if x[i] > t:\n        t = x[i]\n        j = i\n    t = max(t, w[i])",
    "place in a list": "j = [0]\nfor i in range(n):\n"
    "    if x[i] > t:\n        t = x[i]\n        j[0] = i",
    "two names of the greatest": "for i in range(n):\n    if x[i] > t: t = v = x[i]",
    "other max": "def max(u, v): return v\nfor i in range(n): t = max(t, x[i])",
    "other maximum so far": "max = lambda u, v: v\n"
    "for i in range(1, n): y[i] = max(y[i - 1], x[i])",
    "other max of elements": "def max(v): return [*v][0]\nt = max(v * 2 for v in x)",
    "greatest with the name of a function": "max = x[0]\nfor i in range(n):\n"
    "    if x[i] > max: max = x[i]",
    "part of a product of matrices": "for i in range(12):\n    for j in range(12):\n"
    "        for v in range(12):\n            r[i, j] += p[i, v] * q[v, j]\n"
    "            t += r[i, j] * p[i, v]",
    "imported sum": "from math import fsum as sum\nt = sum(v * 2 for v in x)",
    "two elements before": "for i in range(1, n): y[i] = max(y[i - 1], y[i - 1])",
    "product of other rows": "for i in range(1, n): y[i] = d[i - 1] @ d[i]",
    "product with its own results": "y = np.ones(1200)\nv = rng.random((1200, 1200))\n"
    "for i in range(1200): y[i] = v[i] @ y",
    "dot with its own results": "y = np.ones(1200)\nv = rng.random((1200, 1200))\n"
    "for i in range(1200): y[i] = np.dot(v[i], y)",
    "product of a matrix": "for i in range(n): y[i] = (d[i] @ p[:3, :3])[0]",
    "two running sums": "for i in range(n):\n    t += x[i]\n    y[i] = t\n    t += w[i]",
    "two appends": "o = []\nfor v in x:\n    o.append(v)\n    o.append(-v)",
    "drawn under a condition": "for i in range(n):\n    if x[i] > 0: y[i] = rng.random()",
    "sum of a row of another": "for i in range(n): d[i] = x[i] + d[i - 1].max() * 0.1",
    "row that stays": "for i in range(n):\n    v = p * a\n    y[i] = v.max() * x[i]",
    "windows before the array": "for i in range(n): y[i] = x[i - 5:i].sum()",
    "windows of other lengths": "for i in range(n): y[i] = x[i:2 * i + 1].sum()",
    "windows of given lengths": "for i in range(n - 99): y[i] = x[i:i + k[i]].sum()",
    "windows of two lengths": "for i in range(n - 3): y[i] = x[i:i + 1 + i % 2].sum()",
    "windows before of given lengths": "for i in range(99, n): y[i] = x[i - k[i]:i].sum()",
    "windows of a length that changes": "for i in range(n - 99):\n"
    "    y[i] = x[i:i + k[0]].sum()\n    k[i] = 3",
    "windows from elsewhere": "for i in range(n): y[i] = x[n - i - 2:n - i].sum()",
    "windows with steps": "for i in range(n - 9): y[i] = x[i:i + 9:2].sum()",
    "windows that grow": "for i in range(1, n):\n    a = i // 2\n    y[i] = x[i - a:i + 1].sum()",
    "greatest place of a window": "for i in range(1, 39):\n    for j in range(1, 49):\n"
    "        r[i, j] = p[i - 1:i + 2, j - 1:j + 2].argmax()",
    "sum of a part": "for i in range(40):\n    for j in range(50): t += x[i]",
    "stored and gathered": "for i in range(n): h[k[i]] += h[k[i]] * x[i]",
    "scattered": "for i in range(n): h[k[i]] = x[i]",
    "guarded index": "for i in range(n):\n    if k[i] < 40: y[i] = x[k[i]]",
    "chained": "for i in range(n):\n    if -1 < x[i] < 1: y[i] = x[i]",
    "named argument": "for i in range(n): y[i] = np.maximum(x[i], w[i], dtype='f4')",
    "unpacked arguments": "for i in range(n): y[i] = np.maximum(*[x[i], w[i]])",
    "text": "o = ''\nfor i in range(n): o += '%.3f,' % x[i]",
    "text with a name": "o, form = '', '%.3f,'\nfor v in x: o += form % v",
    "list of texts": "o = ['%.3f' % v for v in x]",
    "a list": "v = [1.0] * n\nfor i in range(n): y[i] = v[i]",
}


@pytest.mark.parametrize("case", REFUSED)
def test_loop_is_not_rewritten_where_that_is_not_known(case, tmp_path):
    program = Run(tmp_path, SETUP + REFUSED[case])
    timed = {"NumPy's function"}  # a share of the time decides
    assert {found.pattern for found in program.findings} - timed == {"scalar reads"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "for i in range(40):\n    for j in range(40): r[j, i] = p[i, j]",
            "r[:40, i] = p[i, :40]",
        ),
        (
            "for i in range(40):\n    for j in range(50): y[j] = p[i, j]",
            "y[:50] = p[i, :50]",
        ),
        (
            "for v in p:\n    for i in range(100): y[i] += x[i]",
            "y[:100] = y[:100] + x[:100]",
        ),
    ],
)
def test_inner_loop_is_rewritten_where_the_outer_is_not(written, expected, tmp_path):
    program = Run(tmp_path, SETUP + written)
    assert program.only("element loop").rewrite == (expected,)
    outer = written.partition("\n")[0]
    text = f"{SETUP}{outer}\n    {expected}"
    same(program, Run(tmp_path, text, "rewritten"))


def test_loop_in_a_function_is_rewritten_if_memory_is_not_shared(tmp_path):
    program = Run(
        tmp_path,
        SETUP
        + textwrap.dedent("""
            def f(x, y, m):
                for i in range(m):
                    y[i] = x[i]
            f(x, y, n)
            """),
    )
    found = program.only("element loop")
    assert found.rewrite == ("y[:m] = x[:m]",)
    assert found.conditions == (
        "`y` shares no memory with `x`",
        "`m` is not negative",
    )


def test_product_of_matrices_that_may_share_memory(tmp_path):
    loops = "".join(
        f"{'    ' * n}for {i} in range(12):\n" for n, i in enumerate("ijv", 1)
    )
    text = f"{SETUP}def f(r):\n{loops}{' ' * 16}r[i, j] += p[i, v] * q[v, j]\nf(r)\n"
    found = Run(tmp_path, text).only("element loop")
    assert found.conditions == (*DIGITS, "`r` shares no memory with `p`, `q`")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("r[i][j] /= b", "r[:40, :50] = r[:40, :50] / b"),
        (
            "if r[i][j] < 1: r[i][j] = b",
            "r[:40, :50] = np.where(r[:40, :50] < 1, b, r[:40, :50])",
        ),
    ],
)
def test_array_of_two_subscripts_shares_no_memory_with_itself(
    statement, expected, tmp_path
):
    loops = (
        f"    for i in range(40):\n        for j in range(50):\n            {statement}"
    )
    program = Run(tmp_path, f"{SETUP}def f(r):\n{loops}\nf(r)\n")
    found = program.only("element loop")
    assert found.rewrite == (expected,)
    assert not any("memory" in condition for condition in found.conditions)


# A rewrite without conditions has the same result for every loop.


@st.composite
def loops(draw):
    offset = st.sampled_from(["", "", "", " + 1", " - 1", " + 2"])
    array = st.sampled_from("xyz")

    def element():
        return f"{draw(array)}[i{draw(offset)}]"

    def expression():
        op = draw(st.sampled_from([" + ", " - ", " * "]))
        terms = [element() for _ in range(draw(st.integers(1, 3)))]
        return op.join([*terms, str(draw(st.integers(1, 3)))])

    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 6))
        if kind == 0:
            lines.append(f"v = {draw(st.sampled_from([element(), expression()]))}")
            if draw(st.booleans()):
                lines.append(f"{element()} = {element()}")
            lines.append(f"{element()} = v")
        elif kind == 3:
            name, function = draw(array), draw(st.sampled_from(["max", "min"]))
            lines.append(f"{name}[i] = {function}({name}[i - 1], {element()})")
        elif kind == 4:
            lines.append(f"t = {draw(st.sampled_from(['max', 'min']))}(t, {element()})")
        elif kind == 5:
            one, sign = element(), draw(st.sampled_from("<>"))
            place = draw(st.sampled_from(["", f"\n{' ' * 8}at = i"]))
            lines.append(f"if {one} {sign} t:\n        t = {one}{place}")
        elif kind == 1:
            lines.append(
                f"if {element()} > {element()}:\n        {element()} = {expression()}"
            )
        else:
            sign = draw(st.sampled_from(["=", "=", "+=", "-="]))
            lines.append(f"{element()} {sign} {expression()}")
    ends = draw(st.sampled_from(["1, n", "n", "1, n - 2", "len(x) - 2", "0, n - 2, 2"]))
    return f"for i in range({ends}):\n    " + "\n    ".join(lines)


@pytest.mark.slow
@settings(max_examples=60)
@given(loop=loops())
def test_any_rewriting_gives_the_same(loop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    setup = (
        "import mxnp as np\nn, t, at = 1200, 0.5, 0.0\n"
        "x = np.linspace(-1, 1, n)\ny = np.linspace(2, 0, n)\nz = np.sin(x * 50)\n"
    )
    end = "\nat = float(at)"  # arrays, lists and floats are compared
    try:
        with numpy.errstate(all="ignore"):
            program = Run(folder, setup + loop + end)
    except IndexError:
        return
    for found in program.findings:
        if found.pattern == "element loop":
            text = setup + "\n".join(found.rewrite) + end
            check(program, folder, text, found.conditions)


def check(program, folder, text, conditions):
    """Compare with a rewritten program, which may fail only under its conditions."""
    is_guarded = any("chosen or not" in one for one in conditions)
    known = (
        *(" is at least ", "chosen or not", " shares no memory with "),
        *(" NaN", " has the dtype of "),
    )
    assert all(any(phrase in one for phrase in known) for one in conditions)
    try:
        with numpy.errstate(all="ignore"):
            rewritten = Run(folder, text, "rewritten")
    except ValueError:
        assert is_guarded
    else:
        same(program, rewritten)


@st.composite
def two_loops(draw):
    entry = st.sampled_from(["i, j", "i, j", "i + 1, j", "i, j - 1", "i - 1, j + 1"])
    row = st.sampled_from(["v[i]", "v[j]", "v[i + 1]", "v[j - 1]", "v[0]", "a"])

    def term():
        array = draw(st.sampled_from("pqr"))
        return draw(st.one_of(st.just(f"{array}[{draw(entry)}]"), row))

    ends = st.sampled_from(["1, 38", "1, len(p) - 1", "1, p.shape[1] - 2"])
    lines = []
    for _ in range(draw(st.integers(1, 2))):
        target = f"{draw(st.sampled_from('pqr'))}[{draw(entry)}]"
        sign = draw(st.sampled_from(["=", "+="]))
        lines.append(f"{target} {sign} {term()} * 2 - {term()}")
    if draw(st.booleans()):
        lines[-1:] = [f"if {term()} > {term()}:", f"    {lines[-1]}"]
    body = "\n        ".join(lines)
    return f"for i in range({draw(ends)}):\n    for j in range({draw(ends)}):\n        {body}"


@pytest.mark.slow
@settings(max_examples=60)
@given(loop=two_loops())
def test_any_rewriting_of_two_loops_gives_the_same(loop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    setup = (
        "import mxnp as np\na = 0.5\nv = np.linspace(-1, 1, 40)\n"
        "p = np.sin(np.arange(1600.0)).reshape(40, 40) * 1\nq = p * p\nr = p * 0.3\n"
    )
    program = Run(folder, setup + loop)
    lines = loop.split("\n")
    for found in program.findings:
        if found.pattern == "element loop":
            before = lines[: found.line - setup.count("\n") - 1]
            margin = "    " * len(before)
            text = "\n".join([*before, *(margin + line for line in found.rewrite)])
            check(program, folder, setup + text, found.conditions)


@st.composite
def loops_of_rows(draw):
    row = st.sampled_from(
        ["p[i]", "q[i, :]", "r[i]", "p[i - 1]", "r[i] * s", "p[i] * t"]
    )
    element = st.sampled_from(["v[i]", "v[i - 1]", "w[i]", "a", "p[i, 0]", "r[i][1]"])
    term = st.one_of(row, element)
    method = st.sampled_from(["sum", "max", "mean", "argmin", "std"])

    def terms():
        op = draw(st.sampled_from([" + ", " * ", " - "]))
        return op.join(
            [draw(row), *(draw(term) for _ in range(draw(st.integers(0, 2))))]
        )

    def reduced():
        form = draw(st.sampled_from(["({}).{}()", "np.{1}({0})", "{1}({0})"]))
        name = (
            draw(method)
            if form[:4] != "{1}("
            else draw(st.sampled_from(["sum", "max"]))
        )
        return form.format(terms(), name)

    lines = []
    for _ in range(draw(st.integers(1, 2))):
        lines += draw(
            st.sampled_from(
                [
                    [f"w[i] = {reduced()} - {draw(element)}"],
                    [f"r[i] = {terms()}"],
                    [f"r[i] = {terms()} - {reduced()}"],
                    [f"o.append({reduced()})"],
                    [f"d = {terms()}", f"w[i] = d.max() * {draw(element)}"],
                    [f"k += {reduced()}", "w[i] = k"],
                    [f"if {reduced()} > {draw(element)}: o.append({draw(element)})"],
                ]
            )
        )
    return "for i in range(1, n):\n    " + "\n    ".join(lines)


ROWS_SETUP = """
import mxnp as np
n, a, k, o = 1050, 0.5, 0.0, []
p = np.sin(np.arange(n * 3.0)).reshape(n, 3)
q = np.cos(np.arange(n * 3.0)).reshape(n, 3)
s, t = np.array([1.0, 2.0, 3.0]), 2
v, w = np.linspace(-1, 1, n), np.linspace(2, 0, n)
r = p * q
"""


@pytest.mark.slow
@settings(max_examples=60)
@given(loop=loops_of_rows())
def test_any_rewriting_of_rows_gives_the_same(loop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    with numpy.errstate(all="ignore"):
        program = Run(folder, ROWS_SETUP + loop)
        for found in program.findings:
            if found.pattern == "element loop":
                text = ROWS_SETUP + "\n".join(found.rewrite)
                names = Run(folder, text, "rewritten").names
                for name in ("w", "r", "o", "k"):
                    one, other = program.names[name], names[name]
                    numpy.testing.assert_allclose(one, other, 1e-7, 1e-7, err_msg=loop)


# -- Other patterns of elements ---------------------------------------------------------

BUILTINS = {
    "in a lambda": (
        "t = (lambda v: max(v))(x)",
        "t = (lambda v: v.max())(x)",
        ("no element of `v` is NaN",),
    ),
    "sum": ("t = sum(x)", "t = x.sum()", DIGITS),
    "sum of a formula": ("t = 1 - sum(x * w)", "t = 1 - (x * w).sum()", DIGITS),
    "start": ("t = 2 * sum(x, b)", "t = 2 * (b + x.sum())", DIGITS),
    "rows": ("y = sum(d)", "y = d.sum(axis=0)"),
    "max": ("t = max(x)", "t = x.max()", ("no element of `x` is NaN",)),
    "min": ("t = min(x[5:])", "t = x[5:].min()", ("no element of `x[5:]` is NaN",)),
    "any": ("t = float(any(x > 8))", "t = float((x > 8).any())"),
    "all": ("t = float(all(x < 8))", "t = float((x < 8).all())"),
    "generator": ("t = sum(v * v for v in x)", "t = (x * x).sum()", DIGITS),
    "indices": (
        "t = sum(x[i] * w[i] for i in range(n))",
        "t = (x[:n] * w[:n]).sum()",
        DIGITS,
    ),
    "method": ("y = abs(x)\nt = sum(y) / n", "t = y.sum() / n", DIGITS),
}


@pytest.mark.parametrize("case", BUILTINS)
def test_reduction_is_a_method(case, tmp_path):
    written, expected, *conditions = BUILTINS[case]
    *before, _ = written.split("\n")
    program = Run(tmp_path, SETUP + written)
    found = program.only(
        f"Python's {next(n for n in ('sum', 'max', 'min', 'any', 'all') if n + '(' in written)}"
    )
    assert found.rewrite == (expected,)
    assert found.conditions == (conditions[0] if conditions else ())
    rewritten = Run(tmp_path, SETUP + "\n".join([*before, expected]), "rewritten")
    assert rewritten.findings == []
    same(program, rewritten, is_close=bool(conditions))


@pytest.mark.parametrize(
    ("written", "expected", "conditions"),
    [
        ("y = np.array([v * 2 for v in x])", "y = x * 2", ()),
        ("y = np.array([x[i] for i in range(n)])", "y = np.array(x[:n])", ()),
        ("y = [v * v for v in x]", "y = (x * x).tolist()", PYTHONS),
    ],
)
def test_list_is_an_array(written, expected, conditions, tmp_path):
    program = Run(tmp_path, SETUP + written)
    found = program.only("list of elements")
    assert found.rewrite == (expected,)
    assert found.conditions == conditions
    same(program, Run(tmp_path, SETUP + expected, "rewritten"))


SCALARS = {
    "float": (
        "for i in range(n):\n    t = t * 0.5 + float(x[i])",
        (
            "x_list = x.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
        ),
        (),
    ),
    "item": (
        "i = 0\nwhile i < n:\n    t = t * 0.5 + x[i].item()\n    i += 1",
        (
            "x_list = x.tolist()",
            "while i < n:",
            "    t = t * 0.5 + x_list[i]",
            "    i += 1",
        ),
        (),
    ),
    "two axes": (
        "for i in range(40):\n    for j in range(50):\n        t = t * 0.5 + float(p[i, j])",
        (
            "p_list = p.tolist()",
            "for i in range(40):",
            "    for j in range(50):",
            "        t = t * 0.5 + float(p_list[i][j])",
        ),
        (),
    ),
    "an array of the outer loop": (
        "for s in range(2):\n    z = p + s\n    for i in range(40):\n"
        "        for j in range(50):\n            t = t * 0.5 + float(z[i, j])",
        (
            "z_list = z.tolist()",
            "for i in range(40):",
            "    for j in range(50):",
            "        t = t * 0.5 + float(z_list[i][j])",
        ),
        (),
    ),
    "an array that the outer loop changes": (
        "for s in range(2):\n    for i in range(n):\n"
        "        t = t * 0.5 + float(y[i])\n    y[3] = t",
        (
            "y_list = y.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(y_list[i])",
        ),
        (),
    ),
    "several loops": (
        "for i in range(n):\n    t = t * 0.5 + float(x[i])\n    for j in range(2):\n"
        "        t -= float(w[i])\n    for j in range(2):\n        y[i] = t",
        (
            "x_list = x.tolist()",
            "w_list = w.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
            "    for j in range(2):",
            "        t -= float(w_list[i])",
            "    for j in range(2):",
            "        y[i] = t",
        ),
        (),
    ),
    "an array with another name that the outer loop changes": (
        "z = x\nfor s in range(2):\n    z *= 0.9\n    for i in range(n):\n"
        "        t = t * 0.5 + float(x[i])",
        (
            "x_list = x.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
        ),
        (),
    ),
    "an array that a function changes": (
        "def f(): x[0] += 1\nfor s in range(2):\n    f()\n    for i in range(n):\n"
        "        t = t * 0.5 + float(x[i])",
        (
            "x_list = x.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
        ),
        (),
    ),
    "an array that a generator changes": (
        "def f():\n    for _ in range(2):\n        x[0] += 1\n        yield 0\n"
        "v = f()\nfor s in v:\n    for i in range(n):\n"
        "        t = t * 0.5 + float(x[i])",
        (
            "x_list = x.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
        ),
        (),
    ),
    "another array that the loop changes": (
        "def f(z):\n    t = 0.0\n    for i in range(n):\n"
        "        t = t * 0.5 + float(x[i])\n        z[i] = t\nf(y)",
        (
            "x_list = x.tolist()",
            "for i in range(n):",
            "    t = t * 0.5 + float(x_list[i])",
            "    z[i] = t",
        ),
        ("the loop does not change `x`",),
    ),
    "elements": (
        "for v in x:\n    t = t * 0.5 + v",
        ("for v in x.tolist():", "    t = t * 0.5 + v"),
        ("Python numbers can replace NumPy scalars (they raise where NumPy warns)",),
    ),
    "sorted": (
        "t = float(sorted(x)[3])",
        ("t = float(sorted(x.tolist())[3])",),
        ("Python numbers can replace NumPy scalars (they raise where NumPy warns)",),
    ),
}


@pytest.mark.parametrize("case", SCALARS)
def test_reads_are_those_of_a_list(case, tmp_path):
    written, expected, conditions = SCALARS[case]
    program = Run(tmp_path, SETUP + written)
    found = program.only("scalar reads")
    assert found.rewrite == expected
    assert found.conditions == conditions
    lines = written.split("\n")
    first, last = found.line - SETUP.count("\n") - 1, found.end_line - SETUP.count("\n")
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first:last] = [margin + line for line in expected]
    text = "\n".join(lines)
    same(program, Run(tmp_path, SETUP + text, "rewritten"))


def test_elements_of_an_array_that_the_loop_changes_get_an_example(tmp_path):
    written = "for v in x:\n    t = t * 0.5 + v\n    x[-1] = t"
    assert Run(tmp_path, SETUP + written).only("scalar reads").is_example


def test_numbers_that_are_drawn_again_are_not_rewritten(tmp_path):
    written = "for i in range(n):\n    if rng.random() > t: t = rng.random()"
    assert Run(tmp_path, SETUP + written).findings == []


# -- Arrays that grow, masks, results, waits ---------------------------------------------

GROWING = {
    "append": (
        "o = np.array([])\nfor i in range(50):\n    o = np.append(o, [i, x[i]])",
        (
            "o_parts = [o]  # before the loop in line {loop}",
            "o_parts.append([i, x[i]])  # in line {line}",
            "o = np.concatenate([np.ravel(part) for part in o_parts])  # after the loop",
        ),
        "o = np.array([])\no_parts = [o]\nfor i in range(50):\n    o_parts.append([i, x[i]])\n"
        "o = np.concatenate([np.ravel(part) for part in o_parts])",
    ),
    "rows": (
        "o = np.zeros((0, 2))\nfor i in range(50):\n    o = np.vstack((o, [i, -i]))",
        (
            "o_parts = [o]  # before the loop in line {loop}",
            "o_parts.append([i, -i])  # in line {line}",
            "o = np.vstack(o_parts)  # after the loop",
        ),
        "o = np.zeros((0, 2))\no_parts = [o]\nfor i in range(50):\n    o_parts.append([i, -i])\n"
        "o = np.vstack(o_parts)",
    ),
}


@pytest.mark.parametrize("case", GROWING)
def test_growing_array_is_a_list(case, tmp_path):
    written, expected, text = GROWING[case]
    program = Run(tmp_path, SETUP + written)
    found = program.only("growing array")
    line = SETUP.count("\n") + 3
    assert found.line == line
    assert found.rewrite == tuple(
        one.format(loop=line - 1, line=line) for one in expected
    )
    assert found.conditions == ()
    same(program, Run(tmp_path, SETUP + text, "rewritten"))


def test_growing_array_with_other_uses_gets_an_example(tmp_path):
    program = Run(
        tmp_path,
        SETUP + "o = np.ones(1)\nfor i in range(50):\n    o = np.append(o, o[-1] * 2)",
    )
    found = program.only("growing array")
    assert found.conditions == ("the other uses of `o` in the loop are adapted",)


def large(text):
    return f"import mxnp as np\nn = 300_000\nx = np.sin(np.arange(n))\nw = np.cos(np.arange(n))\ny = x * 2\nm = w > 0\nkept = (x, w, y)\nnp.synchronize()\n{text}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("written", "expected", "others"),
    [
        (
            "y[m] = x[m] * 2 + w[m]",
            "y[...] = np.where(m, x * 2 + w, y)",
            "`y`, `x`, `w`",
        ),
        ("y[x > 0] = -y[x > 0]", "y[...] = np.where(x > 0, -y, y)", "`y`"),
        (
            "y[m] = x[m] + n",
            "y[...] = np.where(m, x + n, y)",
            "`y`, `x`; `n` is a number",
        ),
        ("y[m] *= 0.5", "y[...] = np.where(m, y * 0.5, y)", "`y`"),
        (
            "y[m] += x[m] - w[m]",
            "y[...] = np.where(m, y + (x - w), y)",
            "`y`, `x`, `w`",
        ),
    ],
)
def test_masked_update_is_where(written, expected, others, tmp_path):
    program = Run(tmp_path, large(written))
    found = program.only("masked update")
    assert found.rewrite == (expected,)
    mask = "x > 0" if "x > 0" in written else "m"
    assert "; ".join(found.conditions) == f"the mask `{mask}` has the shape of {others}"
    same(program, Run(tmp_path, large(expected), "rewritten"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "written",
    [
        "y[y < 0] = 0",  # already one pass
        "y[m] = np.exp(x[m])",  # where() would compute unselected elements
        "y[:1000][m[:1000]] = x[:1000][m[:1000]]",  # small
        "y = np.where(m, x, y)",
        "z = x[m].sum()",
    ],
)
def test_masks_that_are_well_used(written, tmp_path):
    assert Run(tmp_path, large(written)).findings == []


@needs_fusion
@pytest.mark.parametrize(
    ("written", "expected", "text"),
    [
        (
            "t = x * w\nu = t + w\nnp.synchronize()",
            ("u = (x * w) + w",),
            "u = (x * w) + w\nnp.synchronize()",
        ),
        (
            "t = x * w\ns = t.sum()",
            ("s = (x * w).sum()",),
            "s = (x * w).sum()",
        ),
        (
            "t = x * w\nu = t + w\nv = t - w\nnp.synchronize()",
            ("v = t - w", "del t  # after line 11"),
            "t = x * w\nu = t + w\nv = t - w\ndel t\nnp.synchronize()",
        ),
    ],
)
def test_kept_result_is_let_go(written, expected, text, tmp_path):
    program = Run(tmp_path, large(written))
    found = program.only("kept result")
    assert found.rewrite == expected
    assert found.conditions == ("no other file uses `t`",)
    rewritten = Run(tmp_path, large(text), "rewritten")
    assert rewritten.findings == []
    same(program, rewritten)
    assert program.doctor.total.bytes_written == (
        rewritten.doctor.total.bytes_written + 8 * 300_000
    )


@pytest.mark.parametrize(
    "written",
    [
        "t = x * w\nu = t + w\nnp.synchronize()\ns = float(t[0])",
        "t = x * w\nu = t[1:] + w[1:]\nnp.synchronize()",
        "def f():\n    t = x * w\n    return t + w\nu = f()\nnp.synchronize()",
        "t = x * w\nu = t + w\ndef f(): return t\nnp.synchronize()",
        "t = x * w\nu = [t, t + w]\nnp.synchronize()",
    ],
)
def test_results_that_are_needed_or_let_go(written, tmp_path):
    assert Run(tmp_path, large(written)).findings == []


def waiting(text, n=20_000):
    return (
        f"import mxnp as np\nu = np.sin(np.arange({n}))\nv = u * 1\nerr = 1.0\n{text}\n"
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "while err > 1e-3:\n    new = u * 0.9\n    err = abs(new - u).max()\n    u = new",
            (
                "iterations = 0  # before the loop",
                "iterations += 1  # first in the loop",
                "if iterations % 10 == 0:",
                "    err = abs(new - u).max()",
            ),
        ),
        (
            "for k in range(100):\n    u = u * 0.9\n    if abs(u).max() < 1e-3:\n        break",
            ("if k % 10 == 0 and abs(u).max() < 1e-3:",),
        ),
    ],
)
def test_repeated_wait_is_reported(written, expected, tmp_path, monkeypatch):
    from mxnp._doctor import array_patterns

    # On a busy machine, short waits must not count as long ones.
    monkeypatch.setattr(array_patterns, "_LONG_WAIT", 10)
    program = Run(tmp_path, waiting(written))
    found = program.only("repeated wait")
    assert found.rewrite == expected
    assert found.conditions == ("up to 9 more iterations are acceptable",)
    assert found.count >= 10


@pytest.mark.parametrize(
    "written",
    [
        "for k in range(50):\n    u = u * 0.9\nerr = u.max()",
        "for k in range(50):\n    u = u * 0.9\n    err += u.max()",  # its value is needed
        "for k in range(50):\n    u = u[u > -2] * 0.9\n    if not u.any(): break",
        "for k in range(5):\n    u = u * 0.9\n    if u.max() < 0: break",
    ],
)
def test_waits_that_are_needed(written, tmp_path, monkeypatch):
    from mxnp._doctor import array_patterns

    monkeypatch.setattr(array_patterns, "_LONG_WAIT", 10)
    assert Run(tmp_path, waiting(written)).findings == []


def test_float64_is_reported_if_there_is_a_gpu(tmp_path, monkeypatch):
    text = "import mxnp as np\nx = np.linspace(0, 1, 100_000)\ny = np.zeros(100_000)\nnp.synchronize()\ny += x * 2\nnp.synchronize()\n"
    assert Run(tmp_path, text).findings == []
    monkeypatch.setattr(_doctor, "_has_gpu", lambda: True)
    found = Run(tmp_path, text).only("float64")
    assert found.rewrite == (
        "x = np.linspace(0, 1, 100_000, dtype=np.float32)  # in line 2",
        "y = np.zeros(100_000, dtype=np.float32)  # in line 3",
    )
    assert Run(tmp_path, text.replace("00)", "00, dtype='f4')")).findings == []


CORNERS = """
import mxnp as np
x = np.asarray(np.random.default_rng(0).random((200, 200)))
i, y = 3, 0 * x
for k in range(200):
    x[1:-1, 1:-1] = 0.5 * (x[:-2, 1:-1] + x[2:, 1:-1])
    x[0, 0] = 0.5 * (x[1, 0] + x[0, 1])
    y[i, -1] = 0.5 * (x[i, -1] + x[0, i + 1])
"""


def with_waits_for_elements(report):
    """Return a report in which each expression of an element has waited."""
    reads = [row for row in report.rows if row.operation == "getitem"]
    what = ("element", "getitem", "a[i] reads elements")
    waits = [Wait(row.place, *what, row.calls, row.calls, 0.5) for row in reads]
    return replace(report, waits=waits)


def test_waits_for_elements_are_reported(tmp_path):
    report = with_waits_for_elements(Run(tmp_path, CORNERS).doctor.report)
    ((found,), _) = _doctor.diagnose(report)
    assert (found.pattern, found.line, found.count) == ("element waits", 7, 800)
    assert found.rewrite == (
        "x[0, 0] = 0.5 * (x[1, 0] + x[0, 1])  # after the loop",
        "y[i, -1] = 0.5 * (x[i, -1] + x[0, i + 1])  # after the loop",
    )
    assert found.conditions == (
        "nothing reads `x[0, 0]`, `y[i, -1]` before the loop ends",
    )
    small = replace(report, waits=[replace(each, count=9) for each in report.waits])
    assert "element waits" not in [each.pattern for each in _doctor.diagnose(small)[0]]


def test_waits_are_not_shares_of_the_array_work(tmp_path):
    """Operations of other lines run while a line waits, so shares would add up to more than 1."""
    report = with_waits_for_elements(Run(tmp_path, CORNERS).doctor.report)
    text = rendering.text(_doctor.examine(report))
    assert "element waits: 800 waits, 2.00 s in all" in text
    assert "%" not in text.split("element waits")[1].partition("\n")[0]


def test_elements_are_slices_on_a_gpu(tmp_path, monkeypatch):
    program = Run(tmp_path, CORNERS)
    monkeypatch.setattr(_doctor, "_has_gpu", lambda: True)
    findings, _ = _doctor.diagnose(with_waits_for_elements(program.doctor.report))
    (found,) = [each for each in findings if each.pattern == "element waits"]
    assert found.rewrite == (
        "x[:1, :1] = 0.5 * (x[1:2, :1] + x[:1, 1:2])",
        "y[i:i + 1, -1:] = 0.5 * (x[i:i + 1, -1:] + x[:1, (i + 1):(i + 1) + 1])",
    )
    assert found.conditions == ("`i` is not negative", "`(i + 1)` is not negative")
    lines = CORNERS.splitlines(keepends=True)
    new = "".join([*lines[:-2], *(f"    {line}\n" for line in found.rewrite)])
    same(program, Run(tmp_path, new, "rewritten"))


def test_function_that_runs_in_numpy_at_this_size(tmp_path):
    text = "import mxnp as np\nx = np.array([[1.0] * 200] * 200)\nfor k in range(20):\n    y = np.cumulative_sum(x, axis=0)\n"
    found = Run(tmp_path, text).only("NumPy at this size")
    assert (found.line, found.count) == (4, 20)
    assert "cumulative_sum is recorded from 65,536 elements on" in found.reason
    assert found.rewrite == ("MXNP_THRESHOLD=10000 python -m mxnp ...",)
    assert Run(tmp_path, text.replace("200", "100")).findings == []
    assert Run(tmp_path, text.replace("200", "400")).findings == []


@pytest.mark.parametrize(
    ("call", "rewrite", "condition"),
    [
        ("np.linalg.eig(m)", "np.linalg.eigh(a)", "`a` is symmetric or Hermitian"),
        ("np.linalg.qr(m)", "x = x.astype(np.float32)", "seven digits are enough"),
        (
            "np.sort(x, kind='heapsort')",
            "np.partition(x, k)",
            "only the first `k` elements are needed",
        ),
    ],
)
def test_function_of_numpy_that_takes_most_of_the_time(
    call, rewrite, condition, tmp_path, monkeypatch
):
    text = f"import mxnp as np\nm = np.eye(100)\nx = np.sin(np.arange(100_000))\nprint(x[0])\ny = {call}\n"
    monkeypatch.setattr(numpy_patterns, "_MOST", 0.0)
    found = Run(tmp_path, text).only("NumPy's function")
    assert found.line == 5
    assert (found.rewrite, found.conditions) == ((rewrite,), (condition,))
    assert found.is_example
    monkeypatch.setattr(numpy_patterns, "_MOST", 1.0)
    assert Run(tmp_path, text).findings == []


PLAIN = """
import mxnp as np
import numpy
v = numpy.ones(40_000)
u = v * 2 + 1
u -= v ** 2
s = -u
"""


def test_arrays_of_numpy_are_reported(tmp_path):
    program = Run(tmp_path, PLAIN)
    found = program.only("NumPy array")
    assert found.count == 5
    assert found.rewrite == ("v = np.asarray(numpy.ones(40_000))  # in line 4",)
    assert found.conditions == ()
    lines = PLAIN.splitlines()
    lines[3] = found.rewrite[0]
    rewritten = Run(tmp_path, "\n".join(lines), "rewritten")
    assert "NumPy array" not in [each.pattern for each in rewritten.findings]
    same(program, rewritten)
    assert Run(tmp_path, PLAIN.replace("40_000", "4_000")).findings == []


UNNAMED = """
import mxnp as np
import numpy
class Frame:
    values = numpy.ones(40_000)
    def __getitem__(self, key): return self.values[key]
h5 = Frame()
total = 0
for i in range(3):
    total += np.count_nonzero(h5[:] > 0)
    total += h5.values.sum()
"""


def test_arrays_of_numpy_without_names_are_reported(tmp_path):
    program = Run(tmp_path, UNNAMED)
    found = program.only("NumPy array")
    assert found.count == 9
    assert set(found.rewrite) == {
        "np.asarray(h5[:]) > 0  # in line 10",
        "np.asarray(h5.values).sum()  # in line 11",
    }
    assert not found.is_example
    text = UNNAMED.replace("h5[:]", "np.asarray(h5[:])")
    text = text.replace("h5.values", "np.asarray(h5.values)")
    rewritten = Run(tmp_path, text, "rewritten")
    assert "NumPy array" not in [each.pattern for each in rewritten.findings]
    assert rewritten.names["total"] == program.names["total"]


# -- Programs of beginners -------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_a_beginner(name, tmp_path):
    program = PROGRAMS[name]
    setup = f"import mxnp as np\nn, m = 1500, 40\n{BEGIN}"
    run = Run(tmp_path, setup + program.text)
    first = setup.count("\n")
    (found,) = [each for each in run.findings if each.line == first + program.line]
    timed = {"NumPy's function"}  # a share of the time decides
    assert {each.pattern for each in run.findings} - timed == {program.pattern}
    lines = program.rewrite.format(*range(first, first + 9)).split("\n")
    assert found.rewrite == tuple(lines)
    assert not found.is_example
    after = Run(tmp_path, setup + rewritten(program), "rewritten")
    left = {each.pattern for each in after.findings} - timed
    assert left <= (
        {program.pattern} if program.whole or "tolist" in program.rewrite else set()
    )
    compared = [
        (run.names[key], after.names[key])
        for key in ("y", "s", "means", "deviations")
        if key in run.names
    ]
    assert compared
    for one, other in compared:
        if program.result == "exact":
            numpy.testing.assert_array_equal(one, other, strict=True)
        else:
            tolerance = 0.05 if program.result == "random" else 1e-9
            numpy.testing.assert_allclose(one, other, rtol=tolerance)


REFUSED_FUNCTIONS = {
    "unknown": "y = np.vectorize(math.floor)(x)",
    "statement": "def f(v):\n    z = v * 2\n    return z\ny = np.vectorize(f)(x)",
    "no name": "y = np.vectorize(lambda v: v * 2)(x + 1)",
    "constant": "y = np.vectorize(lambda v: 1)(x)",
    "other scope": "def f(v): return v * a\ndef g(x):\n    a = 3.0\n"
    "    return np.vectorize(f)(x)\ny = g(x)",
}


@pytest.mark.parametrize("case", REFUSED_FUNCTIONS)
def test_unknown_function_of_vectorize_gets_an_example(case, tmp_path):
    program = Run(tmp_path, SETUP + REFUSED_FUNCTIONS[case])
    found = program.only("Python function")
    assert found.is_example
    assert found.rewrite == ("np.where(condition, values, others)",)


@pytest.mark.parametrize(
    "written",
    [
        "f = np.vectorize(lambda v, u: max(v, u) if v > u else -u)\ny = f(x, w)",
        "@np.vectorize\ndef f(v, u):\n    if v > u:\n        return v\n"
        "    elif u > 0:\n        return u\n    return -1.0\ny = f(x, w)",
    ],
)
def test_function_of_vectorize_is_an_expression(written, tmp_path):
    program = Run(tmp_path, SETUP + written)
    found = program.only("Python function")
    assert found.line == SETUP.count("\n") + written.count("\n") + 1
    assert found.conditions[:2] == (
        "`x` and `w` are arrays",
        "the first result has the dtype of all results",
    )
    same(program, Run(tmp_path, SETUP + found.rewrite[0], "rewritten"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(x) * 2", "(x - 1) * 2"),
        ("f(x) ** 2", "(x - 1) ** 2"),
        ("f(x).copy()", "(x - 1).copy()"),
        ("np.abs(f(x))", "np.abs(x - 1)"),
    ],
)
def test_function_of_vectorize_inside_an_expression(before, after, tmp_path):
    program = Run(tmp_path, SETUP + f"f = np.vectorize(lambda v: v - 1)\ny = {before}")
    assert program.only("Python function").rewrite == (f"y = {after}",)
    same(program, Run(tmp_path, SETUP + f"y = {after}", "rewritten"))


@pytest.mark.parametrize(
    ("written", "expected", "conditions"),
    [
        (
            "np.apply_along_axis(lambda r: r.max() - r.min() * 2, 1, d)",
            "d.max(axis=1) - d.min(axis=1) * 2",
            ("`d` is an array",),
        ),
        ("np.apply_along_axis(np.ptp, 0, d) + 1", "np.ptp(d, axis=0) + 1", ()),
        (
            "np.apply_along_axis(lambda r: np.mean(r) / r.std(), -1, d)",
            "np.mean(d, axis=-1) / d.std(axis=-1)",
            ("`d` is an array", *DIGITS),
        ),
        (
            "np.apply_along_axis(lambda r: (r.mean() > 1) & True, -1, d * 2)",
            "((d * 2).mean(axis=-1) > 1) & True",
            ("`d * 2` is an array", *DIGITS),
        ),
    ],
)
def test_function_of_rows_has_an_axis(written, expected, conditions, tmp_path):
    program = Run(tmp_path, f"{SETUP}y = {written}")
    (found,) = [each for each in program.findings if each.pattern == "Python function"]
    assert found.rewrite == (f"y = {expected}",)
    assert found.conditions == conditions
    same(
        program, Run(tmp_path, f"{SETUP}y = {expected}", "rewritten"), bool(conditions)
    )


@pytest.mark.parametrize(
    "function",
    [
        "lambda r: r[0]",
        "lambda r: r.max() - r[0]",
        "lambda r: r.max(axis=0)",
        "lambda r: np.array([r.min(), r.max()])",
        "lambda r: [r.min(), r.max()]",
        "lambda r: r.max() if r.min() > -2 else 0.0",
        "lambda r: max(r.max(), 0)",
        "lambda r: r.max() > 1 and r.min() < 0",
        "lambda r: not r.any()",
        "lambda r: -1 < r.max() < 1",
        "lambda r: math.sqrt(r.var())",
        "lambda r: r.sum() * x",
        "lambda r: r.sum() ** 2",
        "lambda r: 3",
        "np.sort",
    ],
)
def test_unknown_function_of_rows_gets_an_example(function, tmp_path):
    check_example(tmp_path, f"y = np.apply_along_axis({function}, 1, d)")


def test_rows_of_an_array_that_is_computed_are_read_once(tmp_path):
    function = "lambda r: r.max() - r.min()"
    check_example(
        tmp_path, f"y = np.apply_along_axis({function}, 1, rng.random((9, 500)))"
    )


def check_example(folder, written):
    program = Run(folder, SETUP + written)
    (found,) = [each for each in program.findings if each.pattern == "Python function"]
    assert found.is_example
    assert found.rewrite == ("np.max(x, axis=1)",)


ALMOST = {
    "no exchange": "for i in range(60):\n    for j in range(59):\n"
    "        if y[j] > y[j + 1]: y[j], y[j + 1] = x[j + 1], x[j]",
    "other test": "for i in range(60):\n    for j in range(59):\n"
    "        if x[j] > x[j + 1]: y[j], y[j + 1] = y[j + 1], y[j]",
    "descending": "for i in range(60):\n    for j in range(59):\n"
    "        if y[j] < y[j + 1]: y[j], y[j + 1] = y[j + 1], y[j]",
    "descending or equal": "for i in range(60):\n    for j in range(59):\n"
    "        if y[j] <= y[j + 1]: y[j], y[j + 1] = y[j + 1], y[j]",
    "groups of itself": "for i in range(20): x[i] = x[k == i].sum()",
    "labels of itself": "for i in range(20): k[i] = (k == i).sum()",
    "other label": "for i in range(1, 20): h[i] = x[k == i - 1].sum()",
    "greatest of a group": "for i in range(20): h[i] = x[k == i].max(initial=0)",
    "inverse alone": "y = np.linalg.inv(p[:40, :40])",
    "output of a product": "m = p[:, :40] + np.eye(40)\n"
    "for i in range(20): y = m.dot(np.linalg.inv(m), r[:, :40].copy())",
}


@pytest.mark.parametrize("case", ALMOST)
def test_programs_that_are_not_one_function(case, tmp_path):
    program = Run(tmp_path, SETUP + ALMOST[case])
    patterns = {found.pattern for found in program.findings}
    assert patterns <= {"scalar reads", "NumPy's function"}


# -- Output ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(200): y[i] = x[i]",  # too few elements to matter
        "y[:] = a * x + b\nt = float((y * x).sum())",
        "o = []\nfor i in range(2000): o.append(i * 2.0)\ny = np.array(o)",
        "t = sum(range(5000)) + max([1.0] * 5000)",
        "for i in range(100): y = y * 0.5 + x",
        "for row in p: t += row.sum()",
        "pass",
    ],
)
def test_nothing_is_found_where_nothing_is(text, tmp_path):
    assert Run(tmp_path, SETUP + text).findings == []


def printed(folder, text, *options):
    path = folder / "program.py"
    path.write_text(text)
    command = [sys.executable, "-m", "mxnp", *options, "program.py"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


PROGRAM = """\
import numpy as np
x = np.linspace(0, 1, 5000)
y = np.zeros(5000)
for i in range(len(x)):
    y[i] = x[i] * 2
print(y.sum())
"""


@pytest.mark.slow
def test_command_line_prints_to_the_standard_error(tmp_path):
    done = printed(tmp_path, PROGRAM, "--doctor")
    assert (done.returncode, done.stdout) == (0, "5000.0\n")
    head, blank, where, cost, *rest = done.stderr.split("\n")
    assert (head, blank) == ("Doctor: 1 finding", "")
    assert where == "program.py:4  for i in range(len(x)):"
    assert cost.startswith("  element loop: 5,000 iterations, ")
    assert cost.endswith("% of the array work")
    title = rest.index("  Rewrite, with the same result:")
    assert rest[title + 1 : title + 3] == ["      y[:len(x)] = x * 2", ""]
    assert " in array work: " in rest[title + 3]


def test_command_line_finds_nothing(tmp_path):
    done = printed(
        tmp_path, "import numpy as np\nprint(np.arange(3.0).sum())\n", "--doctor"
    )
    assert (done.returncode, done.stdout) == (0, "3.0\n")
    assert done.stderr.startswith("Doctor: nothing found\n\n")


@pytest.mark.slow
def test_doctor_beside_a_report_and_a_failure(tmp_path):
    text = PROGRAM + "raise SystemExit(3)\n"
    done = printed(tmp_path, text, "--doctor", "--report=json:report.json")
    assert done.returncode == 3
    assert done.stderr.startswith("Doctor: 1 finding\n")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["schema"] == "mxnp-report/1"
    (found,) = report["findings"]
    assert found["pattern"] == "element loop"
    assert found["line"] == 4
    assert found["rewrite"] == ["y[:len(x)] = x * 2"]
    assert found["conditions"] == []


@pytest.mark.parametrize(
    ("shares", "head", "rest"),
    [
        ((0.5, 0.001, 0.001), "1 finding", "2 smaller findings left out, "),
        ((0.01, 0.006), "2 findings", ""),
        ((0.001,), "nothing found", "1 smaller finding left out, "),
        ((), "nothing found", ""),
    ],
)
def test_small_findings_are_left_out(shares, head, rest, tmp_path, monkeypatch):
    from mxnp._doctor import doctor as _doctor

    program = Run(tmp_path, SETUP + "t = sum(x)")
    array = program.doctor.total.array
    found = [replace(program.findings[0], seconds=share * array) for share in shares]
    monkeypatch.setattr(_doctor, "diagnose", lambda report: (found, []))
    path = tmp_path / "printed"
    with path.open("w", encoding="utf-8") as file:
        program.doctor.print(file)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"Doctor: {head}"
    ends = [line for line in lines if "left out" in line]
    assert len(ends) == bool(rest)
    assert all(line.startswith(rest) for line in ends)
    assert sum("Python's sum: " in line for line in lines) == int(
        "0" + head[:1].strip("n")
    )


@pytest.mark.parametrize(
    ("wall", "array", "end"),
    [
        (2.0, 0.5, "about 1.33 times as fast: without other changes, mxnp cannot"),
        (2.0, 1.999, "about 100 times as fast or more"),
        (2.0, 0.0, "No array work in 2.00 s: mxnp cannot make the program faster."),
    ],
)
def test_last_line_says_how_much_can_be_gained(wall, array, end, tmp_path):
    report = Run(tmp_path, "import mxnp as np\nx = np.ones(9)\n").doctor.report
    total = replace(report.total, wall=wall, array=array, numpy=array, cpu=0.0)
    diagnosis = _doctor.examine(replace(report, total=total))
    assert end in " ".join(rendering.text(diagnosis).split("\n\n")[-1].split())
    assert end in rendering.html(diagnosis)


def test_files_of_packages_are_not_looked_at(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    assert Run(tmp_path, SETUP + "t = sum(x)").findings
    assert Run(folder, SETUP + "t = sum(x)").findings == []


def test_a_file_that_is_gone_or_no_program(tmp_path):
    with np.doctor() as doctor:
        exec("import mxnp as np\nt = sum(np.arange(5000.0))", {})
    assert doctor.findings == []
