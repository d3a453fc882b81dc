"""NumPy's own types."""

from numpy.char import *
