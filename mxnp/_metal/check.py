"""Measure on this machine what the documentation says about the GPU.

The check is one command, takes less than a minute and needs no other package. Each part
has a result even if another one fails.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import mxnp
from mxnp import _bridge
from mxnp._engine import auto_sizes, core
from mxnp._engine.devices import device as device_block
from mxnp._verify import tolerances

from . import check_compiler, check_page
from .custom import gpu_kernel

Result = dict[str, Any]

_POINTS = 2**16  # of each function whose errors are measured
_SECONDS = 50.0  # after which parts that repeat end
_SLOW = 0.1  # seconds of an operation that is not measured with more elements
_LONG = 1.0  # seconds of the longest kernel that is tried
_ROUNDS = 200  # of the test of lifetimes, if there is time


class _Check:
    """The state of a run: its deadline and the device."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.device = core.gpu().name
        self.is_emulated = "emulator" in "".join(core.gpu().models)

    def has_time(self, share: float) -> bool:
        """Return whether less than a share of the time is over."""
        return time.perf_counter() - self.start < share * _SECONDS

    def on(self, device: str, call: Callable[[], Any]) -> Any:
        """Return the result of a call on a device as a NumPy array."""
        with device_block(device):
            return numpy.asarray(call())

    def seconds(self, device: str, call: Callable[[], Any]) -> float:
        """Return the least time of three runs, without the first one."""
        best = math.inf
        with device_block(device):
            for run in range(4):
                mxnp.synchronize()
                start = time.perf_counter()
                kept = call()
                mxnp.synchronize()
                if run > 0:
                    best = min(best, time.perf_counter() - start)
                del kept
        return best


# -- The machine and the language ------------------------------------------------------


def _machine(check: _Check) -> Result:
    blas: Any = numpy.show_config(mode="dicts")
    return {
        "gpu": ", ".join(core.gpu().models),
        "system": platform.platform(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "blas": blas.get("Build Dependencies", {}).get("blas", {}).get("name", ""),
        "mxnp": core.core_version(),
    }


_CLAIMS = """
    numbers[0] = sin(x[0]);
    numbers[1] = x[1] * x[1] + x[2];
    numbers[2] = sqrt(x[3]);
    numbers[3] = x[4] + x[4];
    words[0] = __METAL_VERSION__;
    words[1] = uint(uchar(int(x[5])));
    words[2] = threads_per_simdgroup;
#ifdef __FAST_MATH__
    words[3] = 1;
#else
    words[3] = 0;
#endif
"""


def _language(check: _Check) -> Result:
    """Return values of a kernel and of operations that options can change."""
    kernel = gpu_kernel("mx_claims", ["x"], ["numbers", "words"], _CLAIMS)
    given = [1000, 1 + 2**-12, -(1 + 2**-11), 0.3, 1e-40, 300]
    numbers, words = kernel(
        inputs=[mxnp.array(given, "f4")],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(4,), (4,)],
        output_dtypes=["f4", "u4"],
    )
    a, c = (mxnp.full(8, value, "f4") for value in given[1:3])
    casts = mxnp.array([300, -1, 70000], "f4")
    return {
        "language version": int(words[0]),
        "fast math macro": int(words[3]),
        "lanes of a SIMD-group": int(words[2]),
        "sin(1000)": float(numbers[0]),
        "sin(1000), error in ulp": _ulps(numbers[:1], numpy.sin([1000.0])),
        "a*b+c in a custom kernel (0: no contraction)": float(numbers[1]),
        "a*b+c of arrays (0: no contraction)": float((a * a + c)[0]),
        "sqrt(0.3), error in ulp": _ulps(
            numbers[2:3], numpy.sqrt(numpy.array([0.3], "f4").astype("f8"))
        ),
        "1e-40 + 1e-40 (0: subnormals are flushed)": float(numbers[3]),
        "uchar(int(300)) in a kernel": int(words[1]),
        "300, -1, 70000 as uint8": check.on(
            check.device, lambda: casts.astype("u1")
        ).tolist(),
        "300, -1, 70000 as int16": check.on(
            check.device, lambda: casts.astype("i2")
        ).tolist(),
    }


