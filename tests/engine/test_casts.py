"""Test casts of floats to integers that lack the numbers, by the rules of all processors."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from typing import Any

import numpy
import pytest
from support.casts import FLOATS, INTEGERS, PROCESSORS, cast, converted
from support.lanes import ON_GPU
from support.paths import ROOT

import mxnp
from mxnp import _bridge
from mxnp._engine import core

NUMBERS = [0.5, -1.5, 300.7, -300.7, 7e4, -7e4, 2.0**31 + 512, -(2.0**31) - 512]
NUMBERS += [2.0**32 + 1024, 2.0**40 + 77 * 2.0**20, -(2.0**40), 1e30, -1e30]
NUMBERS += [numpy.inf, -numpy.inf, numpy.nan]


@pytest.mark.skipif(ON_GPU, reason="tests/metal/test_casts.py has the GPU's casts")
@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("library", [numpy, mxnp], ids=["numpy", "mxnp"])
def test_casts_are_those_of_the_table(library: Any, source: str, target: str) -> None:
    threshold = _bridge.set_threshold(0)
    try:
        for number in NUMBERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = library.array(numpy.full(1024, number).astype(source))
                found = (x * x.dtype.type(1)).astype(target).tolist()
            rounded = float(numpy.asarray(x)[0])
            expected = cast(rounded, core.processor(), source, target)
            assert expected is None or found == [expected] * 1024, number
    finally:
        _bridge.set_threshold(threshold)


def conversions(path: Any) -> dict[str, set[str]]:
    """Return the integers that the functions of a listing convert floats to."""
    functions = re.split(
        r"^_?(float\d+_to_\w+):", path.read_text(encoding="utf-8"), flags=re.M
    )
    found = {}
    for name, text in zip(functions[1::2], functions[2::2], strict=True):
        body = text.partition("cfi_endproc")[0]
        instructions = re.findall(
            r"\bfcvtz([su])(\.\d[sd])?\s+(\w)\d+(\.\d[sd])?", body
        )
        found[name] = {
            f"{'u' * (sign == 'u')}int{64 if 'd' in one + two or to in 'xd' else 32}"
            for sign, one, to, two in instructions
        }
    return found


@pytest.mark.slow
@pytest.mark.needs("ziglang")
@pytest.mark.parametrize(
    ("processor", "target"),
    [("macOS arm64", "aarch64-macos"), ("arm64", "aarch64-linux-gnu")],
)
def test_kernels_for_arm64_use_the_instructions_of_the_table(
    processor: str, target: str, tmp_path: Any
) -> None:
    listing = tmp_path / "casts.s"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-std=c11"]
    command += ["-O3", "-g0", "-DMX_ISA=base", "-D_DEFAULT_SOURCE", "-S"]
    command += [f"-I{ROOT / 'csrc'}", "-o"]
    source = ROOT / "csrc" / "cpu" / "kernels" / "cast_kernels.c"
    subprocess.run([*command, listing, source], check=True)
    found = conversions(listing)
    for floats in ("float16", "float32", "float64"):
        for integers in INTEGERS:
            name = f"{floats}_to_{integers}"
            # Kernels that are missing convert to float32 first.
            by = name if name in found else f"float32_to_{integers}"
            assert found[by] == {converted(processor, floats, integers)}, name


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_compiled_kernels_use_the_instructions_of_the_table(
    processor: str, source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mxnp._jit import scalar
    from mxnp._jit.ir import Block, UnsupportedError, Value

    monkeypatch.setattr(core, "processor", lambda: processor)
    by = converted(processor, source, target)
    # Vectors of float64 have no instruction for int32 on arm64.
    is_missing = processor != "x86-64" and source == "float64" and by == "int32"
    block = Block(4, "")
    if target in ("uint32", "uint64") or is_missing:
        with pytest.raises(UnsupportedError):
            scalar._cast(block, Value("%x", source), target)
        return
    scalar._cast(block, Value("%x", source), target)
    (used,) = re.findall(r"fptosi\.v4i(\d+)", "".join(block.lines))
    assert f"int{used}" == by


@pytest.mark.skipif(ON_GPU, reason="tests/metal/test_casts.py has the GPU's casts")
@pytest.mark.parametrize("target", [row.name for row in core.dtypes()])
def test_casts_of_every_bfloat16(target: str) -> None:
    """Versions of ml_dtypes differ in the values, and NumPy's are right for each."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    every = numpy.arange(2**16, dtype="u2").view(ml_dtypes.bfloat16)
    threshold = _bridge.set_threshold(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = every.astype(target)
            found = numpy.asarray(mxnp.array(every).astype(target))
        assert found.tobytes() == expected.tobytes()
    finally:
        _bridge.set_threshold(threshold)
