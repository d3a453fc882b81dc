"""Test that compiled code of other packages receives the NumPy array inside."""

import collections
import contextlib
import importlib
import inspect
import math
import os
import pickle
import subprocess
import sys
import sysconfig
import types
import weakref
from pathlib import Path

import numpy
import pytest
from support.paths import python_path

import mxnp as np
from mxnp._bridge import mentions_arrays
from mxnp._interop import boundary

TESTS = str(Path(__file__).parents[1])


@pytest.fixture(params=[9, 20_000], ids=["small", "large"])
def x(request):
    return np.sqrt(np.arange(float(request.param))) + 1


CALLS = ["one", "many", "named", "row", "row_named"]


@pytest.mark.parametrize("name", CALLS)
class TestCalls:
    def test_functions(self, compiled, x, name):
        assert getattr(compiled, name)(x) is True

    def test_methods(self, compiled, x, name):
        for kind in (compiled.Taker, compiled.Derived):
            assert getattr(kind(), name)(x) is True
            assert getattr(kind, name)(kind(), x) is True

    def test_bound_methods(self, compiled, x, name):
        method = getattr(compiled.Taker(), name)
        assert type(method) is types.BuiltinFunctionType
        assert method(x) is True
        assert list(map(method, [x, x])) == [True, True]
        assert method(*[x]) is True

    def test_methods_of_a_class_of_the_program(self, compiled, x, name):
        class Own(compiled.Taker):
            pass

        assert getattr(Own(x), name)(x) is True
        assert getattr(super(Own, Own()), name)(x) is True

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("wrong", [(), (1, 2)])
    def test_errors_are_the_same(self, compiled, path, name, wrong):
        program = (
            f"import {{}}sys; sys.path.insert(0, {str(path.parent)!r})\n"
            "import compiled\n"
            f"for f in (compiled.{name}, compiled.Taker().{name}, compiled.Taker.{name}):\n"
            f"    try: print(f(*{wrong!r}))\n"
            "    except Exception as error: print(repr(error))\n"
            f"    try: print(f(*{wrong!r}, a=1))\n"
            "    except Exception as error: print(repr(error))\n"
        )
        ours, plain = (
            subprocess.run(
                [sys.executable, "-c", program.format(first)],
                capture_output=True, text=True, check=True,
            ).stdout
            for first in ("mxnp, ", "")
        )  # fmt: skip
        assert ours == plain


def test_arguments_by_name(compiled, x):
    for owner in (compiled, compiled.Taker()):
        assert owner.named(1, a=x, b=2) is True
        assert owner.row_named(1, a=x, b=2) is True


def test_arrays_in_tuples_lists_and_dicts(compiled, x):
    nested = [1, (2, x), {"a": x, "b": [x]}]
    assert compiled.one(nested) is True
    assert nested[1][1] is x  # the program's objects do not change
    assert nested[2]["a"] is x


def test_classes(compiled, x):
    for kind in (compiled.Taker, compiled.Derived):
        assert type(kind(x)) is kind
        assert type(kind(1, a=x)) is kind
        assert kind.of_class(x) is True
        assert kind().of_class(x) is True
        assert kind.of_none(x) is True
        assert type(kind.__new__(kind, x)) is kind
        kind().__init__(x)


def test_classes_with_a_vectorcall(compiled, x):
    assert type(compiled.Quick(x)) is compiled.Quick
    assert type(compiled.Quick(*[x, 1])) is compiled.Quick


def test_slots(compiled, x):
    taker = compiled.Taker()
    assert taker(x) is True
    assert taker(a=x) is True
    assert taker[x] is True
    assert taker[x, 1] is True
    taker[x] = x
    del taker[x]
    assert x in taker
    assert (taker == x) is True
    assert (taker < x) is True
    assert (taker + x) is True
    taker += x
    assert taker is True
    taker = compiled.Derived()
    assert taker[x] is True
    assert (taker + x) is True


def test_slots_called_by_name(compiled, x):
    taker = compiled.Taker()
    assert taker.__getitem__(x) is True
    assert taker.__eq__(x) is True
    assert taker.__add__(x) is True
    assert compiled.Taker.__call__(taker, x) is True


