"""Pass mxnp arrays to other packages and back."""

import functools
import os
import pickle
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import mxnp as np
from mxnp._interop import adapters

A = numpy.random.default_rng(5).normal(size=(20, 4))


@pytest.fixture
def a():
    return np.array(A)


def run(code, **environment):
    """Run a program in a new process, with settings that are read at import."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestNumPy:
    """NumPy's own functions return mxnp arrays for mxnp arrays."""

    def test_ufuncs(self, a):
        for result in (numpy.add(a, A), numpy.add(A, a), numpy.exp(a), A * a, a - A):
            assert type(result) is np.ndarray
        assert type(numpy.add.reduce(a)) is np.ndarray
        assert type(numpy.float64(2) * a) is np.ndarray

    def test_in_place_on_a_numpy_array_stays_numpys(self, a):
        x = A.copy()
        y = x
        x += a
        assert x is y
        assert type(x) is numpy.ndarray
        numpy.testing.assert_array_equal(x, 2 * A)

    def test_out(self, a):
        out = np.empty_like(a)
        assert numpy.multiply(A, 2, out=out) is out
        plain = numpy.empty_like(A)
        assert np.multiply(a, 2, out=plain) is plain
        numpy.testing.assert_array_equal(plain, 2 * A)

    def test_functions(self, a):
        assert type(numpy.concatenate([a, A])) is np.ndarray
        assert type(numpy.stack([A, a])) is np.ndarray
        assert type(numpy.linalg.svd(a).S) is np.ndarray
        assert type(numpy.sort(a)) is np.ndarray
        values, counts = numpy.unique(np.array([1, 1, 2]), return_counts=True)
        assert type(values) is type(counts) is np.ndarray
        assert isinstance(numpy.mean(a), numpy.float64)

    def test_like(self, a):
        assert type(numpy.zeros(3, like=a)) is np.ndarray

    def test_the_method_of_the_protocol_calls_any_function(self, a):
        call, types = a.__array_function__, (np.ndarray,)
        assert call(len, types, (a,), {}) == 20
        assert call(numpy.sum, (int,), (a,), {}) is NotImplemented
        assert call(func=numpy.ndim, types=types, args=(a,), kwargs={}) == 2

    def test_asarray_shares_the_memory(self, a):
        x = numpy.asarray(a)
        assert type(x) is numpy.ndarray
        x[0, 0] = 7.5
        assert a[0, 0] == 7.5
        assert np.shares_memory(a, x)
        back = np.asarray(x)
        back[0, 1] = 8.5
        assert a[0, 1] == 8.5

    def test_array_protocol(self, a):
        assert type(a.__array__()) is numpy.ndarray
        assert np.shares_memory(a.__array__(), a)
        assert a.__array__(numpy.float32).dtype == numpy.float32
        assert not np.shares_memory(a.__array__(copy=True), a)
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            a.__array__(numpy.float32, copy=False)

    def test_interfaces(self, a):
        assert a.__array_interface__["data"][0] == numpy.asarray(a).ctypes.data

        class Lender:
            __array_interface__ = a.__array_interface__
            keep = a

        lent = numpy.asarray(Lender())
        lent[1, 1] = -1
        assert a[1, 1] == -1

    def test_buffer(self, a):
        view = memoryview(a)
        assert view.shape == a.shape
        assert view.format == "d"
        view[2, 2] = 3.25
        assert a[2, 2] == 3.25
        assert bytes(np.arange(3, dtype="u1")) == b"\0\1\2"

    @pytest.mark.parametrize(
        "dtype", ["M8[ns]", "T", "i4,O", "V5", "U3", "S2", "O", "g"]
    )
    def test_exotic_dtypes_cross_exactly(self, dtype):
        x = numpy.zeros(3, dtype)
        back = numpy.asarray(np.asarray(x))
        assert back.dtype == x.dtype
        assert np.shares_memory(back, x) or x.dtype.kind == "O" or back is x
        assert numpy.array([np.asarray(x)]).dtype == x.dtype

    def test_dlpack(self, a):
        is_on_gpu = np.get_device() == "cuda"  # see tests/cuda/test_exchange.py
        assert a.__dlpack_device__() == ((2, 0) if is_on_gpu else (1, 0))
        x = numpy.from_dlpack(a)
        x[3, 3] = 99.0
        assert a[3, 3] == 99.0
        back = np.from_dlpack(x)
        assert type(back) is np.ndarray
        assert np.shares_memory(back, a)

    def test_pickle(self, a):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            back = pickle.loads(pickle.dumps(a, protocol))
            assert type(back) is np.ndarray
            numpy.testing.assert_array_equal(back, A)

    def test_pickle_out_of_band(self, a):
        buffers = []
        data = pickle.dumps(a, 5, buffer_callback=buffers.append)
        assert len(data) < 400
        assert len(buffers) == 1
        back = pickle.loads(data, buffers=buffers)
        assert np.shares_memory(back, a)

    def test_isinstance(self, a):
        assert isinstance(A, np.ndarray)
        assert isinstance(numpy.rec.array([1]), np.ndarray)
        assert not isinstance([1], np.ndarray)
        assert isinstance(a, numpy.ndarray)
        assert a.__class__ is numpy.ndarray
        assert type(a) is np.ndarray
        assert not isinstance([1], numpy.ndarray)

    def test_the_class_stays(self, a):
        with pytest.raises(TypeError) as ours:
            a.__class__ = numpy.ndarray
        with pytest.raises(TypeError) as theirs:
            A.__class__ = numpy.ndarray
        assert str(ours.value) == str(theirs.value)

    def test_functions_are_instances_as_in_numpy(self):
        assert isinstance(np.sin, numpy.ufunc)
        assert isinstance(np.sin, np.ufunc)
        assert type(np.sin) is np.ufunc
        for name in ("mean", "array", "linspace", "vectorize"):
            ours, theirs = getattr(np, name), getattr(numpy, name)
            assert isinstance(ours, type(theirs)), name

    def test_singledispatch_finds_the_function_for_numpys_class(self, a):
        @functools.singledispatch
        def kind(x):
            return "other"

        kind.register(numpy.ndarray)(lambda x: "array")
        assert kind(a) == kind(A) == "array"
        assert kind([1]) == "other"


