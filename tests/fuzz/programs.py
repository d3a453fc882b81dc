"""Run programs, whose steps are statements, with NumPy and with mxnp side by side."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy

import mxnp
from mxnp._engine import core

from . import foreign, unusual

GPU = core.gpu()
ON_GPU = os.environ.get("MXNP_DEVICE") == GPU.name or (
    bool(GPU.models) and os.environ.get("MXNP_DEVICE", "auto") == "auto"
)

SPECIAL = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf, 1e-3, 300.0, -7.5]


@dataclass(frozen=True)
class Step:
    """
    One statement.

    Attributes
    ----------
    text : str
        The statement. Arrays are named ``a0``, ``a1`` ..., NumPy arrays that share
        their memory ``n0`` ..., and values read from them ``s0`` ....
    is_exact : bool
        Whether results must agree with NumPy's to the last bit, not only nearly.
    is_checked : bool
        Whether all names are compared after the statement, which runs the queue.
    """

    text: str
    is_exact: bool = True
    is_checked: bool = False


Program = Sequence[Step]


@dataclass(frozen=True)
class Difference:
    """The step in which mxnp and NumPy differ, and a description of the difference."""

    step: int
    message: str


def numbers(seed: int, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Return small numbers, which are exact in any dtype, and a few special values."""
    random = numpy.random.default_rng(seed)
    kind = numpy.dtype(dtype).kind
    if kind in "biu":
        low, high = {"b": (0, 2), "u": (0, 100), "i": (-50, 100)}[kind]
        return random.integers(low, high, shape).astype(dtype)
    values = random.integers(-20, 40, shape) / 4.0
    is_special = random.random(shape) < 0.05 * (seed % 3 == 0)
    values = numpy.where(is_special, random.choice(SPECIAL, shape), values)
    if kind == "c":
        values = values + 1j * (random.integers(-20, 40, shape) / 4.0)
    return numpy.asarray(values).astype(dtype)


