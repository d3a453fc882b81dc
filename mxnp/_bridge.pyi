"""The C module csrc/python/bridge.c, for the type checker."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from numpy import ndarray

class Array:
    @property
    def _host(self) -> ndarray[Any, Any]: ...
    @property
    def _buffer(self) -> Any: ...
    @property
    def _base(self) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

class Function:
    __name__: str
    __qualname__: str
    def __new__(
        cls, wrapped: Callable[..., Any], /, *, adopts: bool = True, depth: int = 8
    ) -> Any: ...
    @property
    def __wrapped__(self) -> Any: ...
    choose: Callable[..., Callable[..., Any]] | None
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Method(Function): ...

class Lookup:
    def __new__(
        cls,
        module: ModuleType,
        original: ModuleType,
        cross: Callable[[ModuleType, str, Any], Any],
    ) -> Any: ...
    def __call__(self, name: str) -> Any: ...

def set_types(
    array: type,
    ufunc: type,
    host: type,
    adapt: Callable[..., bool],
    described: Callable[..., bool],
) -> None: ...
def name_like(cls: type, original: type) -> None: ...
def wrap(x: Any) -> Any: ...
def host(x: Any) -> Any: ...
def over(host: ndarray[Any, Any], buffer: Any) -> Any: ...
