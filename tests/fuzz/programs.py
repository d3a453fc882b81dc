"""Programs of one statement a step, run with NumPy and with mxnp side by side."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

import mxnp
from mxnp._engine import core

ON_GPU = os.environ.get("MXNP_DEVICE") == core.gpu().name

SPECIAL = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf, 1e-3, 300.0, -7.5]


@dataclass(frozen=True)
class Step:
    """
    One statement.

    Attributes
    ----------
    text : str
        The statement, with arrays named ``a0``, ``a1`` ..., NumPy's own arrays over
        their memory ``n0`` ..., and what was read from them ``s0`` ....
    is_exact : bool
        Whether results are NumPy's to the last bit, rather than near them.
    is_checked : bool
        Whether all names are compared after it, for which all of it must have run.
    """

    text: str
    is_exact: bool = True
    is_checked: bool = False


Program = Sequence[Step]


@dataclass(frozen=True)
class Difference:
    """Where mxnp did something else than NumPy: the step, and what is not the same."""

    step: int
    words: str


def numbers(seed: int, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Give some numbers: small ones that are exact in any dtype, and a few special ones."""
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
    """Return the names that a program begins with."""

    def make(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
        return xp.array(numbers(seed, shape, dtype))

    return {"np": xp, "numpy": numpy, "make": make}


def run_step(step: Step, names: dict[str, Any]) -> tuple[type, str] | None:
    """Run a statement; return the class and the words of its error."""
    try:
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(step.text, names)
    except Exception as error:
        return type(error), str(error)
    return None


def run(program: Program) -> Difference | None:
    """Run a program twice, and give the first difference."""
    theirs, ours = namespace(numpy), namespace(mxnp)
    for number, step in enumerate(program):
        error = run_step(step, theirs)
        our_error = run_step(step, ours)
        if our_error != error:
            return Difference(number, f"{our_error} was raised, not {error}")
        is_exact = step.is_exact and not (ON_GPU and _has_device_floats(theirs))
        if step.is_checked or not is_exact or number == len(program) - 1:
            words = compare(ours, theirs, is_exact)
            if words:
                return Difference(number, words)
    return None


def is_complete(program: Program) -> bool:
    """Return whether no statement needs a name that is not there."""
    names = namespace(numpy)
    errors = [run_step(step, names) for step in program]
    gc.collect(0)
    return not any(error and error[0] is NameError for error in errors)


def script(program: Program) -> str:
    """Write a program as one that a person can run."""
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
    # A list at once: another thread that runs the queue puts warnings' registries there.
    return sorted(name for name in [*names] if name[0] in "ans" and name[1:].isdigit())


def _has_device_floats(names: dict[str, Any]) -> bool:
    return any(
        isinstance(names[name], numpy.ndarray) and names[name].dtype.char in "efF"
        for name in _names(names)
    )


def compare(ours: dict[str, Any], theirs: dict[str, Any], is_exact: bool) -> str:
    """Say what is not the same, or nothing; what is near is made the same."""
    if _names(ours) != _names(theirs):
        return f"there are {_names(ours)}, not {_names(theirs)}"
    for name in _names(theirs):
        expected, got = theirs[name], ours[name]
        if not isinstance(expected, numpy.ndarray | numpy.generic):
            if type(got) is not type(expected) or repr(got) != repr(expected):
                return f"{name} is {got!r}, not {expected!r}"
            continue
        try:
            words = _compare_arrays(name, got, expected, is_exact)
            if not words and bits(got) != bits(expected):
                ours[name] = _settled(got, expected)
        except Exception as error:
            return f"{name} raises {error!r}"
        if words:
            return words
    return ""


def _settled(got: Any, expected: Any) -> Any:
    """Give NumPy's numbers in the place of those near them."""
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
    """Return the bytes of an array in C order, with one NaN for all of them."""
    a = numpy.array(a, order="C")
    if a.dtype.kind in "fc":
        parts = a.reshape(-1).view(a.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
    return a.tobytes()


def _is_near(ours: numpy.ndarray, theirs: numpy.ndarray) -> bool:
    """Return whether floats agree to some last bits of the largest of them."""
    if theirs.dtype.kind not in "fc":
        return False
    parts = [x.reshape(-1).view(x.real.dtype) for x in map(_in_order, (ours, theirs))]
    mine, wanted = parts
    if (numpy.isnan(mine) != numpy.isnan(wanted)).any():
        return False
    finite = numpy.isfinite(wanted)
    if (numpy.isfinite(mine) != finite).any():
        return False
    # Both are of one sign where neither is finite.
    if (mine[~finite] != wanted[~finite])[~numpy.isnan(wanted[~finite])].any():
        return False
    limits = numpy.finfo(wanted.dtype)
    mine, wanted = mine[finite].astype("f8"), wanted[finite].astype("f8")
    largest = max(1.0, float(numpy.abs(wanted).max(initial=0)))
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(mine - wanted)
    # NumPy adds rows one after the other: 20,000 of them end some hundred last bits away.
    bound = 1024 * float(limits.eps) * largest + float(limits.tiny)
    return bool((apart <= bound).all())


def _in_order(a: numpy.ndarray) -> numpy.ndarray:
    return numpy.array(a, order="C")
