"""
Time each pattern that the doctor reports, and its replacement, in turn.

The last column is the ratio with NumPy in the place of mxnp.

Usage: ``python docs/design/measure_doctor.py [rounds]``.
"""

import statistics
import sys
import time

import numpy

import mxnp

SETUP = """
n, m = 100_000, 300
rng = np.random.default_rng(0)
x = rng.standard_normal(n)
y, h = np.zeros(n), np.zeros(100)
k = rng.integers(0, 100, n)
p = rng.standard_normal((m, m))
r = np.zeros((m, m))
X, W = rng.standard_normal((2, 1_000_000))
Y, M = X * 1, W > 0
"""

# For each pattern: its name, the lines, and the lines that replace them.
PATTERNS = [
    (
        "element loop",
        "for i in range(len(x)): y[i] = 2 * x[i] + 1",
        "y[:len(x)] = 2 * x + 1",
    ),
    (
        "element loop, two axes",
        "for i in range(1, m - 1):\n"
        "    for j in range(1, m - 1):\n"
        "        r[i, j] = p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1]",
        "r[1:m - 1, 1:m - 1] = p[:m - 2, 1:m - 1] + p[2:m, 1:m - 1] "
        "+ p[1:m - 1, :m - 2] + p[1:m - 1, 2:m]",
    ),
    (
        "element loop, histogram",
        "for i in range(n): h[k[i]] += x[i]",
        "np.add.at(h, k[:n], x[:n])",
    ),
    ("Python's sum", "t = sum(x)", "t = x.sum()"),
    (
        "list of elements",
        "y = np.array([v * 2 for v in x])",
        "y = x * 2",
    ),
    (
        "scalar reads",
        "t = 0.0\nfor i in range(n): t = t * 0.5 + float(x[i])",
        "t, x_list = 0.0, x.tolist()\n"
        "for i in range(n): t = t * 0.5 + float(x_list[i])",
    ),
    (
        "growing array",
        "o = np.array([])\nfor i in range(10_000): o = np.append(o, i)",
        "o = np.array([])\nparts = []\nfor i in range(10_000): parts.append(i)\n"
        "o = np.append(o, parts)",
    ),
    (
        "masked update",
        "Y[M] = X[M] * 2 + W[M]",
        "Y[...] = np.where(M, X * 2 + W, Y)",
    ),
    ("masked fill, not reported", "Y[Y < 0] = 0", "Y = np.where(Y < 0, 0, Y)"),
    (
        "kept result",
        "t = X * W\nu = t + W\nfinish()",
        "u = (X * W) + W\nfinish()",
    ),
]
WAIT = """
u, err = x[:{n}] * 1, 1.0
for i in range(200):
    new = u * 1.0
    new[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
    if i % {every} == 0: err = abs(new - u).max()
    if err < 0: break
    u = new
"""
PATTERNS += [
    (
        f"repeated wait, {n:,} elements",
        WAIT.format(n=n, every=1),
        WAIT.format(n=n, every=10),
    )
    for n in (20_000, 50_000, 100_000)
]


def seconds(code, names):
    """Run compiled code and return its duration."""
    mxnp.synchronize()
    begin = time.perf_counter()
    exec(code, names)
    mxnp.synchronize()
    return time.perf_counter() - begin


def main():
    """Print a line of a table for each pattern."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for name, *texts in PATTERNS:
        libraries = []
        for np in (mxnp, numpy):
            libraries.append({"np": np, "finish": mxnp.synchronize})
            exec(SETUP, libraries[-1])
        codes = [compile(text, name, "exec") for text in texts]
        taken = [
            [seconds(code, names) for names in libraries for code in codes]
            for _ in range(rounds)
        ]
        before, after, plain, plain_after = (
            statistics.median(times) * 1e3 for times in zip(*taken, strict=True)
        )
        print(
            f"| {name} | {before:.3g} ms | {after:.3g} ms | {before / after:.1f} | "
            f"{plain / plain_after:.1f} |"
        )


if __name__ == "__main__":
    main()
