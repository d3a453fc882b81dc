"""Large calls of SciPy that threads divide: the same bits, errors and warnings."""

import copy
import inspect
import pickle
import signal as signals
import sys
import threading
import warnings
from operator import attrgetter
from traceback import walk_tb

import numpy as np
import pytest
from support.paths import ROOT
from support.processes import IGNORED, end_of

import mxnp
from mxnp import _bridge
from mxnp._engine import threads as engine_threads
from mxnp._engine.threads import cut
from mxnp._packages import elements, entries, filters, placing
from mxnp._packages import rows as row_functions
from mxnp._packages.table import GRAINS, NOT_DIVIDED, ROWS

scipy = pytest.importorskip("scipy")
from scipy import (  # noqa: E402
    fft,
    interpolate,
    ndimage,
    signal,
    sparse,
    spatial,
    special,
)
from scipy.spatial import distance  # noqa: E402

# Versions of SciPy have different ones.
MODULES = sorted({row.module for row in ROWS} & sys.modules.keys())
SPACE = {
    **{each.__name__.rpartition(".")[2]: each for each in (fft, interpolate, ndimage)},
    **{each.__name__.rpartition(".")[2]: each for each in (signal, sparse, spatial)},
    "special": special,
    "distance": distance,
}


class Threads:
    """Whether calls are divided, and how many were."""

    def __init__(self, monkeypatch):
        self.n, self.calls, self.functions = 3, 0, []
        for module in entries, engine_threads:
            monkeypatch.setattr(module, "get_num_threads", lambda: self.n)
        count = entries.Entry.cut_into

        def counted(entry, length, elements):
            pieces = count(entry, length, elements)
            if pieces > 1:
                self.calls += 1
                self.functions.append(entry.function)
            return pieces

        monkeypatch.setattr(entries.Entry, "cut_into", counted)

    def compare(self, function, *args, **kwargs):
        """Compare a divided call with SciPy's, and return how many calls were divided."""
        self.n = 1
        expected = outcome(function, *copy.deepcopy([args, kwargs]))
        self.n, before = 3, self.calls
        assert outcome(function, *copy.deepcopy([args, kwargs])) == expected
        return self.calls - before


def outcome(function, args, kwargs):
    """Return everything that a call does, for comparison."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            result = type(error), str(error)
    said = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
    return details(result), details(args), details(kwargs), said


def details(x):
    """Return the class, bits and order of arrays, and other objects themselves."""
    if isinstance(x, np.ndarray):
        data = np.ma.getdata(x)
        mask = (
            np.ma.getmaskarray(x).tobytes() if isinstance(x, np.ma.MaskedArray) else b""
        )
        has_others = (
            x.dtype.char in "gGO"
        )  # bytes that belong to no number, or pointers
        values = repr(data.tolist()) if has_others else data.tobytes()
        return type(x), x.dtype, x.shape, data.strides, values, mask
    if isinstance(x, (tuple, list)):
        return [details(each) for each in x]
    if isinstance(x, dict):
        return {key: details(value) for key, value in x.items()}
    if isinstance(x, np.generic):
        return x.dtype, x.tobytes()
    return x if isinstance(x, (type, str, type(None))) else repr(x)


def place(grain):
    for name in MODULES:
        placing.place(sys.modules[name], grain)


@pytest.fixture
def threads(monkeypatch):
    """Divide calls of four elements and more among three threads."""
    place(2)
    before = _bridge.divide_all(True)
    yield Threads(monkeypatch)
    _bridge.divide_all(before)
    place(0)


# -- The table -------------------------------------------------------------------------

R = np.random.default_rng(7)
ARRAYS = {
    "image": R.random((70, 90)),
    "lines": R.random((40, 300)),
    "points": R.random((60, 8)),
    "kernel": R.random((5, 5)),
    "np": np,
}


CUBE = R.random((9, 9, 900))
SOS = signal.butter(4, 0.2, output="sos")
SOS.flags.writeable = False


def functions_of(row):
    """Return the compiled functions of a row that this version of SciPy has."""
    module = sys.modules[row.module]
    if row.names == "ufuncs":
        return {x for x in vars(module).values() if isinstance(x, np.ufunc)}
    return {attrgetter(name)(module) for name in row.names.split()}


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.module in MODULES],
    ids=lambda row: f"{row.module} {row.names[:20]}",
)
def test_the_sample_of_a_row_is_divided(threads, row):
    function = eval(f"lambda: {row.sample}", SPACE | ARRAYS)
    assert threads.compare(function)
    assert functions_of(row).intersection(threads.functions)


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.module in MODULES],
    ids=lambda row: f"{row.module} {row.names[:20]}",
)
def test_the_sample_of_a_row_is_verified(threads, row):
    """SciPy's function also returns what a divided call returns."""
    with mxnp.verify() as checks:
        eval(row.sample, SPACE | ARRAYS)
    assert threads.calls
    assert checks.verified
    assert not checks.skipped


def test_a_parameter_that_is_given_twice(threads):
    points = ARRAYS["points"]
    tree = spatial.cKDTree(points)
    for call in (
        lambda: tree.query(points, 3, k=3),
        lambda: tree.query_ball_point(points, 0.001, r=3),
    ):
        assert not threads.compare(call)
        with pytest.raises(TypeError, match=r"\b(k|r)\b"):
            call()


def test_slow_ufuncs_have_smaller_grains(threads):
    names = {name for name, x in vars(special).items() if isinstance(x, np.ufunc)}
    assert len(GRAINS.keys() & names) > 120
    assert not GRAINS.keys() & NOT_DIVIDED
    place(0)
    x, functions = np.linspace(0.1, 0.9, 2**12), (special.jv, special.gammainc)
    assert all(threads.compare(function, x, x) for function in functions)
    assert not any(threads.compare(function, x[1:], x[1:]) for function in functions)
    assert not threads.compare(special.erf, x)
    assert threads.compare(special.hyperu, *[x[: 2**10]] * 3)


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "scipy.md").read_text(encoding="utf-8")
    names = {name for row in ROWS for name in row.names.split()} - {"ufuncs"}
    public = {name for name in NOT_DIVIDED if not name.startswith("_")}
    for name in names | public | {row.module for row in ROWS}:
        assert f"`{name}`" in page, name


def test_functions_keep_their_identity(threads):
    assert type(special.erf) is np.ufunc
    assert special.erf.nin == 1
    assert ndimage._nd_image.correlate1d.__name__ == "correlate1d"
    assert repr(ndimage._nd_image.correlate1d).startswith(
        "<built-in function correlate1d"
    )


