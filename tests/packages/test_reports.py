"""Test what reports and `explain` say about calls of packages."""

from __future__ import annotations

import io
import linecache
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mxnp as np
from mxnp import _bridge
from mxnp._profiler import counter
from mxnp._profiler.conversions import function_name
from mxnp._profiler.model import Conversion

N = 50_000  # elements, enough to be recorded
SITE_PACKAGES = Path(__file__).with_name("site-packages")

needs_doors = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python functions get mxnp arrays"
)


@pytest.fixture(autouse=True)
def threshold():
    before = _bridge.set_threshold(16384), _bridge.set_eager(False)
    yield
    _bridge.set_threshold(before[0])
    _bridge.set_eager(before[1])


@pytest.fixture
def measured(tmp_path, monkeypatch, compiled):
    """
    Return a function that profiles a program, which may import the package idioms.

    The program takes the given time, by the clock of the profiler.
    """
    monkeypatch.syspath_prepend(str(SITE_PACKAGES))
    monkeypatch.chdir(tmp_path)

    def run(text: str, milliseconds: int = 1) -> np.profile:
        readings = iter([0, milliseconds * 10**6])
        clock = SimpleNamespace(monotonic_ns=lambda: next(readings))
        monkeypatch.setattr(counter, "time", clock)
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text).lstrip())
        names: dict[str, Any] = {"np": np, "N": N, "compiled": compiled}
        linecache.checkcache()
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        with np.profile() as profile:
            exec(code, names)
        assert profile.total.wall == milliseconds / 1000
        return profile

    yield run
    sys.modules.pop("idioms", None)


def only(profile: np.profile, line: int) -> Conversion:
    (found,) = [one for one in profile.conversions if one.place.line == line]
    return found


def test_calls_of_compiled_code(measured):
    profile = measured(
        """
        x, y = np.ones(N), np.ones((3, 4))
        for _ in range(5):
            compiled.many(x, 1, [y, {"a": y}])
        compiled.one(y)
        compiled.class_of(None)
        """
    )
    many, one = only(profile, 3), only(profile, 4)
    assert many.function == "compiled.many"
    assert many.place.expression == 'compiled.many(x, 1, [y, {"a": y}])'
    assert (many.calls, many.arrays) == (5, 15)
    assert many.nbytes == 5 * 8 * (N + 12 + 12)
    assert (one.function, one.calls, one.arrays, one.nbytes) == (
        "compiled.one", 1, 1, 96,
    )  # fmt: skip
    assert (many.waits, one.waits, one.advice) == (1, 0, "")
    assert len(profile.conversions) == 2


def test_methods_of_compiled_classes_have_one_row(measured):
    profile = measured(
        """
        x = np.ones(3)
        thing = compiled.Taker()
        for _ in range(5):
            method = thing.one
            method(x)
            thing.one(x)
        """
    )
    assert {(one.function, one.calls) for one in profile.conversions} == {
        ("compiled.Taker.one", 5)
    }


def test_an_object_is_counted_once(measured):
    profile = measured(
        """
        x = np.ones(3)
        compiled.Taker(x)
        compiled.Quick(x)
        """
    )
    assert {(one.function, one.calls) for one in profile.conversions} == {
        ("compiled.Taker", 1),
        ("compiled.Quick", 1),
    }


def test_waits_for_pending_operations(measured):
    profile = measured(
        """
        for step in range(4):
            compiled.one(np.ones(N) + step)
        """
    )
    one = only(profile, 2)
    (wait,) = [wait for wait in profile.waits if wait.kind == "package"]
    assert (one.waits, wait.count, wait.operations) == (4, 4, 8)
    assert one.waiting == wait.seconds > 0
    assert wait.reason == "a package gets an array: compiled.one"
    assert wait.place == one.place


@needs_doors
def test_calls_of_python_functions(measured):
    profile = measured(
        """
        import idioms
        x = np.ones(N) * 2
        idioms.copied_if_an_instance(x)
        idioms.Holder(x)
        """
    )
    one, made = only(profile, 3), only(profile, 4)
    assert (one.function, one.arrays) == ("idioms.copied_if_an_instance", 1)
    assert (one.waits, one.nbytes) == (1, 8 * N)
    assert (made.function, made.arrays) == ("idioms.Holder", 1)
    assert len(profile.conversions) == 2  # what a package calls gets NumPy arrays


def test_the_line_is_the_programs(measured, tmp_path):
    (tmp_path / "site-packages").mkdir()
    file = tmp_path / "site-packages" / "calls_compiled_code.py"
    file.write_text("def call(f, x):\n    return f(x)\n")
    profile = measured(
        """
        import sys
        sys.path.insert(0, "site-packages")
        import calls_compiled_code
        calls_compiled_code.call(compiled.one, np.ones(3))
        sys.path.pop(0)
        """
    )
    has_doors = sys.version_info >= (3, 12)
    expected = "calls_compiled_code.call" if has_doors else "compiled.one"
    assert only(profile, 4).function == expected


@needs_doors
def test_a_function_that_calls_a_package(measured):
    profile = measured(
        """
        import idioms
        x = np.ones(3)
        list(map(idioms.is_root, [x, x]))
        """
    )
    assert only(profile, 3).calls == 2


