"""strict and fast: whether what NumPy promises is kept where it costs time."""

from __future__ import annotations

import os

from mxnp._bridge import FAST

from .settings import Block, Setting

_mode = Setting(FAST, "mode", ("strict", "fast"))


def get_mode() -> str:
    """
    Return the mode that operations are recorded in.

    Returns
    -------
    str
        "strict" or "fast".
    """
    return _mode.get()


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
    return _mode.set(name)


class mode(Block):  # noqa: N801
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
    _setting = _mode


set_mode(os.environ.get("MXNP_MODE") or "strict")