# -- Precision -------------------------------------------------------------------------


def _ulps(got: Any, exact: Any) -> float:
    """Return the largest error of float32 results, in units in the last place."""
    exact = numpy.asarray(exact, "f8")
    with numpy.errstate(all="ignore"):
        expected = exact.astype("f4")
    is_normal = numpy.isfinite(expected) & (abs(expected) >= numpy.finfo("f4").tiny)
    if not is_normal.any():
        return 0.0
    errors = abs(numpy.asarray(got, "f8")[is_normal] - exact[is_normal])
    return float((errors / numpy.spacing(abs(expected[is_normal]))).max())


# Where a function is not defined on all numbers from -80 to 80.
_DOMAINS = {
    "arccos": (-1, 1), "arcsin": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 1e4),
    "log": (1e-30, 1e30), "log2": (1e-30, 1e30), "log10": (1e-30, 1e30),
    "log1p": (-0.99, 1e4), "power": (1e-3, 20), "sin": (-1e4, 1e4),
    "cos": (-1e4, 1e4), "tan": (-1e4, 1e4),
}  # fmt: skip


def _precision(check: _Check) -> Result:
    """Return the largest errors of functions, compared with NumPy's float64."""
    rng = numpy.random.default_rng(0)
    errors: Result = {}
    for name, bound in sorted(tolerances.GPU.items()):
        function, ours = getattr(numpy, name), getattr(mxnp, name)
        low, high = _DOMAINS.get(name, (-80, 80))
        x = [rng.uniform(low, high, _POINTS).astype("f4") for _ in range(function.nin)]
        if name in ("floor_divide", "spacing", "float_power"):
            continue  # no rounding, or float64: the tests compare them
        with numpy.errstate(all="ignore"):
            exact = function(*(each.astype("f8") for each in x))
            got = check.on(check.device, lambda: ours(*map(mxnp.array, x)))  # noqa: B023
        errors[name] = {"ulp": round(_ulps(got, exact), 3), "bound": bound}
    return errors


# -- Results ---------------------------------------------------------------------------


def _reductions(check: _Check) -> Result:
    """Fuse more reductions than the memory of a threadgroup once had room for."""
    x = numpy.arange(60_000).reshape(60, 1000)
    complexes = (x % 7 + 1j * (x % 5)).astype("c8")
    with device_block(check.device):
        sums = _sums(*map(mxnp.array, (x, complexes)))
        mxnp.synchronize()
    theirs = _sums(x, complexes)
    wrong = sum(
        not numpy.allclose(a, b, rtol=1e-5) for a, b in zip(sums, theirs, strict=True)
    )
    return {"reductions": len(sums), "wrong": wrong}


def _sums(*arrays: Any) -> list[Any]:
    """Return 17 sums of each array along each of its two axes."""
    return [
        (array + numpy.array(i, array.dtype)).sum(axis=axis)
        for array in arrays
        for axis in (0, 1)
        for i in range(17)
    ]


def _sorts(check: _Check) -> Result:
    rng = numpy.random.default_rng(1)
    x = rng.integers(-1000, 1000, 100_000).astype("f4")
    x[::1000] = numpy.nan
    given = mxnp.array(x)
    places = check.on(check.device, lambda: mxnp.argsort(given, kind="stable"))
    return {
        "sort is NumPy's": numpy.array_equal(
            check.on(check.device, lambda: mxnp.sort(given)), numpy.sort(x),
            equal_nan=True,
        ),
        "stable argsort is NumPy's": numpy.array_equal(
            places, numpy.argsort(x, kind="stable")
        ),
    }  # fmt: skip