def test_classes_of_the_program(compiled, x):
    class Own(compiled.Taker):
        def __init__(self, *args):
            super().__init__(*args)

        def __getitem__(self, key):
            assert type(key) is np.ndarray  # a method of the program
            return super().__getitem__(key)

    assert Own(x)[x] is True
    assert (Own() + x) is True


def test_attributes(compiled, x):
    taker = compiled.Taker()
    taker.value = x
    assert taker.value == "closure"
    with pytest.raises(TypeError, match=r"expected numpy\.ndarray"):
        taker.value = "other"


def test_arrays_are_the_same_after_a_round_trip(compiled, x):
    assert compiled.same(x) is x
    plain = numpy.ones(3)
    assert compiled.same(plain) is plain


def test_writes_are_seen_and_earlier_operations_are_not_disturbed(compiled):
    for n in (5, 30_000):
        x = np.arange(float(n)) + 1
        before = numpy.array(x)
        earlier = x * 3
        assert compiled.doubled(x) is x
        numpy.testing.assert_array_equal(x, before * 2)
        numpy.testing.assert_array_equal(earlier, before * 3)


def test_writes_after_the_call_are_seen(compiled):
    for n in (5, 30_000):
        x = np.arange(float(n)) + 1
        before = numpy.array(x)
        compiled.keep(x)
        earlier = x * 3
        compiled.write_kept()
        numpy.testing.assert_array_equal(x + 1, before * 2 + 1)
        numpy.testing.assert_array_equal(earlier, before * 3)


def test_operations_wait_again_after_a_call(compiled):
    """Also after one that fails."""
    x, taker = np.arange(30_000.0) + 1, compiled.Taker()

    def wrong():
        return x[np.full(30_000, 40_000) * 1]  # it waits, and its indices are invalid

    for call in (
        lambda: compiled.one(x),
        lambda: compiled.one(x, 1),
        lambda: compiled.named(x, wrong(), a=1),
        lambda: taker[x],
        lambda: taker.__setitem__(x, wrong()),
        lambda: x in taker,
    ):
        with contextlib.suppress(TypeError, IndexError):
            call()
        with contextlib.suppress(IndexError):
            np.synchronize()
        y = x + 1
        assert np._bridge.pending() == 1
        np.synchronize()
        del y


def test_many_arguments(compiled, x):
    assert compiled.many(*[x] * 40) is True


class TestLists:
    """Lists and dicts of the program that compiled code changes."""

    def test_they_are_changed_in_place(self, compiled, x):
        y, z = x + 1, numpy.ones(2)
        items = [x, 1, y, z]
        assert compiled.reverse(items) is items
        assert len(items) == 4
        assert items[0] is z
        assert items[1] is y
        assert items[3] is x
        compiled.append(items, y)
        assert items[4] is y
        compiled.append(items, 5)
        assert items[5] == 5

    def test_more_arrays_than_a_call_keeps(self, compiled):
        arrays = [np.full(2, float(i)) for i in range(100)]
        items = list(arrays)
        compiled.reverse(items)
        assert [id(item) for item in items] == [id(a) for a in reversed(arrays)]

    def test_dicts(self, compiled, x):
        y = x + 1
        items = {"a": x, "b": y, "c": 3}
        compiled.fill(items)
        assert list(items) == ["c", "b", "a", "number"]
        assert items["a"] is x
        assert items["b"] is y
        assert items["number"] == "a"

    def test_tuples_in_them(self, compiled, x):
        pairs = [(x, 1), (x + 1, [x])]
        before = list(pairs)
        compiled.reverse(pairs)
        assert pairs[0] is before[1]
        assert pairs[1] is before[0]
        compiled.rotate_pairs(pairs)
        assert pairs[1][1] is x
        assert pairs[0][0] is before[1][1]

    def test_in_other_arguments(self, compiled, x):
        inner = [x, x + 1]
        first, second = inner
        outer = {"lists": (1, inner)}
        assert compiled.one(outer) is True
        assert outer["lists"][1] is inner
        compiled.append([inner], inner)
        compiled.reverse(outer["lists"][1])
        assert inner[0] is second
        assert inner[1] is first

    def test_changes_before_an_exception(self, compiled, x):
        y = x + 1
        items = [x, y]
        with pytest.raises(KeyError, match="after a change"):
            compiled.reverse_and_fail(items)
        assert items[0] is y
        assert items[1] is x

    def test_arrays_that_leave_them_are_freed(self, compiled, x):
        for items in ([x + 1, x], {"x": x + 1}):
            memory = weakref.ref(items[0] if type(items) is list else items["x"])
            compiled.clear(items)
            assert not items
            assert memory() is None


