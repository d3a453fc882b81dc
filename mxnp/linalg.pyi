"""NumPy's own types."""

from numpy.linalg import *
