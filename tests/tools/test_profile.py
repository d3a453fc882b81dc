"""Test the counts of `mxnp.profile`: calls, elements, bytes, waits, checks."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import FUSES, ON_GPU, needs_fusion
from support.metal import needs_metal

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU
from mxnp._profiler.model import Check, Row, Wait

N = 50_000  # enough to be recorded: 400 kB


@pytest.fixture(autouse=True)
def threshold():
    """Use the same threshold in every CI lane."""
    before = _bridge.set_threshold(16384)
    yield
    _bridge.set_threshold(before)


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that profiles a program and returns profile and names."""

    def run(
        text: str, package: dict[str, Any] | None = None, **options: Any
    ) -> tuple[mxnp.profile, dict[str, Any]]:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text).lstrip())
        linecache.checkcache()
        names: dict[str, Any] = {"np": mxnp, "numpy": numpy, "N": N}
        names |= package or {}
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        with mxnp.profile(**options) as profile:
            exec(code, names)
        return profile, names

    return run


def row(profile: mxnp.profile, line: int, operation: str) -> Row:
    found = [
        row
        for row in profile.rows
        if (row.place.line, row.operation) == (line, operation)
    ]
    assert len(found) == 1, [(row.place.line, row.operation) for row in profile.rows]
    return found[0]


def wait(profile: mxnp.profile, line: int) -> Wait:
    found = [wait for wait in profile.waits if wait.place.line == line]
    assert len(found) == 1, profile.waits
    return found[0]


def engine() -> str:
    return "metal" if mxnp.get_device() == "metal" else "cpu"


# -- Recorded operations ----------------------------------------------------------------


def test_a_fused_chain_line_by_line(measured):
    profile, _ = measured(
        """
        x = np.full(N, 2.0)
        np.synchronize()
        y = (
            np.sqrt(x * x
                    + 1)
        )
        total = y.sum()
        """
    )
    multiply, add = row(profile, 4, "multiply"), row(profile, 4, "add")
    sqrt, total = row(profile, 4, "sqrt"), row(profile, 7, "add.reduce")
    for each in (multiply, add, sqrt, total):
        assert (each.calls, each.elements, each.backend) == (1, N, "cpu")
        assert each.seconds > 0
    assert multiply.place.expression == "x * x"
    assert add.place.expression == "x * x + 1"
    assert sqrt.place.expression == "np.sqrt(x * x + 1)"
    assert total.place.expression == "y.sum()"
    assert sqrt.place.function == "<module>"
    assert sqrt.place.source == "np.sqrt(x * x"
    assert multiply.bytes_read == 8 * N
    if FUSES:
        assert [e.fused_calls for e in (multiply, add, sqrt, total)] == [1, 1, 1, 1]
        assert [e.elided for e in (multiply, add, sqrt, total)] == [1, 1, 0, 0]
        assert (multiply.bytes_written, add.bytes_read, add.bytes_written) == (0, 0, 0)
        assert (sqrt.bytes_written, total.bytes_read) == (8 * N, 0)
        assert multiply.fused_seconds == multiply.seconds
    else:
        assert [e.fused_calls for e in (multiply, add, sqrt, total)] == [0, 0, 0, 0]
        assert multiply.bytes_written == add.bytes_read == 8 * N
        assert profile.total.fused == 0
    assert total.bytes_written == 8
    assert wait(profile, 7).reason == "sum returns a number"
    assert wait(profile, 7).operations == 4


def test_repeated_lines_are_added_up(measured):
    profile, _ = measured(
        """
        x = np.zeros(N)
        for step in range(30):
            x = x + step
            if x.max() > 1e9:
                break
        """
    )
    assert row(profile, 3, "add").calls == 30
    assert row(profile, 3, "add").elements == 30 * N
    assert row(profile, 4, "maximum.reduce").calls == 30
    found = wait(profile, 4)
    assert (found.count, found.operations) == (30, 61)
    assert found.place.expression == "x.max()"
    assert found.seconds > 0
    assert profile.total.waits == 30


