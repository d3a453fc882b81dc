"""``a.at[key]``, which returns copies of an array with changed elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from mxnp import _bridge
from mxnp._engine.frames import frameless_members

from .ndarray import ndarray

if TYPE_CHECKING:
    from .selection import Selection


@frameless_members
class At:
    """
    Select elements of an array, for a copy in which they are changed.

    The key is any key of ``a[key]``. Each method of ``a.at[key]`` returns a copy of the
    array in which the selected elements are changed. As with ``ufunc.at``, an element
    that is selected repeatedly is changed repeatedly, in the order of the key.

    Notes
    -----
    Unlike NumPy, whose arrays have no such attribute. MLX, JAX and `array_api_extra`
    have it.

    See Also
    --------
    mxnp._array.selection.Selection : The methods.

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
        from .selection import Selection  # few programs need it

        return Selection(self._array, key)

    def __repr__(self) -> str:
        return f"<elements of {object.__repr__(self._array)}>"


def at(array: Any) -> At:
    """
    Select elements of an array, for a copy in which they are changed.

    Type checkers know this function and not the attribute ``array.at``, because the
    type of arrays is NumPy's. `array_api_extra` has a function with this name, too.

    Parameters
    ----------
    array : array_like
        The array, of any shape and dtype.

    Returns
    -------
    At
        The same as ``array.at``.

    Examples
    --------
    >>> import mxnp as np
    >>> np.at(np.zeros(4))[1:3].set(5.0)
    array([0., 5., 5., 0.])
    """
    return At(array if type(array) is ndarray else _bridge.wrap(numpy.asarray(array)))
