"""What version 2025.12 of the Array API standard has and NumPy lacks.

Spellings and keywords that NumPy refuses are accepted with the meaning of the standard.
NumPy's functions handle all other calls. One result differs from NumPy's: see `_expm1`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, unwrap
from mxnp._engine import core
from mxnp._engine.devices import GPU, check_device, devices, get_device
from mxnp._engine.frames import frameless_members
from mxnp._namespace.mirror import find_counterpart, signatures

__all__ = ["STANDARD", "argsort", "compat", "extend", "populate"]

# The version of the standard that mxnp follows. NumPy supports the earlier ones.
STANDARD = "2025.12"


def compat() -> Any:
    """Return the module of array_api_compat that adapts NumPy to the standard."""
    import array_api_compat.numpy

    return array_api_compat.numpy


_Info: Any = numpy.__array_namespace_info__


class _Devices(tuple[Any, ...]):
    """A tuple of devices to which a list can be added.

    Earlier versions of the standard returned a list, and programs add to it.
    """

    __slots__ = ()

    def __add__(self, other: Any, /) -> Any:
        return [*self, *other] if isinstance(other, list) else super().__add__(other)


@frameless_members
class __array_namespace_info__(_Info):  # type: ignore[misc]  # noqa: N801
    __doc__ = _Info.__doc__
    __module__ = "mxnp"

    def devices(self) -> tuple[Any, ...]:
        """
        Return the devices on which arrays can be.

        Returns
        -------
        tuple of str
            The devices.

        Notes
        -----
        Unlike NumPy, which follows an earlier version of the standard, this method
        returns a tuple. A list can be added to it, as to NumPy's list.
        """
        return _Devices(devices())

    def default_device(self) -> str:
        """
        Return the device of new arrays.

        Returns
        -------
        str
            The GPU if it is the current device, or else "cpu".
        """
        return GPU if get_device() == GPU else "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """
        Return the default dtypes of new arrays.

        Parameters
        ----------
        device : str, optional
            The device. With the GPU, the result has the default dtypes of calls with
            this ``device``.

        Returns
        -------
        dict of str to dtype
            The dtypes by kind.

        Raises
        ------
        ValueError
            If the machine lacks the device.
        """
        if device != GPU:
            found: dict[str, Any] = super().default_dtypes(device=device)
            return found
        check_device(device)
        of_device: dict[str, Any] = super().default_dtypes()
        if "float64" not in core.gpu().types:
            of_device["real floating"] = numpy.dtype("float32")
            of_device["complex floating"] = numpy.dtype("complex64")
        return of_device

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """
        Return the dtypes that a device supports.

        Parameters
        ----------
        device : str, optional
            The device. A GPU may lack float64 and complex128.
        kind : str or tuple of str, optional
            The kinds of dtypes to return, as in the standard, such as "real floating".

        Returns
        -------
        dict of str to dtype
            The dtypes by name.

        Raises
        ------
        ValueError
            If the machine lacks the device.
        """
        if device != GPU:
            of_numpy: dict[str, Any] = super().dtypes(device=device, kind=kind)
            return of_numpy
        check_device(device)
        known = core.gpu().types
        found = super().dtypes(kind=kind)
        return {name: dtype for name, dtype in found.items() if name in known}


def populate(module: types.ModuleType) -> None:
    """
    Add the standard's names that NumPy lacks, or that differ from NumPy's, to a module.

    Parameters
    ----------
    module : module
        The module ``mxnp``. Names that it already has are replaced.
    """
    names = vars(module)
    names["__array_api_version__"] = STANDARD
    names["__array_namespace_info__"] = __array_namespace_info__


def extend(
    original: Any,
    extension: Any,
    accepts: Callable[..., bool],
    signature: bool = True,
    least: int = 2,
    rule: str = "n",
) -> None:
    """
    Make the counterpart of a function accept calls that NumPy's function refuses.

    NumPy's function handles all other calls.

    Parameters
    ----------
    original : callable
        NumPy's function.
    extension : callable
        The function for the additional calls. It takes and returns NumPy arrays.
    accepts : callable
        Called with the positional arguments and the keywords of each call. It returns
        whether `extension` handles the call.
    signature : bool, optional
        Whether the counterpart has the signature of `extension`, if it is in `numpy`.
    least : int, optional
        The least number of arguments of the additional calls.
    rule : str, optional
        Which calls they are: see `Function.choose_rule`.
    """

    def choose(*args: Any, **kwargs: Any) -> Any:
        return extension if accepts(args, kwargs) else original

    counterpart = find_counterpart(original)
    counterpart.choose, counterpart.choose_from = choose, least
    counterpart.choose_rule = rule
    if signature and not isinstance(original, numpy.ufunc):
        signatures[original.__name__] = extension


# -- Spellings and keywords -----------------------------------------------------------


def fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return the frequencies of a transform."""
    return compat().fft.fftfreq(n, d=d, device=device, dtype=dtype)


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return the frequencies of a transform of real numbers."""
    return compat().fft.rfftfreq(n, d=d, device=device, dtype=dtype)


# `mxnp.fft` may be imported after its functions have been used.
signatures.update({"fft.fftfreq": fftfreq, "fft.rfftfreq": rfftfreq})


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
    a, axis, keywords = _sort_arguments(a, axis, kind, order, stable)
    return compat().sort(a, axis=axis, descending=True, **keywords)


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = False,
) -> Any:
    """Return the indices that sort an array. The default sort is stable."""
    a, axis, keywords = _sort_arguments(a, axis, kind, order, stable)
    return compat().argsort(a, axis=axis, descending=descending, **keywords)


def _sort_arguments(
    a: Any, axis: int | None, kind: Any, order: Any, stable: bool | None
) -> tuple[Any, int, dict[str, Any]]:
    """Return the array, axis and keywords of a sort that is stable by default."""
    if kind is not None and stable is not None:
        numpy.sort([], kind=kind, stable=stable)  # raises NumPy's error
    a = numpy.asanyarray(a)
    if axis is None:
        a, axis = a.ravel(), -1
    keywords: dict[str, Any] = {"stable": stable is not False and kind is None}
    if kind is not None:
        keywords["kind"] = kind
    if order is not None:
        keywords["order"] = order
    return a, axis, keywords


def _has_one_positional_bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call of clip passes one bound by position, as NumPy refuses."""
    return len(args) == 2 and not {"a_max", "min"} & kwargs.keys()


extend(numpy.clip, _clip, _has_one_positional_bound)
for _function, _extension in ((numpy.sort, _sort), (numpy.argsort, argsort)):
    extend(_function, _extension, lambda _, named: "descending" in named, rule="k")


# -- Values ---------------------------------------------------------------------------


def _is_limit(z: Any) -> Any:
    """Return where complex numbers are not finite, or zero with a real part of -0."""
    return ~numpy.isfinite(z) | ((z == 0) & numpy.signbit(z.real))


def _has_limits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether the operand of a ufunc is complex and contains such numbers."""
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
    Return exp(x) - 1 with the limits of the standard for complex x.

    Unlike NumPy, which returns NaN for many infinite x, because it computes inf * 0:
    expm1(inf + 0j) is inf + 0j, and expm1(-0 + 0j) is 0.
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


extend(numpy.expm1, _expm1, _has_limits, least=1)
