"""What type checkers see: NumPy's own types, under mxnp's name."""

from builtins import bool as _bool
from collections import Counter as _Counter
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType as _TracebackType
from typing import Any as _Any, Generic as _Generic, TextIO, TypeVar as _TypeVar

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
    ndarray as ndarray,
    polynomial as polynomial,
    random as random,
    rec as rec,
    strings as strings,
    testing as testing,
    typing as typing,
)

from numpy.typing import ArrayLike as _ArrayLike

from . import array_namespace as array_namespace
from ._doctor.doctor import doctor as doctor
from ._profiler.report import profile as profile

mxnp_version: str

_Array = _TypeVar("_Array", bound=ndarray[_Any, _Any])

class _At(_Generic[_Array]):
    def __getitem__(self, key: _Any) -> _Selection[_Array]: ...

class _Selection(_Generic[_Array]):
    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: _Any = None,
        indices_are_sorted: _bool = False,
        unique_indices: _bool = False,
    ) -> _Any: ...
    def set(
        self,
        values: _ArrayLike,
        *,
        mode: str | None = None,
        indices_are_sorted: _bool = False,
        unique_indices: _bool = False,
    ) -> _Array: ...
    def apply(
        self,
        func: Callable[[_Any], _Any],
        *,
        mode: str | None = None,
        indices_are_sorted: _bool = False,
        unique_indices: _bool = False,
    ) -> _Array: ...
    # A method for each ufunc with two inputs and one output.
    def __getattr__(self, name: str) -> Callable[..., _Array]: ...

def at(array: _Array) -> _At[_Array]: ...
def install(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None: ...
def uninstall() -> None: ...
def get_mode() -> str: ...
def set_mode(name: str) -> str: ...

class mode:  # noqa: N801
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> mode: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: _TracebackType | None,
    ) -> None: ...

class VerificationError(AssertionError): ...

class verify:  # noqa: N801
    verified: int
    skipped: _Counter[str]
    failure: VerificationError | None
    def __init__(self, fraction: float = 1.0) -> None: ...
    def __enter__(self) -> verify: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: _TracebackType | None,
    ) -> None: ...

class NaNError(FloatingPointError): ...

class trap_nan:  # noqa: N801
    def __init__(self, *, inf: _bool = False, everywhere: _bool = False) -> None: ...
    def __enter__(self) -> trap_nan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: _TracebackType | None,
    ) -> None: ...

def devices() -> tuple[str, ...]: ...
def get_device() -> str: ...
def set_device(name: str) -> str: ...

class device:  # noqa: N801
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: _TracebackType | None,
    ) -> None: ...

def get_float64_policy() -> str: ...
def set_float64_policy(policy: str) -> str: ...
def gpu_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: _bool = True,
    atomic_outputs: _bool = False,
) -> Callable[..., list[_Any]]: ...

metal_kernel = gpu_kernel

def load_ipython_extension(shell: object) -> None: ...
def synchronize() -> None: ...
def explain(file: TextIO | None = None) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(count: int) -> int: ...
def memory_info() -> dict[str, int]: ...
def set_memory_limit(nbytes: int) -> int: ...
def clear_cache() -> None: ...
