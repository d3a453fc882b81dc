"""NumPy's own types."""

from numpy.random import *
