"""
Measure calls of SciPy, scikit-image and librosa on one thread and on several.

``python docs/design/measure_scipy.py [--threads 2,4,16] [--packages] [--seconds S]
[--json FILE] [NAME...]`` prints a row of a Markdown table for each call. A row has the
milliseconds of plain SciPy, that time over the time with each number of threads, and
the time of the processor with the most threads over the plain one. ``--packages`` adds
the calls of scikit-image and librosa. A NAME selects the calls that contain it. Calls
take turns for S seconds, twice at least, and the best of each counts. A row whose bits
differ says so, and then the status is 1.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
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
    while rounds < 2 or time.perf_counter() < end:
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
) -> Iterator[dict[str, Any]]:
    """Print a Markdown table, and yield its rows."""
    heads = " | ".join(f"{n} threads" for n in given.threads)
    print(f"| call | plain, ms | {heads} | processor time |")
    print("|---|---|" + "---|" * (len(given.threads) + 1))
    for group, calls in groups.items():
        of_group = []
        for call in calls:
            times, used, is_same = measure(
                eval(f"lambda: {call}", values), given.threads, given.seconds
            )
            ratios = [times[0] / each for each in times[1:]]
            columns = " | ".join(f"{each:.2f}" for each in ratios)
            work, said = used[-1] / used[0], "" if is_same else " DIFFERS |"
            ms = times[0] * 1e3
            print(f"| `{call}` | {ms:.1f} | {columns} | {work:.2f} |{said}", flush=True)
            row = {"group": group, "call": call, "ms": ms, "ratios": ratios}
            of_group.append(ratios)
            yield {**row, "processor_time": work, "same_bits": is_same}
        for name, of_all in (("geometric mean", mean), ("lowest", min)):
            columns = " | ".join(
                f"{of_all(each):.2f}" for each in zip(*of_group, strict=True)
            )
            print(f"| {name} of {len(of_group)} ({group}) | | {columns} | |")


def main() -> int:
    """Print the table, and write it to a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", default=str(mxnp.get_num_threads()))
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    given.threads = [int(each) for each in given.threads.split(",")]
    warnings.simplefilter("ignore")
    groups, values = {"SciPy": SCIPY.split("\n")[1:-1]}, scipy_values()
    if given.packages:
        groups["scikit-image and librosa"] = PACKAGES.split("\n")[1:-1]
        values |= package_values()
    for group, calls in groups.items():
        asked = [x for x in calls if any(name in x for name in given.names or [""])]
        groups[group] = asked
    groups = {group: calls for group, calls in groups.items() if calls}
    rows = list(table(groups, values, given))
    versions = {
        name: sys.modules[name].__version__
        for name in ("numpy", "scipy", "skimage", "librosa")
        if name in sys.modules
    }
    about = {"python": platform.python_version(), "threads": given.threads, **versions}
    print(about)
    if given.json:
        given.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    return not all(row["same_bits"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