def _updates(check: _Check) -> Result:
    """Update few elements from many threads, with NaN among elements and values."""
    rng = numpy.random.default_rng(2)
    places = rng.integers(0, 7, 100_000)
    results: Result = {}
    for name in ("add", "multiply", "maximum"):
        values = rng.integers(1, 2 if name == "multiply" else 9, places.size)
        values = values.astype("f4")
        values[places == 3] = numpy.nan
        expected = numpy.ones(7, "f4")
        expected[5] = numpy.nan

        def update(expected: Any = expected, name: str = name, v: Any = values) -> Any:
            ours = mxnp.array(expected)
            getattr(mxnp, name).at(ours, mxnp.array(places), mxnp.array(v))
            return ours

        got = check.on(check.device, update)
        with numpy.errstate(all="ignore"):
            getattr(numpy, name).at(expected, places, values)
        results[f"{name}.at is NumPy's"] = numpy.allclose(
            got, expected, rtol=1e-5, equal_nan=True
        )
    last = check.on(check.device, lambda: _assign(places))
    results["the last of several assignments stays"] = all(
        last[i] == numpy.flatnonzero(places == i)[-1] for i in range(7)
    )
    table = rng.normal(size=1000).astype("f4")
    table[::10] = numpy.nan
    read = rng.integers(0, table.size, 100_000)
    results["reads at indices are NumPy's"] = numpy.array_equal(
        check.on(check.device, lambda: mxnp.array(table)[mxnp.array(read)]),
        table[read],
        equal_nan=True,
    )
    return results


def _assign(places: Any) -> Any:
    target = mxnp.zeros(7, "f4")
    target[mxnp.array(places)] = mxnp.arange(len(places), dtype="f4")
    return target


def _products(check: _Check) -> Result:
    """Compare products of matrices with float64, at sizes beside those of the tiles."""
    rng = numpy.random.default_rng(3)
    worst = 0.0
    for m, k, n in ((257, 300, 129), (64, 1000, 640), (1000, 33, 70)):
        a, b = (
            rng.normal(size=(m, k)).astype("f4"),
            rng.normal(size=(k, n)).astype("f4"),
        )
        exact = a.astype("f8") @ b.astype("f8")
        sizes = abs(a.astype("f8")) @ abs(b.astype("f8"))
        got = check.on(check.device, lambda: mxnp.array(a) @ mxnp.array(b))  # noqa: B023
        worst = max(worst, float((abs(got - exact) / sizes / k / 2.0**-24).max()))
    return {"largest error, of the bound k * 2**-24": round(worst, 4)}


