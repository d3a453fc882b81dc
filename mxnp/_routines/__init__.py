"""Recorded forms of NumPy's functions: the table of functions names their modules."""

from . import expressions as expressions
