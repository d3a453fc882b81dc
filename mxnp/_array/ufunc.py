"""Universal functions: NumPy's ufuncs, with mxnp arrays as operands and results."""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._bridge import Function, make_function
from mxnp._engine import core
from mxnp._engine.frames import frameless_members

from .members import add_members
from .ndarray import Subclass, described, ndarray

__all__ = ["OPERATIONS", "named", "ufunc"]


class UfuncType(type):
    """The metaclass of `ufunc`, which makes NumPy's ufuncs instances of it too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, numpy.ufunc) or type(instance) is cls

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, numpy.ufunc)


class _Documentation:
    """The docstring of a ufunc: NumPy's, unless the program sets another one."""

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, instance: ufunc | None, owner: type) -> str | None:
        return self.of_class if instance is None else instance.__wrapped__.__doc__


@frameless_members
class ufunc(Function, metaclass=UfuncType):  # noqa: N801
    """
    Function that operates element by element on whole arrays.

    It has every member of `numpy.ufunc`: attributes such as ``nin`` and ``types``, and
    the methods ``reduce``, ``accumulate``, ``reduceat``, ``outer``, ``at`` and
    ``resolve_dtypes``.

    See Also
    --------
    numpy.ufunc
    """

    __module__ = "mxnp"

    def __new__(cls, wrapped: Any = None, /) -> ufunc:
        if not isinstance(wrapped, numpy.ufunc):
            raise TypeError("cannot create 'numpy.ufunc' instances")
        self: ufunc = make_function(cls, wrapped, OPERATIONS.get(wrapped, -1))
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Return the content of a pickle, which names the ufunc as in NumPy."""
        import pickle

        if self.is_standard:
            return (_bridge.standard, (named(self.__wrapped__),))
        by_name = pickle.loads(pickle.dumps(self.__wrapped__)) is self.__wrapped__
        return (named, (self.__wrapped__,)) if by_name else self.__name__


def is_numpys(function: numpy.ufunc) -> bool:
    """Check whether a ufunc is NumPy's own, which has its name in NumPy."""
    return vars(numpy).get(function.__name__) is function


def named(wrapped: numpy.ufunc) -> ufunc:
    """Return the mxnp ufunc of a NumPy ufunc. There is one for each."""
    known = _known.get(wrapped)
    if known is None:
        made = make_function(ufunc, wrapped, OPERATIONS.get(wrapped, -1))
        known = _known.setdefault(wrapped, made)
    return known


_known: dict[numpy.ufunc, ufunc] = {}
# The ufuncs of csrc/ir/ops.def that this version of NumPy has, and their rows.
OPERATIONS: dict[numpy.ufunc, int] = {
    getattr(numpy, name): row
    for row, name in enumerate(core.op_names())
    if hasattr(numpy, name)
}


ufunc.__doc__ = _Documentation(ufunc.__doc__)  # type: ignore[assignment]

# Members that are not taken from numpy.ufunc.
_EXCLUDED = {"__dict__", "__doc__", "__name__", "__qualname__", "__str__"}

add_members(
    ufunc, numpy.ufunc, excluded=_EXCLUDED | set(vars(ufunc)) | set(vars(Function))
)
_bridge.set_types(ndarray, ufunc, numpy.ndarray, Subclass, described)
_bridge.name_like(ufunc, numpy.ufunc)
