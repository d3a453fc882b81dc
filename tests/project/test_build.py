"""Test the options that C files are compiled with."""

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import numpy
import pytest
from support.paths import ROOT


def test_an_old_python_is_named_before_anything_is_compiled():
    code = (
        "import sys; sys.version_info = (3, 10, 13); sys.version = '3.10.13 (main)'; "
        f"sys.path.insert(0, {str(ROOT / 'csrc')!r}); import build_backend"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "mxnp needs Python 3.11 or later, and this is 3.10.13\n"


@pytest.mark.needs("mesonpy")
@pytest.mark.parametrize("is_of_these_sources", [True, False])
def test_only_a_core_of_these_sources_gets_their_state(
    is_of_these_sources, tmp_path, monkeypatch
):
    """A source that is written during the build is not in the core."""
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.syspath_prepend(ROOT / "csrc")
    backend = importlib.import_module("build_backend")
    folder = str(ROOT / "csrc")
    core = backend.digest.digest(folder) if is_of_these_sources else "of others"

    def build_wheel(folder, settings, metadata):
        with ZipFile(Path(folder, "mxnp.whl"), "w") as wheel:
            wheel.writestr("mxnp/_core.abi3.so", f"\0{core}\0")
            wheel.writestr("mxnp/linalg.py", "")
            wheel.writestr("_mxnp_dask.py", "# for Dask")
            wheel.writestr("mxnp.dist-info/RECORD", "")
        return "mxnp.whl"

    monkeypatch.setattr(backend, "build_wheel", build_wheel)
    with ZipFile(tmp_path / backend.build_editable(str(tmp_path))) as wheel:
        files = {path: wheel.read(path).decode() for path in wheel.namelist()}
    state = files.get("mxnp/_core.state")
    assert state == (backend.digest.state(folder) if is_of_these_sources else None)
    assert files["_mxnp_dask.py"] == "# for Dask"
    assert "mxnp/linalg.py" not in files  # it is in the checkout
    for path in files:
        assert path in files["mxnp.dist-info/RECORD"]


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_products_and_sums_are_rounded_one_by_one(tmp_path):
    """With one rounding for both, arange has other bits than NumPy's."""
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    options = re.findall(
        r"^add_project_arguments\('(-f[^']+)', language: 'c'\)", text, re.M
    )
    fused = ["-march=x86-64-v3"] if platform.machine() == "x86_64" else []
    source = ROOT / "csrc" / "cpu" / "kernels" / "range_kernels.c"
    out = tmp_path / "ranges.s"
    command = [
        "cc",
        "-O3",
        "-S",
        "-I",
        ROOT / "csrc",
        "-DMX_ISA=base",
        "-o",
        out,
        source,
    ]
    subprocess.run([*command, *fused, *options], check=True)
    assert not re.search(r"\bv?fm(add|la)", out.read_text(encoding="utf-8"))
    subprocess.run([*command, *fused, "-ffp-contract=fast"], check=True)
    assert re.search(r"\bv?fm(add|la)", out.read_text(encoding="utf-8"))


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("PyObject_Str(queue_to_read(a))", ""),
        ("PyArray_DATA(queue_ready(a))", ""),
        ("PyObject_Str(np_array_of(a))", "incompatible.pointer"),
        ("PyObject_Str((PyObject *)np_array_of(a))", "cast-qual"),
        ("PyArray_DATA(np_array_of(a))", "_Generic"),
    ],
)
def test_numpy_arrays_that_are_not_prepared_are_not_passed_on(
    expression, complaint, tmp_path
):
    source = tmp_path / "source.c"
    source.write_text(
        '#include "python/record/queue.h"\n'
        "void *use(PyObject *a);\n"
        f"void *use(PyObject *a) {{ return {expression}; }}\n"
    )
    options = re.findall(
        r"'(-W[^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8")
    )
    command = ["cc", "-std=c11", "-D_DEFAULT_SOURCE", "-DPy_LIMITED_API=0x030b0000"]
    for folder in (numpy.get_include(), sysconfig.get_path("include")):
        options += ["-isystem", folder]
    done = subprocess.run(
        [*command, *options, f"-I{ROOT / 'csrc'}", "-fsyntax-only", "-Werror", source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (not complaint), done.stderr
    assert re.search(complaint, done.stderr), done.stderr