def test_sums_agree_with_the_rows(measured):
    profile, _ = measured(
        """
        x = np.arange(float(N))
        y = np.sort(x[::-1] * 2, kind="heapsort")
        print(float((y - x).sum()), file=numpy.testing.__dict__.get("nowhere"))
        """
    )
    total, rows = profile.total, profile.rows
    assert total.calls == sum(row.calls for row in rows)
    assert total.elements == sum(row.elements for row in rows)
    assert total.bytes_read == sum(row.bytes_read for row in rows)
    assert total.array == pytest.approx(total.gpu + total.cpu + total.numpy)
    for backend in (GPU, "cpu", "numpy"):
        seconds = sum(row.seconds for row in rows if row.backend == backend)
        assert total.seconds_on(backend) == pytest.approx(seconds)
    assert 0 < total.array <= total.wall
    assert total.cpu <= total.waiting + 1e-3
    assert rows == sorted(rows, key=lambda row: -row.seconds)
    assert total.pool_peak >= 2 * 8 * N
    # The pool's peak may be that of an earlier test, with memory that nobody has touched.
    assert total.process_peak > 2 * 8 * N


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_peak_is_that_of_the_program_and_not_of_its_parent():
    program = """if True:
        import mxnp
        with mxnp.profile() as profile:
            pass
        print(profile.total.process_peak)
    """
    large = bytearray(b"1") * (300 << 20)  # a child's ru_maxrss starts with this peak
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 10 << 20 < int(done.stdout) < len(large)


@needs_fusion
def test_operations_of_a_group_divide_its_time(measured):
    profile, _ = measured(
        """
        x = np.full(200_000, 2.0)
        np.synchronize()
        y = np.arctan2(np.arctan(x), x) + 1
        """
    )
    rows = [row(profile, 3, name) for name in ("arctan", "arctan2", "add")]
    assert all(each.seconds > 0 for each in rows)
    assert all(each.fused_seconds == each.seconds for each in rows)
    (group,) = core.last_flush()
    assert sum(each.seconds for each in rows) == pytest.approx(group.seconds)


def test_index_checks_and_ranges_that_spare_them(measured):
    profile, _ = measured(
        """
        x = np.zeros(N)
        i = np.arange(N)[::-1].copy()
        np.synchronize()
        a = x[i]
        b = x[i]
        c = x[i + 0]
        np.synchronize()
        """
    )
    checks: dict[int, Check] = {check.place.line: check for check in profile.checks}
    assert (checks[4].count, checks[4].elements, checks[4].cached) == (1, N, 0)
    assert (checks[5].count, checks[5].cached) == (0, 1)
    assert (checks[6].count, checks[6].elements, checks[6].cached) == (1, N, 0)
    take = row(profile, 4, "take")
    assert (take.calls, take.elements) == (1, N)
    assert take.bytes_read == 2 * 8 * N


def test_masks(measured):
    profile, names = measured(
        """
        x = np.arange(float(N))
        y = x[x >= 10]
        """
    )
    assert len(names["y"]) == N - 10
    assert wait(profile, 2).kind == "mask"
    found = row(profile, 2, "getitem")
    assert (found.backend, found.calls, found.elements) == ("cpu", 1, N)
    assert (found.bytes_read, found.bytes_written) == (N, 8 * (N - 10))


def test_operations_recorded_before_are_not_counted(measured):
    x = mxnp.full(N, 2.0) * 3
    with mxnp.profile() as profile:
        y = x + 1
    assert [row.operation for row in profile.rows] == ["add"]
    assert profile.waits[-1].kind == "report"
    assert y[0] == 7


@needs_metal
def test_device_rows_name_metal(measured):
    with mxnp.device("metal"):
        profile, _ = measured(
            """
            x = np.full(N, 2, np.float32)
            y = np.sqrt(x * x)
            np.synchronize()
            z = np.full(N, 2.0) + 1
            np.synchronize()
            """
        )
    assert row(profile, 2, "sqrt").backend == "metal"
    assert row(profile, 2, "sqrt").elements == N
    assert row(profile, 4, "add").backend == "cpu"
    assert profile.total.gpu > 0


# -- What NumPy runs --------------------------------------------------------------------