def test_functions_of_several_dtypes_keep_their_identity(threads):
    module = sys.modules["scipy.signal._sosfilt"]
    function = module._sosfilt
    assert repr(function).startswith("<cyfunction _sosfilt at ")
    assert (function.__module__, function.__qualname__) == (module.__name__, "_sosfilt")
    assert [*inspect.signature(function).parameters] == ["sos", "x", "zi"]
    assert pickle.loads(pickle.dumps(function)) is function
    x, zi = np.ones((40, 9)), np.zeros((40, 1, 2))
    assert threads.compare(function, np.ones((1, 6)), x, zi)
    assert not threads.compare(function["double"], np.ones((1, 6)), x, zi)
    assert not threads.compare(function, np.ones((1, 6)), x, zi=zi)


def test_a_divided_call_has_the_functions_name(threads):
    entry = entries.Entry(special.erf, 2, "scipy.special.erf")
    divided = placing._divider(ROWS[0], entry)
    assert divided.__name__ == divided.__qualname__ == "scipy.special.erf"


def test_a_row_whose_function_is_missing_is_left_alone(threads):
    module = type(np)("scipy.ndimage._nd_image")
    placing.place(module)
    assert not [name for name in vars(module) if not name.startswith("__")]


def test_a_row_whose_function_has_other_parameters_is_left_alone(threads):
    module = type(np)("scipy.ndimage._nd_image")
    module.correlate1d = np.arange(90.0).take
    placing.place(module, 2)
    assert not threads.compare(module.correlate1d, np.array([5, 3, 7, 1, 2, 8, 0, 4]))


# -- Random calls ----------------------------------------------------------------------


