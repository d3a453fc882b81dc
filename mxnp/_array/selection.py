"""The methods of ``a.at[key]``, which return changed copies of an array."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._engine.devices import device
from mxnp._engine.frames import frameless_members

from .ndarray import ndarray
from .ufunc import OPERATIONS, named, ufunc

_MODES = ("clip", "drop", "fill", "promise_in_bounds", "wrap")


@frameless_members
class Selection:
    """
    Elements of an array that a key selects.

    There is a method for each ufunc with two inputs and one output, such as ``add``,
    ``multiply`` or ``logical_and``. ``max``, ``min`` and ``divide`` are short names.
    Each method takes the values, an array that can be broadcast to the shape of
    ``a[key]``.

    Parameters
    ----------
    array : ndarray
        The array, of any shape and dtype.
    key : object
        Any index of NumPy.

    Notes
    -----
    The parameter ``mode`` of the methods decides what happens to indices out of bounds:

    - None: as for ``a[key]``. They raise an IndexError, or fast mode handles them;
    - "clip": the nearest element is used. Negative indices count from the end;
    - "wrap": the index modulo the size of the axis is used;
    - "drop" and "fill": the index is skipped, and `get` returns ``fill_value`` for it;
    - "promise_in_bounds": as None.

    The parameters ``indices_are_sorted`` and ``unique_indices`` of JAX are accepted and
    have no effect.
    """

    __slots__ = ("_array", "_key")

    def __init__(self, array: Any, key: Any) -> None:
        self._array, self._key = array, key

    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """
        Return the selected elements, as ``a[key]`` does.

        Parameters
        ----------
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            How to handle indices out of bounds; see `Selection`.
        fill_value : scalar, optional
            The value for an index out of bounds, with the modes "drop" and "fill". By
            default it is NaN, the least value of a signed integer dtype, the greatest
            value of an unsigned one, or True.
        indices_are_sorted, unique_indices : bool, optional
            Without effect.

        Returns
        -------
        ndarray or scalar
            The elements. Unlike ``a[key]``, an array is never a view.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        ValueError
            If `mode` is not a mode.
        """
        _check(mode)
        if mode in ("drop", "fill"):
            if fill_value is None:
                fill_value = _default_fill_value(self._array.dtype)
            padded, key = _pad(self._array, self._key)
            _fill_ends(padded, self._array.shape, fill_value)
            return padded[key]
        result = self._array[_adapt_key(self._array.shape, self._key, mode)]
        return result.copy() if isinstance(result, ndarray) else result

    def set(
        self,
        values: Any,
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> ndarray:
        """
        Return a copy of the array in which the elements are set to values.

        An element that is selected repeatedly is set to the last of its values.

        Parameters
        ----------
        values : array_like
            The values. They are cast to the dtype of the array, as by an assignment.
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            How to handle indices out of bounds; see `Selection`.
        indices_are_sorted, unique_indices : bool, optional
            Without effect.

        Returns
        -------
        ndarray
            A new array with the array's shape and dtype.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        ValueError
            If the values cannot be broadcast, or `mode` is not a mode.
        """
        row = _bridge.ASSIGN
        return _copy_and_change(self._array, self._key, mode, _assign, values, row=row)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> ndarray:
        """
        Return a copy of the array with a function applied to the elements.

        Parameters
        ----------
        func : callable
            A ufunc with one input is applied as often as an element is selected. Any
            other function is called once, with the array of the selected elements.
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            How to handle indices out of bounds; see `Selection`.
        indices_are_sorted, unique_indices : bool, optional
            Without effect.

        Returns
        -------
        ndarray
            A new array with the array's shape and dtype.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        ValueError
            If `mode` is not a mode.
        """

        def change(array: Any, key: Any) -> None:
            if isinstance(func, ufunc | numpy.ufunc):
                original: Any = getattr(func, "__wrapped__", func)
                vars(ufunc)["at"](named(original), array, key)
            else:
                array[key] = func(array[key])

        return _copy_and_change(self._array, self._key, mode, change)

    def __repr__(self) -> str:
        return f"<elements {self._key!r} of {object.__repr__(self._array)}>"


def _check(mode: str | None) -> None:
    if mode is not None and mode not in _MODES:
        names = ", ".join(map(repr, _MODES))
        raise ValueError(f"mode must be None or one of {names}, not {mode!r}")


# -- Changes ---------------------------------------------------------------------------


def _assign(array: Any, key: Any, values: Any) -> None:
    array[key] = values


def _copy_and_change(
    array: ndarray,
    key: Any,
    mode: str | None,
    change: Callable[..., None],
    *values: Any,
    row: int | None = None,
    in_order: bool = False,
) -> ndarray:
    """Return a changed copy.

    The core updates the copy if out-of-bounds indices are skipped, or if the updates
    must run in order. What the core cannot update in order, the processor does.
    """
    _check(mode)
    copy: ndarray = array.copy(order="K")
    skips = mode in ("drop", "fill")
    if not skips:
        key = _adapt_key(array.shape, key, mode)
    if row is not None and (skips or in_order):
        bounds = _bridge.DROP if skips else _bridge.IN_BOUNDS
        done = _bridge.update(row, copy, key, values[0], bounds, in_order)
        if done is not NotImplemented:
            return copy
    with device("cpu") if in_order else nullcontext():
        if not skips:
            change(copy, key, *values)
            return copy
        padded, key = _pad(array, key)
        change(padded, key, *values)
        changed: ndarray = padded[tuple(slice(n) for n in array.shape)].copy()
        return changed


def _is_basic(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return all(item is None or item is ... or isinstance(item, slice) for item in items)


def _make_method(op: Any) -> Callable[..., ndarray]:
    """Return the method of Selection for a ufunc."""

    def change(array: Any, key: Any, values: Any) -> None:
        # ufunc.at rounds the quotient of a complex and a Python number twice.
        is_exact = array.dtype.kind != "c" or isinstance(values, ndarray)
        if _is_basic(key) and is_exact:
            view = array[key]
            op(view, values, out=view, casting="unsafe")  # as ufunc.at casts
        else:
            op.at(array, key, values)

    def method(
        self: Selection,
        values: Any,
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        deterministic: bool = False,
    ) -> ndarray:
        return _copy_and_change(
            self._array,
            self._key,
            mode,
            change,
            values,
            row=op.operation,
            in_order=deterministic,
        )

    name = op.__name__
    method.__name__, method.__qualname__ = name, f"Selection.{name}"
    method.__doc__ = f"""
        Return a copy of the array, updated by ``{name}.at`` with values.

        Parameters
        ----------
        values : array_like
            Values that can be broadcast to the shape of ``a[key]``.
        mode : {{None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}}
            How to handle indices out of bounds; see `Selection`.
        indices_are_sorted, unique_indices : bool, optional
            Without effect.
        deterministic : bool, optional
            Whether floats at repeated indices are updated in the order of the values on
            a GPU too. The updates are sorted. If that is slow, or would not return
            NumPy's bits, they run on the processor.

        Returns
        -------
        ndarray
            A new array with the array's shape and dtype.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        TypeError
            If the ufunc has no loop for the dtypes.
        ValueError
            If the values cannot be broadcast, or `mode` is not a mode.
        """
    return method


for _ufunc in OPERATIONS:
    if _ufunc.nin == 2 and _ufunc.nout == 1:
        setattr(Selection, _ufunc.__name__, _make_method(named(_ufunc)))
Selection.max, Selection.min = Selection.maximum, Selection.minimum  # type: ignore[attr-defined]


# -- Indices out of bounds -------------------------------------------------------------


def _expand(shape: tuple[int, ...], key: Any) -> list[tuple[Any, int]]:
    """Return the items of a key with the first axis of each; replace an Ellipsis."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(_count_axes(item) for item in items if item is not ...)
    axis, out = 0, []
    for item in items:
        if item is ...:
            for _ in range(len(shape) - used):
                out.append((slice(None), axis))
                axis += 1
            continue
        out.append((item, axis))
        axis += _count_axes(item)
    return out


