"""Compile a Metal program: ``compile.py SOURCE.metal OUT.so [--fast-math] [--plain]``.

The exit status is 1 if the program is wrong, and stderr explains why. ``--plain`` omits
the instrumentation that reports each access and branch to the engine. ``--check`` only
checks the program, without OUT.so.
"""
# This program starts once for each kernel, so it avoids pathlib, which is slow to import.
# ruff: noqa: PTH100, PTH120

import os
import sys

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    # The parent of the package, not of `tests`: other projects have a package "tests", too.
    sys.path[0] = os.path.dirname(os.path.dirname(here))
    from metal_emulator.msl.compiler import main

    sys.exit(main(sys.argv[1:]))
