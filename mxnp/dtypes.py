"""NumPy's module, with functions and classes of mxnp."""

from ._namespace.mirror import fill as _fill

_fill(__name__)