def test_small_arrays_are_numpys(measured):
    profile, _ = measured(
        """
        a = np.ones(3)
        for i in range(100):
            a = a * 2 + i
            a += 1
            -a
            a ** 2
            a < i
            np.maximum(a, 1)
            a[0] = a[1]
            a[[0, 1]]
            a.sum()
        """
    )
    for line, operation in [
        (3, "multiply"), (3, "add"), (4, "add"), (5, "negative"), (6, "power"),
        (7, "less"), (8, "maximum"), (11, "sum"),
    ]:  # fmt: skip
        found = row(profile, line, operation)
        assert (found.backend, found.calls, found.elements) == ("numpy", 100, 300), (
            found
        )
        assert found.numpy_fallbacks == found.fused_calls == 0
    assert row(profile, 3, "add").bytes_read == 100 * 24
    assert row(profile, 3, "add").bytes_written == 100 * 24
    assert row(profile, 9, "getitem").elements == 100
    assert row(profile, 9, "setitem").elements == 100
    assert row(profile, 10, "getitem").elements == 200
    assert not profile.waits


def test_functions_are_named_as_programs_name_them(measured):
    profile, _ = measured(
        """
        a = np.ones((4, 4))
        np.linalg.svd(a)
        np.fft.fft(a)
        np.random.default_rng(0).normal(size=5)
        np.add.reduce(a)
        np.concatenate([a, a])
        a.cumsum()
        a @ a
        numpy.exp(a)
        numpy.tile(a, 2)
        """
    )
    names = {row.place.line: row.operation for row in profile.rows}
    assert names == {
        1: "ones", 2: "linalg.svd", 3: "fft.fft", 4: "normal", 5: "ufunc.reduce",
        6: "concatenate", 7: "cumsum", 8: "matmul", 9: "exp", 10: "tile",
    }  # fmt: skip
    assert row(profile, 6, "concatenate").elements == 32
    assert row(profile, 2, "linalg.svd").elements == 16


def test_views_and_attributes_are_not_counted(measured):
    profile, _ = measured(
        """
        a = np.ones((4, 6))
        a.T, a.real, a.shape, a[1:], a[0], a.reshape(3, 8), a.ravel(), np.transpose(a)
        a.T.reshape(-1)
        """
    )
    assert {row.place.line for row in profile.rows} == {1, 3}


def test_attributes_that_write_elements_are_counted(measured):
    profile, _ = measured(
        """
        z = np.ones(N, complex) * 2
        z.real = np.ones(N)
        z.flat = 3
        """
    )
    names = {(each.place.line, each.operation) for each in profile.rows}
    assert {(2, "real"), (3, "flat")} <= names
    assert "real runs in NumPy" in {each.reason for each in profile.waits} or ON_GPU


def test_the_time_of_a_call_is_without_its_wait(measured):
    profile, _ = measured(
        """
        x = np.full(3_000_000, 0.5)
        np.synchronize()
        y = np.arctan2(np.arctan(x), x)
        m = np.median(y[:10])
        """
    )
    found = wait(profile, 4)
    assert found.reason == "median runs in NumPy"
    total = profile.total
    assert total.numpy + total.waiting + total.recording <= total.wall
    assert row(profile, 4, "median").seconds <= total.numpy


def test_failed_conversion_is_not_a_read(measured):
    profile, _ = measured(
        """
        i = np.arange(3)
        numpy.arange(9)[i]
        numpy.arange(9)[np.array(4)]
        """
    )
    assert [r.operation for r in profile.rows if r.place.line == 2] == []
    assert row(profile, 3, "index").elements == 1


def test_large_arrays_that_numpy_runs(measured):
    profile, _ = measured(
        """
        x = np.arange(float(N))
        np.convolve(x, [0, 1])
        np.convolve(x[:10], [0, 1])
        """
    )
    assert row(profile, 2, "convolve").numpy_fallbacks == 1
    assert row(profile, 3, "convolve").numpy_fallbacks == 0


def test_an_element_is_not_a_large_array(measured):
    before = _bridge.set_threshold(0)
    try:
        profile, _ = measured(
            """
            x = np.arange(float(N))
            x[5]
            """
        )
    finally:
        _bridge.set_threshold(before)
    assert row(profile, 2, "getitem").numpy_fallbacks == 0


def test_lines_are_the_programs(measured):
    """Lines of NumPy and mxnp between the program and the operation are skipped."""
    profile, _ = measured(
        """
        import functools

        def twice(x):
            return x + x

        x = np.ones((3, 3))
        np.apply_along_axis(twice, 0, x)
        list(map(np.square, [x, x]))
        """
    )
    found = {(row.place.line, row.place.function) for row in profile.rows}
    assert found <= {(4, "twice"), (6, "<module>"), (7, "<module>"), (8, "<module>")}
    assert row(profile, 8, "square").calls == 2