class Duck:
    """A class with NumPy's protocols that mxnp does not know."""

    __array_priority__ = 50

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ("ufunc", ufunc.__name__, method)

    def __array_function__(self, func, types, args, kwargs):
        return ("function", func.__name__)


class TestDeference:
    def test_ufunc(self, a):
        assert np.add(a, Duck()) == ("ufunc", "add", "__call__")
        assert a * Duck() == ("ufunc", "multiply", "__call__")
        assert np.add.at(a, [0], Duck()) == ("ufunc", "add", "at")
        assert Duck().__array_ufunc__(np.add, "reduce") == ("ufunc", "add", "reduce")

    @pytest.mark.parametrize("base", [numpy.ndarray, np.ndarray])
    def test_ufunc_of_a_subclass(self, a, base):
        class Length(base):
            __array_ufunc__ = Duck.__array_ufunc__

        assert np.add.at(a, [0], A.view(Length)) == ("ufunc", "add", "at")

    def test_function(self, a):
        assert np.concatenate([a, Duck()]) == ("function", "concatenate")

    def test_tables_keyed_by_function(self, a):
        class Handler(Duck):
            handled = {np.sum: "sum", np.add: "add"}  # noqa: RUF012

            def __array_function__(self, func, types, args, kwargs):
                return self.handled[func]

            def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                return self.handled[ufunc]

        assert np.sum(Handler()) == "sum"
        assert a + Handler() == "add"

    def test_none_refuses(self, a):
        class Refuses:
            __array_ufunc__ = None

            def __radd__(self, other):
                return type(other)

        assert a + Refuses() is np.ndarray
        with pytest.raises(TypeError):
            a * Refuses()

    def test_priority(self, a):
        class Old:
            __array_priority__ = 100

            def __rmul__(self, other):
                return "old"

        assert a * Old() == "old"

    def test_program_class_whose_array_gives_mxnp_arrays(self):
        class Wrapped:
            def __array__(self, dtype=None, copy=None):
                return np.arange(3.0, dtype=dtype)

        assert np.sum(Wrapped()) == 3
        assert type(np.asarray(Wrapped())) is np.ndarray
        assert (np.ones(3) + Wrapped()).tolist() == [1, 2, 3]


