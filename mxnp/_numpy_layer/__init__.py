"""NumPy's own functions, executed over mxnp's arrays."""

from __future__ import annotations

from typing import Any

from mxnp._bridge import raise_handlers, set_layers
from mxnp._engine.core import loading


def find_layer(original: Any) -> Any:
    """Return NumPy's code for a function, over mxnp's arrays, or None.

    The module is imported when a large call first needs it.
    """
    with loading:
        from .layer import find_layer

        return find_layer(original)


def is_refused(
    original: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> bool:
    """Return whether NumPy refuses a call before the function's code runs."""
    from .layer import find_dispatcher

    dispatcher = find_dispatcher(original)
    if dispatcher is None:
        return False
    try:
        tuple(dispatcher(*args, **(kwargs or {})))
    except TypeError as error:
        raise_handlers(error)
        return True
    return False


set_layers(find_layer, is_refused)
