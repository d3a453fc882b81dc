"""NumPy's own types."""

from numpy.polynomial import *
