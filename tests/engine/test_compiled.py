"""
Test kernels that LLVM makes of runs of operations: their results have NumPy's bits.

Each group is compiled before it first runs, except in the tests of the thread that does so
in the background. Without fusion, a group is one operation.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import FUSES, ON_CUDA, needs_fusion

import mxnp
from mxnp import _bridge, _jit
from mxnp._engine import core

pytestmark = [
    pytest.mark.needs("llvmlite"),
    pytest.mark.skipif(ON_CUDA, reason="it tests kernels of the processor"),
]
FLOATS = ["float32", "float64"]
INTEGERS = [f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)]


@pytest.fixture(autouse=True)
def compiled(tmp_path: Path) -> Iterator[None]:
    """Record every operation, and compile every group that has two operations."""
    from mxnp._jit.compiler import compile_program

    cache = core.lib.mx_settings.jit_cache
    core.set_in_core("jit_cache", str(tmp_path))
    threshold = _bridge.set_threshold(0)
    least = 2 if FUSES else 1
    _bridge.set_compiler(None, False)  # it forgets the groups of other tests
    _bridge.set_compiler(lambda key: compile_program(key, least), True)
    yield
    mxnp.synchronize()
    _bridge.set_compiler(None, False)
    _jit._start()
    _bridge.set_threshold(threshold)
    core.lib.mx_settings.jit_cache = cache


def special(dtype: str) -> numpy.ndarray:
    """Return the values of a dtype at which operations differ most."""
    if dtype == "bool":
        return numpy.array([False, True])
    if dtype in FLOATS:
        limits = numpy.finfo(dtype)
        values = [0, 1, 0.5, 1.5, 2.5, 3, 7.25, 1e-3, limits.max, limits.tiny]
        values += [limits.smallest_subnormal, numpy.inf, numpy.nan, 2**31, 1e10]
        return numpy.array([*values, *(-value for value in values)], dtype)
    limits = numpy.iinfo(dtype)
    near_limits = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    values = [0, 1, 2, 3, 7, 8, 31, 63, 64, *near_limits]
    if limits.min < 0:
        values += [-1, -2, -7, -64]
    return numpy.array(values, dtype)


def all_pairs(dtype: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """
    Return each pair of special values, often enough to fill vectors, and a rest.

    NumPy on Linux for arm64 casts numbers that a dtype lacks in another way in a rest, so
    that is of the first pairs.
    """
    values = special(dtype)
    pairs = numpy.array(list(itertools.product(values, values)), dtype)
    whole = numpy.resize(pairs, (max(len(pairs), 300) + 63 & ~63, 2))
    pairs = numpy.concatenate([whole, whole[:3]])
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def run(function: Any, *arguments: Any) -> Any:
    """Return the result of a function, and the text of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
        numpy.asarray(result)
    return result, sorted(str(warning.message) for warning in caught)


def count_compiled() -> int:
    """Return how many operations of the last flush compiled kernels computed."""
    return sum(group.compiled for group in core.last_flush())