class Draw:
    """Random arrays in random orders of memory."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def shape(self, most=3, longest=24):
        return tuple(
            int(n) for n in self.r.integers(1, longest, self.r.integers(1, most + 1))
        )

    def one(self, *items):
        return items[self.r.integers(len(items))]

    def laid_out(self, a):
        """Return an array with the same elements and other strides."""
        how = self.r.integers(5)
        if how == 0:
            return np.asfortranarray(a)
        if how == 1 and a.ndim:
            wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
            wide[..., ::2] = a
            return wide[..., ::2]
        if how == 2:
            return np.ascontiguousarray(a[::-1])[::-1]
        if how == 3:
            order = self.r.permutation(a.ndim)
            return np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))
        return a

    def array(self, shape, dtype="f8"):
        dtype = np.dtype(dtype)
        a = self.r.normal(size=shape) * 20
        if dtype.kind == "c":
            a = a + 1j * self.r.normal(size=shape)
        if dtype.kind == "u":
            a = abs(a)
        return self.laid_out(a.astype(dtype))


MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
DTYPES = ("f8", "f4", "u1", "i4", "i8", "?", ">f8")


def line_filter(draw):
    a = draw.array(draw.shape(), draw.one(*DTYPES))
    axis = int(draw.r.integers(-a.ndim, a.ndim))
    size = int(draw.r.integers(1, 8))
    function, *args = draw.one(
        (ndimage.correlate1d, draw.r.normal(size=size)),
        (ndimage.gaussian_filter1d, 1.3),
        (ndimage.uniform_filter1d, size),
        (ndimage.minimum_filter1d, size),
        (ndimage.maximum_filter1d, size),
    )
    output = draw.one(None, None, "f4", "i2", draw.array(a.shape), a)
    return (
        function,
        [a, *args],
        {"axis": axis, "mode": draw.one(*MODES), "output": output},
    )


def filter_of_all_axes(draw):
    a = draw.array(draw.shape(), draw.one(*DTYPES, "c16"))
    function, *args = draw.one(
        (ndimage.gaussian_filter, 0.9),
        (ndimage.uniform_filter, 3),
        (ndimage.sobel,),
        (ndimage.laplace,),
        (ndimage.maximum_filter, 4),
        (ndimage.spline_filter, 3),
        (ndimage.zoom, 1.7),
        (ndimage.shift, 0.4),
    )
    return function, [a, *args], {"mode": draw.one(*MODES)}


def filter_of_neighbourhoods(draw):
    # SciPy's rank filter of one dimension writes behind short arrays.
    shape = (*draw.shape(2), int(draw.r.integers(1, 40)))
    shape = draw.one(shape, shape, tuple(draw.r.integers(20, 90, 2)))
    a = draw.array(shape, draw.one(*DTYPES))
    size = draw.r.integers(1, 6, a.ndim)
    weights = draw.r.normal(size=size)
    footprint = weights > -1.0
    footprint.flat[0] = True
    origin = [int(draw.r.integers(-(n // 2), (n - 1) // 2 + 1)) for n in size]
    function, args = draw.one(
        (ndimage.correlate, {"weights": weights}),
        (ndimage.convolve, {"weights": weights}),
        (ndimage.median_filter, {"footprint": footprint}),
        (ndimage.rank_filter, {"footprint": footprint, "rank": 0}),
        (ndimage.percentile_filter, {"footprint": footprint, "percentile": 30}),
        (ndimage.minimum_filter, {"footprint": footprint}),
        (ndimage.grey_dilation, {"structure": weights}),
    )
    output = draw.one(None, None, "f4", draw.array(a.shape), a)
    return (
        function,
        [a],
        dict(mode=draw.one(*MODES), origin=origin, output=output, **args),
    )


def ufunc(draw):
    function = getattr(special, draw.one(*UFUNCS))
    shape = draw.shape(3, 9)
    types = draw.one(*(t for t in function.types if not set(t) & set("gG")))
    args = []
    for code in types.partition("->")[0]:
        own = tuple(1 if draw.r.random() < 0.1 else n for n in shape)
        own = own[draw.r.integers(len(shape)) :] if draw.r.random() < 0.1 else own
        a = draw.laid_out(draw.r.choice(VALUES, own).astype(code))
        args.append(
            draw.one(a, a, a, a, a[:1], 2.5 if code in "fdFD" else 2, a.flat[0])
        )
    if function.nout > 1 or draw.r.random() < 0.6:
        return function, args, {}
    outs = [np.zeros(shape, code) for code in (types[-1], "f8")]
    outs += [a for a in args if isinstance(a, np.ndarray)]
    out = draw.one(*outs)
    return function, *draw.one(([*args, out], {}), (args, {"out": out}))


def distances(draw):
    n = int(draw.r.integers(1, 9))
    a, b = (draw.array((int(draw.r.integers(1, 30)), n), draw.one("f8", "f4", "i4", "?"))
            for _ in range(2))  # fmt: skip
    kwargs = draw.one(
        {}, {}, {"out": np.zeros((len(a), len(b)))}, {"w": draw.r.random(n)}
    )
    return distance.cdist, [a, b, draw.one(*METRICS)], kwargs


def transform(draw):
    a = draw.array(draw.shape(3, 40), draw.one("f8", "f4", "c16", "c8", "i4"))
    name = draw.one(
        "fft", "rfft", "ihfft", "irfft", "fftn", "rfftn", "irfftn", "dct", "dstn"
    )
    return getattr(fft, name), [a], {}


def signal_filter(draw):
    a = draw.array(draw.shape(3, 30), draw.one("f8", "f4", "i4", "c16", "c8"))
    axis = int(draw.r.integers(-a.ndim, a.ndim))
    kind = draw.one("c16", "f8", "f4")
    states = list(a.shape)
    states[axis] = 2
    zi = draw.one({}, {"zi": draw.array(states, kind)})
    sos = signal.butter(3, 0.3, output="sos").astype(draw.one("f8", "f4"))
    sos_zi = {"zi": np.ones((len(sos), *states), np.result_type(a, sos, "f4"))}
    weights, poles = draw.r.normal(size=(2, 3))
    poles[0] += 9
    function, *args, kwargs = draw.one(
        (signal.lfilter, weights.astype(kind), poles, a, zi),
        (signal.sosfilt, sos, a, draw.one({}, sos_zi)),
        (signal.filtfilt, weights, poles, a, {"padlen": 0}),
        (signal.upfirdn, weights, a, {"up": int(draw.r.integers(1, 4)), "down": 2}),
    )
    return function, args, {"axis": axis, **kwargs}


def window(draw):
    a = draw.array(tuple(draw.r.integers(1, 90, 2)), draw.one("f8", "f4", "u1"))
    return signal.medfilt2d, [a, draw.r.integers(0, 3, 2) * 2 + 1], {}


def coordinates(draw):
    a = draw.array(draw.shape(3, 12), draw.one(*DTYPES, "c16"))
    at = draw.array((a.ndim, *draw.shape(2, 40)), draw.one("f8", "f4")) / 4
    output = draw.one(None, "f4", draw.array(at.shape[1:]))
    order = int(draw.r.integers(0, 4))
    return ndimage.map_coordinates, [a, at], {
        "mode": draw.one(*MODES), "output": output, "order": order,
    }  # fmt: skip


ALL_MODES = (*MODES, "grid-wrap", "grid-constant", "grid-mirror")


def morphology(draw):
    # SciPy writes behind arrays of one dimension that are shorter than the structure.
    shape = (*draw.shape(2, 8), int(draw.r.integers(20, 60)))
    shape = draw.one(shape, shape[-1:], tuple(draw.r.integers(20, 90, 2)))
    a = draw.array(shape, draw.one(*DTYPES))
    structure = draw.r.random(draw.r.integers(1, 5, a.ndim)) > 0.4
    structure[tuple(n // 2 for n in structure.shape)] = True  # so that all calls end
    origin = [-(n // 2) for n in structure.shape]
    function, kwargs = draw.one(
        (ndimage.binary_erosion, {"border_value": draw.one(0, 1)}),
        (ndimage.binary_dilation, {"output": np.zeros(a.shape, draw.one("?", "u1"))}),
        (ndimage.binary_erosion, {"origin": draw.one(0, origin)}),
        (ndimage.binary_closing, {}),
    )
    mask = draw.one(None, draw.array(a.shape, draw.one("?", "f4")))
    iterations = 1 if "origin" in kwargs else draw.one(1, 2, 3, -1)
    # The lists of elements, without brute force, write into other memory of SciPy.
    kwargs |= {"mask": mask, "iterations": iterations, "brute_force": True}
    return function, [a > 0, structure], kwargs


def affine(draw):
    a = draw.array(draw.shape(3, 12), draw.one(*DTYPES, "c16"))
    if a.ndim == 2 and draw.r.random() < 0.3:
        kwargs = {"reshape": draw.one(True, False), "mode": draw.one(*ALL_MODES)}
        return ndimage.rotate, [a, draw.r.uniform(0, 360)], kwargs
    matrix, offset = draw.r.normal(size=(a.ndim, a.ndim)), draw.r.normal(size=a.ndim)
    kwargs = {"output_shape": tuple(draw.r.integers(1, 20, a.ndim))}
    kwargs |= {"order": int(draw.r.integers(0, 6)), "mode": draw.one(*ALL_MODES)}
    return ndimage.affine_transform, [a, draw.one(matrix, matrix.T), offset * 4], kwargs


def zoom(draw):
    a = draw.array(draw.shape(2, 40), draw.one(*DTYPES, "c16"))
    factors, shift = draw.r.uniform(0.3, 3, a.ndim), draw.one(0, 0.5, draw.r.normal())
    function, *args = draw.one(
        (ndimage.zoom, factors),
        (ndimage.shift, shift),
        (ndimage.affine_transform, factors, draw.one(0, shift, shift * factors)),
    )
    order, output = int(draw.r.integers(0, 6)), draw.one(None, "f4")
    kwargs = {"order": order, "mode": draw.one(*ALL_MODES), "output": output}
    return function, [a, *args], kwargs


def interpolation(draw):
    at, n = draw.array(draw.shape(3, 12), draw.one("f8", "f4", "i4")), 9
    xp = draw.array((n,), draw.one("f8", "i4"))
    xp = draw.one(np.sort(xp), np.sort(xp), np.sort(xp), xp)
    fp = draw.one(draw.r.normal(size=n), np.full(n, np.inf), np.arange(n))
    if (np.diff(xp) > 0).all() and draw.r.random() < 0.5:
        return interpolate.interp1d(xp, fp, fill_value="extrapolate"), [at], {}
    return np.interp, [at, xp, fp], draw.one({}, {"left": -1.0, "right": np.nan})


def matrix_product(draw):
    shape = tuple(draw.r.integers(1, 40, 2))
    dense = draw.array(shape, draw.one("f8", "f4", "i4", "c16"))
    dense[draw.r.random(shape) > 0.3] = 0
    a = sparse.csr_array(dense)
    other = draw.one((shape[1],), (shape[1], int(draw.r.integers(1, 6))))
    return a.__matmul__, [draw.array(other, draw.one("f8", "f4", "i8"))], {}


def neighbours(draw):
    m = int(draw.r.integers(1, 5))
    points, at = draw.array((30, m)), draw.array((*draw.shape(2), m))
    tree = draw.one(spatial.KDTree, spatial.cKDTree)(points)
    if draw.r.random() < 0.4:
        r = draw.one(20.0, abs(draw.array(at.shape[:-1])))
        kwargs = draw.one(
            {}, {"p": 1.0, "return_sorted": True}, {"return_length": True}
        )
        return tree.query_ball_point, [at, r], kwargs
    return (
        tree.query,
        [at, draw.one(1, 3, [2, 4])],
        draw.one({}, {"p": 1}, {"workers": 1}),
    )


# Spheroidal functions take seconds for some of these values.
VALUES = [0.0, -1.0, 0.5, 3.7, 2.0, 1.0, 0.25]
UFUNCS = sorted(
    name for name, x in vars(special).items()
    if isinstance(x, np.ufunc) and not name.startswith(("pro_", "obl_"))
)  # fmt: skip
METRICS = sorted(distance._METRICS) if hasattr(distance, "_METRICS") else ["euclidean"]
CALLS = {
    "ufuncs": ufunc,
    "correlate1d uniform_filter1d min_or_max_filter1d": line_filter,
    "spline_filter1d": filter_of_all_axes,
    "correlate min_or_max_filter rank_filter": filter_of_neighbourhoods,
    "binary_erosion": morphology,
    "geometric_transform": affine,
    "geometric_transform at": coordinates,
    "zoom_shift": zoom,
    "cdist_euclidean cdist_cosine_double_wrap": distances,
    "_linear_filter _sosfilt _apply": signal_filter,
    "_medfilt2d": window,
    "csr_matvec": matrix_product,
    "cKDTree.query cKDTree.query_ball_point": neighbours,
    "interp": interpolation,
    "c2c dct": transform,
}


def compare_random(threads, call, seeds):
    divided = sum(threads.compare(*split(call(Draw(seed)))) > 0 for seed in seeds)
    assert divided > len(seeds) // 4  # so that the test is one


def split(call):
    function, args, kwargs = call
    return lambda args, kwargs: function(*args, **kwargs), args, kwargs


@pytest.mark.parametrize("call", CALLS.values())
def test_random_calls_have_the_same_bits(threads, call):
    compare_random(threads, call, range(60))


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.module in MODULES],
    ids=lambda row: f"{row.module} {row.names[:20]}",
)
def test_many_random_calls_of_each_row_have_the_same_bits(threads, row):
    """Calls are drawn until 500 of them divide a function of the row."""
    names = {*row.names.split()}
    for draw in (CALLS[each] for each in CALLS if names & {*each.split()}):
        found, seed = 0, 1000
        while found < 500:
            threads.functions.clear()
            threads.compare(*split(draw(Draw(seed))))
            found += bool(functions_of(row).intersection(threads.functions))
            seed += 1
            assert seed < 1000 + 20 * 500


@pytest.mark.parametrize("length", [2, 60])
def test_lines_are_stored_later_if_they_are_long(threads, monkeypatch, length):
    """An interrupt leaves them, and shorter ones end before it is raised."""
    beside, run = [], entries.run_beside
    monkeypatch.setattr(
        entries, "run_beside", lambda *args: (beside.append(args), run(*args))
    )
    place(512)
    a = R.random((length, 6000 // length * 10))
    for call in (
        lambda a: ndimage.gaussian_filter1d(a, 2),
        lambda a: ndimage.gaussian_filter1d(a, 2, output=a),
        lambda a: ndimage.uniform_filter1d(a.T, 4, axis=0, output="f4"),
        lambda a: signal.lfilter([1, 0.5], [1, -0.3], a, zi=a[:, :1]),
        lambda a: signal.sosfilt(SOS.copy(), a),
        lambda a: signal.upfirdn([1, 2.5, 3], a, 3, 2),
    ):
        beside.clear()
        assert threads.compare(call, a)
        assert bool(beside) == (length == 2)


@pytest.mark.parametrize(
    ("call", "few", "many", "factor"),
    [
        (
            lambda n: ndimage.map_coordinates(
                CUBE, CUBE[:3, 0], order=n, prefilter=False
            ),
            *(1, 5, 3),
        ),
        (lambda n: ndimage.correlate1d(IMAGE, np.ones(n)), 3, 640, 10),
        (lambda n: signal.upfirdn(np.ones(n), IMAGE, 3), 9, 1920, 60),
        (
            lambda n: distance.cdist(
                IMAGE[:, :n], IMAGE[:, :n], "mahalanobis", VI=np.eye(n)
            ),
            *(4, 80, 400),
        ),
    ],
    ids=["order", "weights", "taps", "dimensions"],
)
def test_parts_are_smaller_where_an_element_takes_longer(
    threads, monkeypatch, call, few, many, factor
):
    found = []
    run = entries.Entry.run

    def noted(entry, work, length, elements, **kwargs):
        found.append(elements)
        return run(entry, work, length, elements, **kwargs)

    monkeypatch.setattr(entries.Entry, "run", noted)
    call(few)
    before = max(found)
    found.clear()
    call(many)
    assert max(found) >= factor * before


def test_each_row_has_random_calls():
    drawn = {name for names in CALLS for name in names.split()}
    assert all(drawn & {*row.names.split()} for row in ROWS)


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", UFUNCS)
def test_each_ufunc_has_the_same_bits_and_says_nothing_else(threads, name):
    function = getattr(special, name)
    r = np.random.default_rng(3)
    divided = 0
    for types in function.types:
        args = [r.choice(VALUES, 50).astype(code) for code in types.partition("->")[0]]
        for how in ("ignore", "warn", "raise"):
            with np.errstate(all=how):
                divided += threads.compare(function, *args)
            with special.errstate(all=how):
                divided += threads.compare(function, *args)
    assert bool(divided) == (name not in NOT_DIVIDED)


TREE = spatial.KDTree(ARRAYS["points"])

# -- What is left to SciPy -------------------------------------------------------------

IMAGE = ARRAYS["image"]


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (ndimage.gaussian_filter1d, (IMAGE, 2), {"axis": 5}),
        (ndimage.correlate1d, (IMAGE, []), {}),
        (ndimage.correlate1d, (IMAGE, [1, 2, 3]), {"origin": 7}),
        (ndimage.correlate1d, (IMAGE, [1, 2, 3]), {"mode": "other"}),
        (ndimage.correlate, (IMAGE, np.ones(3)), {}),
        (ndimage.correlate, (IMAGE.astype(object), np.ones((3, 3))), {}),
        (ndimage.uniform_filter1d, (IMAGE, 0), {}),
        (special.erf, (IMAGE, IMAGE, IMAGE), {}),
        (special.erf, (IMAGE.astype(object),), {}),
        (special.gammainc, (IMAGE, IMAGE[:3, :4]), {}),
        (special.erf, (IMAGE,), {"dtype": "i4"}),
        (distance.cdist, (IMAGE, IMAGE[:, :7]), {}),
        (distance.cdist, (IMAGE, IMAGE), {"out": np.zeros((3, 3))}),
        (distance.cdist, (IMAGE, IMAGE), {"w": -np.ones(90)}),
        (fft.fft, (IMAGE,), {"workers": 0}),
        (fft.fft, (IMAGE,), {"n": -1}),
    ],
)  # fmt: skip
def test_errors_are_scipys(threads, function, args, kwargs):
    threads.compare(function, *args, **kwargs)


@pytest.mark.parametrize(
    "others",
    [lambda a: a[:1], lambda a: a[:, :1], lambda a: a[0], lambda a: a[0, 0, ...]],
    ids=["row", "column", "fewer axes", "no axes"],
)
def test_broadcast_calls_are_not_repeated(threads, monkeypatch, others):
    """SciPy repeats a call of which a piece fails, with the same result."""
    original, ended = entries.Entry.run, []

    def run(self, *args, **kwargs):
        is_divided = original(self, *args, **kwargs)
        ended.append(is_divided)
        return is_divided

    monkeypatch.setattr(entries.Entry, "run", run)
    for a in (IMAGE, IMAGE.T):
        assert threads.compare(special.gammainc, a, others(a))
    assert ended == [True, True]


@pytest.mark.parametrize("coefficient", [np.inf, np.nan, 1e-160, 1e200, 0.1 + 0.3j])
def test_a_filter_whose_lines_have_other_coefficients(threads, coefficient):
    """SciPy divides them by the first one again for each line."""
    a = np.array([coefficient, 0.3, 2], complex)
    for each in (a, a.real) if coefficient.imag == 0 else (a,):
        assert not threads.compare(signal.lfilter, [1, 0.5], each, ARRAYS["lines"])


def test_a_filter_of_other_coefficients_that_are_not_finite(threads):
    for b, a in (([1, np.inf], [2j, 0.3]), ([1, 0.5], [2, np.nan])):
        assert not threads.compare(signal.lfilter, b, a, ARRAYS["lines"])


def test_distances_that_overflow_are_an_error(threads):
    """SciPy's own threads lose the exception, and some results with it."""
    points = ARRAYS["points"]
    for kwargs in ({"p": 2}, {"p": 2, "return_length": True}, {"p": 1e9}, {"p": -1}):
        threads.compare(TREE.query_ball_point, points * 1e200, 0.3, **kwargs)
    assert threads.compare(TREE.query_ball_point, points, 0.3, p=np.inf)


