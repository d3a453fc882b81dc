from collections.abc import Callable
from typing import Any

def hook_import(
    original: Callable[..., Any], replace: Callable[..., Any], /
) -> Callable[..., Any]: ...
def hook_import_module(
    original: Callable[..., Any], replace: Callable[..., Any], /
) -> Callable[..., Any]: ...
def print_exception(error: BaseException, /) -> None: ...
