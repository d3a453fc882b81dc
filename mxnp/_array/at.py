"""``a.at[key]``: arrays made from others by changing elements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import device

from .ndarray import ndarray
from .ufunc import named, ufunc

_MODES = ("clip", "drop", "fill", "promise_in_bounds", "wrap")


class At:
    """
    Selects elements to make a new array from: ``a.at[key].add(values)``.

    The key is any that ``a[key]`` takes. Each method gives a copy of the array with the
    elements selected changed as ``ufunc.at`` changes them: one that is selected more
    than once is changed as often, in the order of the key.

    Unlike NumPy, which has no such attribute. It is that of MLX, JAX and
    `array_api_extra`.

    See Also
    --------
    mxnp._array.at.Selection : The methods.

    Examples
    --------
    >>> import mxnp as np
    >>> a = np.zeros(4)
    >>> a.at[np.array([1, 1, 3])].add(2.0)
    array([0., 4., 0., 2.])
    >>> a.at[1:3].set(5)
    array([0., 5., 5., 0.])
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Selection:
        return Selection(self._array, key)

    def __repr__(self) -> str:
        return f"<elements of {object.__repr__(self._array)}>"


class Selection:
    """
    Elements that a key selects of an array.

    There is a method for each ufunc of two inputs, such as ``add``, ``multiply`` or
    ``logical_and``, and ``max``, ``min`` and ``divide`` as short names. All take the
    values, an array that is broadcast to the shape of ``a[key]``, and two keywords.

    Parameters
    ----------
    array : ndarray
        The array, of any shape and dtype.
    key : object
        Any index that NumPy takes.

    Notes
    -----
    ``mode`` says what becomes of indices out of bounds:

    - None: as in ``a[key]``, an IndexError, or what fast mode makes of them;
    - "clip": the nearest element, where negative indices count from the end;
    - "wrap": the index modulo the size of the axis;
    - "drop" and "fill": such an element is left out; `get` gives ``fill_value`` for it;
    - "promise_in_bounds": as None.

    ``indices_are_sorted`` and ``unique_indices`` of JAX are accepted and not needed.
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
        Give the elements, as ``a[key]`` does.

        Parameters
        ----------
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            See the class.
        fill_value : scalar, optional
            What "drop" and "fill" give for an index out of bounds; by default NaN, or
            the least value of a signed integer dtype, the greatest of an unsigned one.

        Returns
        -------
        ndarray or scalar
            A copy where ``a[key]`` is a view.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        ValueError
            If there is no such mode.
        """
        _check(mode)
        if mode in ("drop", "fill"):
            if fill_value is None:
                fill_value = _filling(self._array.dtype)
            padded, key = _padded(self._array, self._key)
            _fill_ends(padded, self._array.shape, fill_value)
            return padded[key]
        result = self._array[_within(self._array.shape, self._key, mode)]
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
        Give a copy with the elements set to values, the last one of several.

        Parameters
        ----------
        values : array_like
            Cast to the dtype of the array as by an assignment.
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            See the class.

        Returns
        -------
        ndarray
            New, of the array's shape and dtype.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        ValueError
            If the values cannot be broadcast, or there is no such mode.
        """
        row = _bridge.ASSIGN
        return _changed(self._array, self._key, mode, _assign, values, row=row)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> ndarray:
        """
        Give a copy with a function applied to the elements.

        Parameters
        ----------
        func : callable
            A ufunc of one input is applied as often as an element is selected; any
            other function is called once, with the array of elements.
        mode : {None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}
            See the class.

        Returns
        -------
        ndarray
            New, of the array's shape and dtype.
        """

        def change(array: Any, key: Any) -> None:
            if isinstance(func, ufunc | numpy.ufunc):
                original: Any = getattr(func, "__wrapped__", func)
                vars(ufunc)["at"](named(original), array, key)
            else:
                array[key] = func(array[key])

        return _changed(self._array, self._key, mode, change)

    def __repr__(self) -> str:
        return f"<elements {self._key!r} of {object.__repr__(self._array)}>"


def _check(mode: str | None) -> None:
    if mode is not None and mode not in _MODES:
        names = ", ".join(map(repr, _MODES))
        raise ValueError(f"mode must be None or one of {names}, not {mode!r}")


# -- Changes ---------------------------------------------------------------------------


def _assign(array: Any, key: Any, values: Any) -> None:
    array[key] = values


def _changed(
    array: ndarray,
    key: Any,
    mode: str | None,
    change: Callable[..., None],
    *values: Any,
    row: int | None = None,
    in_order: bool = False,
) -> ndarray:
    """Give a copy, changed: by the core where it can, if elements are left out.

    In order: by the core where a device keeps it, else by the processor.
    """
    _check(mode)
    copy: ndarray = array.copy(order="K")
    leaves_out = mode in ("drop", "fill")
    if not leaves_out:
        key = _within(array.shape, key, mode)
    if row is not None and (leaves_out or in_order):
        bounds = _bridge.DROP if leaves_out else _bridge.IN_BOUNDS
        done = _bridge.update(row, copy, key, values[0], bounds, in_order)
        if done is not NotImplemented:
            return copy
    with device("cpu") if in_order else nullcontext():
        if not leaves_out:
            change(copy, key, *values)
            return copy
        padded, key = _padded(array, key)
        change(padded, key, *values)
        copy = padded[tuple(slice(n) for n in array.shape)].copy()
        return copy


def _is_basic(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return all(item is None or item is ... or isinstance(item, slice) for item in items)


def _method(op: Any, name: str) -> Callable[..., ndarray]:
    def change(array: Any, key: Any, values: Any) -> None:
        # A complex quotient by one of Python's numbers is rounded twice by ufunc.at.
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
        given = self._array, self._key, mode, change, values
        return _changed(*given, row=op.operation, in_order=deterministic)

    method.__name__, method.__qualname__ = name, f"Selection.{name}"
    method.__doc__ = f"""
        Give a copy with ``{op.__name__}.at`` of the elements and values.

        Parameters
        ----------
        values : array_like
            Broadcast to the shape of ``a[key]``.
        mode : {{None, "clip", "wrap", "drop", "fill", "promise_in_bounds"}}
            See the class.
        deterministic : bool, optional
            Whether floats of repeated indices are updated in the order of the values
            also on device "metal": by sorting them or, where that is slow or would not
            give NumPy's bits, on the processor.

        Returns
        -------
        ndarray
            New, of the array's shape and dtype.

        Raises
        ------
        IndexError
            If an index is out of bounds and the mode is None.
        TypeError
            If the ufunc has no loop for the dtypes.
        ValueError
            If the values cannot be broadcast, or there is no such mode.
        """
    return method


for _op in core.ops():
    if _op.nin == 2 and _op.nout == 1 and hasattr(numpy, _op.name):
        setattr(Selection, _op.name, _method(named(getattr(numpy, _op.name)), _op.name))
Selection.max, Selection.min = Selection.maximum, Selection.minimum  # type: ignore[attr-defined]


# -- Indices out of bounds -------------------------------------------------------------


def _expanded(shape: tuple[int, ...], key: Any) -> list[tuple[Any, int]]:
    """Give the items of a key with the first axis of each, without an Ellipsis."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(_axes_of(item) for item in items if item is not ...)
    axis, out = 0, []
    for item in items:
        if item is ...:
            for _ in range(len(shape) - used):
                out.append((slice(None), axis))
                axis += 1
            continue
        out.append((item, axis))
        axis += _axes_of(item)
    return out