class TestResults:
    """Arrays of the program inside the results of compiled code."""

    def test_in_tuples_lists_and_dicts(self, compiled, x):
        first, (second, third, fourth, number) = compiled.inside(x)
        assert first is x
        assert second is x
        assert third[0] is x
        assert fourth["x"] is x
        assert number == 1

    def test_other_arrays_stay_numpys(self, compiled, x):
        plain = numpy.ones(3)
        first, (second, third, *_) = compiled.inside([plain, x])
        assert type(first) is list
        assert second is first
        assert third[0] is first
        assert first[0] is plain
        assert first[1] is x
        first, *_ = compiled.inside((plain, x))
        assert first[0] is plain
        assert first[1] is x

    def test_lists_that_belong_to_the_package(self, compiled, x):
        items = compiled.remember(x)
        assert compiled.remember(x + 1) is items
        assert {type(item) for item in items} == {numpy.ndarray}
        assert compiled.check_remembered()


@pytest.mark.parametrize("name", ["Generator", "RandomState"])
def test_random_generators(compiled, name):
    arguments = [np.random.PCG64(3)] if name == "Generator" else [3]
    rng = getattr(np.random, name)(*arguments)
    assert compiled.class_of(rng) is getattr(numpy.random, name)
    assert compiled.same(rng) is rng
    assert compiled.inside([rng])[0][0] is rng
    blank = type(rng).__new__(type(rng))
    assert compiled.class_of(blank) is type(rng)


class TestObjectsOfFortran:
    def test_arrays_are_copied(self, compiled, x):
        before = numpy.array(x)
        for function in (compiled.fortran, compiled.fortran.function):
            result, argument = function(x)
            assert argument is x
            numpy.testing.assert_array_equal(result, before * 2)
            numpy.testing.assert_array_equal(x, before)

    def test_called_by_name(self, compiled, x):
        before = numpy.array(x)
        type(compiled.fortran).__call__(compiled.fortran, x)
        numpy.testing.assert_array_equal(x, before)

    @pytest.mark.slow
    @pytest.mark.needs("scipy")
    def test_of_scipy(self, xp):
        blas = importlib.import_module("scipy.linalg.blas")
        lapack = importlib.import_module("scipy.linalg.lapack")
        a = xp.asfortranarray(xp.array([[4.0, 1], [1, 3]]) * 1)
        b = xp.ones(2) * 3
        lapack.dgesv(a, b)
        lapack.dpotrf(a)
        blas.dgemm(1.0, a, a, 1.0, a)
        u, v = xp.arange(5.0) + 1, xp.arange(5.0) * 2
        u2, v2 = blas.drot(u, v, 0.3, 0.7, overwrite_x=1)
        lapack.dpotrf(c := a + 1, overwrite_a=1)
        return a, b, u, v, v2.tolist(), u2 is u, v2 is v, c


class TestDecorated:
    @pytest.mark.parametrize("name", ["by_name", "by_closure"])
    def test_by_functions_written_in_python(self, compiled, x, name):
        assert getattr(compiled, name)(x) is True

    def test_by_functools(self, compiled, x):
        assert compiled.by_cache(Holder(x)) is True

    @pytest.mark.slow
    @pytest.mark.needs("scipy")
    def test_of_scipy(self):
        program = """
import mxnp as np
from scipy.linalg import qr, qr_update
a = np.random.default_rng(0).random((4, 4))
q, r = map(np.array, qr(a))
before = q.copy(), r.copy()
qr_update(q, r, np.ones(4), np.ones(4))
assert np.array_equal(q, before[0]) and np.array_equal(r, before[1])
"""
        subprocess.run(
            [sys.executable, "-m", "mxnp", "--include", "scipy", "-c", program],
            check=True,
        )


