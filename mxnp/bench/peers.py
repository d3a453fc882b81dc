"""The peers: array packages that run the cases."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy

from mxnp import _bridge
from mxnp._engine import core

from .case import Case, Inputs, is_expression
from .clock import Sample, sampler


class Peer(ABC):
    """
    An array package that runs cases.

    Parameters
    ----------
    threads : int
        The number of threads to use.

    Raises
    ------
    ImportError
        If the package is not installed.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    takes_all: ClassVar[bool] = False  # whether it runs cases that do not name it
    writes: ClassVar[bool] = True  # whether its arrays can be written to

    def __init__(self, threads: int) -> None:
        self.threads = str(threads)

    @property
    def version(self) -> str:
        """The version of the package."""
        return importlib.metadata.version(self.package)

    def takes(self, case: Case) -> bool:
        """Check whether the peer runs a case."""
        if not self.takes_all and self.name not in case.peers:
            return False
        return self.writes or not case.target or case.pure is not None

    @abstractmethod
    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Return the inputs as arrays of the package. The target must be writeable."""

    @abstractmethod
    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Return a function that runs the case and returns its complete result."""

    def as_numpy(self, result: Any) -> Any:
        """Convert a result to NumPy arrays."""
        if isinstance(result, tuple | list):
            return [self.as_numpy(part) for part in result]
        return numpy.asarray(result)

    def sampler(self, case: Case, arrays: Inputs) -> Sample:
        """Return a function that times the case."""
        if case.statement:
            raise NotImplementedError(f"{self.name} does not run statements")
        return sampler("call()", {"call": self.call(case, arrays)})


class NumPy(Peer):
    """NumPy, with which all others are compared."""

    name = "numpy"
    package = "numpy"
    takes_all = True

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.threads = "1"

    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Share the inputs, except the target, which is copied."""
        return {k: v.copy() if k == target else v for k, v in inputs.items()}

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Call the case's function with NumPy."""
        return lambda: case.function(numpy, **arrays)

    def sampler(self, case: Case, arrays: Inputs) -> Sample:
        """Time the statement of the case, if it has one, without a call around it."""
        if not case.statement:
            return super().sampler(case, arrays)
        return sampler(case.statement, {"np": numpy, **arrays})


class Mxnp(Peer):
    """mxnp."""

    name = "mxnp"
    package = "mxnp"
    takes_all = True

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._np: Any = importlib.import_module("mxnp")
        core.set_num_threads(threads)
        self.threads = str(core.get_num_threads())

    @property
    def version(self) -> str:
        """The version of the core."""
        return core.core_version()

    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Copy arrays into memory of mxnp; other inputs stay as they are."""
        return {
            name: self._np.array(value) if isinstance(value, numpy.ndarray) else value
            for name, value in inputs.items()
        }

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Call the case's function, and hold the result until it is complete."""

        def call() -> Any:
            result = case.function(self._np, **arrays)
            core.synchronize()
            return result

        return call

    def sampler(self, case: Case, arrays: Inputs) -> Sample:
        """Time the statement, with a synchronization after each if it is recorded."""
        statement = case.statement
        if not statement:
            return super().sampler(case, arrays)
        names = {"np": self._np, **arrays}
        core.synchronize()
        before = _bridge.set_eager(False)
        result = case.function(**names)
        recorded = _bridge.pending() > 0
        core.synchronize()
        _bridge.set_eager(before)
        del result
        if not recorded:
            return sampler(statement, names, core.synchronize)
        # A recorded result without a reference would not be computed at all.
        value = is_expression(statement)
        text = f"complete({statement})" if value else f"{statement}; complete()"
        return sampler(text, names | {"complete": complete})


class MxnpFast(Mxnp):
    """mxnp in fast mode, for cases that show the cost of the checks of strict mode."""

    name = "mxnp.fast"
    takes_all = False

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Call the case's function in fast mode."""
        strict = super().call(case, arrays)

        def call() -> Any:
            _bridge.set_setting(_bridge.FAST, 1)
            try:
                return strict()
            finally:
                _bridge.set_setting(_bridge.FAST, 0)

        return call


def complete(*results: object) -> None:
    """Run the recorded operations while the arguments hold their results."""
    _bridge.flush()