def _axes_of(item: Any) -> int:
    if item is None:
        return 0
    if isinstance(item, bool | numpy.bool_):
        return 0
    is_mask = hasattr(item, "dtype") and item.dtype == bool
    return item.ndim if is_mask else 1


def _is_index(item: Any) -> bool:
    """Tell whether an item of a key is an integer, or an array or list of them."""
    if isinstance(item, bool | numpy.bool_ | slice) or item is None or item is ...:
        return False
    if isinstance(item, int | numpy.integer):
        return True
    return isinstance(item, list | ndarray | numpy.ndarray) and not _is_mask(item)


def _is_mask(item: Any) -> bool:
    return (
        bool(numpy.asarray(item).dtype == bool)
        if isinstance(item, list)
        else (item.dtype == bool)
    )


def _indices(item: Any) -> Any:
    """Give an item as an array of signed integers, or as an int."""
    if isinstance(item, int | numpy.integer):
        return int(item)
    return _array(item).astype(numpy.int64)


def _array(item: Any) -> ndarray:
    return item if type(item) is ndarray else _bridge.wrap(numpy.asarray(item))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(condition, bool):
        return x if condition else y
    return numpy.where(condition, x, y)


def _mapped(shape: tuple[int, ...], key: Any, change: Callable[..., Any]) -> Any:
    """Give the key with ``change(indices, size)`` in the place of the indices."""
    out = []
    for item, axis in _expanded(shape, key):
        is_index = _is_index(item) and axis < len(shape)
        out.append(change(_indices(item), shape[axis]) if is_index else item)
    return tuple(out)


def _clipped(i: Any, size: int) -> Any:
    i = _where(i < 0, i + size, i)
    i = _where(i < 0, 0, i)
    return _where(i < size, i, size - 1)


def _marked(i: Any, size: int) -> Any:
    """Give `size` for what is not there."""
    i = _where(i < 0, i + size, i)
    return _where((i < 0) | (i > size), size, i)


def _within(shape: tuple[int, ...], key: Any, mode: str | None) -> Any:
    if mode == "clip":
        return _mapped(shape, key, _clipped)
    if mode == "wrap":
        return _mapped(shape, key, lambda i, size: i % size)
    return key


def _padded(array: Any, key: Any) -> tuple[Any, Any]:
    """
    Give a copy with one more place along each axis, and a key for it.

    Indices that are not there select the last place of their axis in the copy; a slice
    goes over those of the array.
    """
    shape = array.shape
    padded = _bridge.wrap(numpy.empty([n + 1 for n in shape], array.dtype))
    padded[tuple(slice(n) for n in shape)] = array
    out = []
    for item, axis in _expanded(shape, key):
        if axis >= len(shape) or item is None or isinstance(item, bool | numpy.bool_):
            out.append(item)
        elif isinstance(item, slice):
            out.append(_ended(item, shape[axis]))
        elif _is_index(item):
            out.append(_marked(_indices(item), shape[axis]))
        else:
            out.extend(_array(item).nonzero())
    used = sum(_axes_of(item) for item, _ in _expanded(shape, key))
    out.extend(slice(n) for n in shape[used:])
    return padded, tuple(out)


def _ended(item: slice, size: int) -> slice:
    """Give a slice that selects of size + 1 places what this selects of size."""
    start, stop, step = item.indices(size)
    return slice(start, None if stop < 0 else stop, step)


def _fill_ends(padded: Any, shape: tuple[int, ...], value: Any) -> None:
    for axis, n in enumerate(shape):
        padded[(slice(None),) * axis + (n,)] = value


def _filling(dtype: Any) -> Any:
    """Give what stands for an element that is not there, as in JAX."""
    if dtype.kind in "fc":
        return numpy.nan
    if dtype.kind == "i":
        return numpy.iinfo(dtype).min
    return numpy.iinfo(dtype).max if dtype.kind == "u" else True