def test_numpys_functions_and_classes(compiled):
    assert compiled.same(np.sin) is numpy.sin
    assert compiled.same(np.ndarray) is numpy.ndarray


def test_functions_look_as_before(compiled):
    assert type(compiled.one) is types.BuiltinFunctionType
    assert isinstance(compiled.Taker.one, types.MethodDescriptorType)
    assert compiled.one.__doc__ == compiled.Taker.one.__doc__ == "Take an array."
    assert str(inspect.signature(compiled.one)) == "(x, /)"
    assert str(inspect.signature(compiled.Taker.one)) == "(self, x, /)"
    assert repr(compiled.Taker.one) == "<method 'one' of 'compiled.Taker' objects>"
    assert compiled.one.__self__ is compiled
    for function in (compiled.one, compiled.Taker.one):
        assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.ismethoddescriptor(compiled.Taker.one)
    assert repr(type(compiled.Taker.one)) == repr(type(list.append))
    assert not hasattr(compiled.Taker.one, "__module__")


def test_imported_names_of_a_module_are_unchanged(compiled):
    assert compiled.sqrt is math.sqrt
    with pytest.raises(TypeError):
        math.sqrt([np.ones(3)])
    assert compiled.integer is int


def test_errors_pass(compiled, x):
    with pytest.raises(TypeError, match=r"expected numpy\.ndarray"):
        compiled.many(x, "text")


class Unmade(collections.namedtuple("Unmade", "one")):
    """A named tuple that cannot be made with other items."""

    @classmethod
    def _make(cls, items):
        raise ValueError("not made")


@pytest.mark.parametrize(
    "held",
    [lambda x: x, lambda x: (x,), lambda x: [x], lambda x: [1, {"a": x}]],
    ids=["itself", "tuple", "list", "dict"],
)
def test_errors_of_containers_pass(compiled, x, held):
    given = held(Unmade(x))
    calls = [getattr(compiled, name) for name in CALLS]
    for call in (*calls, compiled.Taker, compiled.Taker().__getitem__):
        with pytest.raises(ValueError, match="not made"):
            call(given)
    with pytest.raises(ValueError, match="not made"):
        compiled.Taker()[given] = x


def test_index_errors_of_recorded_operations_are_raised_first(compiled):
    indices = np.arange(20_000) + 1
    with pytest.raises(IndexError, match="out of bounds"):
        compiled.one(np.ones(20_000)[indices])


