"""NumPy's own types."""

from numpy.strings import *