# -- Waits ------------------------------------------------------------------------------

WAITS = {
    "float(x.sum(keepdims=True)[0])": ("result", "a[i] reads elements"),
    "float(x[:1] + x[:1])": None,
    "x[5]": ("element", "a[i] reads elements"),
    "str(x)": ("read", "print() or str() reads the elements"),
    "repr(x)": ("read", "repr() reads the elements"),
    "5.0 in x": ("read", "the operator in reads the elements"),
    "list(x)": ("read", "a loop over the array reads the elements"),
    "x.tolist()": ("numpy", "tolist runs in NumPy"),
    "x.sum()": ("result", "sum returns a number"),
    "np.median(x)": ("numpy", "median runs in NumPy"),
    "numpy.asarray(x)": ("export", None),
    "memoryview(x)": ("export", "a buffer is exported"),
    "np.synchronize()": ("synchronize", "synchronize()"),
    "x[x > 3]": ("mask", "the number of elements that a mask selects is needed"),
    "np.nonzero(x)": ("mask", "the number of elements that a mask selects is needed"),
    "bool(x.any())": ("result", "any returns a number"),
}


@pytest.mark.parametrize("expression", [e for e, why in WAITS.items() if why])
def test_why_the_program_waits(expression, measured):
    profile, _ = measured(
        f"""
        x = np.arange(float(N)) + 1
        {expression}
        """
    )
    kind, reason = WAITS[expression]
    found = [wait for wait in profile.waits if wait.place.line == 2]
    assert len(found) == 1, found
    if "keepdims" in expression:
        kind = "element"
    if ON_GPU and "nonzero" in expression:
        kind, reason = "result", found[0].reason  # a kernel counts the elements
    if "asarray" in expression:
        assert found[0].kind in ("export", "numpy")
    else:
        assert found[0].kind == kind
        assert found[0].reason == reason
    assert found[0].count == 1
    assert found[0].operations >= 2


def test_waits_of_errstate_and_of_a_full_queue(measured):
    profile, _ = measured(
        """
        x = np.arange(float(N)) + 1
        with np.errstate(divide="raise"):
            x / 2
        for i in range(300):
            x = x + 1
        x[0]
        """
    )
    assert wait(profile, 3).kind == "errstate"
    assert wait(profile, 3).reason == (
        "np.errstate or a filter of warnings handles errors of divide immediately"
    )
    assert wait(profile, 5).kind == "full"
    assert (wait(profile, 5).count, wait(profile, 5).operations) == (1, 256)
    assert wait(profile, 6).operations == 44


def test_waits_of_memory_that_others_know(measured):
    profile, _ = measured(
        """
        x = np.zeros(N)
        view = numpy.asarray(x)
        x += 1
        x += 1
        """
    )
    waits = {wait.place.line: wait.kind for wait in profile.waits}
    assert waits[3] == waits[4] == "shared"


def test_waits_of_warnings(measured):
    profile, _ = measured(
        """
        import warnings
        x = np.zeros(N) + 1
        with warnings.catch_warnings():
            pass
        """
    )
    assert wait(profile, 3).kind == "warnings"


# -- Blocks -----------------------------------------------------------------------------


def test_nested_blocks_count_their_own_operations():
    x = mxnp.arange(float(N))
    with mxnp.profile() as outer:
        a = x + 1
        with mxnp.profile() as inner:
            b = x * 2
        c = x - 1
    assert [row.operation for row in inner.rows] == ["multiply"]
    assert sorted(row.operation for row in outer.rows) == [
        "add",
        "multiply",
        "subtract",
    ]
    assert a[1] == b[1] == c[3] == 2
    again = outer.report
    assert again is outer.report


def test_a_block_can_be_read_before_its_end():
    x = mxnp.arange(float(N))
    with mxnp.profile() as profile:
        assert profile.rows == []
        total = (x + 1).sum()
        assert {row.operation for row in profile.rows} == {"add", "add.reduce"}
        total = (x + 1).max()
        assert len(profile.rows) == 4
    assert total == N


