"""What type checkers see: NumPy's own types, under mxnp's name."""

from collections.abc import Iterable

from numpy import *
from numpy import (
    __array_namespace_info__ as __array_namespace_info__,
    __version__ as __version__,
    char as char,
    core as core,
    ctypeslib as ctypeslib,
    dtypes as dtypes,
    emath as emath,
    exceptions as exceptions,
    f2py as f2py,
    fft as fft,
    lib as lib,
    linalg as linalg,
    ma as ma,
    polynomial as polynomial,
    random as random,
    rec as rec,
    strings as strings,
    testing as testing,
    typing as typing,
)

mxnp_version: str

def install(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None: ...
def uninstall() -> None: ...
