"""
The compiler of hot groups: kernels that LLVM makes while the program runs.

It needs the package llvmlite. Without it, programs run as they would otherwise.
"""

from __future__ import annotations

import atexit
import os
import sys

from mxnp import _bridge


def _finish() -> None:
    """Let the thread end, so that no code of Python runs in it at exit."""
    _bridge.stop_compiler()
    compiler = sys.modules.get(f"{__name__}.compiler")
    if compiler is not None:
        compiler.finish()


def _start() -> None:
    value = os.environ.get("MXNP_JIT") or "1"
    if value not in ("0", "1", "always"):
        raise ImportError(f"MXNP_JIT must be 0, 1 or always, but is {value!r}")
    if value == "0":
        return
    least = 1 if value == "always" else 2

    def compile_key(key: bytes) -> list[tuple[int, int, int]] | None:
        from .compiler import compile_program

        return compile_program(key, least)

    _bridge.set_compiler(compile_key, value == "always")
    atexit.register(_finish)


_start()
