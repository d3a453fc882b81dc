"""Settings of the process, which a block may have otherwise."""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType

from mxnp import _bridge


class Setting:
    """
    One of a few words, for the process or for the context of a block.

    Parameters
    ----------
    number : int
        What the bridge knows it by.
    name : str
        What it is called in messages.
    words : tuple of str
        Its values, in the order of the bridge's numbers.
    """

    def __init__(self, number: int, name: str, words: tuple[str, ...]) -> None:
        self.number = number
        self.name = name
        self.words = words
        self.of_context: ContextVar[int | None] = ContextVar(name, default=None)

    def value(self, word: str) -> int:
        """Give the number of a word; a ValueError if there is none."""
        if word in self.words:
            return self.words.index(word)
        *others, last = map(repr, self.words)
        choice = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{self.name} must be {choice}, not {word!r}")

    def get(self) -> str:
        """Give the word that holds now."""
        return self.words[_bridge.get_setting(self.number)]

    def set(self, word: str) -> str:
        """Set the word of the process; give that which held before."""
        before = self.get()
        _bridge.set_setting(self.number, self.value(word))
        return before


class Block:
    """Context manager: a setting of the thread or task that runs a block."""

    _setting: Setting

    def __init__(self, name: str) -> None:
        self._value = self._setting.value(name)
        self._tokens: list[Token[int | None]] = []

    def __enter__(self) -> Block:
        _bridge.use_context(self._setting.number, self._setting.of_context.get)
        self._tokens.append(self._setting.of_context.set(self._value))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._setting.of_context.reset(self._tokens.pop())