def test_a_module_imported_before_mxnp(path):
    program = (
        f"import sys; sys.path.insert(0, {str(path.parent)!r})\n"
        "from compiled import one, Taker\n"
        "class Own(Taker): pass\n"
        "import mxnp as np\n"
        "x = np.ones(3)\n"
        "assert one(x) and Own(x).one(x) and Own()[x] and (Own() + x)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_module_that_is_known_without_its_package(path):
    program = (
        "import importlib.util, sys, mxnp as np\n"
        f"spec = importlib.util.spec_from_file_location('package.compiled', {str(path)!r})\n"
        "compiled = importlib.util.module_from_spec(spec)\n"
        "sys.modules['compiled'] = compiled  # as modules of Cython do\n"
        "spec.loader.exec_module(compiled)\n"
        "x = np.ones(3)\n"
        "assert compiled.one(x) and compiled.Taker(x).one(x) and compiled.Taker()[x]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


LOADERS = {
    "ExtensionFileLoader": """
spec = importlib.util.spec_from_file_location("compiled", path)
compiled = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compiled)
""",
    "a loader of its own": """
class Loader(importlib.machinery.ExtensionFileLoader):
    def create_module(self, spec):
        return _imp.create_dynamic(spec)
    def exec_module(self, module):
        _imp.exec_dynamic(module)
spec = importlib.util.spec_from_loader("compiled", Loader("compiled", path))
compiled = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compiled)
""",
    "_imp": """
compiled = _imp.create_dynamic(types.SimpleNamespace(name="compiled", origin=path))
_imp.exec_dynamic(compiled)
""",
    "a zip file": """
class Finder:
    @staticmethod
    def find_spec(name, *_):
        loader = Finder if name == "compiled" else None
        return loader and importlib.util.spec_from_loader(name, loader)
    @staticmethod
    def create_module(spec):
        with zipfile.ZipFile(folder + "/archive.zip") as archive:
            spec.origin = archive.extract("compiled", folder)
        return _imp.create_dynamic(spec)
    exec_module = staticmethod(_imp.exec_dynamic)
with zipfile.ZipFile(folder + "/archive.zip", "w") as archive:
    archive.write(path, "compiled")
sys.meta_path.insert(0, Finder)
import compiled
""",
}


def run_with_loaded_module(path, folder, *parts):
    """Run parts of a program, which load a module and import mxnp, and use it."""
    program = (
        "import _imp, importlib.machinery, importlib.util, sys, types, zipfile\n"
        f"path, folder = {str(path)!r}, {str(folder)!r}\n"
        f"{''.join(parts)}\n"
        "x = np.ones(3)\n"
        "assert compiled.one(x) and compiled.Taker(x).one(x) and compiled.Taker()[x]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", ["path", "in_phases"])
def test_a_loader(request, tmp_path, module):
    path = request.getfixturevalue(module)
    run_with_loaded_module(path, tmp_path, "import mxnp as np\n", LOADERS["_imp"])


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
@pytest.mark.parametrize("module", ["path", "in_phases"])
def test_all_loaders(request, tmp_path, load, module):
    path = request.getfixturevalue(module)
    run_with_loaded_module(path, tmp_path, "import mxnp as np\n", load)


def test_a_loader_before_mxnp(in_phases, tmp_path):
    loader, known = (
        LOADERS["a loader of its own"],
        "sys.modules['compiled'] = compiled\n",
    )
    run_with_loaded_module(in_phases, tmp_path, loader, known, "import mxnp as np\n")


def test_a_module_that_gives_itself_another_name(renamed, monkeypatch, x):
    monkeypatch.setitem(sys.modules, "compiled", types.ModuleType("compiled"))
    spec = importlib.util.spec_from_file_location("compiled.compiled", renamed)
    module = importlib.util.module_from_spec(spec)
    assert (module.__name__, module.Taker.__module__) == ("_other", "compiled")
    assert module.one(x) is True
    assert module.Taker(x).one(x) is True


def test_loading_looks_as_before():
    import _imp

    assert repr(_imp.create_dynamic) == "<built-in function create_dynamic>"
    assert _imp.exec_dynamic.__self__ is _imp
    assert str(inspect.signature(_imp.exec_dynamic)) == "(mod, /)"
    with pytest.raises(AttributeError, match="name"):
        _imp.create_dynamic(3)
    assert _imp.exec_dynamic(3) == 0


def test_a_failing_import_shows_no_frame_of_ours(tmp_path):
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    (tmp_path / f"broken{suffix}").write_bytes(b"not a library")
    done = subprocess.run(
        [sys.executable, "-c", "import mxnp\nimport broken"],
        env={**os.environ, "PYTHONPATH": python_path(tmp_path, TESTS)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "ImportError" in done.stderr
    frames = done.stderr.replace(str(tmp_path), "").replace(TESTS, "")
    assert "mxnp" not in frames


class TestWhichModules:
    def test_the_standard_library_is_left_alone(self):
        import _json

        assert not boundary.takes_arrays(_json)

    def test_numpy_is_left_alone(self):
        assert not boundary.takes_arrays(numpy.linalg._umath_linalg)

    def test_except_its_random_generators(self):
        assert boundary.takes_arrays(numpy.random.mtrand)

    @pytest.mark.parametrize("text", [b"", b"_ARRAY_API"])
    def test_those_that_name_no_array(self, tmp_path, text):
        module, library = types.ModuleType("other"), tmp_path / "other.so"
        module.__file__ = str(library)
        library.write_bytes(bytes(99_000) + text + bytes(9))
        for _ in range(2):  # a library is searched once
            assert boundary.takes_arrays(module) == bool(text)
            library.unlink(missing_ok=True)

    @pytest.mark.parametrize("text", [b"ndarray", b"_ARRAY_API"])
    def test_names_across_the_blocks_that_are_read(self, tmp_path, text):
        library, block = tmp_path / "other.so", 1 << 17
        for size in (block, 2 * block, 2 * block + 5, 3 * block + 40_000):
            for after in (0, 1, 5, 9, block - 9, block - 5, block - 1, block, size):
                at = max(size - len(text) - after, 0)
                found = bytes(at) + text + bytes(size)
                library.write_bytes(found[:size])
                assert mentions_arrays(str(library)), (size, at)
        library.write_bytes(bytes(2 * block - 3) + text[:-1] + bytes(block))
        assert not mentions_arrays(str(library))

    def test_those_without_a_file(self):
        assert boundary.takes_arrays(types.ModuleType("other"))
        assert not boundary.takes_arrays(types.ModuleType("numpy.other"))

    def test_files_that_are_gone(self):
        module = types.ModuleType("other")
        module.__file__ = "/nowhere/other.so"
        assert not boundary.takes_arrays(module)


@pytest.mark.parametrize("module", [None, 3, "math"])
def test_patch_module_takes_modules(module):
    with pytest.raises(TypeError, match="takes a module"):
        boundary.patch_module(module)


def test_code_of_packages_views_arrays_as_the_programs_class(x):
    class OfPackage(numpy.ndarray):
        pass

    held = numpy.arange(6.0).view(OfPackage)
    assert type(held.view(np.ndarray)) is numpy.ndarray
    assert held.view("i8").dtype == "i8"
    assert type(held.view(type=np.ndarray)) is numpy.ndarray
    assert type(numpy.ndarray.view(held, np.ndarray)) is numpy.ndarray
    assert numpy.ndarray.view.__name__ == "view"


class Holder:
    """An object that holds an mxnp array and lets NumPy convert it."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class TestClassesThatReturnArrays:
    def test_code_of_packages_converts_their_objects(self, x):
        held = numpy.asarray(Holder(x))
        assert type(held) is numpy.ndarray
        assert numpy.shares_memory(held, x)
        assert numpy.add.reduce(Holder(x)) == x.sum()
        assert math.isclose(numpy.linalg.norm(Holder(x)), numpy.linalg.norm(x))

    def test_subclasses_are_converted(self, x):
        class Derived(Holder):
            pass

        class Other(Holder):
            def __array__(self, *args, **kwargs):
                return super().__array__(*args, **kwargs) + 1

        assert numpy.array_equal(Derived(x), x)
        assert numpy.array_equal(Other(x), x + 1)

    def test_in_all_that_the_program_calls(self, x):
        held = Holder(x)
        assert np.array_equal(np.asarray(held), x)
        assert np.array_equal(np.ones(x.shape) + held, x + 1)
        assert np.array_equal(np.concatenate([held, held])[: x.size], x)
        y = np.zeros(x.shape)
        y[:] = held
        assert np.array_equal(y, x)
        assert x[Holder(np.array([2, 1]))].tolist() == x[[2, 1]].tolist()

    def test_errors_pass(self):
        class Failing:
            def __array__(self, dtype=None, copy=None):
                raise RuntimeError("not today")

        with pytest.raises(RuntimeError, match="not today"):
            numpy.asarray(Failing())

    def test_other_results_are_numpys_to_refuse(self):
        with pytest.raises(ValueError, match="not producing an array"):
            numpy.asarray(Holder([1, 2]))

    def test_classes_built_before_mxnp(self):
        program = """
import numpy
class Holder:
    def __array__(self, dtype=None, copy=None):
        return self.x
import mxnp
held = Holder()
held.x = mxnp.ones(3)
assert type(numpy.asarray(held)) is numpy.ndarray
"""
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_classes_are_built_as_before(self):
        assert repr(__build_class__) == "<built-in function __build_class__>"
        with pytest.raises(TypeError, match="__build_class__: func must be a function"):
            __build_class__(1, "x")

        class Meta(type):
            def __new__(cls, name, bases, names, **options):
                made = super().__new__(cls, name, bases, names)
                made.options = options
                return made

        class Made(metaclass=Meta, depth=2):
            frames = len(inspect.stack(0))

        assert Made.options == {"depth": 2}
        assert Made.frames == len(inspect.stack(0)) + 1
