"""
Classic programs of beginners, the finding that is right, and its rewrite.

Usage: ``python -m tests.support.beginners [rounds]`` prints the time of each program and
of its rewrite, with mxnp and with plain NumPy.
"""

import time
from typing import NamedTuple

SETUP = """
rng = np.random.default_rng(0)
x = rng.standard_normal(n)
X = rng.random((n, 5))
P, Q = rng.random((m, 3)), rng.random((m, 3))
u = rng.random((m, m))
labels = rng.integers(0, 20, n)
"""


class Program(NamedTuple):
    """A program, the finding, and the lines that take the place of its lines."""

    text: str
    pattern: str
    rewrite: str
    line: int = 1
    result: str = "exact"  # or "close", "random"
    whole: str = ""  # the whole program with the rewrite, if it replaces several places


PROGRAMS = {
    "vectorize": Program(
        "def f(v):\n    if v > 0:\n        return v * 2\n    return 0.0\n"
        "y = np.vectorize(f)(x)",
        "Python function",
        "y = np.where(x > 0, x * 2, 0.0)",
        5,
    ),
    "list of results": Program(
        "y = []\nfor v in x:\n    y.append(np.sin(v) + 1)",
        "element loop",
        "y = np.sin(x) + 1",
        2,
        "close",
    ),
    "sum of a part": Program(
        "s = 0.0\nfor v in x[:n - 99]:\n    s += v",
        "element loop",
        "s += x[:n - 99].sum()",
        2,
        "close",
    ),
    "distances of pairs": Program(
        "y = np.zeros((m, m))\nfor i in range(m):\n    for j in range(m):\n"
        "        y[i, j] = np.sqrt(np.sum((P[i] - Q[j])**2))",
        "element loop",
        "y[:m, :m] = np.sqrt(np.sum((P[:m, None] - Q[:m])**2, axis=-1))",
        2,
        "close",
    ),
    "distances by a difference": Program(
        "y = np.zeros((m, m))\nfor i in range(m):\n    for j in range(m):\n"
        "        d = P[i] - Q[j]\n        y[i, j] = np.linalg.norm(d)",
        "element loop",
        "d = P[:m, None] - Q[:m]\ny[:m, :m] = np.linalg.norm(d, axis=-1)",
        2,
        "close",
    ),
    "means of rows": Program(
        "means = []\ndeviations = []\n"
        "for row in X:\n    means.append(row.mean())\n    deviations.append(row.std())",
        "element loop",
        "means = X.mean(axis=-1)\ndeviations = X.std(axis=-1)",
        3,
        "close",
    ),
    "normalised rows": Program(
        "y = X.copy()\nfor i in range(len(X)):\n    y[i] = X[i] / X[i].sum()",
        "element loop",
        "y[:len(X)] = X / X.sum(axis=-1, keepdims=True)",
        2,
        "close",
    ),
    "rows less than their means": Program(
        "c = X.mean(axis=1)\ny = np.zeros(n)\nfor i in range(n):\n"
        "    y[i] = ((X[i, :] - c[i])**2).max()",
        "element loop",
        "y[:n] = ((X[:n] - c[:n, None])**2).max(axis=-1)",
        3,
    ),
    "Monte Carlo": Program(
        "inside = 0\nfor k in range(n):\n    a = rng.random()\n    b = rng.random()\n"
        "    if a * a + b * b < 1:\n        inside += 1\ns = 4 * inside / n",
        "element loop",
        "a = rng.random(size=n)\nb = rng.random(size=n)\n"
        "inside += np.count_nonzero(a * a + b * b < 1)",
        2,
        "random",
    ),
    "random walk": Program(
        "y = np.zeros(n)\nfor k in range(1, n):\n    y[k] = y[k - 1] + rng.normal()",
        "element loop",
        "y[1:n] = y[0] + np.cumsum(rng.normal(size=n - 1))",
        2,
        "close",
    ),
    "running sum": Program(
        "y = np.zeros(n)\ns = 0.0\nfor i in range(n):\n    s += x[i]\n    y[i] = s",
        "element loop",
        "s = s + np.cumsum(x[:n])\ny[:n] = s\ns = s[-1]",
        3,
        "close",
    ),
    "np.append": Program(
        "y = np.array([])\nfor k in range(n):\n    y = np.append(y, k * 0.5)",
        "growing array",
        "y_parts = []  # before the loop in line {2}\n"
        "y_parts.append(k * 0.5)  # in line {3}\n"
        "y = np.append(y, y_parts)  # after the loop",
        3,
        whole="y = np.array([])\ny_parts = []\nfor k in range(n):\n"
        "    y_parts.append(k * 0.5)\ny = np.append(y, y_parts)",
    ),
    "concatenate": Program(
        "y = np.zeros(0)\nfor k in range(n):\n    y = np.concatenate((y, [k, -k]))",
        "growing array",
        "y_parts = [y]  # before the loop in line {2}\n"
        "y_parts.append([k, -k])  # in line {3}\n"
        "y = np.concatenate(y_parts)  # after the loop",
        3,
        whole="y = np.zeros(0)\ny_parts = [y]\nfor k in range(n):\n"
        "    y_parts.append([k, -k])\ny = np.concatenate(y_parts)",
    ),
    "stencil": Program(
        "y = u.copy()\nfor i in range(1, m - 1):\n    for j in range(1, m - 1):\n"
        "        y[i][j] = u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]",
        "element loop",
        "y[1:m - 1, 1:m - 1] = u[:m - 2, 1:m - 1] + u[2:m, 1:m - 1] + "
        "u[1:m - 1, :m - 2] + u[1:m - 1, 2:m]",
        2,
    ),
    "choice": Program(
        "y = np.zeros(len(x))\nfor i in range(len(x)):\n"
        "    y[i] = x[i] * 2 if x[i] > 0 else 0",
        "element loop",
        "y[:len(x)] = np.where(x > 0, x * 2, 0)",
        2,
    ),
    "bubble sort": Program(
        "y = x[:m].copy()\nfor i in range(m):\n    for j in range(m - i - 1):\n"
        "        if y[j] > y[j + 1]:\n            y[j], y[j + 1] = y[j + 1], y[j]",
        "sorting loop",
        "y.sort()",
        2,
    ),
    "histogram": Program(
        "y = np.zeros(20)\nfor v in labels:\n    y[v] += 1",
        "element loop",
        "np.add.at(y, labels, 1)",
        2,
    ),
    "matrix product": Program(
        "q = m // 3\ny = np.zeros((q, q))\nfor i in range(q):\n    for j in range(q):\n"
        "        for k in range(q):\n            y[i, j] += u[i, k] * u[k, j]",
        "element loop",
        "y[:q, :q] += u[:q, :q] @ u[:q, :q]",
        3,
        "close",
    ),
    "moving average": Program(
        "w = 10\nout = []\nfor i in range(n - w):\n    out.append(x[i:i + w].mean())\n"
        "y = np.array(out)",
        "element loop",
        "out = np.lib.stride_tricks.sliding_window_view(x, w)[:n - w].mean(axis=-1)",
        3,
        "close",
    ),
    "moving sum": Program(
        "w = 10\ny = np.zeros(n)\nfor i in range(w, n):\n    y[i] = sum(x[i - w:i])",
        "element loop",
        "y[w:n] = np.lib.stride_tricks.sliding_window_view(x, w)[:n - w].sum(axis=-1)",
        3,
        "close",
    ),
    "convolution": Program(
        "q = X[:3, :3]\ny = np.zeros((m - 2, m - 2))\nfor i in range(m - 2):\n"
        "    for j in range(m - 2):\n        y[i, j] = np.sum(u[i:i + 3, j:j + 3] * q)",
        "element loop",
        "y[:m - 2, :m - 2] = np.sum(np.lib.stride_tricks.sliding_window_view(u, (3, 3))"
        "[:m - 2, :m - 2] * q, axis=(-2, -1))",
        3,
        "close",
    ),
    "running maximum": Program(
        "y = x.copy()\nfor i in range(1, len(x)):\n    y[i] = max(y[i - 1], x[i])",
        "element loop",
        "y[1:len(x)] = np.maximum(y[0], np.maximum.accumulate(x[1:]))",
        2,
    ),
    "compound interest": Program(
        "s = 1.0\ny = []\nfor v in x:\n    s *= 1 + v / 99\n    y.append(s)",
        "element loop",
        "s = s * np.cumprod(1 + x / 99)\ny = s.copy()\ns = s[-1]",
        3,
        "close",
    ),
    "search for the greatest": Program(
        "s, k = x[0], 0\nfor i in range(len(x)):\n    if x[i] > s:\n"
        "        s = x[i]\n        k = i",
        "element loop",
        "if x.max() > s:\n    k = int(x.argmax())\n    s = x.max()",
        2,
    ),
    "products of rows": Program(
        "y = np.zeros((m, m))\nfor i in range(m):\n    for j in range(m):\n"
        "        y[i][j] = np.dot(u[i, :], u[:, j])",
        "element loop",
        "y[:m, :m] = u[:m] @ u[:, :m]",
        2,
        "close",
    ),
    "means of groups": Program(
        "y = np.zeros(20)\nfor k in range(20):\n    y[k] = x[np.where(labels == k)].mean()",
        "loop over groups",
        "y[:20] = np.bincount(labels, x, minlength=20)[:20] / "
        "np.bincount(labels, minlength=20)[:20]",
        2,
        "close",
    ),
    "selected elements": Program(
        "y = []\nfor v in x:\n    if v > 0:\n        y.append(v * 2)",
        "element loop",
        "y = (x * 2)[x > 0]",
        2,
    ),
    "sum of a mask": Program("s = sum(x > 0.5)", "Python's sum", "s = (x > 0.5).sum()"),
    "greatest": Program("s = max(x)", "Python's max", "s = x.max()"),
    "inverse": Program(
        "y = np.linalg.inv(u) @ u[0]",
        "product of an inverse",
        "y = np.linalg.solve(u, u[0])",
        1,
        "close",
    ),
    "text": Program(
        'y = ""\nfor v in x:\n    y += str(round(v, 3)) + ","',
        "scalar reads",
        'for v in x.tolist():\n    y += str(round(v, 3)) + ","',
        2,
    ),
    "game of life": Program(
        "g = (u > 0.5).astype(int)\ny = np.zeros((m, m), int)\nfor i in range(m):\n"
        "    for j in range(m):\n        total = 0\n        for di in (-1, 0, 1):\n"
        "            for dj in (-1, 0, 1):\n"
        "                total += g[(i + di) % m, (j + dj) % m]\n"
        "        y[i, j] = total == 3",
        "scalar reads",
        "g_list = g.tolist()\nfor i in range(m):\n"
        "    for j in range(m):\n        total = 0\n        for di in (-1, 0, 1):\n"
        "            for dj in (-1, 0, 1):\n"
        "                total += g_list[(i + di) % m][(j + dj) % m]\n"
        "        y[i, j] = total == 3",
        3,
    ),
}


