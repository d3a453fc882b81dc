"""Runs the code blocks of a page, in their order.

``python docs/extensions/code_blocks.py PAGE``. A block says what it is by its word:

- ``python``: run, in one namespace for all of the page, where np is mxnp; with ``>>>``,
  what is printed is compared. Times may differ, and the number of threads;
- ``sh``: run in a folder that has ``docs`` and a ``program.py``; it must succeed;
- ``text``, ``metal``: not run: output, errors, trees; parts of a Python block that is.

In the line above it ``<!-- not run: reason -->`` keeps a block from being run, and
``<!-- needs metal -->`` where there is no Metal device. ``<!-- file: NAME.py -->``
writes a Python block to a file, which the ``sh`` blocks after it can run.
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

    line: int  # of its first line of code, from 1
    word: str
    mark: str  # of the comment above it
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """Give the code blocks of a page; directives are none."""
    mark, fence, word, begin = "", "", "", 0
    code: list[str] = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
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
    """Takes any time and any number of threads for another."""

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
    """Run the code of a page; give the number of blocks that were run."""
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
                lines = "\n" * (block.line - 1)  # so that errors name the page's lines
                exec(compile(lines + block.code, str(page), "exec"), names)
    return count


if __name__ == "__main__":
    print(run(Path(sys.argv[1]).resolve()))
