"""Fourier transforms: NumPy's, and the standard's `dtype=`."""

import sys as _sys

import numpy.fft as _fft

from ._array_api import standard as _standard
from ._namespace import mirror as _mirror

for _original in (_fft.fftfreq, _fft.rfftfreq):
    _standard.extend(
        _original,
        getattr(_standard, _original.__name__),
        lambda args, kwargs: "dtype" in kwargs,
        signature=False,
    )

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _fft)
