"""NumPy's own types."""

from numpy.exceptions import *
