"""
Run the code blocks of a page in order.

Usage: ``python docs/extensions/code_blocks.py PAGE``. The language of a block says how
it is run:

- ``python``: The block runs in a namespace that all blocks of the page share, where
  ``np`` is mxnp. With ``>>>``, the output is compared with the one on the page, except
  for times and the number of threads.
- ``sh``: The block runs in a folder that contains ``docs`` and ``program.py``. It must
  succeed.
- ``text``, ``metal``: The block does not run. It shows output, errors, trees, or parts
  of a Python block that runs.

A comment in the line above a block changes this. ``<!-- not run: reason -->`` skips the
block, and ``<!-- needs metal -->`` skips it if there is no Metal device.
``<!-- file: NAME.py -->`` writes a Python block to a file, which later ``sh`` blocks
can run.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
WORDS = ("python", "sh", "text", "metal")
MARK = re.compile(r"<!-- (not run: \w.*|needs metal|test|file: \w+\.py) -->")
PROGRAM = "import numpy as np\n\nprint(type(np.arange(3.0)).__module__)\n"


class Block(NamedTuple):
    """A code block of a page."""

    line: int  # number of its first line of code, from 1
    word: str  # the language
    mark: str  # the text of the comment above it
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the code blocks of a page, without directives."""
    mark, fence, word, begin = "", "", "", 0
    code: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if fence and line.strip() == fence:
            if not word.startswith("{"):
                yield Block(begin, word, mark, "\n".join(code) + "\n")
            fence, mark = "", ""
        elif fence:
            code.append(line)
        elif found := re.match(r"\s*(`{3,})(.*)", line):
            fence, word, begin, code = found[1], found[2].strip(), number + 1, []
        elif line.strip():
            comment = MARK.fullmatch(line.strip())
            mark = comment[1] if comment else ""


class _Checker(doctest.OutputChecker):
    """A checker that ignores differences in times and numbers of threads."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_timeless(want), _timeless(got), optionflags)


def _timeless(text: str) -> str:
    text = re.sub(r"[\d.]+ (ms|µs|s)\b", "0 ms", text)
    text = re.sub(r"\d+ threads?\b", "2 threads", text)
    return re.sub(r"recorded at .*", "recorded at", " ".join(text.split()))


_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _run_session(block: Block, names: dict[str, Any], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.code, {}, page.name, str(page), block.line - 1
    )
    test.globs = names
    runner = doctest.DocTestRunner(_Checker(), verbose=False, optionflags=_FLAGS)
    if runner.run(test, clear_globs=False).failed:
        raise SystemExit(1)


def _run_shell(block: Block, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"line {block.line}: {done.stdout}{done.stderr}")


def run(page: Path) -> int:
    """Run the code of a page and return the number of blocks that ran."""
    import mxnp

    names: dict[str, Any] = {"np": mxnp, "__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("docs").symlink_to(ROOT / "docs")
        folder.joinpath("program.py").write_text(PROGRAM)
        for block in blocks(page):
            is_possible = block.mark != "needs metal" or "metal" in mxnp.devices()
            if block.word not in ("python", "sh") or not is_possible:
                continue
            if block.mark.startswith(("not run", "test")):
                continue
            count += 1
            if block.mark.startswith("file"):
                folder.joinpath(block.mark.split()[1]).write_text(block.code)
            elif block.word == "sh":
                _run_shell(block, folder)
            elif ">>> " in block.code:
                _run_session(block, names, page)
            else:
                lines = "\n" * (block.line - 1)  # Errors name lines of the page.
                exec(compile(lines + block.code, str(page), "exec"), names)
    return count


if __name__ == "__main__":
    print(run(Path(sys.argv[1]).resolve()))
