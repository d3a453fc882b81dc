"""Test packages that are installed in editable form, which are packages all the same."""

import subprocess
import sys
import sysconfig
import textwrap
from importlib.util import find_spec

import pytest


def has_setuptools():
    return find_spec("setuptools") and find_spec("setuptools.command.bdist_wheel")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_setuptools(), reason="setuptools 70.1 is missing"),
]

PROJECT = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"
    [project]
    name = "Tiny-Project"
    version = "1"
    """
PACKAGE = """
    import numpy

    def names(x):
        return numpy.__name__, type(x).__module__
    """
PROGRAM = """
    import numpy as np
    import tiny

    print(np.__name__, *tiny.names(np.ones(3)))
    """

DOOR = "numpy" if sys.version_info >= (3, 12) else "mxnp"


def python_in(folder, *arguments):
    done = subprocess.run(
        [folder / "venv" / "bin" / "python", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["src", "."], ids=["src", "flat"])
def folder(request, tmp_path_factory):
    """Return a folder with a project, and an environment where it is installed."""
    folder = tmp_path_factory.mktemp("editable")
    project = folder / "project"
    package = project / request.param / "tiny"
    for path, text in {
        project / "pyproject.toml": PROJECT,
        package / "__init__.py": PACKAGE,
        project / "tests" / "program.py": PROGRAM,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    python = [sys.executable, "-m"]
    subprocess.run([*python, "venv", "--without-pip", folder / "venv"], check=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    here = sysconfig.get_path("purelib")
    (site / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    pip = [*python, "pip", "--python", folder / "venv" / "bin" / "python", "install"]
    options = ["-q", "--no-build-isolation", "--no-deps", "-e", project]
    subprocess.run([*pip, *options], check=True)
    return folder


def test_the_package_gets_numpy(folder):
    out = python_in(folder, "-m", "mxnp", "project/tests/program.py")
    assert out == f"mxnp numpy {DOOR}\n"


def test_an_included_package_is_the_programs(folder):
    options = ["-m", "mxnp", "--include", "tiny", "project/tests/program.py"]
    assert python_in(folder, *options) == "mxnp mxnp mxnp\n"


def test_a_package_that_imports_mxnp(folder):
    text = "import mxnp as np, tiny; tiny.numpy = np; print(*tiny.names(np.ones(3)))"
    (source,) = folder.rglob("tiny/__init__.py")
    before = source.read_text(encoding="utf-8")
    source.write_text(before.replace("import numpy", "import mxnp as numpy"))
    try:
        assert python_in(folder, "-c", text) == "mxnp mxnp\n"
    finally:
        source.write_text(before)
