"""Test the options that C files are compiled with."""

import platform
import re
import shutil
import subprocess

import pytest
from support.paths import ROOT


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_products_and_sums_are_rounded_one_by_one(tmp_path):
    """With one rounding for both, arange has other bits than NumPy's."""
    text = (ROOT / "meson.build").read_text()
    options = re.findall(
        r"^add_project_arguments\('(-f[^']+)', language: 'c'\)", text, re.M
    )
    fused = ["-march=x86-64-v3"] if platform.machine() == "x86_64" else []
    source = ROOT / "csrc" / "cpu" / "kernels" / "ranges.c"
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
    assert not re.search(r"\bv?fm(add|la)", out.read_text())
    subprocess.run([*command, *fused, "-ffp-contract=fast"], check=True)
    assert re.search(r"\bv?fm(add|la)", out.read_text())
