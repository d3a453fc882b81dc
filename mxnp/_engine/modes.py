"""The modes strict and fast: whether guarantees of NumPy that cost time are kept."""

from __future__ import annotations

from mxnp._bridge import FAST

from .settings import Block, Setting

_mode = Setting(FAST, "mode", ("strict", "fast"))
_mode.read_environment("MXNP_MODE")


def get_mode() -> str:
    """
    Return the mode in which operations are recorded.

    Returns
    -------
    {"strict", "fast"}
        The mode of the block, or else of the process.

    See Also
    --------
    set_mode, mode
    """
    return _mode.get()


def set_mode(name: str) -> str:
    """
    Set the mode in which operations of all threads are recorded.

    Strict mode keeps every guarantee of NumPy. Fast mode gives up four of them:

    - index checks: a read out of bounds returns the nearest element, and a write out of
      bounds is skipped. Negative indices count from the end;
    - NumPy scalars: a reduction to one element returns a 0-d array, which may stay
      lazy;
    - floating-point warnings;
    - the last bits of sums and of transcendental functions.

    Parameters
    ----------
    name : {"strict", "fast"}
        The mode. The environment variable ``MXNP_MODE`` sets the initial mode, which is
        otherwise "strict".

    Returns
    -------
    {"strict", "fast"}
        The previous mode.

    Raises
    ------
    ValueError
        If `name` is not a mode.

    See Also
    --------
    mode : Set the mode for a block.

    Notes
    -----
    Operations on arrays below the threshold are not recorded. NumPy computes them in
    both modes, so an index out of bounds raises an IndexError.

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
    Context manager that sets the mode for a block.

    The mode applies to the thread or task that runs the block, like `numpy.errstate`.

    Parameters
    ----------
    name : {"strict", "fast"}
        The mode; see `set_mode`.

    Raises
    ------
    ValueError
        If `name` is not a mode.

    See Also
    --------
    set_mode : Set the mode for the process.

    Examples
    --------
    >>> import mxnp as np
    >>> with np.mode("fast"):
    ...     np.get_mode()
    'fast'
    """

    __module__ = "mxnp"
    _setting = _mode
