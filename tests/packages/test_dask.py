"""Test Dask arrays with mxnp chunks: they stay mxnp arrays, with NumPy's values."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import types
import warnings

import numpy
import pytest
from support.lanes import IS_DEFAULT

import mxnp

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.base import tokenize  # noqa: E402
from dask.sizeof import sizeof  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Dask's own warnings
]


# -- Functions -------------------------------------------------------------------------


def make_inputs():
    rng = numpy.random.default_rng(0)
    x, y = rng.normal(size=(2, 40, 60))
    v, w = rng.normal(size=(2, 240))
    some = rng.normal(size=(40, 40))
    return {
        "x": (x, (16, 25)),
        "y": (y, (16, 25)),
        "v": (v, 100),
        "w": (w, 100),
        "i": (rng.integers(0, 9, size=240), 100),
        "j": (rng.integers(0, 9, size=(40, 60)), (16, 25)),
        "t": (rng.normal(size=(60, 8)), (20, 8)),
        "s": (some @ some.T + 40 * numpy.eye(40), (20, 20)),
        "c": (x + 1j * y, (16, 25)),
        "n": (numpy.where(x > 1.5, numpy.nan, x), (16, 25)),
    }


INPUTS = make_inputs()


def of(np):
    return {
        name: da.from_array(np.array(a), chunks) for name, (a, chunks) in INPUTS.items()
    }


def assigned(x, key, value):
    x = x.copy()
    x[key] = value
    return x


def chunks_of(x):
    return dask.compute(*x.to_delayed().ravel(), scheduler="sync")


def expected(kind):
    return mxnp.ndarray if kind is numpy.ndarray else kind


UNARY = (
    "sin cos exp floor negative sign square rint deg2rad isfinite signbit conj angle fabs "
    "i0 sinc nan_to_num fix absolute spacing isneginf"
)
BINARY = (
    "add subtract multiply divide maximum minimum arctan2 hypot logaddexp greater "
    "less_equal equal fmax fmod logical_and copysign nextafter floor_divide remainder"
)
AXES = ("", ", axis=0", ", axis=1", ", axis=0, keepdims=True")
REDUCTIONS = "sum prod mean std var min max any all argmin argmax ptp"
NAN_REDUCTIONS = (
    "nansum nanprod nanmean nanstd nanvar nanmin nanmax nanargmin nanargmax"
)
CASES = [
    *(f"da.{name}(x)" for name in UNARY.split()),
    *(f"da.{name}(c)" for name in ["angle", "real", "imag", "conj", "absolute", "isreal"]),
    *(f"da.{name}(x, y)" for name in BINARY.split()),
    *(f"x {op} {y}" for op in ["+", "-", "*", "/", "**", "//", "%", "<", ">=", "==", "!="] for y in ("2.5", "y")),
    *(f"da.{name}(x{axis})" for name in REDUCTIONS.split() for axis in AXES
      if name != "ptp" or axis == ", axis=0"),
    *(f"da.{name}(n{axis})" for name in NAN_REDUCTIONS.split() for axis in AXES[:3]),
    *(f"da.{name}(x, axis=0, method='{method}')"
      for name in ["cumsum", "cumprod", "nancumsum"] for method in ("sequential", "blelloch")),
    *(f"da.percentile(v, [10, 50, 90], method='{method}')"
      for method in ["linear", "lower", "higher", "midpoint", "nearest"]),
    *(f"da.pad(x, 2, mode='{mode}')"
      for mode in ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean"]),
    *(f"da.overlap.overlap(x, depth=2, boundary={how})"
      for how in ("'periodic'", "'nearest'", "'none'", "0")),
    *"""
    np.sin(x)
    np.sum(x, axis=0)
    np.concatenate([x, y])
    np.where(x > 0, x, y)
    x @ y.T
    ~(x > 0)
    3 - x
    x + np.ones(60)
    np.ones(60) + x
    x * np.float32(3)
    da.frexp(x)[0]
    da.modf(x)[1]
    da.divmod(x, y)[0]
    x.moment(3, axis=0)
    da.median(n, axis=0)
    da.nanmedian(n, axis=1)
    da.quantile(x, [0.3, 0.5], axis=1)
    da.nanquantile(n, 0.3, axis=1)
    da.nanpercentile(n, 30, axis=1)
    da.percentile(i, 50)
    da.percentile(x, 50, axis=0)
    da.topk(x, -3, axis=0)
    da.argtopk(x, 3, axis=1)
    da.average(x, axis=0, weights=da.absolute(y))
    da.cov(x[:4])
    da.corrcoef(x[:4])
    da.count_nonzero(x > 0, axis=0)
    da.bincount(i, weights=v, minlength=10)
    da.digitize(v, np.linspace(-1, 1, 5))
    da.histogram(v, bins=10, range=(-2, 2))[0]
    da.histogram2d(v, w, bins=(4, 5), range=((-2, 2), (-2, 2)))[0]
    da.histogramdd(t[:, :2].rechunk((20, 2)), bins=(3, 4), range=((-2, 2), (-2, 2)))[0]
    da.unique(i)
    da.unique(i, return_counts=True)[1]
    da.unique(i, return_inverse=True)[1]
    da.unique(j, return_index=True)[1]
    da.unique(v, return_index=True, return_inverse=True, return_counts=True)[3]
    da.unique(n, return_counts=True)[1]
    da.unique(v[:0], return_counts=True)[1]
    da.isin(i, np.array([1, 2]))
    da.union1d(i, i + 1)
    da.concatenate([x, y], axis=1)
    da.stack([x, y], axis=1)
    da.block([[x, y], [y, x]])
    da.append(x, y, axis=0)
    x.T
    da.moveaxis(x, 0, 1)
    x.reshape(-1)
    da.ravel(x)
    da.squeeze(x[:, :1])
    da.expand_dims(x, 0)
    da.flip(x, 0)
    da.rot90(x)
    da.roll(x, 3, axis=0)
    da.repeat(x, 2, axis=1)
    da.tile(x, (2, 1))
    da.broadcast_to(v, (3, 240))
    da.atleast_3d(v)
    da.tril(x)
    da.triu(x, 1)
    da.diag(v)
    da.diagonal(x)
    da.trace(s)
    da.delete(v, 3, axis=0)
    da.insert(v, 3, 0, axis=0)
    da.rechunk(x, (10, 60))
    da.diff(x, axis=0)
    da.gradient(x, axis=0)
    da.apply_along_axis(np.sum, 0, x, dtype=x.dtype, shape=())
    da.apply_over_axes(np.sum, x, [0])
    da.compress([True, False, True], x, axis=0)
    da.extract(x > 0, x)
    da.choose(j % 2, [x, y])
    da.piecewise(x, [x < 0, x >= 0], [-1, 1])
    da.select([x > 1, x > 0], [x, y], 0)
    da.where(x > 0)[0]
    da.argwhere(x > 0)
    da.flatnonzero(x > 0)
    (x > 0).nonzero()[1]
    da.take(x, [1, 3, 2], axis=0)
    da.round(x, 1)
    da.clip(x, -1, 1)
    da.isclose(x, y)
    da.unravel_index(i, (3, 3))[0]
    da.outer(v, w)
    da.vdot(v, w)
    da.tensordot(x, y, axes=((1,), (1,)))
    da.matmul(x, y.T)
    da.einsum('ij,kj->ik', x, y)
    da.einsum('ij->i', x)
    x.map_blocks(np.sin)
    da.blockwise(lambda a, b: a + b, 'ij', x, 'ij', y, 'ij', dtype=float)
    da.reduction(x, np.sum, np.sum, dtype=float)
    x.map_overlap(lambda b: b + 1, depth=1, boundary='reflect')
    da.map_overlap(lambda a, b: a + b, x, y, depth=1, boundary=0)
    da.overlap.sliding_window_view(v, 5).mean(axis=-1)
    da.coarsen(np.sum, x, {0: 2, 1: 5}, trim_excess=True)
    x[::2, 3]
    x[[1, 5, 2]]
    x[x > 0]
    x[..., None]
    x[-1, -1]
    x.vindex[[1, 2], [3, 4]]
    x.blocks[0]
    x.astype('f4')
    x.view('i8')
    assigned(x, x > 0, 0)
    assigned(x, (slice(1, 5), 2), 7)
    assigned(x, 3, y[3])
    da.linalg.qr(t)[0]
    da.linalg.svd(t)[1]
    da.linalg.svd_compressed(t.rechunk((20, 4)), 3, seed=1)[1]
    da.linalg.cholesky(s)
    da.linalg.lu(s)[1]
    da.linalg.inv(s)
    da.linalg.solve(s, x[:, 0].rechunk(20))
    da.linalg.lstsq(t, v[:60].rechunk(20))[0]
    da.linalg.norm(x, axis=1)
    da.fft.fft(v.rechunk(240))
    da.fft.ifft2(c.rechunk((40, 60)))
    da.fft.fftshift(v)
    da.zeros_like(x)
    da.full_like(x, 3)
    da.arange(3, 10, 2, like=v, chunks=2)
    da.asarray(x)
    da.apply_gufunc(lambda a: a.mean(-1), '(n)->()', x.rechunk((16, 60)))
    da.push(n, n=None, axis=0)
    da.meshgrid(v, w)[0]
    da.frompyfunc(lambda a: a + 1, 1, 1)(v)
    """.strip().split("\n"),
]  # fmt: skip


def assert_same(ours, theirs):
    """Compare with NumPy: if small arrays are recorded too, sums use another order."""
    if "MXNP_THRESHOLD" in os.environ and theirs.dtype.kind in "fc":
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    else:
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case.strip(), marks=[pytest.mark.needs("bottleneck")] * ("da.push" in case)
        )
        for case in CASES
    ],
)
def test_chunks_are_ours(case):
    def run(np):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(case, {"da": da, "np": np, "assigned": assigned, **of(np)})
            return chunks_of(result), result.compute(scheduler="sync")

    their_chunks, theirs = run(numpy)
    chunks, ours = run(mxnp)
    assert [type(c) for c in chunks] == [expected(type(c)) for c in their_chunks]
    assert type(ours) is expected(type(theirs))
    assert ours.dtype == theirs.dtype
    assert_same(numpy.asarray(ours), numpy.asarray(theirs))


MASKED = """
    da.ma.masked_greater(x, 1)
    da.ma.masked_where(x > 0, x)
    da.ma.masked_invalid(n).sum(axis=0)
    da.ma.masked_equal(j, 3)
    da.ma.masked_array(x, mask=x > 0)
    da.ma.average(da.ma.masked_greater(x, 1), axis=0)
    da.ma.fix_invalid(n)
