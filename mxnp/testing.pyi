"""NumPy's own types."""

from numpy.testing import *
