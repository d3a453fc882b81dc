"""Test .ci/contents.py with made-up sdists and wheels; .ci/wheels builds real ones."""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
import tarfile
import tomllib
import zipfile

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="an sdist is made of what git knows of"
)


@pytest.fixture(scope="module")
def contents():
    spec = importlib.util.spec_from_file_location(
        "contents", ROOT / ".ci" / "contents.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.known_to_git()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git does not say what it knows: {error}")
    return module


@pytest.fixture
def find_faults(contents, tmp_path):
    """Return a function that makes an sdist and a wheel and checks their files."""
    about = f"Name: mxnp\nVersion: {contents.version_of_build()}\n"

    def check(without=(), beside=(), about=about):
        source = contents.known_to_git()
        package = {file for file in source if file.startswith("mxnp/")}
        package -= {file for file in source if file.startswith("mxnp/bench/")}
        package |= {f"mxnp/{file}" for file in source if file.startswith("metal/")}
        package.remove(f"mxnp/_interop/{contents.FOR_DASK}")
        package |= {contents.FOR_DASK} | contents.COMPILED
        package |= {f"mxnp-0.dist-info/{n}" for n in contents.METADATA}
        files = (source | {"PKG-INFO"} | set(beside)) - set(without)
        with tarfile.open(tmp_path / "s.tar.gz", "w:gz") as sdist:
            for file in files:
                entry = tarfile.TarInfo(f"mxnp-0/{file}")
                entry.size = len(about)
                sdist.addfile(entry, io.BytesIO(about.encode()))
        with zipfile.ZipFile(tmp_path / "w.whl", "w") as wheel:
            for file in (package | set(beside)) - set(without):
                wheel.writestr(file, about)
        return contents.find_faults(tmp_path / "s.tar.gz", tmp_path / "w.whl")

    return check


def test_packages_as_they_should_be(find_faults):
    assert find_faults() == []


@pytest.mark.parametrize("file", ["mxnp/py.typed", "mxnp/__init__.pyi"])
def test_missing_files_are_reported(find_faults, file):
    assert find_faults(without=[file]) == [
        f"s.tar.gz: missing: {file}",
        f"w.whl: missing: {file}",
    ]


def test_unwanted_files_are_reported(find_faults):
    assert find_faults(beside=["tests/more.py"]) == [
        "s.tar.gz: unwanted: tests/more.py",
        "w.whl: unwanted: tests/more.py",
    ]


def test_benchmarks_are_no_part_of_a_wheel(find_faults):
    file = "mxnp/bench/clock.py"
    assert find_faults(beside=[file]) == [f"w.whl: unwanted: {file}"]


def test_wrong_versions_are_reported(find_faults, contents):
    line = f"its metadata lacks 'Version: {contents.version_of_build()}'"
    assert find_faults(about="Version: 99\n") == [f"s.tar.gz: {line}", f"w.whl: {line}"]


@pytest.mark.parametrize("name", ["CITATION.cff", ".ci/conda/meta.yaml"])
def test_files_of_a_release_have_the_version(name, contents):
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.search(r'^(?:version: |\{% set version = ")([\d.]+)', text, re.MULTILINE)
    assert found
    assert found[1] == contents.version_of_build()


@pytest.mark.needs("jinja2", "yaml")
def test_conda_recipe_has_the_requirements_of_the_project():
    import jinja2
    import yaml

    def name_of(package):
        return f"{package}_compiler"

    text = (ROOT / ".ci" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    names = {"PYTHON": "python", "compiler": name_of, "stdlib": name_of}
    recipe = yaml.safe_load(jinja2.Template(text).render(names))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    required = {
        section: {each.replace(" ", "") for each in recipe["requirements"][section]}
        for section in ("host", "run")
    }
    assert required["host"] == {"python", "pip", *project["build-system"]["requires"]}
    assert required["run"] == {"python", *project["project"]["dependencies"]}
    scripts = project["project"]["scripts"].items()
    expected = [f"{name} = {target}" for name, target in scripts]
    assert recipe["build"]["entry_points"] == expected
    # The driver of Metal is Objective-C, and conda names only a C compiler.
    assert recipe["build"]["script"][0] == "export OBJC=$CC"
    assert "export OBJC=$CC  # [osx]" in text
    assert "py<311" in text
    assert project["project"]["requires-python"] == ">=3.11"
    assert recipe["about"]["summary"] in project["project"]["description"]
