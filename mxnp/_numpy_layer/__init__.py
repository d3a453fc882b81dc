"""NumPy's own functions, executed over mxnp's arrays."""

from __future__ import annotations

from typing import Any

from mxnp._bridge import set_layer_loader
from mxnp._namespace.ways import loading


def find_layer(original: Any) -> Any:
    """Return NumPy's code for a function, over mxnp's arrays, or None.

    The module is imported when a large call first needs it.
    """
    with loading:
        from .layer import find_layer

        return find_layer(original)


set_layer_loader(find_layer)