def namespace(xp: Any) -> dict[str, Any]:
    """Return the initial names of a program."""

    def make(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
        return xp.array(numbers(seed, shape, dtype))

    names = {"np": xp, "numpy": numpy, "make": make, "foreign": foreign}
    names |= {"unusual": unusual, "warnings": warnings}
    return names


@contextmanager
def quiet() -> Iterator[None]:
    """
    Ignore warnings.

    The queue runs when the block begins and when it ends, so it contains whole programs.
    """
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def attempt(step: Step, names: dict[str, Any]) -> tuple[type, str] | None:
    """Run a statement; return the class and the message of its error, or None."""
    try:
        exec(step.text, names)
    except Exception as error:
        return type(error), str(error)
    return None


def compare_errors(step: Step, error: Any, theirs: dict[str, Any]) -> str:
    """Run a statement with NumPy, too; return how the errors differ, if they do."""
    expected = attempt(step, theirs)
    if error is None and expected and expected[0] is IndexError:
        # If the indices are lazy, the error is raised when the result is needed.
        error = attempt(Step("np.synchronize()"), {"np": mxnp})
    return "" if error == expected else f"{error} was raised, not {expected}"


def run(program: Program) -> Difference | None:
    """Run a program with both libraries and return the first difference, or None."""
    with quiet():
        return _run(program, namespace(mxnp), namespace(numpy))


def _run(
    program: Program, ours: dict[str, Any], theirs: dict[str, Any]
) -> Difference | None:
    for number, step in enumerate(program):
        message = compare_errors(step, attempt(step, ours), theirs)
        is_exact = step.is_exact and not (ON_GPU and _has_device_floats(theirs))
        is_last = number == len(program) - 1
        if not message and (step.is_checked or not is_exact or is_last):
            message = compare(ours, theirs, is_exact)
        if message:
            return Difference(number, message)
    return None


def is_complete(program: Program) -> bool:
    """Return whether all names that statements use are defined."""
    names = namespace(numpy)
    with quiet():
        errors = [attempt(step, names) for step in program]
    gc.collect(0)
    return not any(error and error[0] is NameError for error in errors)


def script(program: Program) -> str:
    """Return a program as a script that can be run by itself."""
    head = (
        "import sys",
        "import numpy",
        "from tests.fuzz.programs import namespace",
        "import mxnp",
        "globals().update(namespace(numpy if sys.argv[1:] == ['numpy'] else mxnp))",
    )
    return "\n".join([*head, *(step.text for step in program)])


# -- Comparison -----------------------------------------------------------------------


def _names(names: dict[str, Any]) -> list[str]:
    # The names are copied first: a thread that runs the queue may add a registry of warnings.
    return sorted(name for name in [*names] if name[0] in "ans" and name[1:].isdigit())


def _has_device_floats(names: dict[str, Any]) -> bool:
    chars = "efdFD" if core.gpu_has_own_memory() else "efF"  # CUDA has float64
    return any(
        isinstance(names[name], numpy.ndarray) and names[name].dtype.char in chars
        for name in _names(names)
    )


def compare(ours: dict[str, Any], theirs: dict[str, Any], is_exact: bool) -> str:
    """Return the first difference, or ""; replace nearly equal results by NumPy's."""
    if _names(ours) != _names(theirs):
        return f"there are {_names(ours)}, not {_names(theirs)}"
    for name in _names(theirs):
        expected, got = theirs[name], ours[name]
        if not isinstance(expected, numpy.ndarray | numpy.generic):
            if type(got) is not type(expected) or repr(got) != repr(expected):
                return f"{name} is {got!r}, not {expected!r}"
            continue
        try:
            message = _compare_arrays(name, got, expected, is_exact)
            if not message and bits(got) != bits(expected):
                ours[name] = _settled(got, expected)
        except Exception as error:
            return f"{name} raises {error!r}"
        if message:
            return message
    return ""


def _settled(got: Any, expected: Any) -> Any:
    """Return an array or scalar with NumPy's numbers instead of nearly equal ones."""
    if isinstance(expected, numpy.ndarray) and got.flags.writeable:
        got[...] = expected
        return got
    return mxnp.array(expected) if isinstance(expected, numpy.ndarray) else expected


def _compare_arrays(name: str, got: Any, expected: Any, is_exact: bool) -> str:
    is_array = isinstance(expected, numpy.ndarray)
    wanted = mxnp.ndarray if is_array else type(expected)
    if name[0] != "n" and type(got) is not wanted:
        return f"{name} is a {type(got)}, not a {wanted}"
    for word in ("dtype", "shape"):
        if getattr(got, word) != getattr(expected, word):
            return (
                f"{name}.{word} is {getattr(got, word)}, not {getattr(expected, word)}"
            )
    if is_array and _steps(got) != _steps(expected):
        return f"{name}.strides are {got.strides}, not {expected.strides}"
    values = numpy.array(got)
    if bits(values) == bits(expected):
        return ""
    if is_exact or not _is_near(values, numpy.asarray(expected)):
        return f"{name} is\n{got!r}, not\n{expected!r}"
    return ""


def _steps(a: Any) -> list[int]:
    if 0 in a.shape:
        return []
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


def bits(a: Any) -> bytes:
    """Return the bytes of an array in C order, with all NaN replaced by the same one."""
    a = numpy.array(a, order="C")
    if a.dtype.kind in "fc":
        parts = a.reshape(-1).view(a.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
    return a.tobytes()


def _is_near(ours: numpy.ndarray, theirs: numpy.ndarray) -> bool:
    """Return whether floats agree, up to some last bits of the largest one."""
    if theirs.dtype.kind not in "fc":
        return False
    parts = [x.reshape(-1).view(x.real.dtype) for x in map(_in_order, (ours, theirs))]
    mine, wanted = parts
    if (numpy.isnan(mine) != numpy.isnan(wanted)).any():
        return False
    finite = numpy.isfinite(wanted)
    if (numpy.isfinite(mine) != finite).any():
        return False
    # Infinities must have the same sign.
    if (mine[~finite] != wanted[~finite])[~numpy.isnan(wanted[~finite])].any():
        return False
    limits = numpy.finfo(wanted.dtype)
    if limits.bits == 16:
        # NumPy rounds after each step of a sum of float16, and cannot count beyond 2048.
        finite[finite] = numpy.maximum(abs(mine[finite]), abs(wanted[finite])) < 2048
    mine, wanted = mine[finite].astype("f8"), wanted[finite].astype("f8")
    largest = max(1.0, float(numpy.abs(wanted).max(initial=0)))
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(mine - wanted)
    # NumPy adds rows one by one, so a sum of 20,000 rows is off by some hundred last bits.
    bound = 1024 * float(limits.eps) * largest + float(limits.tiny)
    return bool((apart <= bound).all())


def _in_order(a: numpy.ndarray) -> numpy.ndarray:
    return numpy.array(a, order="C")
