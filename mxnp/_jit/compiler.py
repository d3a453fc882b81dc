"""Compiles the runs of a program with LLVM, through the package llvmlite."""

from __future__ import annotations

import hashlib
from functools import cache

from mxnp._engine import core

from .kernel import find_runs, print_kernels
from .program import read_program


class _Compiler:
    """LLVM for the processor of this process, and the code that it has loaded."""

    def __init__(self) -> None:
        import llvmlite
        from llvmlite import binding as llvm

        if llvm.llvm_version_info[0] < 20:  # it has no constants of equal elements
            raise ImportError("compiled kernels need llvmlite 0.45 or later")
        self._llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        cpu, flags = llvm.get_host_cpu_name(), features.flatten()
        self.vector_bytes = (
            64 if features.get("avx512f") else 32 if features.get("avx2") else 16
        )
        self._target = f"{llvmlite.__version__} {cpu} {flags}\n"
        self._machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=cpu, features=flags, opt=2, jit=True
        )
        self._engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), self._machine
        )

    def _compile(self, text: str) -> bytes:
        module = self._llvm.parse_assembly(text)
        module.verify()
        builder = self._llvm.create_pass_builder(
            self._machine, self._llvm.create_pipeline_tuning_options(speed_level=1)
        )
        builder.getModulePassManager().run(module, builder)
        code: bytes = self._machine.emit_object(module)
        return code

    def load(self, text: str) -> None:
        """Compile a module, unless its code is on disk, and load the code."""
        key = (self._target + text).encode()
        code = core.read_code(key)
        if code is None:
            code = self._compile(text)
            core.write_code(key, code)
        self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function that was loaded."""
        address: int = self._engine.get_function_address(name)
        return address

    def keep(self) -> None:
        """Keep LLVM's objects, which llvmlite cannot free when the process ends."""
        self._engine.detach()
        self._machine.detach()


@cache
def _compiler() -> _Compiler | None:
    try:
        return _Compiler()
    except ImportError:
        return None


def finish() -> None:
    """Prepare for the end of the interpreter, after which nothing is compiled."""
    if _compiler.cache_info().currsize and (compiler := _compiler()):
        compiler.keep()


def compile_program(key: bytes, least: int) -> list[tuple[int, int, int]] | None:
    """
    Compile the runs of a program.

    Parameters
    ----------
    key : bytes
        The program as csrc/cpu/plan/runs.c describes it.
    least : int
        The least number of calls for which there is a kernel.

    Returns
    -------
    list of tuple of int, or None
        For each run the number of its first call, the number of its calls, and the
        address of its kernel. None if llvmlite is not installed, or is too old.
    """
    compiler = _compiler()
    if compiler is None:
        return None
    program = read_program(key)
    digest = hashlib.blake2b(key, digest_size=16).hexdigest()
    runs = {f"mxnp_{digest}_{run.first}": run for run in find_runs(program, least)}
    if runs:
        compiler.load(print_kernels(program, runs, compiler.vector_bytes))
    return [
        (run.first, run.n_calls, compiler.address(name)) for name, run in runs.items()
    ]