class TestSciPy:
    @pytest.mark.needs("scipy")
    @pytest.mark.slow
    def test_functions_take_them(self, a):
        from scipy import linalg, ndimage, special

        assert type(special.erf(a)) is np.ndarray  # erf is a ufunc
        numpy.testing.assert_array_equal(special.erf(a), special.erf(A))
        blurred = ndimage.gaussian_filter(a, 1)
        numpy.testing.assert_array_equal(blurred, ndimage.gaussian_filter(A, 1))
        numpy.testing.assert_array_equal(linalg.svdvals(a), linalg.svdvals(A))

    @pytest.mark.needs("scipy")
    @pytest.mark.slow
    def test_optimise_integrate_interpolate(self):
        from scipy import integrate, interpolate, optimize

        x = np.linspace(0, 3, 20)
        found = optimize.least_squares(
            lambda p: p[0] * np.exp(-x) - 2 * np.exp(-x), [1]
        )
        assert abs(found.x[0] - 2) < 1e-8
        solved = integrate.solve_ivp(
            lambda t, y: np.stack([y[1], -y[0]]), (0, 1), [0, 1]
        )
        assert abs(solved.y[0, -1] - numpy.sin(1)) < 1e-3
        curve = interpolate.CubicSpline(x, np.sin(x))
        assert abs(curve(np.pi / 2) - 1) < 1e-4

    @pytest.mark.needs("scipy")
    @pytest.mark.slow
    def test_sparse(self, a):
        from scipy import sparse

        s = sparse.csr_array(numpy.eye(4))
        numpy.testing.assert_allclose(s @ a.T, A.T)
        numpy.testing.assert_allclose(a @ s, A)
        assert (sparse.csr_array(a) != sparse.csr_array(A)).nnz == 0

    @pytest.mark.needs("scipy")
    @pytest.mark.slow
    def test_array_api_mode(self):
        out = run(
            """
            import mxnp as np
            from scipy import fft, special, stats, ndimage
            from scipy.cluster.vq import whiten
            a = np.linspace(0.1, 3, 24).reshape(6, 4)
            results = [fft.fft(a), special.gammaln(a), special.logsumexp(a, axis=0),
                       stats.zscore(a), whiten(a), stats.gmean(a),
                       ndimage.uniform_filter(a, 3)]
            print([type(r) is np.ndarray for r in results])
            """,
            SCIPY_ARRAY_API="1",
        )
        assert out.strip() == str([True] * 7)

    @pytest.mark.needs("scipy")
    @pytest.mark.slow
    def test_array_api_mode_with_other_arrays(self):
        """Arrays that SciPy made, and lists, do not count as another library."""
        out = run(
            """
            import mxnp as np, numpy
            from scipy import ndimage, signal
            x = np.linspace(0.1, 3, 24).reshape(6, 4)
            sos = signal.butter(2, 0.2, output="sos")
            calls = [lambda x: signal.lfilter([1, 0.5], [1, -0.3], x),
                     lambda x: signal.sosfilt(sos, x),
                     lambda x: ndimage.convolve(x, ((1, 2), (3, 4)))]
            print([type(call(x)) is np.ndarray for call in calls],
                  [bool((call(x) == call(numpy.array(x))).all()) for call in calls])
            for other in ("ab", numpy.array(["a"])):
                try:
                    signal.lfilter(other, [1.0], x)
                except Exception as error:
                    print(type(error).__name__, error)
                try:
                    signal.lfilter(other, [1.0], numpy.array(x))
                except Exception as error:
                    print(type(error).__name__, error)
            """,
            SCIPY_ARRAY_API="1",
        )
        first, *errors = out.splitlines()
        assert first == str([True] * 3) + " " + str([True] * 3)
        assert errors[::2] == errors[1::2]