def test_before_the_beginning_there_is_nothing():
    profile = mxnp.profile()
    assert profile.rows == profile.waits == []
    assert repr(profile).startswith("<mxnp.profile: No array work")


def test_nothing_is_counted_outside():
    with mxnp.profile():
        pass
    mxnp.arange(float(N)).sum()
    assert _bridge.profile_rows() == []
    with mxnp.profile() as profile:
        pass
    assert profile.rows == []


def test_operations_before_an_exception_are_counted():
    profile = mxnp.profile()
    with pytest.raises(ZeroDivisionError):
        _fail(profile)
    assert {row.operation: row.calls for row in profile.rows} == {"ones": 1, "add": 1}
    assert _bridge.profile_rows() == []


def _fail(profile: mxnp.profile) -> None:
    with profile:
        x = mxnp.ones(3)
        with pytest.raises(ValueError, match="broadcast"):
            x + numpy.ones(4)
        1 / 0  # noqa: B018


def test_errors_that_come_at_the_end():
    x, bad = mxnp.zeros(N), mxnp.arange(N) + 1
    profile = mxnp.profile()
    with pytest.raises(IndexError, match=f"index {N} is out of bounds"), profile:
        x = x[bad]
    assert _bridge.profile_rows() == []
    assert [check.count for check in profile.checks] == [1]


def test_all_threads_are_counted():
    def work() -> None:
        for _ in range(20):
            x = mxnp.ones(3) + 1
            y = mxnp.ones(N) + 1
            assert y.sum() == 2 * N
            assert x[0] == 2

    threads = [threading.Thread(target=work) for _ in range(4)]
    with mxnp.profile() as profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counts = {(row.operation, row.backend): row.calls for row in profile.rows}
    assert counts["add", "numpy"] == 80
    assert counts["add", "cpu"] == 80 if engine() == "cpu" else True
    assert sum(row.calls for row in profile.rows if row.operation == "add.reduce") == 80
    assert sum(wait.count for wait in profile.waits) >= 1


def test_code_without_a_place():
    """Without positions in a code object, only lines are known."""
    code = compile("y = np.ones(3) + 1\n", "gone.py", "exec")
    code = code.replace(co_filename="gone.py", co_linetable=b"")
    with mxnp.profile() as profile:
        exec(code, {"np": mxnp})
    assert {row.place.file for row in profile.rows} == {"gone.py"}
    assert {row.place.expression for row in profile.rows} == {""}


def test_functions_with_equal_code_have_separate_rows(tmp_path):
    names = []
    for name in ("a.py", "b.py"):
        path = tmp_path / name
        path.write_text("def f(x):\n    return x + 1\n")
        space: dict[str, Any] = {}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
        names.append(space["f"])
    with mxnp.profile() as profile:
        for f in names:
            f(mxnp.ones(3))
    files = {
        Path(row.place.file).name for row in profile.rows if row.operation == "add"
    }
    assert files == {"a.py", "b.py"}


def test_code_objects_are_let_go_of():
    code = compile("x + x", "text", "eval")
    before = sys.getrefcount(code)
    with mxnp.profile():
        eval(code, {"x": mxnp.ones(3)})
        assert sys.getrefcount(code) > before
    # At most one reference is kept, to recognize the code object.
    assert sys.getrefcount(code) <= before + 1


def test_many_rows():
    lines = "\n".join("x + 1" for _ in range(3000))
    with mxnp.profile() as profile:
        exec(compile(lines, "many.py", "exec"), {"x": mxnp.arange(3)})
    rows = [row for row in profile.rows if row.operation == "add"]
    assert len(rows) == 3000
    assert {row.calls for row in rows} == {1}
    assert len(profile.lines()) == 3001


# -- NumPy's own arrays ----------------------------------------------------------------

OPERATORS = """
    v = numpy.arange(N)
    w = v * 2 - 1
    w += v ** 2
    b = ~(v & 3) | -v
    d = (v / 7) % 3 // 2
    c = v[:4] @ v[:4]
    a = abs(-v)
    s = np.sqrt(v)
    t = np.ones(N) + v
"""