""".strip().split("\n")


@pytest.mark.parametrize("case", [case.strip() for case in MASKED])
def test_masked_chunks(case):
    ours, theirs = (
        eval(case, {"da": da, "np": np, **of(np)}).compute(scheduler="sync")
        for np in (mxnp, numpy)
    )
    assert type(ours) is type(theirs)
    assert_same(ours.filled(0), theirs.filled(0))
    numpy.testing.assert_array_equal(
        numpy.ma.getmaskarray(ours), numpy.ma.getmaskarray(theirs)
    )


# -- The backend -----------------------------------------------------------------------

CREATED = """
    da.ones((5, 6), chunks=3)
    da.zeros(5, chunks=3, dtype="i4")
    da.empty(5, chunks=3) * 0
    da.full((5, 6), 7, chunks=3)
    da.arange(10, chunks=4)
    da.arange(1, 10, 2, chunks=4, dtype="f4")
    da.linspace(0, 1, 10, chunks=4)
    da.eye(6, chunks=3)
    da.tri(6, chunks=3)
    da.indices((4, 5), chunks=3)[0]
    da.fromfunction(lambda a: a * 2.0, shape=(6,), chunks=3, dtype=float)
    da.from_array(numpy.arange(10), chunks=4)
    da.asarray(numpy.arange(10))
    da.array([1, 2, 3])
    da.fft.fftfreq(10, chunks=4)
    da.random.default_rng(1).normal(size=(5, 6), chunks=3)
    da.random.default_rng(1).integers(0, 9, size=10, chunks=4)
    da.random.default_rng(1).choice(10, size=5, chunks=5)
    da.random.RandomState(1).uniform(size=10, chunks=4)
    da.ma.filled(da.ma.masked_greater(da.arange(10, chunks=4), 3), 0)
    da.ma.getmaskarray(da.ma.masked_greater(da.arange(10, chunks=4), 3))
