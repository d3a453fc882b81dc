"""What version 2025.12 of the Array API standard has beyond NumPy.

Spellings and keywords that NumPy refuses are taken as the standard means them; calls
that NumPy takes are NumPy's own. One result differs from NumPy's: see `_expm1`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, unwrap
from mxnp._bridge import Function
from mxnp._engine import core
from mxnp._engine.devices import check_device, devices, get_device
from mxnp._namespace.mirror import cross

__all__ = ["STANDARD", "argsort", "extend", "populate"]

# The version of the standard that mxnp follows. NumPy supports the earlier ones.
STANDARD = "2025.12"


def _compat() -> Any:
    """Give array_api_compat's NumPy, which takes the standard's spellings."""
    import array_api_compat.numpy

    return array_api_compat.numpy


# From NumPy 2.1 on.
_Info: Any = getattr(numpy, "__array_namespace_info__", None)
if _Info is None:
    _Info = _compat().__array_namespace_info__


class _Devices(tuple[Any, ...]):
    """Names of devices: a tuple that can be joined to a list.

    The standard had a list before version 2025.12, and programs add to that list.
    """

    __slots__ = ()

    def __add__(self, other: Any, /) -> Any:
        return [*self, *other] if isinstance(other, list) else super().__add__(other)


class __array_namespace_info__(_Info):  # type: ignore[misc]  # noqa: N801
    __doc__ = _Info.__doc__
    __module__ = "mxnp"

    def devices(self) -> tuple[Any, ...]:
        """
        Give the devices that arrays can be on.

        Returns
        -------
        tuple
            The devices.

        Notes
        -----
        Unlike NumPy, which follows an earlier version of the standard, a tuple. A
        list can be added to it, as to NumPy's list.
        """
        return _Devices(devices())

    def default_device(self) -> str:
        """
        Give the device that operations are recorded for.

        Returns
        -------
        str
            "metal" if that is the current device, else "cpu".
        """
        return "metal" if get_device() == "metal" else "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """
        Give the dtypes of new arrays.

        Parameters
        ----------
        device : str, optional
            With "metal", those that functions choose for ``device="metal"``.

        Returns
        -------
        dict
            dtypes by kind.
        """
        if device != "metal":
            found: dict[str, Any] = super().default_dtypes(device=device)
            return found
        check_device(device)
        of_device: dict[str, Any] = super().default_dtypes()
        of_device["real floating"] = numpy.dtype("float32")
        of_device["complex floating"] = numpy.dtype("complex64")
        return of_device

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """
        Give the dtypes that a device has.

        Parameters
        ----------
        device : str, optional
            "metal" has no float64 and complex128.
        kind : str or tuple of str, optional
            Which of them, in the standard's words.

        Returns
        -------
        dict
            dtypes by name.
        """
        if device != "metal":
            all_of_them: dict[str, Any] = super().dtypes(device=device, kind=kind)
            return all_of_them
        check_device(device)
        known = core.metal_types()
        found = super().dtypes(kind=kind)
        return {name: dtype for name, dtype in found.items() if name in known}


def populate(module: types.ModuleType) -> None:
    """
    Give the top module the standard's names that NumPy has not, or has otherwise.

    Parameters
    ----------
    module : module
        The module; names it has already are replaced.
    """
    names = vars(module)
    names["__array_api_version__"] = STANDARD
    names["__array_namespace_info__"] = __array_namespace_info__
    for name in ("cumulative_prod", "cumulative_sum", "unstack"):  # from NumPy 2.1 on
        if not hasattr(numpy, name):
            names[name] = Function(getattr(_compat(), name))


def extend(
    original: Any, other: Any, wanted: Callable[..., bool], signature: bool = True
) -> None:
    """
    Let a function take calls that NumPy's does not.

    NumPy's stays the one that is wrapped, and that takes NumPy's calls.

    Parameters
    ----------
    original : callable
        NumPy's function.
    other : callable
        Takes and gives NumPy's arrays, for the calls that are `wanted`.
    wanted : callable
        Called with the positional arguments and the keywords of each call.
    signature : bool, optional
        Whether the function gets the signature of `other`.
    """

    def choose(*args: Any, **kwargs: Any) -> Any:
        return other if wanted(args, kwargs) else original

    ours = cross(original, "numpy")
    ours.choose = choose
    if signature and not isinstance(original, numpy.ufunc):
        described = inspect.signature(other)
        ours.__signature__ = described.replace(
            parameters=[
                each.replace(annotation=inspect.Parameter.empty)
                for each in described.parameters.values()
            ],
            return_annotation=inspect.Signature.empty,
        )


# -- Spellings and keywords -----------------------------------------------------------


def _clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    **kwargs: Any,
) -> Any:
    return numpy.clip(a, min, max, out, **kwargs)


def _sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = False,
) -> Any:
    if not descending:
        return numpy.sort(a, axis, kind, order, stable=stable)
    a, axis, keywords = _sorting(a, axis, kind, order, stable)
    return _compat().sort(a, axis=axis, descending=True, **keywords)


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = False,
) -> Any:
    """Give the indices that sort an array: stable unless the call says otherwise."""
    a, axis, keywords = _sorting(a, axis, kind, order, stable)
    return _compat().argsort(a, axis=axis, descending=descending, **keywords)


def _sorting(
    a: Any, axis: int | None, kind: Any, order: Any, stable: bool | None
) -> tuple[Any, int, dict[str, Any]]:
    """Give array, axis and keywords of a sort that is stable unless told otherwise."""
    if kind is not None and stable is not None:
        numpy.sort([], kind=kind, stable=stable)  # NumPy's error
    a = numpy.asanyarray(a)
    if axis is None:
        a, axis = a.ravel(), -1
    keywords: dict[str, Any] = {"stable": stable is not False and kind is None}
    if kind is not None:
        keywords["kind"] = kind
    if order is not None:
        keywords["order"] = order
    return a, axis, keywords


def _fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    return _compat().fft.fftfreq(n, d=d, device=device, dtype=dtype)


def _rfftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    return _compat().fft.rfftfreq(n, d=d, device=device, dtype=dtype)


# From NumPy 2.1 on.
_HAS_MIN = "min" in inspect.signature(numpy.clip).parameters


def _one_bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether clip's bounds are given as NumPy refuses them: one by position."""
    if len(args) == 1 and not _HAS_MIN:
        return bool({"min", "max"} & kwargs.keys())
    return len(args) == 2 and not {"a_max", "min"} & kwargs.keys()


