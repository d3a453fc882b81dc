"""NumPy's own types."""

from numpy.rec import *