""".strip().split("\n")


@pytest.mark.parametrize("case", [case.strip() for case in CREATED])
def test_array_backend(case):
    theirs = eval(case).compute(scheduler="sync")
    with dask.config.set({"array.backend": "mxnp"}):
        made = eval(case).persist(scheduler="sync")  # draws once
    assert {type(chunk) for chunk in chunks_of(made)} == {mxnp.ndarray}
    ours = made.compute(scheduler="sync")
    assert ours.dtype == theirs.dtype
    assert_same(numpy.asarray(ours), numpy.asarray(theirs))


def test_to_backend_and_back():
    x = da.arange(10, chunks=4)
    ours = x.to_backend("mxnp")
    assert {type(chunk) for chunk in chunks_of(ours)} == {mxnp.ndarray}
    assert ours.to_backend("mxnp") is ours
    theirs = ours.to_backend("numpy")
    assert {type(chunk) for chunk in chunks_of(theirs)} == {numpy.ndarray}
    numpy.testing.assert_array_equal(theirs, x)


def run_program(*command, **variables):
    """Run Python and return what the program printed."""
    own = {k: v for k, v in os.environ.items() if k != "DASK_ARRAY__BACKEND"}
    ran = subprocess.run(
        [sys.executable, *command],
        env=own | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("first", ["mxnp", "dask.array"])
def test_the_entry_point_needs_no_import(first):
    """Check that Dask finds the backend whichever package is imported first."""
    imports = {
        "mxnp": "import mxnp, dask.array as da",
        "dask.array": "import dask.array as da",
    }
    script = f"""{imports[first]}
