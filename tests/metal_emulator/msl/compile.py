"""Compile a Metal program: ``compile.py SOURCE.metal OUT.so [--fast-math] [--plain]``.

Exits with 1 if the program is wrong, which stderr explains. ``--plain`` leaves out the
instrumentation that tells the engine of each access and branch; ``--check`` compiles
nothing, and takes no OUT.so.
"""
# This starts once for each kernel: without pathlib, which is slow to import.
# ruff: noqa: PTH100, PTH120

import os
import sys

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    # The package's parent, not the repository: others have packages named "tests" too.
    sys.path[0] = os.path.dirname(os.path.dirname(here))
    from metal_emulator.msl.compiler import main

    sys.exit(main(sys.argv[1:]))
