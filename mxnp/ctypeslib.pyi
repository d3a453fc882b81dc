"""NumPy's own types."""

from numpy.ctypeslib import *
