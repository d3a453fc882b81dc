"""NumPy's own types."""

from numpy.lib import *
