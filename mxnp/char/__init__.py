"""NumPy's module, with functions and classes of mxnp."""

from mxnp._namespace.mirror import fill as _fill

_fill(__name__)