@pytest.mark.needs("pandas")
@pytest.mark.slow
def test_pandas(a):
    import pandas

    frame = pandas.DataFrame(a, columns=list("wxyz"))
    numpy.testing.assert_array_equal(frame.to_numpy(), A)
    series = pandas.Series(np.arange(4), index=list("abcd"))
    assert series["c"] == 2
    numpy.testing.assert_array_equal(series + np.ones(4), [1, 2, 3, 4])
    frame["mean"] = np.mean(a, axis=1)
    assert len(frame[frame["w"] > np.float64(0)]) == (A[:, 0] > 0).sum()
    assert type(np.asarray(frame)) is np.ndarray
    assert frame.iloc[np.array([0, 2])].shape == (2, 5)
    assert pandas.to_datetime(np.array(["2020-01-01"], dtype="M8[ns]"))[0].year == 2020
    numpy.testing.assert_array_equal(np.log1p(series), numpy.log1p(numpy.arange(4)))


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
def test_matplotlib(a, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2)
    (line,) = axes[0, 0].plot(np.arange(20), a[:, 0])
    numpy.testing.assert_array_equal(line.get_ydata(), A[:, 0])
    axes[0, 1].imshow(a)
    axes[1, 0].hist(a[:, 1], bins=np.linspace(-3, 3, 7))
    axes[1, 1].scatter(a[:, 0], a[:, 1], c=a[:, 2], s=np.full(20, 9.0))
    axes[1, 1].fill_between(np.arange(20), a[:, 0], a[:, 1], where=a[:, 0] > a[:, 1])
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)
    assert plt.imread(tmp_path / "figure.png").std() > 0


class TestScikitLearn:
    @pytest.mark.needs("sklearn")
    @pytest.mark.slow
    def test_estimators(self, a):
        from sklearn.cluster import KMeans
        from sklearn.decomposition import PCA
        from sklearn.linear_model import LinearRegression, LogisticRegression

        y = np.array(A @ [1.0, -2, 0.5, 3] + 1)
        model = LinearRegression().fit(a, y)
        numpy.testing.assert_allclose(model.coef_, [1, -2, 0.5, 3])
        assert model.score(a, y) > 0.999
        assert LogisticRegression().fit(a, y > 0).predict(a).shape == (20,)
        same = PCA(2).fit_transform(a)
        numpy.testing.assert_allclose(same, PCA(2).fit_transform(A))
        labels = KMeans(2, n_init=1, random_state=0).fit(a).labels_
        expected = KMeans(2, n_init=1, random_state=0).fit(A).labels_
        numpy.testing.assert_array_equal(labels, expected)

    @pytest.mark.needs("sklearn")
    @pytest.mark.slow
    def test_array_api_dispatch(self):
        out = run(
            """
            import mxnp as np, numpy
            import sklearn
            from sklearn.decomposition import PCA
            from sklearn.preprocessing import MinMaxScaler
            from sklearn.metrics import accuracy_score
            sklearn.set_config(array_api_dispatch=True)
            A = numpy.random.default_rng(0).normal(size=(30, 5))
            a = np.array(A)
            pca = PCA(2, svd_solver="full").fit(a)
            t = pca.transform(a)
            s = MinMaxScaler().fit_transform(a)
            numpy.testing.assert_allclose(s, MinMaxScaler().fit_transform(A))
            print(type(t) is np.ndarray, type(s) is np.ndarray,
                  accuracy_score(np.array([1, 0, 1]), np.array([1, 1, 1])))
            """,
            SCIPY_ARRAY_API="1",
        )
        assert out.split()[:2] == ["True", "True"]