# Functions of two arrays that consist of two operations at least.
REAL = {
    "arithmetic": lambda xp, a, b: (a + b) * a - b,
    "negative": lambda xp, a, b: -(a + b),
    "absolute": lambda xp, a, b: xp.absolute(a) + xp.absolute(b),
    "sign": lambda xp, a, b: xp.sign(a) * xp.sign(b),
    "square": lambda xp, a, b: xp.square(a) + xp.square(b),
    "maximum": lambda xp, a, b: xp.maximum(a, b) + a,
    "minimum": lambda xp, a, b: xp.minimum(a, b) + a,
    "fmax": lambda xp, a, b: xp.fmax(a, b) + a,
    "fmin": lambda xp, a, b: xp.fmin(a, b) + a,
    "maximum of NaN": lambda xp, a, b: xp.maximum(-a, b),
    "minimum of NaN": lambda xp, a, b: xp.minimum(-a, b),
    "negative zero": lambda xp, a, b: (
        -xp.copysign(a, b) if a.dtype.kind == "f" else -a * b
    ),
    "extremes alone": lambda xp, a, b: xp.maximum(xp.minimum(a, b), -a),
    "equal": lambda xp, a, b: (a == b) ^ (a != b),
    "less": lambda xp, a, b: (a < b) | (a >= b),
    "less_equal": lambda xp, a, b: (a <= b) & (a > b),
    "logic": lambda xp, a, b: xp.logical_and(a, b) != xp.logical_or(a, b),
    "logical_xor": lambda xp, a, b: ~xp.logical_xor(a, xp.logical_not(b)),
    "where": lambda xp, a, b: xp.where(a > b, a - b, b),
    "rounding": lambda xp, a, b: xp.floor(a) + xp.ceil(b) + xp.trunc(a),
    "numbers": lambda xp, a, b: xp.isnan(a) | xp.isinf(b) | xp.isfinite(a),
    "scalar": lambda xp, a, b: a * a.dtype.type(3) + b.dtype.type(1),
    "as bool": lambda xp, a, b: (a + b).astype(bool),
    "as float": lambda xp, a, b: (a * b).astype("float64") + 0.5,
    "one twice": lambda xp, a, b: (a + a) - (a + a) * b,
}
OF_FLOATS = {
    "divide": lambda xp, a, b: a / b + a,
    "sqrt": lambda xp, a, b: xp.sqrt(a) + xp.sqrt(b),
    "reciprocal": lambda xp, a, b: xp.reciprocal(a) + b,
    "rint": lambda xp, a, b: xp.rint(a) + xp.rint(b),
    "copysign": lambda xp, a, b: xp.copysign(a, b) + 1,
    "signbit": lambda xp, a, b: xp.signbit(a) | xp.signbit(b),
    "fabs": lambda xp, a, b: xp.fabs(a) - xp.fabs(b),
    "as float32": lambda xp, a, b: (a + b).astype("float32") * numpy.float32(2),
    "as int8": lambda xp, a, b: (a + b).astype("int8") * numpy.int8(3),
    "as int32": lambda xp, a, b: (a + b).astype("int32") * numpy.int32(3),
    "as int64": lambda xp, a, b: (a + b).astype("int64") * numpy.int64(3),
    "as uint16": lambda xp, a, b: (a + b).astype("uint16") * numpy.uint16(3),
    "as uint32": lambda xp, a, b: ((a + b) * b).astype("uint32") * numpy.uint32(3),
    "clip": lambda xp, a, b: xp.copysign(1, xp.clip(a, -b, b)) + xp.clip(a, -b, b),
    "clip to 0": lambda xp, a, b: xp.copysign(1, xp.clip(a, 0, 3)) + xp.clip(b, -3, 0),
    "clip to NaN": lambda xp, a, b: (
        xp.clip(a, numpy.nan, 3) + xp.clip(b, -3, numpy.nan)
    ),
    "degrees": lambda xp, a, b: xp.deg2rad(a) - xp.rad2deg(b),
    "exp between": lambda xp, a, b: xp.exp(-(a * a)) * b + a,
}
OF_INTEGERS = {
    "bits": lambda xp, a, b: (a & b) | (a ^ b),
    "invert": lambda xp, a, b: ~a & ~b,
    "left_shift": lambda xp, a, b: (a << b) + a,
    "right_shift": lambda xp, a, b: (a >> b) - a,
    "bitwise_count": lambda xp, a, b: xp.bitwise_count(a) + xp.bitwise_count(b),
    "clip": lambda xp, a, b: xp.clip(a + b, 1, 63) * a,
    "clip to the upper limit": lambda xp, a, b: xp.clip(a + b, 63, 1) * a,
    "as int8": lambda xp, a, b: (a + b).astype("int8") * numpy.int8(3),
    "as uint64": lambda xp, a, b: (a + b).astype("uint64") * numpy.uint64(3),
    "as float32": lambda xp, a, b: (a - b).astype("float32") * numpy.float32(3),
}
OF_BOOLS = {
    "logic": lambda xp, a, b: (a & b) | (a ^ b),
    "invert": lambda xp, a, b: ~a == b,
    "order": lambda xp, a, b: (a < b) | (a >= b),
    "extremes": lambda xp, a, b: xp.maximum(a, b) > xp.minimum(a, b),
    "add": lambda xp, a, b: (a + b) * a,
    "as float": lambda xp, a, b: (a + b).astype("float32") * numpy.float32(3),
    "where": lambda xp, a, b: xp.where(a, b, ~b) | a,
}
CASES = [
    *((name, dtype) for dtype in FLOATS for name in {**REAL, **OF_FLOATS}),
    *((name, dtype) for dtype in INTEGERS for name in {**REAL, **OF_INTEGERS}),
    *((name, "bool") for name in OF_BOOLS),
]