@pytest.mark.parametrize("name", ["query", "query_ball_point"])
def test_complex_points_are_an_error_or_a_warning_of_the_program(threads, name):
    for tree in (TREE, spatial.cKDTree(ARRAYS["points"])):
        threads.compare(getattr(tree, name), ARRAYS["points"] + 0j, 1)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (signal.upfirdn, ([1.0, 2], ARRAYS["lines"][:, :20].astype("g"))),
        (signal.sosfilt, (SOS, ARRAYS["lines"])),
        (spatial.KDTree(ARRAYS["points"]).query, (ARRAYS["points"][:20], 0)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_tracebacks_of_functions_that_cython_compiled(threads, function, args):
    def frames(_):
        with pytest.raises((TypeError, ValueError)) as error:
            function(*args)
        return [
            (f.f_code.co_name, line) for f, line in walk_tb(error.value.__traceback__)
        ]

    threads.compare(frames, None)


def test_subclasses_and_masked_arrays_stay_what_they_are(threads):
    masked = np.ma.masked_greater(IMAGE, 0.5)
    for x in (masked, IMAGE.view(np.recarray), IMAGE.view(np.matrix)):
        threads.compare(special.erf, x)
        threads.compare(ndimage.gaussian_filter, x, 2)


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


KINDS = {
    "masked": lambda a: np.ma.masked_greater(a, 0.5),
    "matrix": lambda a: a.view(np.matrix),
    "recarray": lambda a: a.view(np.recarray),
    "read-only": read_only,
    "big-endian": lambda a: a.astype(">f8"),
    "Fortran": np.asfortranarray,
    "backwards": lambda a: a[::-1, ::-1],
    "float16": lambda a: a.astype("f2"),
    "longdouble": lambda a: a.astype("g"),
    "objects": lambda a: a.astype(object),
    "nothing": lambda a: a[:0],
    "list": np.ndarray.tolist,
    "other parts": lambda a: np.broadcast_to(a[:1], a.shape),
    "nan": lambda a: np.where(a > 0.9, np.nan, a),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.module in MODULES],
    ids=lambda row: row.sample.partition("(")[0],
)
def test_samples_of_arrays_of_each_kind(threads, row, kind):
    arrays = {
        name: KINDS[kind](a) if isinstance(a, np.ndarray) else a
        for name, a in ARRAYS.items()
    }
    threads.compare(eval(f"lambda: {row.sample}", SPACE | arrays))


