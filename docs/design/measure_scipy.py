"""
Measure calls of SciPy, scikit-image and librosa on one thread and on several.

``python docs/design/measure_scipy.py [--threads 2,4,16] [--packages] [--seconds S]
[--json] [NAME...]`` prints a row of a Markdown table for each call. A row has the
milliseconds of plain SciPy, that time over the time with each number of threads, and
the time of the processor with the most threads over the plain one. ``--packages`` adds
the calls of scikit-image and librosa. A NAME selects the calls that contain it. Calls
take turns for S seconds, five times at least, and the best of each counts. A row whose
bits differ says so, and then the status is 1. ``--json`` prints one JSON document in
place of the table, with the geometric means, and what small calls cost.

``python docs/design/measure_scipy.py --small [--json]`` prints the microseconds of
calls of 1,000 elements: with ``MXNP_SCIPY=0``, and as they are divided if they are
large. Processes with the one and the other take turns.

``python docs/design/measure_scipy.py --ufuncs`` prints the nanoseconds of thread time
that each ufunc of `scipy.special` takes for an element, the fastest first. Their grains
in ``mxnp/_packages/table.py`` follow from them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import mxnp
from mxnp import _bridge

mxnp.install(exclude=["__main__"])
import numpy as np  # noqa: E402

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse"),
    *("spatial", "spatial.distance", "special", "stats"),
)
SCIPY = """
special.erf(x)
special.expit(x)
special.gammaln(x)
special.gammainc(x, 2.0)
special.j0(x)
special.xlogy(x, x)
special.logsumexp(rows, axis=1)
special.softmax(rows, axis=1)
stats.norm.cdf(x)
stats.gamma.logpdf(x, 2.0)
ndimage.correlate(small, kernel)
ndimage.convolve(small, kernel)
ndimage.gaussian_filter(image, 2)
ndimage.gaussian_filter(volume, 1.5)
ndimage.uniform_filter(image, 9)
ndimage.minimum_filter(image, 7)
ndimage.maximum_filter(image, 7)
ndimage.median_filter(small, 5)
ndimage.percentile_filter(small, 30, 5)
ndimage.rank_filter(small, 3, 5)
ndimage.sobel(image)
ndimage.laplace(image)
ndimage.grey_opening(image, 7)
ndimage.grey_dilation(small, structure=kernel)
ndimage.binary_erosion(image > 0.1, kernel > 0)
ndimage.spline_filter(image)
ndimage.map_coordinates(small, places)
ndimage.zoom(small, 1.5)
ndimage.rotate(small, 30)
ndimage.affine_transform(small, turn)
signal.lfilter([1, 0.5], [1, -0.3, 0.1], rows)
signal.filtfilt([1, 0.5], [1, -0.3, 0.1], rows)
signal.sosfilt(sos, rows)
signal.sosfiltfilt(sos, rows)
signal.savgol_filter(rows, 11, 3)
signal.upfirdn(taps, rows, 3, 2)
signal.resample(rows, 6000)
signal.resample_poly(rows, 3, 2, axis=1)
signal.convolve2d(small, kernel)
signal.fftconvolve(image, small)
signal.oaconvolve(rows, taps[None], axes=1)
signal.hilbert(rows)
signal.stft(x)
signal.spectrogram(x)
signal.welch(x)
signal.medfilt(small, 5)
fft.fft(rows)
fft.fft2(image)
fft.dctn(image)
distance.cdist(points, points)
distance.cdist(points, points, 'cosine')
distance.pdist(points)
tree.query(at, 3)
spline(x)
radial(at)
linear(x)
matrix @ vector
matrix @ vectors
linalg.inv(stack)
integrate.simpson(rows, axis=1)
"""
PACKAGES = """
filters.gaussian(image, 3)
filters.sobel(image)
filters.median(small, kernel[:5, :5])
filters.unsharp_mask(image, 3)
filters.difference_of_gaussians(image, 1, 4)
filters.threshold_local(image, 35)
filters.sato(small, sigmas=[1, 2], black_ridges=False)
feature.canny(image, 2)
feature.corner_harris(image)
feature.hessian_matrix(image, 2, use_gaussian_derivatives=False)
morphology.white_tophat(image, kernel)
restoration.richardson_lucy(small, taps[:25].reshape(5, 5), 5)
transform.resize(image, (900, 1100), anti_aliasing=True)
librosa.stft(sound)
librosa.feature.melspectrogram(y=sound, sr=22050)
librosa.feature.mfcc(y=sound, sr=22050)
librosa.cqt(sound, sr=22050)
librosa.resample(sound, orig_sr=22050, target_sr=16000, res_type='polyphase')
librosa.effects.hpss(sound[:220_500])
librosa.onset.onset_strength(y=sound, sr=22050)
"""
SMALL = """
special.erf(x)
special.gammainc(x, 2.0)
ndimage._nd_image.correlate1d(image, x[:5], 0, out, 2, 0.0, 0)
ndimage.gaussian_filter(image, 2)
ndimage.uniform_filter(image, 5)
ndimage.maximum_filter(image, 5)
ndimage.convolve(image, kernel)
ndimage.median_filter(image, 3)
ndimage.binary_erosion(image > 0.3)
ndimage.zoom(image, 1.5)
ndimage.rotate(image, 30)
signal.lfilter([1, 0.5], [1, -0.3], rows)
signal._sosfilt._sosfilt(sos, lines, states)
signal.sosfilt(sos, rows)
signal.upfirdn(x[:9], rows, 3, 2)
signal.medfilt2d(image, 3)
fft.fft(rows)
fft.dctn(image)
distance.cdist(points, points[:8])
distance.pdist(points[:45])
tree.query(points[:100], 3)
np.interp(x, rows[0].cumsum(), rows[0])
matrix @ image[0]
"""


def scipy_values() -> dict[str, Any]:
    """Return the modules and values that the calls of SciPy name."""
    names: dict[str, Any] = {
        name.rpartition(".")[2]: import_module(f"scipy.{name}") for name in MODULES
    }
    r = np.random.default_rng(0)
    image, points = r.random((2000, 2000)), r.random((2000, 8))
    small, turned = image[:800, :800].copy(), np.array([[0.8, 0.6], [-0.6, 0.8]])
    starts, columns = np.arange(0, 4_000_001, 40), r.integers(0, 20_000, 4_000_000)
    matrix = (r.random(4_000_000), columns, starts)
    interpolate = names["interpolate"]
    return names | {
        "x": r.random(2_000_000) + 0.1,
        "image": image,
        "small": small,
        "volume": r.random((160, 160, 160)),
        "points": points,
        "at": r.random((20_000, 3)),
        "rows": r.random((400, 8192)),
        "kernel": np.ones((9, 9)),
        "taps": r.random(64),
        "turn": turned,
        "places": np.tensordot(turned, np.indices(small.shape, float), 1),
        "sos": names["signal"].butter(4, 0.2, output="sos"),
        "stack": r.random((20_000, 8, 8)) + np.eye(8) * 8,
        "tree": names["spatial"].cKDTree(points[:, :3]),
        "spline": interpolate.CubicSpline(np.arange(1000) / 400, r.random(1000)),
        "radial": interpolate.RBFInterpolator(points[:100, :3], points[:100, 3]),
        "linear": interpolate.interp1d(np.arange(1000) / 400, r.random(1000)),
        "matrix": names["sparse"].csr_array(matrix, (100_000, 20_000)),
        "vector": r.random(20_000),
        "vectors": r.random((20_000, 4)),
    }


def package_values() -> dict[str, Any]:
    """Return what the calls of scikit-image and librosa name besides."""
    names = ("feature", "filters", "morphology", "restoration", "transform")
    modules: dict[str, Any] = {name: import_module(f"skimage.{name}") for name in names}
    sound = np.random.default_rng(0).normal(size=20 * 22050).astype(np.float32)
    return modules | {"librosa": import_module("librosa"), "sound": sound}


def bits(result: Any) -> Any:
    """Return the bits of arrays in nested tuples, to compare them."""
    if isinstance(result, (tuple, list)):
        return [bits(each) for each in result]
    array = np.asarray(result)
    return array.dtype, array.shape, array.strides, array.tobytes()


def measure(
    call: Callable[[], Any], threads: list[int], seconds: float
) -> tuple[list[float], list[float], bool]:
    """Return the times without and with threads, and whether all bits agree."""
    best, used = [math.inf] * (len(threads) + 1), [math.inf] * (len(threads) + 1)
    expected, is_same, end = bits(call()), True, time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        rounds += 1
        for i, each in enumerate((0, *threads)):
            _bridge.divide_all(each > 0)
            mxnp.set_num_threads(each or 1)
            begin, before = time.perf_counter(), time.process_time()
            result = call()
            best[i] = min(best[i], time.perf_counter() - begin)
            used[i] = min(used[i], time.process_time() - before)
            is_same &= rounds > 2 or bits(result) == expected
            del result
    return best, used, is_same


def mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    return math.exp(np.mean([math.log(each) for each in ratios]))


def table(
    groups: dict[str, list[str]], values: dict[str, Any], given: argparse.Namespace
) -> dict[str, Any]:
    """Return the rows of the calls, and the means of the groups."""
    rows, means = [], {}
    for group, calls in groups.items():
        of_group = []
        for call in calls:
            times, used, is_same = measure(
                eval(f"lambda: {call}", values), given.threads, given.seconds
            )
            ratios = [times[0] / each for each in times[1:]]
            row = {"group": group, "call": call, "ms": times[0] * 1e3, "ratios": ratios}
            rows.append(
                {**row, "processor_time": used[-1] / used[0], "same_bits": is_same}
            )
            of_group.append(ratios)
            print(f"{call}: {ratios}", file=sys.stderr, flush=True)
        of_threads = [*zip(*of_group, strict=True)]
        means[group] = {
            "calls": len(calls),
            "geometric mean": [*map(mean, of_threads)],
            "lowest": [*map(min, of_threads)],
        }
    return {"rows": rows, "means": means}


def print_table(found: dict[str, Any], threads: list[int]) -> None:
    """Print a Markdown table."""

    def columns(ratios: list[float]) -> str:
        return " | ".join(f"{each:.2f}" for each in ratios)

    heads = " | ".join(f"{n} threads" for n in threads)
    print(f"| call | plain, ms | {heads} | processor time |")
    print("|---|---|" + "---|" * (len(threads) + 1))
    for group, means in found["means"].items():
        for row in (row for row in found["rows"] if row["group"] == group):
            said = "" if row["same_bits"] else " DIFFERS |"
            numbers = f"{row['ms']:.1f} | {columns(row['ratios'])}"
            work = f"{row['processor_time']:.2f}"
            print(f"| `{row['call']}` | {numbers} | {work} |{said}")
        for name in ("geometric mean", "lowest"):
            title = f"{name} of {means['calls']} ({group})"
            print(f"| {title} | | {columns(means[name])} | |")


# -- Small calls -----------------------------------------------------------------------


def small_times() -> dict[str, float]:
    """Return the microseconds of small calls of the running process, by their names."""
    names: dict[str, Any] = {
        name.rpartition(".")[2]: import_module(f"scipy.{name}") for name in MODULES
    }
    r = np.random.default_rng(0)
    image, points = r.random((25, 40)), r.random((125, 8))
    names |= {"x": image.ravel(), "image": image, "points": points}
    names |= {"rows": r.random((10, 100)), "kernel": r.random((3, 3))}
    names |= {"sos": names["signal"].butter(4, 0.2, output="sos")}
    names |= {"tree": names["spatial"].cKDTree(points)}
    names |= {"states": np.zeros((10, 2, 2)), "lines": r.random((10, 100))}
    names |= {"matrix": names["sparse"].csr_array(image), "out": np.empty((25, 40))}
    names |= {"np": np}
    found = {}
    for call in SMALL.split("\n")[1:-1]:
        function = eval(f"lambda: {call}", names)
        function()
        best, end = math.inf, time.perf_counter() + 0.1
        while time.perf_counter() < end:
            begin = time.perf_counter()
            function()
            best = min(best, time.perf_counter() - begin)
        found[call] = best * 1e6
    return found


def compare_small(rounds: int = 5) -> dict[str, list[float]]:
    """Return the best times of processes that divide no calls, and of others."""
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        for i, setting in enumerate("01"):
            process = subprocess.run(
                [sys.executable, __file__, "--small-times"],
                env={**os.environ, "MXNP_SCIPY": setting},
                stdout=subprocess.PIPE,
                check=True,
            )
            for call, us in json.loads(process.stdout).items():
                times = best.setdefault(call, [math.inf] * 2)
                times[i] = min(times[i], us)
    return best


def print_small(found: dict[str, list[float]]) -> None:
    """Print a Markdown table."""
    print("| call | `MXNP_SCIPY=0`, µs | difference, µs | ratio |\n|---|---|---|---|")
    for call, (plain, divided) in found.items():
        difference, ratio = divided - plain, divided / plain
        print(f"| `{call}` | {plain:.2f} | {difference:+.2f} | {ratio:.3f} |")


# -- Ufuncs ----------------------------------------------------------------------------


def time_of_element(ufunc: np.ufunc, types: str, most: float) -> float:
    """Return the nanoseconds for an element of arguments up to a number."""
    n = 64 if ufunc.__name__.startswith(("obl_", "pro_")) else 2000
    drawn = np.random.default_rng(0).random((ufunc.nin, n)) * most + 0.05
    args = [
        each if code == "d" else np.ceil(each).astype(code)
        for each, code in zip(drawn, types, strict=True)
    ]
    if np.isnan(np.asarray(ufunc(*args))).mean() > 0.2:
        return 0.0
    best = math.inf
    for _ in range(5):
        begin = time.thread_time()
        ufunc(*args)
        best = min(best, time.thread_time() - begin)
    return best / n * 1e9


def print_ufuncs() -> None:
    """Print the times of loops over double, with other arguments that are integers."""
    found = []
    for ufunc in vars(import_module("scipy.special")).values():
        loops = (each.partition("->")[0] for each in getattr(ufunc, "types", ()))
        times = [
            time_of_element(ufunc, types, most)
            for types in loops
            if "d" in types and not {*types} - {*"dlqip"}
            for most in (0.9, 4.5, 20.0)
        ]
        found += [(max(times), ufunc.__name__)] if times else []
    for each, name in sorted(found):
        print(f"{each:10.0f} {name}")


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", default=str(mxnp.get_num_threads()))
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--ufuncs", action="store_true")
    parser.add_argument("--small-times", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.threads = [int(each) for each in given.threads.split(",")]
    warnings.simplefilter("ignore")
    if given.ufuncs:
        print_ufuncs()
        return 0
    if given.small_times:
        print(json.dumps(small_times()))
        return 0
    if given.small:
        found = compare_small()
        print(json.dumps(found, indent=1)) if given.json else print_small(found)
        return 0
    groups, values = {"SciPy": SCIPY.split("\n")[1:-1]}, scipy_values()
    if given.packages:
        groups["scikit-image and librosa"] = PACKAGES.split("\n")[1:-1]
        values |= package_values()
    for group, calls in groups.items():
        asked = [x for x in calls if any(name in x for name in given.names or [""])]
        groups[group] = asked
    found = table(
        {group: calls for group, calls in groups.items() if calls}, values, given
    )
    versions = {
        name: sys.modules[name].__version__
        for name in ("numpy", "scipy", "skimage", "librosa")
        if name in sys.modules
    }
    about = {"python": platform.python_version(), "threads": given.threads, **versions}
    if given.json:
        print(json.dumps({**about, **found, "small": compare_small()}, indent=1))
    else:
        print_table(found, given.threads)
        print(about)
    return not all(row["same_bits"] for row in found["rows"])


if __name__ == "__main__":
    sys.exit(main())