extend(numpy.clip, _clip, _one_bound)
extend(numpy.sort, _sort, lambda args, kwargs: "descending" in kwargs)
extend(numpy.argsort, argsort, lambda args, kwargs: "descending" in kwargs)
extend(numpy.fft.fftfreq, _fftfreq, lambda args, kwargs: "dtype" in kwargs)
extend(numpy.fft.rfftfreq, _rfftfreq, lambda args, kwargs: "dtype" in kwargs)


# -- Values ---------------------------------------------------------------------------


def _is_limit(z: Any) -> Any:
    """Tell where complex numbers are not finite, or zero with a real part of -0."""
    return ~numpy.isfinite(z) | ((z == 0) & numpy.signbit(z.real))


def _has_limits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether the operand of a ufunc is complex and has such numbers."""
    if not args or type(args[0]) not in _OPERANDS:
        return False
    z = numpy.asarray(unwrap(args[0]))
    return z.dtype.kind == "c" and bool(_is_limit(z).any())


_OPERANDS = {ndarray, numpy.ndarray, *numpy.sctypeDict.values()} | {
    complex,
    list,
    tuple,
}


def _expm1(x: Any, /, *args: Any, where: Any = True, **kwargs: Any) -> Any:
    """
    Give exp(x) - 1 with its limits where complex x is not finite, and 0 for -0 + 0j.

    Unlike NumPy, which computes NaN from inf * 0 there: expm1(inf + 0j) is inf + 0j.
    """
    z = numpy.asarray(x)
    at = _is_limit(z)
    limits = numpy.zeros_like(z)
    with numpy.errstate(all="ignore"):
        limits[at] = numpy.exp(z[at]) - 1
    result = numpy.expm1(numpy.where(at, 0, z), *args, where=where, **kwargs)
    filled = numpy.asarray(result)
    numpy.copyto(filled, limits, where=at & where)
    return result if isinstance(result, numpy.ndarray) else filled[()]


extend(numpy.expm1, _expm1, _has_limits)