import dask
with dask.config.set({{"array.backend": "mxnp"}}):
    print(type(da.ones(4, chunks=2).compute()))
"""
    assert run_program("-c", script) == "<class 'mxnp.ndarray'>\n"


MADE = """
import sys, tempfile
import dask
import dask.array as da
import numpy

a = numpy.arange(6.0)
folder = tempfile.mkdtemp()
da.to_npy_stack(folder, da.ones(6, chunks=3))
arrays = [
    da.ones(6, chunks=3), da.eye(6, chunks=3), da.from_array(a, chunks=3),
    da.ones_like(a), da.asarray(a), da.concatenate([a, a]), da.diag(a),
    da.atleast_2d(a), da.broadcast_to(a, (2, 6)), da.random.normal(size=6, chunks=3),
    da.random.default_rng(1).choice(a, 5), da.from_npy_stack(folder),
    da.from_delayed(dask.delayed(lambda: a)(), (6,), float),
]
kinds = {type(part) for x in arrays for part in dask.compute(
    *x.to_delayed().ravel(), scheduler="sync")}
print(*{kind.__module__ for kind in kinds}, "mxnp" in sys.modules)
"""
SETS = "import dask; dask.config.set({'array.backend': 'numpy'})\n"
UNDOES = "import mxnp; mxnp.install(); import dask; mxnp.uninstall()\n"


@pytest.mark.parametrize(
    ("command", "variables", "printed"),
    [
        (["-m", "mxnp", "-c", MADE], {}, "mxnp True"),
        (["-c", MADE], {"DASK_ARRAY__BACKEND": "mxnp"}, "mxnp True"),
        (["-c", "import mxnp; mxnp.install()\n" + MADE], {}, "mxnp True"),
        (["-c", "import dask, mxnp; mxnp.install()\n" + MADE], {}, "mxnp True"),
        (["-c", MADE], {}, "numpy False"),
        (["-c", UNDOES + MADE], {}, "numpy True"),
        (["-m", "mxnp", "--exclude", "dask", "-c", "import dask.array as da\n"
          "print(type(da.ones(6).compute()).__module__)"], {}, "numpy"),
        (["-m", "mxnp", "-c", SETS + "import dask.array as da\n"
          "print(type(da.ones(6).compute()).__module__)"], {}, "numpy"),
        (["-m", "mxnp", "-c", "import dask.array as da\n"
          "print(type(da.ones(6).compute()).__module__)"],
         {"DASK_ARRAY__BACKEND": "numpy"}, "numpy"),
    ],
)  # fmt: skip
def test_who_selects_the_backend(command, variables, printed):
    assert run_program(*command, **variables) == f"{printed}\n"


@pytest.mark.parametrize(
    ("backend", "words"),
    [("mxnp", "have mxnp chunks"), ("numpy", "have no mxnp chunks")],
)
@pytest.mark.parametrize("measure", [mxnp.doctor, mxnp.profile])
def test_the_doctor_and_the_report_name_the_chunks(measure, backend, words):
    with measure() as found:
        mxnp.ones(100_000) + 1
    printed = io.StringIO()
    with dask.config.set({"array.backend": backend}):
        found.print(printed)
    assert f"New arrays of Dask {words}" in " ".join(printed.getvalue().split())


@pytest.mark.needs("zarr")
def test_zarr(tmp_path):
    da.ones((6, 4), chunks=3).to_zarr(tmp_path / "ones")
    with dask.config.set({"array.backend": "mxnp"}):
        made = da.from_zarr(tmp_path / "ones")
    assert {type(chunk) for chunk in chunks_of(made)} == {mxnp.ndarray}


def test_numpy_programs_keep_numpy():
    assert {type(c) for c in chunks_of(da.ones(5, chunks=2))} == {numpy.ndarray}
    assert {type(c) for c in chunks_of(da.asarray(numpy.ones(5)))} == {numpy.ndarray}


def test_each_chunk_is_in_the_graph_of_its_own():
    x = mxnp.arange(100_000.0)
    graph = dict(da.from_array(x, chunks=25_000).__dask_graph__())
    assert len(graph) == 4
    assert da.from_array(x, chunks=10).name == da.from_array(x.copy(), chunks=10).name


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_large_chunks(scheduler):
    """Compute with chunks that are large enough to be recorded."""
    rng = numpy.random.default_rng(0)
    a = rng.normal(size=(600, 500))
    results = []
    for np in (numpy, mxnp):
        x = da.from_array(np.array(a), chunks=(300, 250))
        y = da.where(x > 0, x * 2 + 1, -x)
        z = (y - y.mean(axis=0)) / y.std(axis=0)
        results.append(dask.compute(y, z.sum(axis=1), y.max(), scheduler=scheduler))
    for theirs, ours in zip(*results, strict=True):
        numpy.testing.assert_allclose(
            numpy.asarray(ours), theirs, rtol=1e-12, atol=1e-9
        )


def test_chunks_with_another_dtype():
    """Dask fills an array of the first chunk's dtype, where a chunk has another."""

    def results(np):
        x = da.from_array(np.arange(8), chunks=4)
        halves = x.map_blocks(
            lambda b, block_info: b + 0.5 if block_info[0]["chunk-location"][0] else b,
            dtype=x.dtype,
        )
        return dask.compute(halves, halves.rechunk(8), scheduler="sync")

    for ours, theirs in zip(results(mxnp), results(numpy), strict=True):
        assert ours.dtype == theirs.dtype
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.fixture(name="two_threads")
def _two_threads():
    before = mxnp.set_num_threads(2)
    yield
    mxnp.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_percentiles_of_chunks_are_ours():
    a = numpy.random.default_rng(0).normal(size=400_000)
    x = da.from_array(mxnp.array(a), chunks=200_000)
    with mxnp.profile() as report:
        ours = da.percentile(x, [10, 50]).compute(scheduler="sync")
    assert "partition" in {row.operation for row in report.report.rows}
    theirs = da.percentile(da.from_array(a, chunks=200_000), [10, 50])
    assert ours.tolist() == theirs.compute(scheduler="sync").tolist()


