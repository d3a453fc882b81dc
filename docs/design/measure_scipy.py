"""
Measure calls of SciPy on one thread and on all.

``python docs/design/measure_scipy.py [CALLS [NAME...]]`` prints for each call its time
on one thread in milliseconds, that time over the time on all threads, and the time of
the processor on all threads over that on one. Calls take turns, and the best of CALLS,
which is 9 by default, counts. A last column says whether their bits differ.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import mxnp

mxnp.install(exclude=["__main__"])
import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy import fft, ndimage, signal, special, stats  # noqa: E402
from scipy.spatial import distance  # noqa: E402

r = np.random.default_rng(0)
x = r.random(2_000_000) + 0.1
image = r.random((2000, 2000))
small = image[:800, :800].copy()
volume = r.random((160, 160, 160))
points = r.random((2000, 8))
rows = r.random((400, 8192))
kernel = np.ones((9, 9))

# fmt: off
CALLS: dict[str, Callable[[], Any]] = {
    "special.erf": lambda: special.erf(x),
    "special.expit": lambda: special.expit(x),
    "special.gammaln": lambda: special.gammaln(x),
    "special.gammainc": lambda: special.gammainc(x, 2.0),
    "special.j0": lambda: special.j0(x),
    "special.xlogy": lambda: special.xlogy(x, x),
    "stats.norm.cdf": lambda: stats.norm.cdf(x),
    "stats.gamma.logpdf": lambda: stats.gamma.logpdf(x, 2.0),
    "ndimage.gaussian_filter": lambda: ndimage.gaussian_filter(image, 2),
    "ndimage.gaussian_filter, 3-d": lambda: ndimage.gaussian_filter(volume, 1.5),
    "ndimage.uniform_filter": lambda: ndimage.uniform_filter(image, 9),
    "ndimage.maximum_filter": lambda: ndimage.maximum_filter(image, 7),
    "ndimage.sobel": lambda: ndimage.sobel(image),
    "ndimage.laplace": lambda: ndimage.laplace(image),
    "ndimage.convolve": lambda: ndimage.convolve(small, kernel),
    "ndimage.median_filter": lambda: ndimage.median_filter(small, 5),
    "ndimage.zoom": lambda: ndimage.zoom(small, 2),
    "signal.savgol_filter": lambda: signal.savgol_filter(rows, 11, 3, axis=1),
    "signal.welch": lambda: signal.welch(x)[1],
    "signal.stft": lambda: signal.stft(x)[2],
    "fft.fft": lambda: fft.fft(rows),
    "fft.fft2": lambda: fft.fft2(image),
    "fft.dctn": lambda: fft.dctn(image),
    "distance.cdist": lambda: distance.cdist(points, points),
    "distance.cdist, cosine": lambda: distance.cdist(points, points, "cosine"),
}
# fmt: on


def measure(call: Callable[[], Any], n: int) -> tuple[list[float], list[float], bool]:
    """Return times on one thread and on all, and whether the bits agree."""
    best, used = [math.inf] * 2, [math.inf] * 2
    threads, results = mxnp.get_num_threads(), [b"", b""]
    for _ in range(n):
        for i, each in enumerate((1, threads)):
            mxnp.set_num_threads(each)
            begin, before = time.perf_counter(), time.process_time()
            result = call()
            best[i] = min(best[i], time.perf_counter() - begin)
            used[i] = min(used[i], time.process_time() - before)
            results[i] = result.tobytes()
    return best, used, results[0] == results[1]


def main() -> None:
    """Print a row for each call."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    ratios = []
    for name, call in CALLS.items():
        if sys.argv[2:] and not any(each in name for each in sys.argv[2:]):
            continue
        (whole, divided), used, is_same = measure(call, n)
        ratios.append(whole / divided)
        said = "" if is_same else "  DIFFERS"
        work = used[1] / used[0]
        row = f"| `{name}` | {whole * 1e3:.1f} | {ratios[-1]:.2f} | {work:.2f} |{said}"
        print(row, flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    threads = mxnp.get_num_threads()
    print(f"SciPy {scipy.__version__}, {threads} threads: geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
