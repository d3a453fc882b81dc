"""Test which of 0 and -0 is the larger one, which depends on the processor."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU
from support.paths import ROOT

from mxnp import _bridge
from mxnp._engine import core

ZEROS = numpy.where(numpy.arange(40000) * 7 % 11 % 2 == 0, 0.0, -0.0)
needs_processor = pytest.mark.skipif(
    ON_GPU, reason="a GPU reduces the elements of an array in another order"
)


@needs_processor
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("columns", [1000, 40])
def test_extremes_along_columns(name: str, dtype: str, columns: int, xp: Any) -> Any:
    threshold = _bridge.set_threshold(0)
    try:
        x = xp.array(ZEROS.reshape(-1, columns).astype(dtype))
        found = getattr(xp, name).reduce(x, 0)
        return found, getattr(xp, name).reduce(x * x.dtype.type(1), 0)
    finally:
        _bridge.set_threshold(threshold)


@needs_processor
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_updates(name: str, dtype: str, xp: Any) -> Any:
    a = xp.array(ZEROS[:1000].astype(dtype))
    index = numpy.arange(40000) * 13 % 1000
    getattr(xp, name).at(a, xp.array(index), xp.array(ZEROS.astype(dtype)))
    return a


PROGRAM = """
#include "cpu/kernels/extremes.h"
int printf(const char *, ...);
int main(void)
{
    const float x[] = {0.0f, -0.0f, 1.0f, -1.0f, __builtin_nanf("")};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            float a = x[i], b = x[k];
            printf("%g %g ", FLOAT_MAXIMUM(a, b), FLOAT_MINIMUM(a, b));
        }
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize("processor", ["__aarch64__", "OTHER"])
def test_the_rule_of_each_processor(processor: str, tmp_path: Any) -> None:
    """The sources for a processor run on every one."""
    (tmp_path / "program.c").write_text(PROGRAM)
    command = ["cc", f"-I{ROOT / 'csrc'}", "-U__aarch64__", f"-D{processor}"]
    command += ["-o", tmp_path / "program", tmp_path / "program.c"]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, check=True)
    numbers = [0.0, -0.0, 1.0, -1.0, numpy.nan]
    expected = []
    for a in numbers:
        for b in numbers:
            larger, smaller = float(numpy.maximum(a, b)), float(numpy.minimum(a, b))
            if a == b == 0:
                both = str(a), str(b)
                larger = smaller = b
                if processor == "__aarch64__":
                    larger = 0.0 if "0.0" in both else -0.0
                    smaller = -0.0 if "-0.0" in both else 0.0
            expected += [f"{larger:g}", f"{smaller:g}"]
    assert done.stdout.decode().replace("-nan", "nan").split() == expected


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_compiled_kernels_for_arm64_use_its_instruction(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mxnp._jit import scalar
    from mxnp._jit.ir import Block, Value

    used = {
        "maximum": "maximum",
        "minimum": "minimum",
        "fmax": "maxnum",
        "fmin": "minnum",
    }
    a, b = (Value(each, "float32") for each in ("%x", "%y"))
    for processor in ("macOS arm64", "arm64", "x86-64"):
        monkeypatch.setattr(core, "processor", lambda now=processor: now)
        block = Block(4, "")
        scalar.compute(block, f"mx_{name}(a, b)", [a, b], "float32")
        text = "".join(block.lines)
        assert (f"@llvm.{used[name]}.v4f32" in text) == (processor != "x86-64")