class NumExpr(Peer):
    """numexpr, which compiles the text of an expression for its virtual machine."""

    name = "numexpr"
    package = "numexpr"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        os.environ.setdefault("NUMEXPR_MAX_THREADS", str(max(threads, 64)))
        self._package: Any = importlib.import_module("numexpr")
        self._package.set_num_threads(threads)
        self.threads = str(self._package.get_num_threads())

    def takes(self, case: Case) -> bool:
        """Check whether the case has a text for numexpr."""
        return bool(case.numexpr)

    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Share the inputs, except the target, which is copied."""
        return {k: v.copy() if k == target else v for k, v in inputs.items()}

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Evaluate the case's text."""
        text, names = case.numexpr, dict(arrays)
        if case.dtype == "float32":
            # A plain 0.5 would make the whole expression float64.
            constants: dict[str, str] = {}
            text = re.sub(
                r"\b\d+\.\d*(?:e-?\d+)?",
                lambda found: constants.setdefault(
                    found.group(), f"constant{len(constants)}"
                ),
                text,
            )
            names |= {name: numpy.float32(key) for key, name in constants.items()}
        evaluate = self._package.evaluate
        if case.target:
            out = arrays[case.target]
            return lambda: evaluate(text, names, {}, out=out, casting="same_kind")
        return lambda: evaluate(text, names, {})


class Jax(Peer):
    """JAX, one operation at a time."""

    name = "jax"
    package = "jax"
    writes = False

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        # JAX has no other setting, and reads this one when the first array is created.
        os.environ["NPROC"] = str(threads)
        self._jax: Any = importlib.import_module("jax")
        self._jax.config.update("jax_enable_x64", True)
        self._np: Any = importlib.import_module("jax.numpy")

    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Copy the inputs to JAX arrays."""
        return {name: self._np.asarray(value) for name, value in inputs.items()}

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Call the case's function, and wait for the result."""
        function = self.function(case)
        ready = self._jax.block_until_ready
        return lambda: ready(function(**arrays))

    def function(self, case: Case) -> Callable[..., Any]:
        """Return the case as a function of its arrays."""
        function = case.pure or case.function
        return lambda **arrays: function(self._np, **arrays)


class JaxJit(Jax):
    """JAX, compiled; the compilation is not timed."""

    name = "jax.jit"

    def function(self, case: Case) -> Callable[..., Any]:
        """Compile the case's function."""
        compiled: Callable[..., Any] = self._jax.jit(super().function(case))
        return compiled


class Torch(Peer):
    """PyTorch on the CPU, one operation at a time."""

    name = "torch"
    package = "torch"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._torch: Any = importlib.import_module("torch")
        self._torch.set_num_threads(threads)
        self.threads = str(self._torch.get_num_threads())
        self._np = TorchNames(self._torch)

    @property
    def version(self) -> str:
        """The version with the kind of build."""
        return str(self._torch.__version__)

    def arrays(self, inputs: Inputs, target: str) -> Inputs:
        """Share the memory of the inputs, except the target, which is copied."""
        tensor = self._torch.from_numpy
        return {k: tensor(v.copy() if k == target else v) for k, v in inputs.items()}

    def call(self, case: Case, arrays: Inputs) -> Callable[[], Any]:
        """Call the case's function with torch's functions under NumPy's names."""
        return lambda: case.function(self._np, **arrays)


class TorchNames:
    """The functions of torch that the suites use, by NumPy's names."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        """Return the function of torch that has the same name as NumPy's."""
        value = getattr(self._torch, name)
        setattr(self, name, value)
        return value

    def std(self, x: Any, axis: int | None = None) -> Any:
        """Return the standard deviation as NumPy defines it."""
        return self._torch.std(x, dim=axis, correction=0)

    def max(self, x: Any, axis: int | None = None) -> Any:
        """Return the largest elements, without their indices."""
        return self._torch.amax(x, dim=() if axis is None else axis)

    def any(self, x: Any, axis: int | None = None) -> Any:
        """Check whether any element is true."""
        return self._torch.any(x) if axis is None else self._torch.any(x, dim=axis)

    def cumsum(self, x: Any, axis: int | None = None) -> Any:
        """Return the cumulative sum, by default of the flattened array."""
        if axis is None:
            return self._torch.cumsum(x.reshape(-1), dim=0)
        return self._torch.cumsum(x, dim=axis)


PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (NumPy, Mxnp, MxnpFast, NumExpr, Jax, JaxJit, Torch)
}


def start(names: Iterable[str], threads: int) -> tuple[list[Peer], dict[str, str]]:
    """
    Import the peers.

    Parameters
    ----------
    names : iterable of str
        The requested peers. NumPy and mxnp are always started.
    threads : int
        The number of threads of each peer.

    Returns
    -------
    list of Peer
        The peers that are installed, in the order of `PEERS`.
    dict
        The error of each peer that is not installed.
    """
    wanted = {"numpy", "mxnp", *names}
    started: list[Peer] = []
    missing: dict[str, str] = {}
    for name, peer in PEERS.items():
        if name not in wanted:
            continue
        try:
            started.append(peer(threads))
        except ImportError as error:
            missing[name] = str(error)
    return started, missing
