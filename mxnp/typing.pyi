"""NumPy's own types."""

from numpy.typing import *
