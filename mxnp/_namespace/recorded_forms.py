"""The registry of NumPy's functions and methods that have a recorded form.

The recorded form of a function is called before NumPy's function, with the arguments
of the program, if the call is large and its arguments are ordinary. It records
operations, or it returns NotImplemented for every case that it does not handle exactly
as NumPy does, or it raises an exception. NumPy's function is called then: its rules,
its warnings and its errors apply.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from mxnp._bridge import Function
from mxnp._engine.devices import GPU, devices

from .mirror import find_counterpart
from .ordinary import takes_ordinary

SizeRule = Literal["arrays", "shape", "range", "draws", "any"]
_SIZE_RULES: dict[SizeRule, str] = {
    "arrays": "a",
    "shape": "s",
    "range": "r",
    "draws": "d",
    "any": "q",
}
_Implementation = TypeVar("_Implementation", bound=Callable[..., Any])


class RecordedForm(NamedTuple):
    """The recorded form of a function, and the calls that it receives."""

    implementation: Callable[..., Any]
    threshold_factor: int
    size_rule: SizeRule
    size_place: int = 0


# By NumPy's function or method.
forms: dict[Any, RecordedForm] = {}


def implements(
    *originals: Any,
    threshold_factor: int = 1,
    size_rule: SizeRule = "arrays",
    size_place: int = 0,
    needs_gpu: bool = False,
) -> Callable[[_Implementation], _Implementation]:
    """
    Declare that the decorated function is the recorded form of functions of NumPy.

    Parameters
    ----------
    *originals : callable
        Functions of NumPy, such as ``numpy.sum``, or methods, such as
        ``numpy.ndarray.sum`` and ``numpy.ufunc.reduce``. A method's recorded form
        receives the object first.
    threshold_factor : int, optional
        The multiple of the threshold from which a call is large. It applies to the size
        rules "arrays", "shape" and "draws". Smaller calls are faster in NumPy.
    size_rule : {"arrays", "shape", "range", "draws", "any"}, optional
        What the size of a call is: the size of the largest array among its arguments,
        the size of the shape that is its first argument, the length of a range, or the
        number of random numbers. A call with a lazy array is always large with
        "arrays", and every call is large with "any".
    size_place : int, optional
        With "draws", the place of the argument `size`, or -1 if the arguments are the
        shape.
    needs_gpu : bool, optional
        Whether there is a recorded form only on machines that have a GPU.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.
    """

    def declare(implementation: _Implementation) -> _Implementation:
        if GPU in devices() or not needs_gpu:
            checked = takes_ordinary(implementation)
            form = RecordedForm(checked, threshold_factor, size_rule, size_place)
            for original in originals:
                forms[original] = form
                attach(_counterpart(original), original)
        return implementation

    return declare


def attach(counterpart: Function, original: Any, *arguments: Any) -> None:
    """Attach the recorded form of `original`, if any, with its first arguments."""
    form = forms.get(original)
    if form is not None:
        call = form.implementation
        counterpart.implementation = partial(call, *arguments) if arguments else call
        counterpart.threshold_factor = form.threshold_factor
        counterpart.size_rule = _SIZE_RULES[form.size_rule]
        counterpart.size_place = form.size_place


def _counterpart(original: Any) -> Any:
    """Return the mxnp function or method that replaces one of NumPy's."""
    owner = getattr(original, "__objclass__", None)
    if owner is None:
        return find_counterpart(original)
    return vars(find_counterpart(owner))[original.__name__]
