"""NumPy's names, as functions and classes that take and return mxnp arrays."""

from . import classes as classes