def test_no_piece_is_shorter_than_the_filter(threads):
    """SciPy writes behind such arrays."""
    lengths = []

    def rank_filter(a, rank, footprint, out, *_):
        lengths.append(len(a))

    entry = entries.Entry(rank_filter, 2, "rank_filter")
    divide = filters.neighbourhoods(filters.Places(2, 3, 6), mode=4)
    for n in range(200, 500):
        divide(entry, np.zeros(n), 0, np.ones(5, bool), np.zeros(n), 0, 0.0, [0])
    assert len(lengths) > 600
    assert min(lengths) >= 5


@pytest.mark.parametrize("size", [3, 5, 6, 20])
def test_a_part_of_one_row_gets_as_many_rows_as_the_filter_has(size):
    for row in range(size):
        around = filters._around(slice(row, row + 1), 2, size)
        assert [*range(size)[around]] == [*range(around.start, around.stop)]
        assert around.start <= max(0, row - 2) < min(size, row + 3) <= around.stop
        assert around.stop - around.start >= min(size, 5)


def test_the_output_may_overlap_the_input(threads):
    whole = np.random.default_rng(1).random((50, 60))

    def shifted(whole):
        ndimage.correlate1d(whole[:-1], [1, 2, 3], 1, output=whole[1:])

    def repeated(whole):
        out = np.lib.stride_tricks.as_strided(whole, (50, 60), (0, 8))
        ndimage.correlate1d(np.ones((50, 60)), [1, 2, 3], 1, output=out)

    assert not threads.compare(shifted, whole)
    assert not threads.compare(repeated, whole)


