"""Check Metal programs: ``python -m tests.metal_emulator FILE.metal...``."""

from __future__ import annotations

import sys

from .msl.compiler import CompileError, Compiler
from .msl.lint import lint_text
from .toolchain import MissingToolchainError


def check(path: str) -> tuple[int, list[str]]:
    """Check a file; return the number of its kernels, and its errors."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        kernels = Compiler(instrumented=False).check(text)
        findings = lint_text(text)
    except CompileError as error:
        return 0, [str(error).replace("program_source:", f"{path}:")]
    return len(kernels), [f"{path}:{line}: error: {what}" for line, what in findings]


def main(paths: list[str]) -> int:
    """Check files; return 1 if any has errors, or 2 for a wrong command line."""
    if not paths:
        sys.stderr.write("usage: python -m tests.metal_emulator FILE.metal...\n")
        return 2
    failed = False
    for path in paths:
        try:
            count, errors = check(path)
        except (OSError, MissingToolchainError) as error:
            count, errors = 0, [str(error)]
        for error in errors:
            sys.stderr.write(f"{error}\n")
        if errors:
            failed = True
        else:
            sys.stdout.write(f"{path}: {count} kernels\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
