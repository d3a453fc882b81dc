"""Test the calls in the table of functions, and NumPy's own code over mxnp's arrays."""

from __future__ import annotations

import json
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, ON_GPU
from support.processes import end_of
from support.samples import Arrays

import mxnp
from mxnp import _bridge
from mxnp._namespace.functions import ROWS, calls_of
from mxnp._namespace.mirror import find_counterpart
from mxnp._numpy_layer import divided, find_layer

SIZE = 20_000
LAYER = [name for name, row in ROWS.items() if row.layer]
CALLS = [call for name in ROWS for call in calls_of(name)]
# mxnp's own sine and cosine, and products of complex numbers, have other last bits.
INEXACT = (
    "np.sinc",
    "np.blackman",
    "np.hamming",
    "np.hanning",
    "np.polynomial.laguerre.lagval",
)


@pytest.fixture(autouse=True)
def large() -> Iterator[None]:
    before = _bridge.set_threshold(256)
    yield
    _bridge.set_threshold(before)


def evaluate(xp: Any, call: str, dtype: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call, {}, Arrays(xp, SIZE, dtype))
        except (ArithmeticError, TypeError, ValueError) as error:
            return type(error), str(error)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("call", CALLS)
def test_calls_do_as_numpy_does(xp: Any, call: str, dtype: str) -> Any:
    if ON_CUDA and call.startswith(("np.fft", "np.linalg")):
        pytest.skip("libraries of the GPU have other bits")
    if call.startswith(INEXACT):
        ours, numpys = (evaluate(each, call, dtype) for each in (mxnp, numpy))
        bound = 1e-13 if numpys.dtype == "f8" and not ON_GPU else 1e-5
        numpy.testing.assert_allclose(
            ours, numpys, rtol=0, atol=bound * abs(numpys).max()
        )
        return numpys.shape
    return evaluate(xp, call, dtype)


@pytest.mark.parametrize("name", LAYER)
def test_code_is_numpys(name: str) -> None:
    module, _, function = f"numpy.{name}".rpartition(".")
    original = getattr(__import__(module, fromlist=["*"]), function)
    layer = find_layer(original)
    assert layer is not None
    code = getattr(original, "__wrapped__", original)
    assert isinstance(code, numpy.ufunc) or layer.__code__ is code.__code__
    home = getattr(original, "__module__", None) or "numpy"
    assert f"{home}.{original.__name__}" == f"numpy.{name}"
    assert find_counterpart(original, module).layer


@pytest.mark.thread_unsafe(reason="it replaces a layer of the process")
def test_only_large_calls_run_over_mxnps_arrays() -> None:
    seen = []
    counterpart = find_counterpart(numpy.diff)
    before, counterpart.layer = counterpart.layer, lambda x: seen.append(x.size) or x
    try:
        for size in 100, 255, 256, 5000:
            mxnp.diff(mxnp.zeros(size))
    finally:
        counterpart.layer = before
    assert seen == [256, 5000]


def fail(*args: Any) -> Any:
    raise AssertionError


@pytest.mark.thread_unsafe(reason="it replaces a layer of the process")
@pytest.mark.parametrize("kind", ["O", ">f8", "m8[s]", "subclass", "object"])
def test_odd_arguments_are_left_to_numpy(kind: str) -> None:
    x: Any = mxnp.zeros(SIZE, kind if kind not in ("subclass", "object") else "f8")
    odd = x.view(mxnp.matrix) if kind == "subclass" else x
    counterpart = find_counterpart(numpy.diff)
    before, counterpart.layer = counterpart.layer, fail
    try:
        if kind == "object":
            with pytest.raises(TypeError):
                mxnp.diff(x, prepend=object())
        else:
            assert mxnp.diff(odd).size == SIZE - 1
    finally:
        counterpart.layer = before


def test_errors_are_numpys(xp: Any) -> Any:
    try:
        xp.diff(xp.zeros(SIZE), -1)
    except ValueError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return str(error), [(frame.name, frame.lineno) for frame in frames]
    raise AssertionError