def test_outputs_that_cannot_be_written_are_refused(threads):
    out = np.zeros(IMAGE.shape)
    out.flags.writeable = False

    def into():
        ndimage.correlate1d(IMAGE, [1, 2, 3], output=out)

    assert not threads.compare(into)


def test_inputs_may_be_read_only(threads):
    a = IMAGE.copy()
    a.flags.writeable = False
    assert threads.compare(lambda: ndimage.gaussian_filter(a, 2))
    assert threads.compare(lambda: special.erf(a))
    assert threads.compare(lambda: distance.cdist(a, a))


def test_without_the_runner_calls_that_carry_arrays_are_divided(threads, monkeypatch):
    _bridge.divide_all(False)
    a, x = IMAGE.copy(), mxnp.array(IMAGE)
    expected = special.erf(a)
    assert np.asarray(special.erf(x)).tobytes() == expected.tobytes()
    assert threads.calls == 1
    x @ x.T  # a call of NumPy, which has ended
    with pytest.raises(TypeError):
        special.erf(x, x, x)
    asked = []
    monkeypatch.setattr(placing, "call_divider", lambda row, *_: asked.append(row))
    special.erf(a)
    ndimage.gaussian_filter(a, 2)
    assert not asked


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python functions get mxnp arrays"
)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: ndimage.gaussian_filter(x, 2),
        lambda x: signal.lfilter([1, 0.5], [1, -0.3], x),
        lambda x: distance.cdist(x, x),
        lambda x: spatial.KDTree(x[:, :3]).query(x[:, :3]),
    ],
)
def test_without_the_runner_functions_pass_it_on(threads, function):
    _bridge.divide_all(False)
    function(IMAGE)
    assert not threads.calls
    function(mxnp.array(IMAGE))
    assert threads.calls


def test_calls_of_other_threads_are_left_to_scipy(threads):
    special.erf(IMAGE)
    assert threads.calls == 1
    thread = threading.Thread(target=special.erf, args=(IMAGE,))
    thread.start()
    thread.join()
    assert threads.calls == 1


def test_nothing_is_divided_within_a_divided_call(threads, monkeypatch):
    inside = []
    run = entries.run_pieces

    def run_pieces(*args):
        before = threads.calls
        special.erf(IMAGE)  # as a signal handler may do
        inside.append(threads.calls - before)
        return run(*args)

    monkeypatch.setattr(entries, "run_pieces", run_pieces)
    special.erf(IMAGE)
    assert inside == [0]


@pytest.fixture
def python_handles_interrupts():
    """Install Python's handler, which has no frame. A shell may have had SIGINT ignored."""
    before = signals.signal(signals.SIGINT, signals.default_int_handler)
    yield
    signals.signal(signals.SIGINT, before)


def test_an_interrupt_ends_a_call(threads, monkeypatch, python_handles_interrupts):
    with monkeypatch.context() as m:
        m.setattr(placing, "_FRAMES", signals.SIGINT)
        m.setattr(placing, "_descend", signals.raise_signal)
        with pytest.raises(KeyboardInterrupt):
            ndimage.gaussian_filter(IMAGE, 2)
    assert threads.compare(ndimage.gaussian_filter, IMAGE, 2)


def test_a_handler_ends_a_call_at_the_next_part(threads, monkeypatch):
    main, parts, is_handled = threading.main_thread(), [], threading.Event()

    def interrupted(a, axis, part):
        if threading.current_thread() is main:
            parts.append(part)
            is_handled.set()
            handle_signal()
        assert is_handled.wait(60)
        return cut(a, axis, part)

    monkeypatch.setattr(elements, "cut", interrupted)
    with pytest.raises(ValueError, match="handled"):
        special.erf(IMAGE.reshape(-1))
    assert len(parts) == 1


class Unending:
    """A compiled function that ends after a signal handler of the caller has raised."""

    def __init__(self):
        self.main, self.has_sent = threading.main_thread().ident, False
        self.goes_on, self.threads = threading.Event(), []

    def __call__(self, a, *args):
        self.threads.append(threading.get_ident())
        if not self.has_sent:
            self.has_sent = True
            signals.pthread_kill(self.main, signals.SIGUSR1)
        assert self.goes_on.wait(60)
        for each in args:
            if isinstance(each, np.ndarray) and each.shape == a.shape:
                each[...] = 1  # the output
        return a

    def end(self):
        self.goes_on.set()
        while not _bridge.await_calls():
            pass


@pytest.fixture
def unending():
    before = signals.signal(signals.SIGUSR1, lambda *_: handle_signal())
    yield Unending()
    signals.signal(signals.SIGUSR1, before)


CUBE = np.zeros((90, 80, 100))
CUBE_ARGS = CUBE, 0, np.ones((9, 9, 9), bool)  # a part takes long, with its borders


def test_a_handler_leaves_a_filter_that_goes_on(threads, unending):
    """Nothing is stored of what the threads compute later."""
    entry = entries.Entry(unending, 2**15, "rank_filter")
    divide = filters.neighbourhoods(filters.Places(2, 3, 6), mode=4)
    out = np.zeros(CUBE.shape)
    with pytest.raises(ValueError, match="handled"):
        divide(entry, *CUBE_ARGS, out, 0, 0.0, [0, 0, 0])
    assert unending.threads and unending.main not in unending.threads
    unending.end()
    assert not out.any()


def test_a_handler_leaves_a_transform_that_goes_on(threads, unending):
    entry = entries.Entry(unending, 1, "c2c")
    divide = row_functions.workers(-1)
    with pytest.raises(ValueError, match="handled"):
        divide(entry, IMAGE, (0,), True, 0, None, 1)
    assert unending.threads and unending.main not in unending.threads
    unending.end()


def test_a_handler_that_raises_while_threads_are_started(monkeypatch):
    """The thread that has begun is known to the end of the process."""
    begun, goes_on, stored = threading.Event(), threading.Event(), []
    start = engine_threads._start

    def start_one(*args):
        start(*args)
        assert begun.wait(60)
        handle_signal()

    def work(part):
        begun.set()
        assert goes_on.wait(60)
        return lambda: stored.append(part)

    monkeypatch.setattr(engine_threads, "_start", start_one)
    with pytest.raises(ValueError, match="handled"):
        engine_threads.run_beside(work, 3, 3)
    (left,) = engine_threads._left
    assert left.running() == [1]
    goes_on.set()
    while not _bridge.await_calls():
        pass
    assert not stored
    assert not engine_threads._left