def test_elements_are_not_compared_with_each_value_that_is_found():
    a = numpy.random.default_rng(0).integers(0, 500, size=60_000)
    x = da.from_array(mxnp.array(a), chunks=30_000)
    with mxnp.profile() as report:
        values, counts = dask.compute(
            *da.unique(x, return_counts=True), scheduler="sync"
        )
    n_compared = sum(
        row.calls for row in report.report.rows if row.operation == "equal"
    )
    assert n_compared < 10
    assert counts.tolist() == numpy.bincount(a)[values].tolist()


# -- Sizes, tokens, pickles ------------------------------------------------------------


def elided(n):
    """Return an array that was written into the memory of a temporary one."""
    return mxnp.ones(n) * 2 + 1


@pytest.mark.parametrize(
    ("x", "n_bytes"),
    [
        (mxnp.zeros((300, 400)), 960_000),
        (mxnp.zeros((300, 400))[:10], 960_000),
        (mxnp.zeros((300, 400))[:0], 960_000),
        (mxnp.zeros((300, 400)).T[5:][::2], 960_000),
        (mxnp.zeros((300, 400)).T[5:].reshape(-1, 5)[:3], 395 * 300 * 8),
        (mxnp.lib.stride_tricks.sliding_window_view(mxnp.zeros(500), 9), 4000),
        (mxnp.broadcast_to(mxnp.zeros((300, 400))[0], (300, 400)), 960_000),
        (mxnp.broadcast_to(7.0, (300, 400)), 8),
        (mxnp.asarray(numpy.zeros((300, 400))[:10]), 960_000),
        (mxnp.frombuffer(bytes(800)), 800),
        (mxnp.zeros((300, 400)) + 1, 960_000),
        ((mxnp.zeros((300, 400)) + 1)[::7], 960_000),
        (elided(120_000), 960_000),
        (elided(120_000)[:5], 960_000),
        (mxnp.arange(120_000)[mxnp.arange(100)], 800),
        (mxnp.zeros(3, dtype=object), 24),
    ],
    ids=lambda x: f"{x.shape}-{x.strides}" if isinstance(x, mxnp.ndarray) else "",
)
def test_a_size_is_that_of_the_memory_that_is_kept(x, n_bytes):
    assert sizeof(x) == n_bytes
    assert sizeof([x[...]]) - sizeof([]) in (n_bytes, n_bytes + 8)


