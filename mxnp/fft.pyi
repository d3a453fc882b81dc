"""NumPy's own types."""

from numpy.fft import *
