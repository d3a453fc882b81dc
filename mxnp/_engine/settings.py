"""Settings that apply to the process, and that a block may override, such as the mode.

Strict mode keeps the guarantees of NumPy that cost time, and fast mode does not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType

from mxnp import _bridge

from . import environment
from .frames import frameless_members


class Setting:
    """
    A setting with a few named values.

    Parameters
    ----------
    number : int
        The number of the setting in the bridge.
    name : str
        Its name in messages.
    values : tuple of str
        Its values, in the order of the bridge's numbers.
    check : callable, optional
        Called with a value. It raises a ValueError if the value is not available.
    """

    def __init__(
        self,
        number: int,
        name: str,
        values: tuple[str, ...],
        check: Callable[[str], None] = lambda value: None,
    ) -> None:
        self.number = number
        self.name = name
        self.values = values
        self.check = check
        self.of_context: ContextVar[int | None] = ContextVar(name, default=None)

    def find_number(self, value: str) -> int:
        """Return the number of a value, or raise a ValueError."""
        if value in self.values:
            self.check(value)
            return self.values.index(value)
        *others, last = map(repr, self.values)
        choice = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{self.name} must be {choice}, not {value!r}")

    def get(self) -> str:
        """Return the value that applies here."""
        return self.values[_bridge.get_setting(self.number)]

    def set(self, value: str) -> str:
        """Set the value for the process, and return the previous value."""
        before = self.get()
        _bridge.set_setting(self.number, self.find_number(value))
        return before

    def read_environment(self, variable: str) -> None:
        """Set the initial value from an environment variable."""
        value = environment.get(variable)
        try:
            self.set(value)
        except ValueError as error:
            text = f"{variable} is {value!r}: {error}"
            raise ImportError(text, name=variable) from None


@frameless_members
class Block:
    """Context manager that sets a setting for the thread or task of a block."""

    _setting: Setting

    def __init__(self, name: str) -> None:
        self._number = self._setting.find_number(name)
        self._tokens: list[Token[int | None]] = []

    def __enter__(self) -> Block:
        _bridge.use_context(self._setting.number, self._setting.of_context.get)
        self._tokens.append(self._setting.of_context.set(self._number))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._setting.of_context.reset(self._tokens.pop())


_mode = Setting(_bridge.FAST, "mode", ("strict", "fast"))
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
