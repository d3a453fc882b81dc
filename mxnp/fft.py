"""Fourier transforms: NumPy's, and the standard's `dtype=`."""

import sys as _sys
from typing import Any as _Any

import numpy.fft as _fft

from ._array_api import standard as _standard
from ._namespace import mirror as _mirror


def _fftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _Any = None
) -> _Any:
    return _standard.compat().fft.fftfreq(n, d=d, device=device, dtype=dtype)


def _rfftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _Any = None
) -> _Any:
    return _standard.compat().fft.rfftfreq(n, d=d, device=device, dtype=dtype)


for _original, _extension in ((_fft.fftfreq, _fftfreq), (_fft.rfftfreq, _rfftfreq)):
    _standard.extend(_original, _extension, lambda args, kwargs: "dtype" in kwargs)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _fft)