def test_each_chunk_of_an_array_has_memory_of_its_own():
    x = mxnp.zeros((300, 400))
    for chunk in chunks_of(da.from_array(x, chunks=100)):
        assert sizeof(chunk) == chunk.nbytes == 80_000


def test_a_size_is_that_of_an_array_in_memory():
    x = mxnp.ones(100_000) + 1
    assert mxnp._bridge.pending() > 0
    sizeof(x)
    assert mxnp._bridge.pending() == 0


def test_tokens_tell_elements_apart():
    x = mxnp.arange(1000.0)
    assert tokenize(x) == tokenize(mxnp.arange(1000.0))
    assert tokenize(x) == tokenize(x[:] + 0)
    assert tokenize(x) != tokenize(x + 1)
    assert tokenize(x) != tokenize(numpy.arange(1000.0))
    assert tokenize(mxnp.sin) == tokenize(mxnp.sin) != tokenize(mxnp.cos)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x + 1, lambda x: x.T])
def test_pickles_share_memory(make):
    x = make(mxnp.ones((300, 400)))
    buffers = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 300
    y = pickle.loads(data, buffers=buffers)
    assert type(y) is mxnp.ndarray
    assert y.flags.writeable
    assert numpy.shares_memory(numpy.asarray(x), numpy.asarray(y))


# -- distributed -----------------------------------------------------------------------