@pytest.mark.needs("xarray")
@pytest.mark.slow
def test_xarray(a):
    import xarray

    x = xarray.DataArray(a, dims=("time", "place"))
    numpy.testing.assert_allclose(x.mean("time"), A.mean(axis=0))
    numpy.testing.assert_allclose((x * 2 + 1).sel(place=1), A[:, 1] * 2 + 1)
    numpy.testing.assert_allclose(x.groupby(x.time % 2).mean().shape, (2, 4))
    data = xarray.Dataset({"x": x})
    assert float(data.x.max()) == A.max()


def test_only_modules_of_xarray_are_asked(monkeypatch):
    class Private(types.ModuleType):
        def __getattr__(self, name):
            raise AssertionError(f"{name} is read")

    variable, user = types.ModuleType("xarray.variable"), types.ModuleType("user")
    variable.as_compatible_data = user.as_compatible_data = original = lambda data: data
    monkeypatch.setitem(sys.modules, "other", Private("other"))
    monkeypatch.setitem(sys.modules, "xarray.user", user)
    adapters._adapt_xarray(variable)
    assert user.as_compatible_data.__wrapped__ is original


@pytest.mark.slow
@pytest.mark.needs("autograd")
@pytest.mark.parametrize("options", [[], ["--include", "autograd"]])
def test_autograd_with_and_without_its_own_arrays(options):
    program = """
import numpy as np
import autograd.numpy as anp
from autograd import grad, hessian, jacobian
x = np.array([1.0, 2, 3]) * 1
assert grad(lambda x: anp.sum(x**2))(x).tolist() == [2, 4, 6]
assert jacobian(lambda x: x**2)(x).tolist() == np.diag(2 * x).tolist()
assert hessian(lambda x: anp.sum(anp.concatenate([x, x])**2))(x)[0, 0] == 4
"""
    command = [sys.executable, "-m", "mxnp", *options, "-c", program]
    subprocess.run(command, check=True)


@pytest.mark.slow
@pytest.mark.needs("deap")
@pytest.mark.parametrize("options", [[], ["--include", "deap"]])
def test_deap_derives_from_the_class_of_arrays(options):
    program = """
import copy
import numpy as np
from deap import base, creator, tools
creator.create("Fitness", base.Fitness, weights=(1.0,))
creator.create("Individual", np.ndarray, fitness=creator.Fitness)
one, two = creator.Individual([1.0, 2, 3]), creator.Individual(np.ones(3) * 2)
one.fitness.values = (float(one.sum()),)
clone = copy.deepcopy(one)
assert clone.fitness.values == (6.0,) and clone.fitness is not one.fitness
assert (one + np.ones(3)).tolist() == [2, 3, 4]
assert isinstance(one, np.ndarray)
assert np.array_equal(tools.selBest([one], 1)[0], [1, 2, 3])
"""
    command = [sys.executable, "-m", "mxnp", *options, "-c", program]
    subprocess.run(command, check=True)


@pytest.mark.needs("einops")
@pytest.mark.slow
def test_einops(a):
    import einops

    split = einops.rearrange(a, "(h w) c -> h w c", h=4)
    assert type(split) is np.ndarray
    assert split.shape == (4, 5, 4)
    assert type(einops.reduce(a, "n c -> c", "mean")) is np.ndarray
    assert einops.repeat(a, "n c -> n c k", k=3).shape == (20, 4, 3)


