"""NumPy's own types."""

from numpy.lib.scimath import *