@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    "x",
    [
        mxnp.ones((300, 400)),
        mxnp.arange(12.0).reshape(3, 4)[:, ::2],
        mxnp.broadcast_to(mxnp.arange(5), (3, 5)),
        mxnp.array(3.5),
        mxnp.array([None, 1, "x"], dtype=object),
        mxnp.zeros(3, dtype="M8[s]"),
        mxnp.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
    ],
    ids=lambda x: f"{x.shape}-{x.dtype}",
)
def test_serializers(x):
    from distributed import protocol

    header, frames = protocol.serialize(x)
    assert header["serializer"] == "dask"
    y = protocol.deserialize(header, [bytearray(frame) for frame in frames])
    assert type(y) is mxnp.ndarray
    assert (y.dtype, y.shape, y.flags.writeable) == (
        x.dtype,
        x.shape,
        x.flags.writeable,
    )
    numpy.testing.assert_array_equal(numpy.asarray(y), numpy.asarray(x))


class Box:
    """A result whose size Dask does not measure by its array."""

    def __init__(self, x):
        self.x = x


def boxed(n):
    return Box(mxnp.arange(100_000.0) + n), mxnp._bridge.pending()


async def boxed_later(n):
    return boxed(n)


def taken(n):
    return mxnp.arange(100_000.0)[mxnp.arange(100_000) + n]


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_tasks_of_the_program_end_when_their_operations_have_run(scheduler):
    def still_waiting(task):
        box, n_waiting = task
        return box.x[-1], n_waiting, mxnp._bridge.pending()

    task = dask.delayed(boxed, pure=False)(3)
    with dask.config.set(scheduler=scheduler):
        last, n_before, n_after = dask.delayed(still_waiting)(task).compute()
        with pytest.raises(IndexError, match="index 100000 is out of bounds"):
            dask.delayed(taken)(5).compute()
    assert (last, n_after) == (100_002, 0)
    assert n_before > 0


@pytest.mark.needs("distributed")
def test_tasks_end_when_their_operations_have_run():
    from distributed import Client

    with Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as client:
        for function in (boxed, boxed_later):
            box, n_waiting = client.submit(function, 3).result()
            assert n_waiting > 0
            assert mxnp._bridge.pending() == 0
            assert box.x[-1] == 100_002
        assert client.submit(taken, 0).result()[-1] == 99_999
        with pytest.raises(IndexError, match="index 100000 is out of bounds"):
            client.submit(taken, 5).result()


CLUSTER_SECONDS = 600  # after which it counts as hanging


class Process:
    """The monitor of a worker whose process has only the memory of mxnp."""

    def get_process_memory(self):
        info = mxnp.memory_info()
        return info["in_use"] + info["cached"]


class Chunks(dict):
    """The chunks of a worker, which drop the first one when they spill."""

    fast = property(bool)

    def evict(self):
        return self.pop(next(iter(self))).nbytes


def computed(n, nbytes):
    arrays = [mxnp.arange(nbytes / 8) for _ in range(n)]
    mxnp.synchronize()
    return arrays


@pytest.mark.needs("distributed")
@pytest.mark.parametrize(("n_beyond", "n_spilled"), [(0, 0), (2.5, 3)])
def test_cached_memory_is_returned_before_chunks_are_spilled(n_beyond, n_spilled):
    import asyncio

    from distributed.worker import WorkerMemoryManager

    nbytes = 4 << 20
    chunks = Chunks(enumerate(computed(6, nbytes)))
    mxnp.clear_cache()
    process = Process()
    manager = types.SimpleNamespace(
        memory_limit=process.get_process_memory() - n_beyond * nbytes,
        memory_target_fraction=1,
        memory_spill_fraction=1,
        memory_monitor_interval=CLUSTER_SECONDS,
        data=chunks,
        _maybe_pause_or_unpause=lambda worker, memory: None,
    )
    worker = types.SimpleNamespace(monitor=process)
    computed(6, nbytes)
    limit, used = mxnp.memory_info()["limit"], process.get_process_memory()
    assert used > manager.memory_limit
    asyncio.run(WorkerMemoryManager._spill(manager, worker, used))
    assert len(chunks) == 6 - n_spilled
    assert mxnp.memory_info()["limit"] == limit