@pytest.mark.needs("dask")
@pytest.mark.slow
def test_dask(a):
    import dask.array as dask

    chunks = dask.from_array(a, chunks=(5, 4))
    total = (chunks * 2).sum(axis=0).compute()
    numpy.testing.assert_allclose(total, 2 * A.sum(axis=0))


@pytest.mark.needs("torch")
@pytest.mark.slow
def test_torch(a):
    import torch

    t = torch.as_tensor(a)
    t[0, 0] = 41.0
    assert a[0, 0] == 41.0  # shared memory
    t = torch.from_dlpack(a)
    t[0, 1] = 42.0
    assert a[0, 1] == 42.0
    back = np.from_dlpack(torch.arange(4))
    assert type(back) is np.ndarray
    assert back.tolist() == [0, 1, 2, 3]
    assert type(np.asarray(torch.ones(2))) is np.ndarray
    assert type(a @ np.asarray(torch.ones(4, dtype=torch.float64))) is np.ndarray


class TestArrayApi:
    def test_compat(self, a):
        import array_api_compat as compat

        assert compat.array_namespace(a) is a.__array_namespace__()
        assert compat.is_array_api_obj(a)
        assert compat.device(a) == "cpu"
        assert compat.to_device(a, "cpu") is a
        assert compat.size(a) == 80

    @pytest.mark.needs("array_api_extra")
    @pytest.mark.slow
    def test_extra(self, a):
        import array_api_extra as extra

        counts = extra.at(np.zeros(4), np.array([0, 2])).set(5.0)
        assert type(counts) is np.ndarray
        assert counts.tolist() == [5, 0, 5, 0]
        assert type(extra.cov(a.T)) is np.ndarray
        numpy.testing.assert_allclose(extra.cov(a.T), numpy.cov(A.T))
        assert extra.pad(a, 1).shape == (22, 6)

    def test_entry_point(self):
        from importlib.metadata import entry_points

        (found,) = entry_points(group="array_api", name="mxnp")
        assert found.load() is np.zeros(1).__array_namespace__()


DTYPES_WITH_METADATA = [
    numpy.dtype("f8", metadata={"unit": "m"}),
    numpy.dtype("O", metadata={"vlen": str}),
    numpy.dtype("S3", metadata={"unit": "m"}),
    numpy.dtype("M8[s]", metadata={"unit": "m"}),
    numpy.dtype([("a", "f8")], metadata={"unit": "m"}),
]


@pytest.mark.parametrize("dtype", DTYPES_WITH_METADATA, ids=str)
def test_asarray_keeps_metadata(dtype: numpy.dtype) -> None:
    for size in (3, 40_000):
        a = np.zeros(size, dtype)
        theirs = numpy.asarray(a)
        assert theirs.dtype.metadata == dtype.metadata
        assert numpy.shares_memory(theirs, a._np_array)


def test_asarray_keeps_metadata_of_fields() -> None:
    a = np.zeros(3, [("a", numpy.dtype("f8", metadata={"unit": "m"}))])
    assert numpy.asarray(a).dtype["a"].metadata == {"unit": "m"}


# An array without elements has the strides of its memoryview, which are NumPy's.
STRIDED = {
    "one row": lambda xp: xp.zeros((1, 4))[::-1],
    "one column": lambda xp: xp.zeros((3, 4))[:, :1],
    "new axis": lambda xp: xp.zeros((4, 5))[:, None, 2:3],
    "broadcast": lambda xp: xp.broadcast_to(xp.zeros(1), (1, 5)),
}


@pytest.mark.parametrize("make", STRIDED.values(), ids=STRIDED)
def test_asarray_keeps_the_strides_of_short_axes(make: Callable[..., Any]) -> None:
    ours, theirs = make(np), make(numpy)
    assert numpy.asarray(ours).strides == ours.strides == theirs.strides
    assert memoryview(ours).c_contiguous == memoryview(theirs).c_contiguous
    assert memoryview(ours).tobytes() == memoryview(theirs).tobytes()