def _count_axes(item: Any) -> int:
    if item is None:
        return 0
    if isinstance(item, bool | numpy.bool_):
        return 0
    is_mask = hasattr(item, "dtype") and item.dtype == bool
    return item.ndim if is_mask else 1


def _is_index(item: Any) -> bool:
    """Return whether an item is an integer, or an array or list of integers."""
    if isinstance(item, bool | numpy.bool_ | slice) or item is None or item is ...:
        return False
    if isinstance(item, int | numpy.integer):
        return True
    return isinstance(item, list | ndarray | numpy.ndarray) and not _is_mask(item)


def _is_mask(item: Any) -> bool:
    array = numpy.asarray(item) if isinstance(item, list) else item
    return bool(array.dtype == bool)


def _indices(item: Any) -> Any:
    """Return an item as an array of signed integers, or as an int."""
    if isinstance(item, int | numpy.integer):
        return int(item)
    return _array(item).astype(numpy.int64)


def _array(item: Any) -> ndarray:
    return item if type(item) is ndarray else _bridge.wrap(numpy.asarray(item))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(condition, bool):
        return x if condition else y
    return numpy.where(condition, x, y)


def _map_indices(shape: tuple[int, ...], key: Any, change: Callable[..., Any]) -> Any:
    """Return the key with ``change(indices, size)`` in place of the indices."""
    out = []
    for item, axis in _expand(shape, key):
        is_index = _is_index(item) and axis < len(shape)
        out.append(change(_indices(item), shape[axis]) if is_index else item)
    return tuple(out)


