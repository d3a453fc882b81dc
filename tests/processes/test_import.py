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
    *("mxnp._metal", "mxnp._profiler"),
    *("mxnp._doctor", "mxnp._verify", "mxnp.fft", "mxnp.random"),
}
MOST_MODULES = 45  # of mxnp

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
    assert not LATER.intersection(imported)
    own = [name for name in imported if name.startswith("mxnp")]
    assert ("mxnp._gpu" in own) == (len(mxnp.devices()) > 1)
    of_gpu = [name for name in own if "._gpu" in name or name.endswith(".auto_sizes")]
    assert not of_gpu or len(mxnp.devices()) > 1
    assert len(own) - len(of_gpu) <= MOST_MODULES


def test_the_command_imports_only_what_it_needs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print(*sys.modules, sep='\\n')")
    imported = end_of("-m", "mxnp", program).out.splitlines()
    alone = end_of("-c", "import numpy, sys; print(*sys.modules, sep='\\n')").out
    later = {"pathlib", "urllib", "fractions", "decimal", "mxnp._verify"}
    assert not later.intersection(imported).difference(alone.splitlines())


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