def test_numpys_own_functions_are_not_packages(measured):
    profile = measured(
        """
        x = np.ones(30)
        np.random.default_rng(0).shuffle(x)
        np.linalg.norm(x)
        np.ndarray.sum(x)
        """
    )
    assert profile.conversions == []


# -- Loops ------------------------------------------------------------------------------


# To convert an array earlier saves 0.1 us in each call, which must be 1 % of the time.
def test_the_same_small_array_at_each_call(measured):
    profile = measured(
        """
        x = np.ones(3)
        for step in range(3000):
            compiled.many(x, step)
        """,
        milliseconds=29,
    )
    assert only(profile, 3).advice == (
        "The same array at each call: x. Convert it once, before the loop: "
        "x_np = x.__array__()."
    )


def test_calls_that_take_little_of_the_time(measured):
    profile = measured(
        """
        x = np.ones(3)
        for step in range(3000):
            compiled.one(x)
        """,
        milliseconds=31,
    )
    assert only(profile, 3).advice == (
        "The same array at each call: x. To convert it earlier would save little."
    )


PARTS = """
    for row in np.ones((3000, 3)):
        compiled.one(row)
    """


def test_parts_of_an_array(measured):
    profile = measured(PARTS, milliseconds=29)
    assert only(profile, 2).advice == (
        "Parts of one array at each call: row. Take them from a NumPy array, which is "
        "made once, before the loop: x_np = x.__array__()."
    )


def test_parts_that_take_little_of_the_time(measured):
    profile = measured(PARTS, milliseconds=31)
    assert only(profile, 2).advice == (
        "Parts of one array at each call: row. To convert it earlier would save little."
    )


def test_new_arrays(measured):
    profile = measured(
        """
        for step in range(20):
            compiled.one(np.ones(3))
        """
    )
    assert only(profile, 2).advice == (
        "New arrays at each call, so they cannot be converted earlier."
    )


READ_IN_A_LOOP = """
    x, total = np.ones(N), np.zeros(N)
    for step in range(20):
        y = np.sqrt(x + step)
        compiled.one({argument})
        {statement}
        total = total + y
    """


def test_an_array_that_recorded_operations_read(measured):
    profile = measured(READ_IN_A_LOOP.format(argument="x", statement="pass"))
    assert only(profile, 4).waits == 20
    assert only(profile, 4).advice == (
        "The same array at each call: x. Each call waits for operations that read it. "
        "If compiled.one only reads it too, pass a copy that is made once, before the "
        "loop: x_np = x.copy().__array__()."
    )
    copied = measured(
        READ_IN_A_LOOP.format(argument="x_np", statement="pass").replace(
            "x, total =", "x_np, x, total = np.ones(N).__array__(),"
        )
    )
    assert copied.conversions == []
    assert sum(wait.kind == "package" for wait in copied.waits) == 0


@pytest.mark.parametrize("statement", ["x += 1", "x[0] = step", "np.add(x, 1, out=x)"])
def test_an_array_that_changes_is_not_copied_before_the_loop(measured, statement):
    profile = measured(READ_IN_A_LOOP.format(argument="x", statement=statement))
    assert only(profile, 4).advice == (
        "The same array at each call: x. To convert it earlier would save little."
    )


def test_arguments_whose_text_is_unknown(measured):
    profile = measured(
        """
        x = np.ones(3)
        pair = (x, x)
        for step in range(3000):
            compiled.many(*pair)
        for _ in map(compiled.one, [x] * 3000): pass
        for step in range(3000):
            compiled.many(pair)
        """
    )
    for line in (4, 5, 7):
        assert only(profile, line).advice.startswith("The same array at each call. ")


# -- Forms ------------------------------------------------------------------------------


def test_forms(measured):
    profile = measured(
        """
        x = np.ones(3)
        for step in range(20):
            compiled.one(np.ones(N))
        """
    )
    assert '"function": "compiled.one"' in profile.to_json()
    page, fragment = profile.to_html(), profile._repr_html_()
    for text in (page, fragment):
        assert "Arrays passed to packages" in text
        assert "New arrays at each call" in text
    assert "20 calls of packages" in page
    assert " got 20 arrays (8.00 MB in all). New arrays at each call" in page
    file = io.StringIO()
    profile.print(file)
    assert "compiled.one(np.ones(N))" in file.getvalue()
    assert "Packages got 20 arrays in 20 calls" in file.getvalue()


def test_nothing_is_said_without_packages(measured):
    profile = measured("x = np.ones(3)\n")
    assert profile.conversions == []
    assert "packages" not in profile.to_html()


def test_names_of_functions():
    assert function_name(type("Made", (), {"__module__": "a._b.c"})) == "a.c.Made"
    assert function_name(io.StringIO.write) == "StringIO.write"


def test_explain_counts_the_calls(compiled):
    def explained() -> str:
        file = io.StringIO()
        np.explain(file)
        return file.getvalue()

    compiled.one(np.ones(3))
    before = _bridge.converted_calls()
    compiled.one(np.ones(3))
    compiled.class_of(None)
    np.ndarray.sum(np.ones(3))
    assert _bridge.converted_calls() == before + 1
    assert explained().endswith(
        f"Packages have got arrays in {before + 1} calls so far\n"
    )
