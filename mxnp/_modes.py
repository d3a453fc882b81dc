"""strict and fast: whether what NumPy promises is kept where it costs time."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from types import TracebackType

from . import _bridge

_NAMES = ("strict", "fast")
_of_context: ContextVar[bool | None] = ContextVar("mxnp_mode", default=None)


def _is_fast(name: str) -> bool:
    if name not in _NAMES:
        raise ValueError(f"mode must be 'strict' or 'fast', not {name!r}")
    return name == "fast"


def get_mode() -> str:
    """
    Return the mode that operations are recorded in.

    Returns
    -------
    str
        "strict" or "fast".
    """
    return _NAMES[_bridge.is_fast()]


def set_mode(name: str) -> str:
    """
    Set the mode of all threads; a block of `mode` has its own.

    Strict mode is NumPy. Fast mode gives up four things: the check of index arrays (a
    read takes the nearest element, a write leaves out what is out of bounds; negative
    indices count from the end), NumPy scalars (a reduction to one element gives an
    array of no dimensions, which need not be computed yet), floating-point warnings,
    and the last bits of transcendental functions.

    What is below the threshold NumPy does at once, in either mode: there a bad index
    raises an IndexError.

    Parameters
    ----------
    name : {"strict", "fast"}
        The mode. The environment variable ``MXNP_MODE`` sets the first one.

    Returns
    -------
    str
        The mode before.

    Raises
    ------
    ValueError
        If there is no such mode.

    See Also
    --------
    mode : Set the mode of a block.

    Examples
    --------
    >>> import mxnp as np
    >>> np.set_mode("fast")
    'strict'
    >>> np.arange(3)[np.array([0, 7])]  # doctest: +SKIP
    array([0, 2])
    >>> np.set_mode("strict")
    'fast'
    """
    before = get_mode()
    _bridge.set_fast(_is_fast(name))
    return before


class mode:  # noqa: N801
    """
    Context manager: the mode of what is recorded in a block.

    It holds for the thread or task that runs the block, as `numpy.errstate` does.

    Parameters
    ----------
    name : {"strict", "fast"}
        See `set_mode`.

    Raises
    ------
    ValueError
        If there is no such mode.

    Examples
    --------
    >>> import mxnp as np
    >>> with np.mode("fast"):
    ...     np.get_mode()
    'fast'
    """

    __module__ = "mxnp"

    def __init__(self, name: str) -> None:
        self._fast = _is_fast(name)
        self._tokens: list[Token[bool | None]] = []

    def __enter__(self) -> mode:
        _bridge.use_context(_of_context.get)
        self._tokens.append(_of_context.set(self._fast))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _of_context.reset(self._tokens.pop())


set_mode(os.environ.get("MXNP_MODE") or "strict")
