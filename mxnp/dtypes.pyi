"""NumPy's own types."""

from numpy.dtypes import *