def test_a_process_ends_after_the_calls_that_it_left():
    """C++ would abort it, when Python ends a thread that returns from there."""
    code = """if True:
        import signal, threading, time
        import mxnp
        from mxnp._engine import threads

        barrier = threading.Barrier(2)

        def work(part):
            if barrier.wait() == 0:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            while threading.main_thread().is_alive():
                time.sleep(0.001)
            print("ended\\n", end="")

        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            threads.run_beside(work, 2, 2)
        except KeyboardInterrupt:
            print("left")
    """
    status, out, errors = end_of("-c", code)
    assert (status, out.split(), errors) == (0, ["left", "ended", "ended"], "")


@pytest.mark.parametrize(("out", "grain"), [(IMAGE, 1), (None, IMAGE.size // 4)])
def test_transforms_that_write_or_are_short_are_waited_for(threads, out, grain):
    found = []
    entry = entries.Entry(lambda *_: found.append(threading.get_ident()), grain, "c2c")
    row_functions.workers(-1)(entry, IMAGE, (0,), True, 0, out, 1)
    assert found == [threading.main_thread().ident]


def test_a_long_call_without_threads(threads, monkeypatch):
    monkeypatch.setattr(engine_threads, "_start", lambda *_: False)
    expected = ndimage._nd_image.rank_filter
    entry = entries.Entry(expected, 2**15, "rank_filter")
    divide = filters.neighbourhoods(filters.Places(2, 3, 6), mode=4)
    a = np.random.default_rng(1).random((70, 9, 8))
    outs = np.zeros((2, *a.shape))
    footprint = np.ones((9, 9, 9), bool)
    rest = 0, 0.0, [0, 0, 0]
    assert divide(entry, a, 5, footprint, outs[0], *rest) is None
    threads.n = 1
    expected(a, 5, footprint, outs[1], *rest)
    assert (outs[0] == outs[1]).all()


@pytest.mark.parametrize("work", [1, 10])
def test_a_part_has_two_grains_at_most(threads, work):
    """So that a signal handler runs soon."""
    lengths = []
    entry = entries.Entry(len, 100, "len")
    assert entry.run(
        lambda part: lengths.append(part.stop - part.start), 9999, 9999 * work
    )
    assert sum(lengths) == 9999
    assert max(lengths) <= 200 // work


@pytest.mark.parametrize(("shape", "size"), [((1500, 900), 7), ((90, 80, 100), 3)])
def test_a_tile_of_a_filter_has_few_steps(threads, shape, size):
    """Where a part of few rows would compute too many borders again."""
    steps, footprint = [], np.ones((size,) * len(shape), bool)

    def rank_filter(a, rank, footprint, out, *_):
        steps.append(a.size * footprint.size)
        out[...] = a

    a, out = np.random.default_rng(1).random(shape), np.zeros(shape)
    entry = entries.Entry(rank_filter, 2**15, "rank_filter")
    divide = filters.neighbourhoods(filters.Places(2, 3, 6), mode=4)
    divide(entry, a, 0, footprint, out, 0, 0.0, [0] * len(shape))
    assert (out == a).all()
    assert max(steps) < 1.25 * 32 * 2**15
    assert sum(steps) < 1.4 * a.size * footprint.size


def fail_at_the_end(monkeypatch, fail):
    """Let each divided call fail after its pieces have run."""
    for name in ("run_pieces", "run_beside"):

        def run_and_fail(*args, run=getattr(entries, name)):
            run(*args)
            fail()

        monkeypatch.setattr(entries, name, run_and_fail)


def handle_signal():
    """Raise an exception as a signal handler of the program may do."""
    raise ValueError("handled")


def test_an_exception_of_the_program_is_raised(threads, monkeypatch):
    fail_at_the_end(monkeypatch, handle_signal)
    for call in (lambda: special.erf(IMAGE), lambda: ndimage.gaussian_filter(IMAGE, 2)):
        with pytest.raises(ValueError, match="handled"):
            call()


def test_a_call_that_failed_is_repeated(threads, monkeypatch):
    fail_at_the_end(monkeypatch, lambda: np.broadcast_shapes((2,), (3,)))
    assert threads.compare(lambda: ndimage.correlate1d(IMAGE, [1, 2, 3]))
    assert threads.compare(lambda: special.erf(IMAGE))
    assert threads.compare(lambda a: special.erf(a, out=a), IMAGE)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: ndimage.correlate1d(a, [1, 2, 3], output=a),
        lambda a: signal.sosfilt(signal.butter(4, 0.2, output="sos"), a),
        lambda a: sparse.csr_array(a) @ np.ones(90),
    ],
)
def test_a_call_that_overwrites_its_input_is_not_repeated(threads, monkeypatch, call):
    fail_at_the_end(monkeypatch, lambda: np.broadcast_shapes((2,), (3,)))
    with pytest.raises(ValueError, match="shape mismatch"):
        call(IMAGE.copy())


def test_a_call_runs_as_deep_as_scipys(threads):
    def called_at(depth):
        if depth:
            return called_at(depth - 1)
        a = IMAGE.copy()
        ndimage._nd_image.correlate1d(a, np.ones(3), 0, a, 2, 0.0, 0)
        return a.tobytes()

    def results():
        limit, found = sys.getrecursionlimit(), []
        sys.setrecursionlimit(250)
        try:
            for depth in range(250):
                found.append(called_at(depth))
        except RecursionError:
            pass
        finally:
            sys.setrecursionlimit(limit)
        return found

    divided, threads.n = results(), 1
    assert divided == results()


# -- Reports and verification ----------------------------------------------------------


def rows_of(call):
    """Return the rows of a profile of a call, in the order of their names."""
    with mxnp.profile() as profile:
        call()
    return sorted(
        (row.title, row.backend, row.calls, row.elements, row.numpy_fallbacks)
        for row in profile.rows
        if row.place.file == __file__
    )


def test_a_divided_call_is_one_row(threads):
    def calls():
        for _ in range(2):
            ndimage.gaussian_filter(IMAGE, 2)
        fft.fft(IMAGE)
        TREE.query(ARRAYS["points"])
        special.gammainc(IMAGE, IMAGE)

    divided = rows_of(calls)
    names = {name.rpartition(".")[2]: rest for name, *rest in divided}
    assert names == {
        "c2c, 3 threads": ["cpu", 1, IMAGE.size, 0],
        "correlate1d, 3 threads": ["cpu", 4, 4 * IMAGE.size, 0],
        "gammainc, 3 threads": ["cpu", 1, IMAGE.size, 0],
        "query, 3 threads": ["cpu", 1, 480, 0],
    }
    assert "scipy.ndimage.correlate1d, 3 threads" in {name for name, *_ in divided}


def test_a_ufunc_of_mxnps_arrays_is_one_row(threads):
    x = mxnp.array(IMAGE)
    assert [row[:4] for row in rows_of(lambda: special.erf(x))] == [
        ("erf, 3 threads", "cpu", 1, IMAGE.size)
    ]


def test_calls_that_are_not_divided_have_no_rows(threads):
    def calls():
        special.gammainc(IMAGE, IMAGE[:3, :4])

    with pytest.raises(ValueError, match="broadcast"):
        rows_of(calls)
    threads.n = 1
    assert not rows_of(lambda: ndimage.gaussian_filter(IMAGE, 2))


def test_the_doctor_does_not_take_divided_calls_for_numpys(threads):
    with mxnp.profile() as profile:
        ndimage.gaussian_filter(IMAGE, 2)
    assert [row.plain_calls for row in profile.rows] == [0]


def test_divided_calls_are_verified(threads, monkeypatch):
    a = IMAGE.copy()
    a.flags.writeable = False
    x = mxnp.asarray(a)

    def reversed_input(array, axis, part):
        piece = cut(array, axis, part)
        return piece if array.flags.writeable else piece[::-1]

    calls = (lambda: ndimage.gaussian_filter(a, 2), lambda: special.erf(x))
    with mxnp.verify() as checks:
        results = [call() for call in calls]
    assert checks.verified == 2 + 1
    for module in (filters, elements):
        monkeypatch.setattr(module, "cut", reversed_input)
    for call, result, said in zip(
        calls,
        results,
        ("scipy.ndimage.correlate1d differs", "erf differs"),
        strict=True,
    ):
        assert (np.asarray(call()) != np.asarray(result)).any()
        with mxnp.verify(), pytest.raises(mxnp.VerificationError, match=said):
            call()


def test_a_trap_for_nan_leaves_divided_calls_alone(threads):
    with mxnp.trap_nan():
        assert np.isnan(special.gammainc(IMAGE, -IMAGE)).all()


# -- Programs --------------------------------------------------------------------------

PROGRAM = """
import sys
from mxnp._packages import entries
calls = []
run = entries.run_pieces
entries.run_pieces = lambda *args: (calls.append(1), run(*args))[1]
import numpy as np
from scipy import ndimage
a = np.random.default_rng(0).random((600, 600))
"""
CHILDREN = """
import os
import multiprocessing
import mxnp
ndimage.correlate1d(a, [1, 2, 3])
child = os.fork()
if child: os.wait()
n = len(calls)
ndimage.correlate1d(a, [1, 2, 3])
print(len(calls) - n, flush=True)
if not child: os._exit(0)
def count(_):
    n = len(calls)
    ndimage.correlate1d(np.asarray(a), [1, 2, 3])
    return len(calls) - n
print(multiprocessing.get_context("fork").Pool(1).map(count, [0]))
mxnp.uninstall()
n = len(calls)
ndimage.correlate1d(a.__array__(), [1, 2, 3])
print(len(calls) - n)
"""
POOLS = {
    "joblib": """
[n for kind in ("loky", "multiprocessing", "threading")
 for n in joblib.Parallel(2, kind)(joblib.delayed(threads)() for _ in range(2))]
""",
    "dask": "[*dask.compute(*[dask.delayed(threads)()] * 6, scheduler='threads')]",
}
WORKER = """
def threads():
    from mxnp._engine.threads import count_threads
    return count_threads()
"""


@pytest.mark.slow
@pytest.mark.parametrize("package", POOLS)
def test_workers_of_pools_divide_nothing(package):
    pytest.importorskip(package)
    code = f"import {package}\n{WORKER}\nprint(threads(), {POOLS[package].strip()})"
    end = end_of("-W", IGNORED, "-m", "mxnp", "-c", code, MXNP_NUM_THREADS="3")
    assert (end.status, end.out.strip()) == (0, "3 [1, 1, 1, 1, 1, 1]"), end.err


ORDERS = {
    "mxnp first": "import mxnp; from scipy import special",
    "SciPy first": "from scipy import special; import mxnp",
}
CARRIED = """
from mxnp._packages import entries
calls = []
run = entries.run_pieces
entries.run_pieces = lambda *args: (calls.append(1), run(*args))[1]
x = mxnp.ones(200_000)
special.erf(x), special.erf(x.__array__())
print(len(calls))
"""


@pytest.mark.parametrize("order", ORDERS)
def test_programs_that_import_mxnp_divide_calls_of_its_arrays(order):
    end = end_of("-c", f"{ORDERS[order]}\n{CARRIED}", MXNP_NUM_THREADS="3")
    assert (end.status, end.out.strip()) == (0, "1"), end.err


def test_importing_mxnp_does_not_read_the_table():
    end = end_of("-c", "import mxnp, sys; print(*sys.modules)")
    assert "mxnp._interop.adapters" in end.out.split()
    assert "mxnp._packages" not in end.out.split()


@pytest.mark.parametrize(
    ("code", "said", "settings"),
    [
        (CHILDREN, "1\n1\n[0]\n0", {}),
        ("ndimage.correlate1d(a, [1, 2, 3]); print(len(calls))", "0", {"MXNP_SCIPY": "0"}),
        ("ndimage.correlate1d(a, [1, 2, 3]); print(len(calls))", "0",
         {"MXNP_NUM_THREADS": "1"}),
    ],
)  # fmt: skip
def test_programs_divide_calls_of_packages(code, said, settings):
    end = end_of("-m", "mxnp", "-c", PROGRAM + code,
                 **{"MXNP_NUM_THREADS": "3", **settings})  # fmt: skip
    assert (end.status, end.out.strip()) == (0, said), end.err


# -- Signals that are compared ---------------------------------------------------------


SPECTRA = """
import numpy, mxnp
from scipy import signal
x = numpy.random.default_rng(1).random(25_600)
y = mxnp.array(x)
for one, other in [
    (signal.welch(x), signal.welch(y)),
    (signal.csd(x, x), signal.csd(y, y)),
    (signal.coherence(x, x), signal.coherence(y, y)),
]:
    print(all(numpy.array_equal(a, b) for a, b in zip(one, other)))
"""


def test_spectra_of_one_signal_have_the_same_bits():
    """SciPy transforms a signal once if `y is x` holds after it has converted one."""
    end = end_of("-c", SPECTRA)
    assert (end.status, end.out) == (0, 3 * "True\n"), end.err


def test_spectra_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(signal.csd)) is signal.csd
