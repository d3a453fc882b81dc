"""NumPy's names and classes, which take and return arrays of mxnp."""

from . import classes as classes
