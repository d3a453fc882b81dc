"""Build and load an extension module that accepts only numpy.ndarray."""

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest

SOURCE = Path(__file__).with_name("compiled.c")


def build(folder, *options):
    """Compile a module that accepts only numpy.ndarray."""
    path = folder / f"compiled{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-dynamiclib", "-undefined", "dynamic_lookup"]
    subprocess.run(
        ["cc", *(flags if sys.platform == "darwin" else ["-shared"]), "-fPIC", "-w", *options,
         f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}",
         str(SOURCE), "-o", str(path)],
        check=True,
    )  # fmt: skip
    return path


def load(path):
    """Import the module as an import statement of a program does."""
    spec = importlib.util.spec_from_file_location("compiled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    if subprocess.run(["which", "cc"], capture_output=True).returncode:
        pytest.skip("no C compiler")
    return build(tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="session")
def in_phases(tmp_path_factory, path):
    """Return the path of a module that is filled when it is executed."""
    return build(tmp_path_factory.mktemp("in_phases"), "-DIN_PHASES")


@pytest.fixture(scope="session")
def renamed(tmp_path_factory, path):
    """Return the path of a module that gives itself another name than its file's."""
    return build(tmp_path_factory.mktemp("renamed"), '-DNAME="_other"')


@pytest.fixture(scope="session")
def compiled(path):
    module = load(path)
    sys.modules["compiled"] = module
    yield module
    del sys.modules["compiled"]