def function_of(name: str, dtype: str) -> Any:
    of_dtype = (
        OF_FLOATS if dtype in FLOATS else OF_BOOLS if dtype == "bool" else OF_INTEGERS
    )
    return of_dtype[name] if name in of_dtype else REAL[name]


# A bool in LLVM has lost the byte that NumPy's loops copy. Without fusion the comparison is
# compiled alone.
NOT_COMPILED = {("where", "bool")} if FUSES else set()


@pytest.mark.sampled(35)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_bits_and_warnings_are_numpys(name, dtype):
    function = function_of(name, dtype)
    a, b = all_pairs(dtype)
    # If a condition is reported, the operations are computed again by their own loops.
    for conditions in ("warn", "ignore"):
        with numpy.errstate(all=conditions):
            ours, our_warnings = run(function, mxnp, mxnp.array(a), mxnp.array(b))
            assert (count_compiled() > 0) is ((name, dtype) not in NOT_COMPILED)
            expected, warned = run(function, numpy, a, b)
        assert ours.dtype == expected.dtype
        # NaN has many bits, of which NumPy promises none.
        same = numpy.asarray(ours).view("uint8") == expected.view("uint8")
        same = same.reshape(len(expected), -1).all(axis=1)
        if expected.dtype.kind == "f":
            same |= numpy.isnan(numpy.asarray(ours)) & numpy.isnan(expected)
        assert same.all(), (conditions, a[~same][:5], b[~same][:5])
        assert our_warnings == warned


# -- Memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool"])
@pytest.mark.parametrize("length", [1, 2, 7, 15, 16, 17, 64, 129, 1000, 40_001])
def test_lengths(xp, length, dtype):
    a = xp.asarray(numpy.arange(length) % 5).astype(dtype)
    return (a | a) ^ a if dtype == "bool" else (a + a) * a - a


def test_operations_read_the_results_of_their_run():
    """mxnp computes first, so that no memory has the results of NumPy's operations."""
    a, b = numpy.random.default_rng(5).normal(size=(2, 40_001))

    def compute(xp: Any) -> Any:
        x, y = xp.array(a), xp.array(b)
        return (x + y) * x - (x - y) * y

    ours = numpy.asarray(compute(mxnp))
    if FUSES:
        assert count_compiled() == 5
    numpy.testing.assert_array_equal(ours, compute(numpy))


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool"])
def test_nothing_is_written_after_the_end(xp, dtype):
    """All vectors have a power of two of elements, and the last one would lack one."""
    a = xp.asarray(numpy.arange(255) % 3).astype(dtype)
    out = xp.full(256, 1).astype(dtype)
    mxnp.synchronize()
    out[:-1] = (a ^ a) | a if dtype == "bool" else (a - 1) * a
    return out


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_strides(xp, step):
    a = xp.arange(3000.0)
    b = xp.arange(3000.0)[::-1]
    y = a[::step] * 2 + b[::step]
    z = xp.zeros(2 * len(y))
    z[::2] = a[::step] * 3 - y
    return y, z


def test_rows_and_columns(xp):
    a = xp.arange(1200.0).reshape(30, 40)
    row, column = xp.arange(40.0), xp.arange(30.0)[:, None]
    return (a + row) * column - row, (a.T + column.T) * 2, a[1:-1, 1:-1] * 2 - a[2:, 2:]


def test_complex_parts(xp):
    z = xp.arange(100) * (1 + 2j)
    return z.real * 2 + z.imag, (z.imag - 1) * z.real