def _clip(i: Any, size: int) -> Any:
    i = _where(i < 0, i + size, i)
    i = _where(i < 0, 0, i)
    return _where(i < size, i, size - 1)


def _mark_missing(i: Any, size: int) -> Any:
    """Replace indices out of bounds by `size`."""
    i = _where(i < 0, i + size, i)
    return _where((i < 0) | (i > size), size, i)


def _adapt_key(shape: tuple[int, ...], key: Any, mode: str | None) -> Any:
    if mode == "clip":
        return _map_indices(shape, key, _clip)
    if mode == "wrap":
        return _map_indices(shape, key, lambda i, size: i % size)
    return key


def _pad(array: Any, key: Any) -> tuple[Any, Any]:
    """
    Return a copy with one more element along each axis, and a key for the copy.

    Indices out of bounds select the last element of their axis in the copy. A slice
    selects the elements that it selects in the array.
    """
    shape = array.shape
    padded = _bridge.wrap(numpy.empty([n + 1 for n in shape], array.dtype))
    padded[tuple(slice(n) for n in shape)] = array
    out = []
    for item, axis in _expand(shape, key):
        if axis >= len(shape) or item is None or isinstance(item, bool | numpy.bool_):
            out.append(item)
        elif isinstance(item, slice):
            out.append(_end_slice(item, shape[axis]))
        elif _is_index(item):
            out.append(_mark_missing(_indices(item), shape[axis]))
        else:
            out.extend(_array(item).nonzero())
    used = sum(_count_axes(item) for item, _ in _expand(shape, key))
    out.extend(slice(n) for n in shape[used:])
    return padded, tuple(out)


def _end_slice(item: slice, size: int) -> slice:
    """Return a slice of an axis of size + 1 for a slice of an axis of `size`."""
    start, stop, step = item.indices(size)
    return slice(start, None if stop < 0 else stop, step)


def _fill_ends(padded: Any, shape: tuple[int, ...], value: Any) -> None:
    for axis, n in enumerate(shape):
        padded[(slice(None),) * axis + (n,)] = value


def _default_fill_value(dtype: Any) -> Any:
    """Return the value of an element that does not exist, as in JAX."""
    if dtype.kind in "fc":
        return numpy.nan
    if dtype.kind == "i":
        return numpy.iinfo(dtype).min
    return numpy.iinfo(dtype).max if dtype.kind == "u" else True
