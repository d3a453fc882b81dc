"""
The compiler of hot groups: kernels that LLVM makes while the program runs.

It needs the package llvmlite. Without it, programs run as they would otherwise.
"""

from __future__ import annotations

import atexit
import sys

from mxnp import _bridge
from mxnp._engine import environment


def _finish() -> None:
    """Let the thread end, so that no code of Python runs in it at exit."""
    _bridge.stop_compiler()
    compiler = sys.modules.get(f"{__name__}.compiler")
    if compiler is not None:
        compiler.finish()


def _start() -> None:
    value = environment.get("MXNP_JIT")
    if value == "0":
        return
    least = 1 if value == "always" else 2

    def compile_key(key: bytes) -> list[tuple[int, int, int]] | None:
        from .compiler import compile_program

        return compile_program(key, least)

    _bridge.set_compiler(compile_key, value == "always")
    atexit.unregister(_finish)  # tests start it several times
    atexit.register(_finish)


_start()