def test_operators_of_numpys_arrays_are_counted(measured: Callable[..., Any]) -> None:
    profile, names = measured(OPERATORS)
    for line, operation in [
        *[(2, "multiply"), (2, "subtract"), (3, "add"), (3, "power")],
        *[(4, "bitwise_and"), (4, "bitwise_or"), (4, "invert"), (4, "negative")],
        *[(5, "divide"), (5, "remainder"), (5, "floor_divide"), (6, "matmul")],
        *[(7, "absolute"), (7, "negative"), (8, "sqrt")],
    ]:
        found = row(profile, line, operation)
        assert (found.backend, found.calls, found.plain_calls) == ("numpy", 1, 1)
        assert found.elements == (4 if operation == "matmul" else N)
    assert row(profile, 9, "add").plain_calls == 0
    plain: dict[str, Any] = {"np": numpy, "numpy": numpy, "N": N}
    exec(textwrap.dedent(OPERATORS), plain)
    for name in "wbdcast":
        numpy.testing.assert_array_equal(names[name], plain[name])


COMPARISONS = """
    v = numpy.arange(N)
    a = v > 3, v >= 3
    b = 3 > v, v <= 3
    c = (v == 3,)
    d = (v != v,)
"""
METHODS = """
    v = numpy.arange(N) % 7
    a = v.sum(), v.prod(axis=0), v.mean(dtype="f4")
    b = v.std(ddof=1), v.var(), v.dot(v)
    c = v.max(), v.min(0), v.argmax(), v.argmin()
    d = v.any(), v.all()
    e = v.cumsum(), v.cumprod(), v.clip(1, max=5), v.round(decimals=-1)
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            COMPARISONS,
            [
                {"greater", "greater_equal"},
                {"less", "less_equal"},
                {"equal"},
                {"not_equal"},
            ],
        ),
        (
            METHODS,
            [
                {"sum", "prod", "mean"},
                {"std", "var", "dot"},
                {"max", "min", "argmax", "argmin"},
                {"any", "all"},
                {"cumsum", "cumprod", "clip", "round"},
            ],
        ),
    ],
)
def test_comparisons_and_methods_of_numpys_arrays_are_counted(
    measured: Callable[..., Any], text: str, lines: list[set[str]]
) -> None:
    profile, names = measured(text)
    for line, operations in enumerate(lines, 2):
        found = [one for one in profile.rows if one.place.line == line]
        assert {one.operation for one in found} == operations
        for one in found:
            assert (one.backend, one.calls, one.plain_calls) == ("numpy", 1, 1)
            assert one.elements == N
    plain: dict[str, Any] = {"np": numpy, "numpy": numpy, "N": N}
    exec(textwrap.dedent(text), plain)
    for name in "abcd":
        for one, other in zip(names[name], plain[name], strict=True):
            numpy.testing.assert_array_equal(one, other)


def test_methods_of_numpys_arrays_are_given_back() -> None:
    v = numpy.arange(5)
    with mxnp.profile():
        kept = v.sum
        with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
            v.sum(axes=0)
        with pytest.raises(ValueError, match="could not be broadcast"):
            numpy.equal(v, v < numpy.arange(3))

        class Inherits(numpy.ndarray):
            pass

    assert kept() == v.sum() == 10
    assert (v.view(Inherits) > 1).tolist() == (v > 1).tolist()
    with mxnp.profile() as profile:
        pass
    assert v.cumsum().tolist() == [0, 1, 3, 6, 10]
    assert not [one for one in profile.rows if one.operation == "cumsum"]


def test_operators_that_others_compute_are_not_counted(
    measured: Callable[..., Any], tmp_path: Path
) -> None:
    text = """
        class Other:
            __array_ufunc__ = None
            def __radd__(self, x): return "other"
            def __gt__(self, x): return "smaller"
        v = numpy.arange(N)
        o = v + Other()
        s = v < Other()
        m = v[:4] + numpy.ma.array([1, 2, 3, 4])
        u = double(v)
    """
    file = tmp_path / "site-packages" / "package.py"
    package: dict[str, Any] = {}
    exec(compile("def double(v): return v * 2", str(file), "exec"), package)
    profile, names = measured(text, package=package)
    assert (names["o"], names["s"]) == ("other", "smaller")
    assert type(names["m"]) is numpy.ma.MaskedArray
    assert not [one for one in profile.rows if one.place.line in (6, 7, 9)]
    assert not [one for one in profile.rows if "package" in one.place.file]
