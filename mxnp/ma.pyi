"""NumPy's own types."""

from numpy.ma import *
