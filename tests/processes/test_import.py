"""Test what `import mxnp` imports, and that the rest is imported when it is needed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.processes import end_of

import mxnp

# Modules that are slow to import or that few programs use.
LATER = {
    *("hashlib", "importlib.util", "inspect", "pathlib", "pkgutil", "runpy"),
    *("sysconfig", "textwrap", "threading", "zipfile"),
    *("numpy.char", "numpy.fft", "numpy.ma", "numpy.random", "numpy.testing"),
    *("mxnp._cli.main", "mxnp._cli.runner", "mxnp._engine.explain"),
    *("mxnp._metal", "mxnp._profiler", "mxnp._array.selection"),
    *("mxnp._doctor", "mxnp._verify", "mxnp.fft", "mxnp.random"),
}
TABLE = {f"mxnp._namespace.{name}" for name in ("functions", "ordinary", "ways")}
MOST_MODULES = 38  # of mxnp
OF_COMMAND = (
    5  # more: __main__, main, runner, and modules for the arguments and imports
)

CLASS = """
class Class:
    __array_ufunc__ = None
    def __radd__(self, other):
        return type(other).__module__
"""


def printed(program: str) -> list[str]:
    """Run a program, and return the lines of its output."""
    end = end_of("-W", "error", "-c", textwrap.dedent(program))
    assert end.status == 0, end.err
    return end.out.splitlines()


def test_only_needed_modules_are_imported() -> None:
    imported = printed(
        """
        import numpy, sys
        before = set(sys.modules)
        import mxnp
        print(*sorted(set(sys.modules) - before), sep="\\n")
        """
    )
    assert "mxnp._bridge" in imported
    has_gpu = len(mxnp.devices()) > 1  # whose functions need the table
    assert not (LATER if has_gpu else LATER | TABLE).intersection(imported)
    own = [name for name in imported if name.startswith("mxnp")]
    assert ("mxnp._gpu" in own) == has_gpu
    of_gpu = [name for name in own if "._gpu" in name or name.endswith(".auto_sizes")]
    assert not of_gpu or has_gpu
    assert has_gpu or len(own) <= MOST_MODULES


def test_the_command_imports_only_what_it_needs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print(*sys.modules, sep='\\n')")
    imported = end_of("-m", "mxnp", program).out.splitlines()
    alone = end_of(  # Python imports runpy for -m
        "-c", "import numpy, runpy, sys; print(*sys.modules, sep='\\n')"
    ).out
    later = {"pathlib", "urllib", "fractions", "decimal", "mxnp._verify"}
    later |= {"dataclasses", "linecache", "pkgutil", "textwrap", "threading"}
    assert not later.intersection(imported).difference(alone.splitlines())
    own = [name for name in imported if name.partition(".")[0] == "mxnp"]
    assert len(mxnp.devices()) > 1 or len(own) <= MOST_MODULES + OF_COMMAND


@pytest.mark.parametrize("module", ["mxnp", "package.mxnp"])
def test_the_collector_does_not_look_at_what_is_loaded(
    tmp_path: Path, module: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import gc\n"
        "seen = []\n"
        "gc.callbacks.append(lambda phase, _: seen.append(len(gc.get_objects())))\n"
    )
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import mxnp")
    program = tmp_path / "program.py"
    program.write_text(
        "import sitecustomize; print(max(sitecustomize.seen, default=0))"
    )
    (package / "mxnp.py").write_text(program.read_text(encoding="utf-8"))
    end = end_of("-m", module, program, PYTHONPATH=str(tmp_path))
    assert end.status == 0, end.err
    assert int(end.out) < 15_000  # 35,000 are loaded


@pytest.mark.parametrize(
    ("before", "freezes"),
    [
        ("pass", True),
        ("many = [[] for _ in range(mxnp_most)]", False),
        ("gc.freeze()", False),
        ("lock.acquire(); threading.Thread(target=lock.acquire).start()", False),
    ],
)
def test_what_a_program_has_made_is_not_frozen(before: str, freezes: bool) -> None:
    """The import freezes what it loads, unless it would cost or change too much."""
    lines = printed(
        f"""
        import gc, threading
        mxnp_most, lock = {mxnp._MOST_OBJECTS}, threading.Lock()

        class Node:
            def __init__(self, name):
                self.name, self.itself = name, self

            def __del__(self):
                print(self.name)

        first = Node("first")
        {before}
        frozen = gc.get_freeze_count()
        import mxnp
        print(gc.get_freeze_count() - frozen > mxnp._MOST_OBJECTS)
        if not {before.startswith("gc")}:
            del first
            gc.collect()
            print("collected")
        last = Node("last")
        if lock.locked():
            lock.release()
        """
    )
    if before.startswith("gc"):  # by the program, so it keeps its first node, too
        assert lines == ["False"]
    else:
        assert lines == [str(freezes), "first", "collected", "last"]


@pytest.mark.parametrize("other", ["", "sys.modules[name] = None"])
def test_a_removed_module_is_not_imported_again(other: str) -> None:
    """Functions are prepared with the module that was there, also if mxnp itself still is."""
    lines = printed(
        f"""
        import sys
        import mxnp as np

        np.median([3, 1, 2])  # loads the module
        name = "mxnp._namespace.ways"
        removed = sys.modules.pop(name)
        del sys.modules["mxnp._namespace"].ways
        {other}
        print(np.ptp([1, 5]), sys.modules.get(name), name in sys.modules)
        """
    )
    assert lines == [f"4 None {bool(other)}"]


@pytest.mark.parametrize("condition", ["name == 'mxnp'", "name.startswith('mxnp')"])
def test_modules_are_found_after_the_package_was_removed(condition: str) -> None:
    lines = printed(
        f"""
        import sys
        import mxnp as np

        before = list(sys.modules)
        for name in [name for name in before if {condition}]:
            del sys.modules[name]
        a = np.arange(3.0)
        print(np.linalg.norm(a), np.fft.rfft(a)[0], np.polynomial.polynomial.polyval(2, a))
        print(np.random.default_rng(0).random() < 1, np.ma.array(a).sum(), np.NaNError)
        print("mxnp" in sys.modules)
        """
    )
    second = "True 3.0 <class 'mxnp.NaNError'>"
    assert lines == ["2.23606797749979 (3+0j) 10.0", second, "False"]


def test_modules_are_listed_only_if_some_were_loaded() -> None:
    lines = printed(
        """
        import mxnp as np
        from mxnp._namespace import mirror

        mirror.keep_modules = lambda: print("listed")
        np.nanmax([1])
        print("second")
        np.nanmin([1])
        """
    )
    assert lines == ["listed", "second"]


@pytest.mark.parametrize("first", ["np.median([3, 1, 2])", "np.median.layer_factor"])
def test_a_function_is_prepared_at_its_first_use(first: str) -> None:
    """An interrupt, which may come at any time, does not leave it half prepared."""
    lines = printed(
        f"""
        import sys, mxnp as np
        from mxnp import _bridge
        from mxnp._engine import core
        from mxnp._namespace import functions, mirror

        def interrupt(function, row):
            raise KeyboardInterrupt(function.__wrapped__.__name__)

        _bridge.set_preparation(interrupt, core.loading)
        try:
            {first}
        except KeyboardInterrupt as error:
            print(error)
        _bridge.set_preparation(mirror._prepare, core.loading)
        print(np.median([3, 1, 2]), np.median.__name__, np.median.__module__)
        print(np.median.layer_factor == functions.ROWS["median"].layer.threshold_factor)
        """
    )
    assert lines == ["median", "2.0 median mxnp", "True"]


def test_threads_find_a_function_prepared() -> None:
    """One prepares it, and the others wait."""
    lines = printed(
        """
        import threading, mxnp as np
        from mxnp import _bridge
        from mxnp._engine import core
        from mxnp._namespace import mirror

        others, seen = [], []

        def look():
            seen.append((np.median.__module__, np.median.layer_factor > 1))

        def prepare(function, row):
            if not others:
                others.extend(threading.Thread(target=look) for _ in range(3))
                for each in others:
                    each.start()
                    each.join(0.05)  # a thread that does not wait ends
            mirror._prepare(function, row)

        _bridge.set_preparation(prepare, core.loading)
        look()
        for each in others:
            each.join()
        print(len(seen), set(seen))
        """
    )
    assert lines == ["4 {('mxnp', True)}"]


def test_an_interrupt_while_the_layer_of_a_function_is_loaded() -> None:
    lines = printed(
        """
        import mxnp as np
        from mxnp import _bridge, _numpy_layer as layers

        def interrupt(original):
            raise KeyboardInterrupt(original.__name__)

        x = np.arange(float(max(_bridge.get_threshold(), 1) * np.median.layer_factor))
        _bridge.set_layers(interrupt, layers.is_refused)
        try:
            np.median(x)
        except KeyboardInterrupt as error:
            print(error)
        _bridge.set_layers(layers.find_layer, layers.is_refused)
        print(np.median(x) == (len(x) - 1) / 2, callable(np.median.layer))
        """
    )
    assert lines == ["median", "True True"]


def test_another_ufunc_of_the_name_has_no_row() -> None:
    lines = printed(
        """
        import numpy, mxnp as np
        from mxnp._array.ufunc import named
        ufunc = named(numpy._core.umath.clip)
        print(ufunc.implementation, np.clip.implementation is not None)
        print(ufunc(7, 1, 3), ufunc.__name__)
        """
    )
    assert lines == ["None True", "3 clip"]


@pytest.mark.parametrize("setting", ["", "MXNP_FUSE=2"])
@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_left_as_it_was(setting: str, collects: bool) -> None:
    lines = printed(
        f"""
        import gc, os
        frozen = gc.get_freeze_count()  # Python 3.12 begins with some
        {"pass" if collects else "gc.disable()"}
        os.environ.update(dict([{setting!r}.split("=")] if {setting!r} else []))
        try:
            import mxnp
        except ImportError as error:
            print(error)
        print(gc.isenabled(), gc.get_freeze_count() > frozen)
        """
    )
    assert lines[:-1] == (["MXNP_FUSE must be 0 or 1, but is '2'"] if setting else [])
    assert lines[-1] == f"{collects} {collects and not setting}"


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("install", "mxnp._cli.runner"),
        ("uninstall", "mxnp._cli.runner"),
        ("explain", "mxnp._engine.explain"),
        ("gpu_kernel", "mxnp._metal.custom"),
        ("metal_kernel", "mxnp._metal.custom"),
    ],
)
def test_names_that_are_imported_later(name: str, module: str) -> None:
    lines = printed(
        f"""
        import sys, mxnp
        print({name!r} in dir(mxnp), {module!r} in sys.modules)
        print(mxnp.{name} is sys.modules[{module!r}].{name}, {name!r} in vars(mxnp))
        """
    )
    assert lines == ["True False", "True True"]


@pytest.mark.parametrize(
    "imports",
    [
        "import mxnp as np",
        "import numpy.char; import mxnp as np",
        "import mxnp as np; import numpy.char",
    ],
)
def test_arrays_of_text_take_arrays(imports: str) -> None:
    """They are adapted whenever NumPy's module of text is imported."""
    lines = printed(
        f"""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # from NumPy 2.5 on
        {imports}
        text = np.array(["%d", "%s"]).view(np.char.chararray)
        print(*(text % np.array([3, 7])).tolist())
        """
    )
    assert lines == ["3 7"]


def test_packages_get_numpy_arrays_before_the_runner_is_imported(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "foreign.py").write_text(CLASS)
    lines = printed(
        f"""
        import sys, mxnp as np
        sys.path.append({str(folder)!r})
        import foreign
        print("mxnp._cli.runner" in sys.modules)
        print(np.ones(2) + foreign.Class())
        exec({CLASS!r})
        print(np.ones(2) + Class())
        """
    )
    assert lines == ["False", "numpy", "mxnp"]