def test_bits_of_another_dtype(xp):
    a = xp.arange(1, 500.0)
    return (((a * 2).view("int64") >> 52) & 0x7FF) - 1023


def test_results_that_stay(xp):
    a = xp.arange(500.0)
    y = a * 2
    z = y + 1
    w = z * y
    return y, z, w


def test_in_place(xp):
    a = xp.arange(500.0)
    a *= 2
    a += 1
    b = a
    a -= b * 0.5
    return a, b


def test_a_reduction_after_a_run(xp):
    a = xp.arange(30_000) % 97
    return ((a * 2 + 1) * a).sum(), xp.maximum(a - 3, 5 - a).max()


def test_conditions_name_the_operation(xp):
    a = xp.asarray([1.0] * 300 + [0.0] + [1e300] * 20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = 1 / a
        z = (a * a) * 1e-300 + y
        numpy.asarray(z)
    return z, sorted(str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a: (a - 1) / 0,
        lambda xp, a: a * a * 1e308,
        lambda xp, a: xp.sqrt(-a),
        lambda xp, a: a * 1e308 > -xp.inf,
        lambda xp, a: xp.sqrt(-a) < 0,
        lambda xp, a: xp.abs(a - xp.inf * a) < 0,
        lambda xp, a: xp.signbit(xp.copysign(a * 1e308, 1)),
        lambda xp, a: (a * 1e300).astype("float32"),
    ],
)
@pytest.mark.parametrize("is_held", [False, True])
def test_conditions_of_values_that_nothing_uses(xp, function, is_held):
    """LLVM could prove that the result does not depend on the value."""
    a = xp.arange(100.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(xp, a)
        if not is_held:
            del result
        mxnp.synchronize()
    return sorted(str(warning.message) for warning in caught), caught != []


def test_a_condition_of_an_operation_in_place(xp):
    a = xp.asarray([2.0] * 700 + [0.0, 1e300] + [3.0] * 700)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a += 1
        a -= 1
        a *= a
        a /= a - 4
        numpy.asarray(a)
    return a, sorted(str(warning.message) for warning in caught)


@pytest.mark.parametrize("step", [1, 3])
def test_a_condition_in_one_block_of_operations_in_place(xp, step):
    """Blocks have two runs and calls that are not compiled, and only one overflows."""
    a = (xp.arange(60_000.0) % 50).reshape(200, 300)[:, ::step]
    a[100, 7] = 1e200
    b = a / 2
    numpy.asarray(b)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a += 1
        a *= 0.5
        xp.hypot(a, 2, out=a)
        a *= a
        a -= 1
        xp.hypot(b, 2, out=b)
        c = xp.isnan(xp.hypot(a, 2))
        numpy.asarray(a)
    return a, b, c, sorted(str(warning.message) for warning in caught)


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_a_condition_after_a_cast_of_what_is_overwritten(xp, dtype):
    """The result of a run may take the scratch memory of its input."""
    a = (xp.arange(3000) % 50).astype(dtype)
    b = xp.asarray(
        [1.5] * 1400 + [xp.inf, -xp.inf, 3e38] + [2.5] * 1597, dtype="float32"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a[...] = ((a.real.astype("float32") - b) * b + b).astype(dtype)
        numpy.asarray(a)
    return a, sorted(str(warning.message) for warning in caught)


@needs_fusion
def test_the_longest_group():
    """A group has 40 operations at most, and one kernel computes them all."""
    a = mxnp.arange(1000.0)
    mxnp.synchronize()
    y = a
    for _ in range(20):
        y = y * 0.5 + a
    mxnp.synchronize()
    (group,) = core.last_flush()
    assert group.compiled == len(group.operations) == 40


def test_signals_while_a_group_is_compiled():
    """An exception of a handler is not lost in the compiler."""
    program = """
import os, signal, mxnp as np
from mxnp._jit.compiler import compile_program
def handle(number, frame):
    raise TimeoutError
def compile_key(key):
    os.kill(os.getpid(), signal.SIGALRM)
    return compile_program(key, 1)
signal.signal(signal.SIGALRM, handle)
np._bridge.set_compiler(compile_key, True)
a = np.ones(60)
for n in range(1, 21):
    y = a
    for _ in range(n):
        y = y * 2 + 1
    try:
        y.tolist()
    except TimeoutError:
        print(n, y[0] == 2 ** (n + 1) - 1)
np._bridge.stop_compiler()
"""
    printed = run_program(program, MXNP_JIT="always")
    assert printed == "".join(f"{n} True\n" for n in range(1, 21))


# -- The thread that compiles ----------------------------------------------------------

PROGRAM = """
import numpy, mxnp as np
from mxnp._engine import core
a = np.arange(1_000_000.0)
def compute():
    return numpy.asarray((a * 2 + 1) * a - np.sqrt(a))
expected = compute()
for _ in range(30):
    assert (compute() == expected).all()
core.wait_for_compiler()
assert (compute() == expected).all()
"""


def run_program(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MXNP_THRESHOLD": "0", "MXNP_FUSE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


COUNT = "print(core.CompiledStats().kernels, core.CompiledStats().failures)"


def test_hot_groups_are_compiled_in_the_background(tmp_path):
    program = PROGRAM + COUNT
    printed = run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "1 0\n"
    assert len(list(tmp_path.glob("*.code"))) == 1


def test_one_operation_is_not_compiled(tmp_path):
    program = PROGRAM.replace("(a * 2 + 1) * a - np.sqrt(a)", "np.sqrt(a)") + COUNT
    printed = run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "0 0\n"


def test_nothing_is_compiled_if_it_is_off(tmp_path):
    program = PROGRAM + COUNT
    printed = run_program(program, MXNP_JIT="0", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "0 0\n"


@pytest.mark.parametrize(
    "without",
    [
        "import sys; sys.modules['llvmlite'] = None\n",
        "from llvmlite import binding; binding.llvm_version_info = (15, 0, 7)\n",
    ],
)
def test_programs_run_without_llvmlite_or_with_an_old_one(without, tmp_path):
    program = without + PROGRAM + COUNT
    printed = run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "0 0\n"


def test_a_second_process_compiles_nothing(tmp_path):
    """The second process has no function that compiles."""
    environment = {"MXNP_JIT": "always", "MXNP_JIT_CACHE": str(tmp_path)}
    printed = run_program(PROGRAM + COUNT, **environment)
    program = """
from mxnp._jit import compiler
del compiler._Compiler._compile
"""
    assert run_program(program + PROGRAM + COUNT, **environment) == printed


def test_damaged_code_is_compiled_again(tmp_path):
    environment = {"MXNP_JIT": "always", "MXNP_JIT_CACHE": str(tmp_path)}
    printed = run_program(PROGRAM + COUNT, **environment)
    for file in tmp_path.glob("*.code"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert run_program(PROGRAM + COUNT, **environment) == printed


def test_clear_cache_deletes_the_code(tmp_path):
    program = PROGRAM + "np.clear_cache()"
    run_program(program, MXNP_JIT="always", MXNP_JIT_CACHE=str(tmp_path))
    assert not list(tmp_path.glob("*.code"))


def test_a_failure_of_the_compiler_is_counted_once(tmp_path):
    program = (
        """
from mxnp._jit import compiler
def fail(self, text):
    raise RuntimeError("no code today")
compiler._Compiler._compile = fail
"""
        + PROGRAM
        + COUNT
    )
    printed = run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "0 1\n"


def test_a_child_compiles_too(tmp_path):
    program = (
        PROGRAM
        + """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork, from Python 3.12 on
child = os.fork()
if child == 0:
    b = np.arange(1_000_000.0)
    for _ in range(40):
        numpy.asarray((b + 2) * (b - 3) / (b + 1))
    core.wait_for_compiler()
    os._exit(core.CompiledStats().kernels)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    printed = run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path))
    assert printed == "2\n"


def test_exit_while_something_is_compiled(tmp_path):
    program = PROGRAM.replace("core.wait_for_compiler()", "raise SystemExit(0)")
    for _ in range(3):
        run_program(program, MXNP_JIT="1", MXNP_JIT_CACHE=str(tmp_path / "none"))