def rewritten(program: Program) -> str:
    """Return the program with the rewrite in the place of the lines of the finding."""
    if program.whole:
        return program.whole
    lines = program.text.split("\n")
    first = lines[program.line - 1]
    inner = [line for line in lines[program.line :] if line.startswith(" ")]
    n = len(inner) if first.startswith("for ") else 0
    lines[program.line - 1 : program.line + n] = [program.rewrite]
    return "\n".join(lines)


def _seconds(np, text, n, m):
    names = {"np": np, "n": n, "m": m}
    exec(SETUP, names)
    code = compile(text, "program", "exec")
    begin = time.perf_counter()
    exec(code, names)
    getattr(np, "synchronize", int)()
    return time.perf_counter() - begin


def main() -> None:
    """Print a line of a table for each program."""
    import sys

    import numpy

    import mxnp

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, program in PROGRAMS.items():
        texts = (program.text, rewritten(program))
        taken = [
            [_seconds(np, text, 20_000, 150) for np in (mxnp, numpy) for text in texts]
            for _ in range(rounds)
        ]
        before, after, plain, plain_after = (
            min(times) * 1e3 for times in zip(*taken, strict=True)
        )
        print(
            f"| {name} | {program.pattern} | {before:.3g} ms | {after:.3g} ms | "
            f"{before / after:.1f} | {plain / plain_after:.1f} |"
        )


if __name__ == "__main__":
    main()