def test_workers_that_spill_at_once_leave_the_limit() -> None:
    import asyncio

    from mxnp._interop import dask_protocols

    class Manager:
        async def _spill(self, worker, memory):
            await asyncio.sleep(0)

    dask_protocols._spill_without_cache(Manager)
    worker = types.SimpleNamespace(monitor=Process())

    async def spill_twice() -> None:
        await asyncio.gather(*(Manager()._spill(worker, 0) for _ in range(2)))

    limit = mxnp.memory_info()["limit"]
    asyncio.run(spill_twice())
    assert mxnp.memory_info()["limit"] == limit


@pytest.mark.parametrize("value", [5, "a", numpy.datetime64("2001")])
def test_arrays_without_axes_are_chunks(value):
    x = mxnp.array(value, object if value == 5 else None)
    made = da.from_array(x)
    assert made.compute() == numpy.array(value)


def test_the_array_that_is_divided_is_not_kept() -> None:
    made = da.from_array(mxnp.arange(3000.0), chunks=1000)
    base = made._meta.base
    assert made._meta.nbytes == 0 and (base is None or base.nbytes == 0)


CLUSTER = """
import logging
import dask
import dask.array as da
import numpy

def kind(chunk):
    return numpy.array([[f"{type(chunk).__module__}.{type(chunk).__name__}"]])

def state(dask_worker):
    import mxnp
    return mxnp.get_num_threads(), mxnp.memory_info()["limit"], len(dask_worker.data.disk)

def main():
    from distributed import Client, LocalCluster, wait
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="800MB", dashboard_address=None,
        silence_logs=logging.ERROR,
    ) as cluster, Client(cluster) as client:
        x = da.random.default_rng(0).normal(size=(2000, 2000), chunks=(500, 500))
        y = (x + x[::-1]).persist()
        print(*set(y.map_blocks(kind, dtype="U20", chunks=(1, 1)).compute().ravel()))
        means = y.mean(axis=0).compute()
        print(type(means).__module__, numpy.isclose(y.sum().compute(), means.sum() * 2000))
        large = da.ones((3000, 5000), chunks=(500, 1000)) * 2  # 120 MB for each worker
        large = [client.persist(large + i, workers=[name]) for i, name in
                 enumerate(client.scheduler_info()["workers"])]
        wait(large)
        for threads, limit, n_spilled in client.run(state).values():
            print(threads, limit <= 100_000_000, n_spilled > 0)
        print(*(part.sum().compute() for part in large))

if __name__ == "__main__":
    with dask.config.set({
        "array.backend": "mxnp",
        "distributed.worker.memory.target": 0.1,  # spill what is beyond 80 MB
        "distributed.worker.memory.terminate": False,
    }):
        main()
"""


@pytest.mark.needs("distributed")
@pytest.mark.skipif(
    not IS_DEFAULT,
    reason="takes long: once is enough",
)
@pytest.mark.timeout(2 * CLUSTER_SECONDS)
def test_cluster_of_processes(tmp_path):
    """Workers exchange and spill chunks, and observe their thread and memory limits."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    ran = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=CLUSTER_SECONDS,
        cwd=tmp_path,
    )
    assert ran.stdout.splitlines() == [
        "mxnp.ndarray",
        "mxnp True",
        "2 True True",
        "2 True True",
        "30000000.0 45000000.0",
    ], ran.stdout + ran.stderr[-3000:]


@pytest.mark.needs("dask", "pyarrow")
def test_dataframes_are_made_of_arrays():
    import dask.dataframe as frames

    made = frames.from_array(mxnp.arange(6.0).reshape(3, 2), columns=["a", "b"])
    assert made.compute().to_numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert made.a.to_dask_array(lengths=True).sum().compute() == 6.0


@pytest.mark.needs("xarray")
def test_the_namespace_converts_dask_arrays_lazily():
    xp = mxnp.ones(1).__array_namespace__()
    lazy = dask.array.from_array(mxnp.arange(6), chunks=3)
    made = xp.astype(lazy, "float64")
    assert type(made) is type(lazy)
    assert made.compute().dtype == "float64"
    import xarray

    chosen = xarray.DataArray(mxnp.arange(6)).where(lazy > 2)
    assert type(chosen.data) is type(lazy)
    assert chosen.values.tolist()[3:] == [3, 4, 5]