def test_warnings_of_numpys_code_name_its_caller(xp: Any) -> Any:
    x = xp.full((2, SIZE), xp.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xp.nanmax(x, axis=1)
    return [(str(each.message), each.filename, each.lineno) for each in caught]


def test_warnings_of_ufuncs_name_numpys_line(xp: Any) -> Any:
    x = xp.full(SIZE, 1e308)
    x[::2] = -1e308
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xp.diff(x)
        mxnp.synchronize()
    return [(str(each.message), each.filename, each.lineno) for each in caught]


def test_warnings_of_recorded_forms_name_the_line_of_the_program() -> None:
    x = mxnp.full((4, SIZE), mxnp.inf)
    x[::2] = -mxnp.inf
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mxnp.trapezoid(x, axis=0)
        mxnp.synchronize()
    found = {w.filename for w in caught if str(w.message).endswith("in reduce")}
    assert found <= {__file__}


def test_a_callback_gets_the_arrays_and_raises_once() -> None:
    seen = []

    def double(x: Any) -> Any:
        seen.append(type(x))
        raise KeyError("mine")

    x = mxnp.arange(SIZE * 1.0)
    with pytest.raises(KeyError, match="mine"):
        mxnp.piecewise(x, [x > 5], [double, 1])
    assert len(seen) == 1


def test_results_own_their_memory_or_share_it_as_numpys(xp: Any) -> Any:
    x = xp.arange(SIZE * 1.0)
    same, changed = xp.trim_zeros(x[1:], trim="b"), xp.roll(x, 3)
    same[0] = -1
    changed[0] = -2
    return x[:5], changed[:5]


def test_the_profile_names_the_line_of_the_program() -> None:
    x = mxnp.arange(SIZE * 1.0)
    with mxnp.profile() as report:
        y = mxnp.gradient(x)
        mxnp.synchronize()
    ours = ("cpu", "gpu")
    rows = [r for r in json.loads(report.to_json())["rows"] if r["backend"] in ours]
    assert rows
    assert {row["file"].rsplit("/", 1)[-1] for row in rows} == {"test_numpy_layer.py"}
    assert y.shape == x.shape


def test_the_profile_counts_stacks_of_matrices() -> None:
    stack = mxnp.array(numpy.random.default_rng(0).random((20_000, 4, 4)))
    before = mxnp.set_num_threads(2)
    with mxnp.profile() as report:
        values = mxnp.linalg.eigvals(stack)
    mxnp.set_num_threads(before)
    assert values.shape == stack.shape[:2]
    rows = json.loads(report.to_json())["rows"]
    assert ("linalg.eigvals", "cpu") in {
        (row["operation"], row["backend"]) for row in rows
    }


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = mxnp.set_num_threads(2)
    yield
    mxnp.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize(
    "shapes",
    [
        ((900, 16, 16), (1, 16, 2)),
        ((1, 16, 16), (900, 16, 16)),
        ((900, 16, 16), (16,)),
    ],
)
def test_stacks_are_broadcast(shapes: Any) -> None:
    rng = numpy.random.default_rng(1)
    a, b = (rng.random(shape) for shape in shapes)
    a += 3 * numpy.eye(16)
    layer = find_layer(numpy.linalg.solve)
    found = layer(mxnp.array(a), mxnp.array(b))
    numpy.testing.assert_array_equal(found, numpy.linalg.solve(a, b))


@pytest.mark.usefixtures("_two_threads")
def test_a_singular_matrix_in_a_stack_is_an_error() -> None:
    stack = numpy.random.default_rng(1).random((1100, 16, 16))
    stack[600] = 1
    for inverse in find_layer(numpy.linalg.inv), mxnp.linalg.inv:
        with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
            inverse(mxnp.array(stack))


@pytest.mark.skipif(ON_CUDA, reason="a GPU factors matrices")
@pytest.mark.parametrize("name", ["eigvals", "qr", "svd", "det", "inv"])
def test_one_matrix_is_left_to_numpy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def layer(*args: Any) -> None:
        raise AssertionError("the layer is called")

    a = numpy.eye(128) + numpy.random.default_rng(3).random((128, 128)) / 999
    function, original = getattr(mxnp.linalg, name), getattr(numpy.linalg, name)
    if function.layer is not None:
        monkeypatch.setattr(function, "layer", layer)
    ours, numpys = function(mxnp.array(a)), original(a)
    if not isinstance(numpys, tuple):
        ours, numpys = (ours,), (numpys,)
    for x, y in zip(ours, numpys, strict=True):
        numpy.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("name", "small", "large"),
    [
        ("eigvalsh", 2, 4),
        ("eigh", 4, 0),
        ("svd", 5, 0),
        ("eig", 5, 4),
        ("qr", 5, 4),
        ("inv", 2, 0),
    ],
)
def test_matrices_that_blas_divides_get_few_threads(
    name: str, small: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack of five matrices is divided among five threads at most."""
    counts = []

    def count(work: Any, n: int, pieces: int) -> Any:
        counts.append(pieces)
        return [work(slice(n))]

    monkeypatch.setattr(divided, "_PIECE", 1)
    monkeypatch.setattr(divided, "get_num_threads", lambda: 16)
    monkeypatch.setattr(divided, "run_pieces", count)
    least = divided._LEAST_LARGE
    for side, expected in (least - 1, small), (least, large):
        counts.clear()
        a = numpy.random.default_rng(2).random((5, side, side))
        find_layer(getattr(numpy.linalg, name))(mxnp.array(a))
        assert set(counts) == ({expected} if expected else set())


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("rows", [5, 16])
@pytest.mark.parametrize(
    "name",
    [
        "det", "slogdet", "eig", "eigh", "inv", "qr", "svd", "svdvals", "eigvals",
        "cholesky",
    ],
)  # fmt: skip
def test_layers_take_stacks(
    name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divided, "_PIECE", 1)
    a = numpy.random.default_rng(2).random((40, rows, rows)) + rows * numpy.eye(rows)
    original = getattr(numpy.linalg, name)
    ours, numpys = find_layer(original)(mxnp.array(a)), original(a)
    if not isinstance(numpys, tuple):
        ours, numpys = (ours,), (numpys,)
    for x, y in zip(ours, numpys, strict=True):
        numpy.testing.assert_array_equal(x, y)


@pytest.mark.skipif(ON_CUDA, reason="a GPU factors matrices")
@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("rows", [divided._LEAST_SOLVED - 1, divided._LEAST_SOLVED])
@pytest.mark.parametrize("name", ["inv", "solve"])
def test_threads_share_stacks_of_some_rows(name: str, rows: int) -> None:
    """For fewer rows, threads wait for OpenBLAS's lock."""
    stack = mxnp.ones((1200, rows, rows)) + mxnp.eye(rows) * rows
    arguments = (stack, stack[..., :1]) if name == "solve" else (stack,)
    with mxnp.profile() as report:
        getattr(mxnp.linalg, name)(*arguments)
    found = {row.backend for row in report.rows if row.operation.startswith("linalg")}
    assert ("cpu" in found) == (rows == divided._LEAST_SOLVED)


EINSUMS = [
    ("ij,jk->ik", (1200, 30), (30, 40)),
    ("ij,jk->ki", (1200, 30), (30, 40)),
    ("ij,jk", (1200, 30), (30, 40)),
    ("ij,ij->i", (1500, 999), (1500, 999)),
    ("bij,bjk->bik", (3000, 5, 6), (3000, 6, 12)),
    ("i,j->ij", (1200,), (1300,)),
    ("ij,j->j", (1200, 900), (900,)),
    ("ij->ji", (1200, 900)),
    ("ijk,k,ij->i", (60, 200, 100), (100,), (60, 200)),
]


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("kind", ["f8", "f4", "c16", "i8", "fortran", "reversed"])
@pytest.mark.parametrize("sum_", EINSUMS, ids=[each[0] for each in EINSUMS])
def test_einsum_is_divided(xp: Any, sum_: Any, kind: str) -> Any:
    subscripts, *shapes = sum_
    rng = numpy.random.default_rng(3)
    arrays = []
    for shape in shapes:
        x = xp.array(rng.random(shape) * 9)
        x = (
            x + 1j * x
            if kind == "c16"
            else x.astype(kind[:2] if kind[1] in "48" else "f8")
        )
        x = xp.asfortranarray(x) if kind == "fortran" else x
        arrays.append(x[..., ::-1] if kind == "reversed" else x)
    results = [
        xp.einsum(subscripts, *arrays, **keywords)
        for keywords in ({}, {"order": "F"}, {"dtype": "c16", "casting": "same_kind"})
    ]
    return [(result, result.strides, result.flags.owndata) for result in results]


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_products_of_stacks_are_divided(
    xp: Any, dtype: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> Any:
    monkeypatch.setattr(divided, "_most_threads", lambda dtype, products: most)
    rng = numpy.random.default_rng(4)
    a = xp.array((rng.random((5000, 6, 7)) * 9).astype(dtype))
    b = xp.array((rng.random((5000, 7, 5)) * 9).astype(dtype))
    return a @ b, xp.matmul(a, b[..., :1]), a[::2] @ b[::2], a @ b[0], a[0, 0] @ b


def test_the_operator_takes_the_way_of_the_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Products of stacks with ``@`` were not divided."""
    taken = []

    def form(a: Any, b: Any) -> Any:
        taken.append((a.shape, b.shape))
        return NotImplemented

    monkeypatch.setattr(mxnp.matmul, "implementation", form)
    monkeypatch.setattr(mxnp.matmul, "size_rule", "q")
    a, b = mxnp.ones((3000, 16, 7)), mxnp.ones((3000, 7, 5))  # larger than a kernel's
    assert (a @ b).shape == mxnp.matmul(a, b).shape == (3000, 16, 5)
    assert taken == [(a.shape, b.shape)] * 2


@pytest.mark.parametrize("has_avx512", [False, True])
def test_sizes_at_which_products_of_stacks_are_divided(
    has_avx512: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divided, "FEATURES", {"AVX512_SKX": has_avx512})
    few, least = divided._MOST_SMALL, divided._LEAST_REAL
    limits = few, least, divided._LEAST_COMPLEX, divided._MOST_COMPLEX
    sizes = sorted({limit + i for limit in limits for i in (-1, 0, 1)})
    for dtype in ("f4", "f8", "c8", "c16", "i4", "i8"):
        found = {n: divided._most_threads(numpy.dtype(dtype), n) for n in sizes}
        all_threads = [n for n, most in found.items() if most == sys.maxsize]
        if dtype[0] == "i":
            assert all_threads == sizes
        elif dtype[0] == "c":
            assert all_threads == [n for n in sizes if limits[2] <= n <= limits[3]]
        else:
            small = [n for n in sizes if n <= few and has_avx512]
            assert all_threads == [*small, *(n for n in sizes if n >= least)]
        assert set(found.values()) <= {1, sys.maxsize}


@pytest.mark.usefixtures("_two_threads")
def test_products_of_other_stacks_are_errors(xp: Any) -> Any:
    a = xp.ones((5000, 6, 7))
    with pytest.raises(ValueError, match="matmul") as caught:
        a @ a
    return str(caught.value)


@pytest.mark.usefixtures("_two_threads")
def test_elements_are_divided(xp: Any) -> Any:
    rng = numpy.random.default_rng(6)
    c = xp.array(rng.random(150_000) + 1j * rng.random(150_000))
    i = xp.array(rng.integers(0, 9, 150_000))
    x, y = xp.array(rng.random((2, 150_000)))
    counts = xp.histogram2d(x, y, 7)
    return (
        xp.expm1(c),
        xp.power(i, 3),
        xp.power(i, i),
        counts,
        xp.power(i[:, None], i[:3]),
    )


@pytest.mark.usefixtures("_two_threads")
def test_elements_raise_numpys_errors(xp: Any) -> Any:
    i = xp.arange(150_000)
    with pytest.raises(ValueError, match="negative integer powers") as caught:
        xp.power(i, -1 - i)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        xp.expm1(xp.full(150_000, 1e300 + 0j))
        big = xp.full((5000, 6, 6), 1e300)
        big @ (big * 10)
        xp.power(big.ravel(), 2.5, where=big.ravel() > 1, dtype="f4")[0]
        mxnp.synchronize()
    with pytest.raises(TypeError, match="Cannot cast"):
        xp.interp(xp.ones(150_000) * 1j, [0, 1], [1, 2])
    return str(caught.value), [(str(w.message), w.filename, w.lineno) for w in issued]


def test_results_of_the_converter_have_numpys_class(xp: Any) -> Any:
    x = xp.arange(SIZE * 1.0)
    return xp.delete(x, slice(1, None)), xp.diff(x, SIZE - 1), xp.unique(x[:1])


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("n", [1, 2, 11, 12, 33])
def test_correlations_are_divided(
    xp: Any, mode: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> Any:
    monkeypatch.setattr(divided, "_PRODUCTS", 2**14)
    rng = numpy.random.default_rng(n)
    a, v = xp.array(rng.random(2**17 // n + 777)), xp.array(rng.random(n))
    single = xp.correlate(a.astype("f4")[::2], v.astype("f4"), mode)
    return xp.convolve(a, v, mode), xp.correlate(a[::-1], v, mode), single


@pytest.mark.usefixtures("_two_threads")
def test_a_result_that_is_passed_by_position(xp: Any) -> Any:
    a = xp.array(numpy.full((2, 100_000), 3))
    return xp.power(a, a, a)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("count", [1, 3, 100_000])
def test_warnings_of_factors_name_numpys_line(count: int) -> None:
    values = numpy.full((count, 3, 3), 1e200) * numpy.eye(3)
    found = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            xp.linalg.det(xp.asarray(values))
        found.append([(each.filename, each.lineno) for each in caught])
    assert found[0] == found[1]


AFTER_THE_END = """
import threading, mxnp as np
def work():
    threading.main_thread().join()
    a = np.arange(400_000.0)
    print(np.interp(a, [0, 1, 2], [1, 2, 3]).sum(), np.fft.fft(np.ones((500, 500)))[0, 0])
threading.Thread(target=work).start()
"""


def test_threads_compute_when_the_main_thread_has_ended() -> None:
    ended = end_of("-c", AFTER_THE_END, MXNP_NUM_THREADS="2")
    assert ended == (0, "1199997.0 (500+0j)\n", "")


def test_modules_of_a_program_are_not_imported(tmp_path: Path) -> None:
    for name in ("queue", "timeit", "concurrent"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\na = np.arange(400_000.0)\n"
        "print(np.interp(a, [0, 1, 2], [1, 2, 3]).sum(), np.sort(a[::-1])[0])\n"
    )
    ended = end_of("-m", "mxnp", str(program), MXNP_NUM_THREADS="2")
    assert ended == (0, "1199997.0 0.0\n", "")


def test_functions_that_a_program_replaces_are_seen_while_they_are() -> None:
    """Also the first time that the layer uses them, which is in a process of its own."""
    program = """
        from unittest import mock
        import numpy
        import mxnp as np

        mxnps, numpys = np.arange(100_000.0) ** 2, numpy.arange(100_000.0) ** 2
        def middle(xp, x):
            return float(xp.gradient(x)[50_000])
        for _ in range(2):
            for name in "asanyarray", "empty_like":
                with mock.patch(f"numpy.{name}", side_effect=ZeroDivisionError):
                    for xp, x in ((numpy, numpys), (np, mxnps)):
                        try:
                            print(middle(xp, x))
                        except ZeroDivisionError:
                            print("replaced")
                print(middle(np, mxnps))
    """
    end = end_of("-c", textwrap.dedent(program))
    assert (end.err, end.status) == ("", 0)
    assert end.out.splitlines() == ["replaced", "replaced", "100000.0"] * 4


def test_an_interrupt_leaves_no_function_with_a_part_of_its_globals() -> None:
    program = """
        import sys
        import numpy
        import mxnp as np
        from mxnp._numpy_layer import layer

        def interrupted(moment):
            left = moment
            def trace(frame, event, argument):
                nonlocal left
                left -= event == "line" and frame.f_code.co_filename == layer.__file__
                if left == 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt
                return trace
            sys.settrace(trace)
            try:
                layer.find_layer(numpy.gradient)
            except KeyboardInterrupt:
                return True
            finally:
                sys.settrace(None)
            return False

        moments = 0
        while interrupted(1 + moments * 7):
            moments += 1
            for function, copy in layer._functions.items():
                used = set(layer._names_in(function.__code__))
                used &= function.__globals__.keys()
                assert used <= copy.__globals__.keys(), function
            assert not layer._added
        print(moments > 20, float(np.gradient(np.arange(100_000.0) ** 2)[50_000]))
    """
    end = end_of("-c", textwrap.dedent(program))
    assert (end.err, end.status) == ("", 0)
    assert end.out == "True 100000.0\n"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", "wm")
def test_one_thread_leaves_divided_calls_to_numpy(rule: str, threads: int) -> None:
    """Their ways took 10 to 30 microseconds, and gained nothing."""
    asked: list[Any] = []
    function = _bridge.Function(numpy.cumsum)
    function.implementation = lambda *args: asked.append(args) or NotImplemented
    function.size_rule = rule
    before = _bridge.set_threshold(1000), mxnp.set_num_threads(threads)
    x = mxnp.ones((2, 20, 50))
    mxnp.synchronize()
    assert function(x)[-1] == x.sum()
    assert len(asked) == threads - 1
    _bridge.set_threshold(before[0])
    mxnp.set_num_threads(before[1])


def test_the_argument_at_a_place_has_to_be_large() -> None:
    """With the size rule "i", as that of put_along_axis."""
    asked: list[Any] = []
    function = _bridge.Function(numpy.take)
    function.implementation = lambda *args: asked.append(args) or NotImplemented
    function.size_rule, function.size_place = "i", 1
    before = _bridge.set_threshold(1000)
    x, i = mxnp.arange(2000.0), mxnp.arange(2000)
    mxnp.synchronize()
    for indices in (i[:5], [1, 2], 3):
        assert function(x, indices).sum() == x[indices].sum()
    assert not asked
    assert function(x, i).sum() == x.sum()
    assert len(asked) == 1
    _bridge.set_threshold(before)