def _lifetimes(check: _Check) -> Result:
    """Drop arrays that kernels use, while others take their memory."""
    rounds, wrong = 0, 0
    with device_block(check.device):
        while rounds < _ROUNDS and (rounds < _ROUNDS // 10 or check.has_time(0.5)):
            kept = [mxnp.full(100_000 + i, rounds, "f4") * 2 + i for i in range(8)]
            largest = [each.max() for each in kept]
            del kept
            if rounds % 20 == 0:
                gc.collect()
            wrong += sum(float(x) != 2 * rounds + i for i, x in enumerate(largest))
            rounds += 1
    return {"rounds": rounds, "wrong": wrong}


_SPIN = """
    float a = x[0];
    for (long i = 0; i < n[0]; i++)
        a = a * 0.999f + 1.0f;
    y[0] = a;
"""


def _long_kernels(check: _Check) -> Result:
    """Run longer and longer kernels of one thread, and one after a failure."""
    kernel = gpu_kernel("mx_spin", ["x", "n"], ["y"], _SPIN)
    result: Result = {"longest that ran, in seconds": 0.0, "failure": ""}
    n = 2**14
    try:
        while result["longest that ran, in seconds"] < _LONG and n < 2**40:
            start = time.perf_counter()
            (y,) = kernel(
                inputs=[mxnp.ones(1, "f4"), mxnp.array([n])],
                grid=(1, 1, 1), threadgroup=(1, 1, 1),
                output_shapes=[(1,)], output_dtypes=["f4"],
            )  # fmt: skip
            float(y[0])
            result["longest that ran, in seconds"] = time.perf_counter() - start
            n *= 2
    except RuntimeError as error:
        result["failure"] = str(error)
    after = check.on(check.device, lambda: mxnp.arange(100_000, dtype="f4") + 1)
    result["operations afterwards are right"] = bool(after[-1] == 100_000)
    return result


# -- Speed -----------------------------------------------------------------------------


def _operations(n: int) -> dict[str, Callable[[Any], Callable[[], Any]]]:
    """Return functions that return a call of a module on about n elements."""
    side = max(2, math.isqrt(n))

    def elementwise(np: Any) -> Callable[[], Any]:
        x = np.ones(n, dtype=np.float32)
        return lambda: np.sqrt(x * x + x) * x

    def total(np: Any) -> Callable[[], Any]:
        x = np.ones(n, dtype=np.float32)
        return lambda: np.sum(x)

    def rows(np: Any) -> Callable[[], Any]:
        x = np.ones((max(1, n // 64), 64), dtype=np.float32)
        return lambda: np.sum(x, axis=1)

    def sort(np: Any) -> Callable[[], Any]:
        x = -np.arange(n, dtype=np.float32)
        return lambda: np.sort(x)

    def product(np: Any) -> Callable[[], Any]:
        x = np.ones((side, side), dtype=np.float32)
        return lambda: x @ x

    named = {f.__name__: f for f in (elementwise, total, rows, sort, product)}
    return {**named, "running sum": lambda np: _running_sum(np, n)}


def _running_sum(np: Any, n: int) -> Callable[[], Any]:
    x = np.ones((max(1, n // 1024), 1024), dtype=np.float32)
    return lambda: np.cumsum(x, axis=1)


def _crossovers(check: _Check) -> Result:
    """Measure operations on the processor, on the GPU, and with MLX if it is there."""
    mlx = _mlx()
    table: Result = {name: {} for name in _operations(2)}
    for n in (2**k for k in range(12, 25, 2)):
        for name, make in _operations(n).items():
            rows = table[name]
            is_slow = any(max(row.values()) > _SLOW for row in rows.values())
            if is_slow or not check.has_time(0.95):
                continue
            rows[n] = {
                device: check.seconds(device, make(mxnp))
                for device in ("cpu", check.device)
            }
            if mlx:
                rows[n]["mlx"] = _mlx_seconds(mlx, make(mlx))
    return {
        name: {"crossover": _crossover(rows, check.device), "seconds": rows}
        for name, rows in table.items()
    }


def _crossover(rows: dict[int, dict[str, float]], device: str) -> int | None:
    """Return the size from which on the device is always faster, or None."""
    found = None
    for n in sorted(rows, reverse=True):
        if rows[n][device] > rows[n]["cpu"]:
            break
        found = n
    return found


def _mlx() -> Any:
    """Return the module of MLX, or None."""
    try:
        return importlib.import_module("mlx.core")
    except ImportError:
        return None


def _mlx_seconds(mlx: Any, call: Callable[[], Any]) -> float:
    best = math.inf
    for run in range(4):
        start = time.perf_counter()
        mlx.eval(call())
        if run > 0:
            best = min(best, time.perf_counter() - start)
    return best


def _sizes(crossovers: Result) -> auto_sizes.Sizes | None:
    """Return from which sizes the GPU is faster, or None if some were not measured."""
    kinds = (("elementwise",), ("total", "rows"), ("running sum",))
    measured = [crossovers.get(name, {}) for kind in kinds for name in kind]
    if not all(each.get("seconds") for each in measured):
        return None
    found = (
        max(crossovers[name]["crossover"] or auto_sizes.NEVER for name in kind)
        for kind in kinds
    )
    return auto_sizes.Sizes(*found)


def _keep_sizes(report: Result, write: Callable[[str], object]) -> None:
    """Keep the measured sizes for device "auto", unless an emulator stood in."""
    sizes = _sizes(report["crossovers"])
    if sizes is None or report["is emulated"]:
        return
    name = auto_sizes.write(core.gpu().models[0], core.core_version(), sizes)
    if name:
        write(f'device "auto" uses these sizes from now on: {name}\n')


def _on_device(
    part: Callable[[check_compiler.On], Result],
) -> Callable[[_Check], Result]:
    """Return a part that knows the device."""
    return lambda check: part(lambda call: check.on(check.device, call))


# -- The command -----------------------------------------------------------------------

_PARTS: dict[str, Callable[[_Check], Result]] = {
    "machine": _machine,
    "language": _language,
    "reductions": _reductions,
    "sorts": _sorts,
    "updates": _updates,
    "products": _products,
    **{part.__name__: _on_device(part) for part in check_compiler.PARTS},
    "precision": _precision,
    "lifetimes": _lifetimes,
    "crossovers": _crossovers,
    "long kernels": _long_kernels,  # last, because it may lose the device
}


def run(write: Callable[[str], object]) -> Result:
    """
    Run all parts.

    Parameters
    ----------
    write : callable
        Called with each line of text about a part that has ended.

    Returns
    -------
    dict
        The results by the names of the parts, which JSON can represent. A part that
        failed has the key "error".
    """
    check = _Check()
    report: Result = {}
    before, counts = _recording(0), core.gpu_counts()
    try:
        for name, part in _PARTS.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    report[name] = part(check)
            except Exception as error:
                report[name] = {"error": f"{type(error).__name__}: {error}"}
            write(check_page.text(name, report[name]))
    finally:
        _recording(before)
    report["kernels"] = _kernels(counts)
    write(check_page.text("kernels", report["kernels"]))
    report["wrong"] = _wrong(report)
    report["seconds"] = round(time.perf_counter() - check.start, 1)
    report["is emulated"] = check.is_emulated
    return report


def _kernels(before: dict[str, int]) -> Result:
    """Return what the run used, and the compiler's message if it rejected a kernel."""
    counts = {name: n - before[name] for name, n in core.gpu_counts().items()}
    rejection = core.gpu_rejection() if counts["rejected"] else ""
    return {**counts, "rejection": rejection}


def _wrong(report: Result) -> list[str]:
    """Return the values of a report that must not be as they are."""
    wrong = [
        f"{part}: {key}"
        for part, result in report.items()
        for key, value in result.items()
        if value is False
        or key == "error"
        or (key in ("wrong", "rejected") and value > 0)
        or (isinstance(value, dict) and value.get("ulp", 0) > value.get("bound", 0))
    ]
    expected = {
        "300, -1, 70000 as uint8": [44, 255, 112],
        "300, -1, 70000 as int16": [300, -1, 4464],
        "a*b+c of arrays (0: no contraction)": 0,
        "lanes of a SIMD-group": 32,
    }
    language = report.get("language", {})
    differs = (k for k, v in expected.items() if language.get(k, v) != v)
    return wrong + [f"language: {key}" for key in differs]


def _recording(threshold: int) -> int:
    """Record operations on this many elements or more; return the previous number."""
    before: int = _bridge.set_threshold(threshold)
    return before


def main(file: str, write: Callable[[str], object]) -> bool:
    """Run all parts and write the report; return whether all results are right.

    A name that ends with ``.md`` gets a page for the documentation, others JSON.
    """
    if not core.gpu().models:
        write("there is no GPU that mxnp can use\n")
        return False
    problem = core.device_problem(core.gpu())
    if problem:
        write(f"the GPU cannot run kernels: {problem}\n")
        return False
    report = run(write)
    write("".join(f"WRONG: {each}\n" for each in report["wrong"]) or "all is right\n")
    _keep_sizes(report, write)
    is_page = file.endswith(".md")
    text = check_page.page(report) if is_page else json.dumps(report, indent=1) + "\n"
    Path(file).write_text(text, encoding="utf-8")
    return not report["wrong"]
