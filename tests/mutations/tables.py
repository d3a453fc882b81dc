"""
The tables of faults, `AREA.txt`.

A line begins with a word, or with `-` or `+`:

    lane metal                        on what the tests of the faults below run: cpu, metal, cuda
    needs llvmlite                    the packages that they need. Without them none is planted
    python 3.12                       the oldest Python that can run them
    file csrc/cpu/kernels/indices.c   the file of the faults below
    fault the last block is skipped   what the fault does
    - at < n;                         a part of the file, which occurs there once;
    + at + BLOCK < n;                 what replaces it. Both may have several lines
    test tests/array/test_at.py::test_blocks    the test that must fail

Settings may come before the test, such as `test MXNP_FUSE=0 tests/...`. `test c pool` names
a program of `tests/c`. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
AREAS = sorted(path.stem for path in FOLDER.glob("*.txt"))
LANES = ("cpu", "metal", "cuda")


class TableError(Exception):
    """A table that cannot be read, or a fault that does not apply."""


@dataclass
class Fault:
    """A part of a file, what replaces it, and the tests that must notice."""

    place: str
    path: str
    lane: str
    packages: list[str]
    python: tuple[int, ...]
    title: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)

    @property
    def is_c_test(self) -> bool:
        """Whether the test is a program of `tests/c`."""
        return self.tests[0].startswith("c ")

    @property
    def c_program(self) -> str:
        """The name of the program of `tests/c`."""
        return f"test_{self.tests[0].removeprefix('c ')}"

    def apply(self, text: str) -> str:
        """Return the text of the file with the fault."""
        before, after = "\n".join(self.before), "\n".join(self.after)
        if text.count(before) != 1:
            raise TableError(
                f"{self.place}: {self.path} has {text.count(before)} times:\n{before}"
            )
        if before == after:
            raise TableError(f"{self.place}: the fault changes nothing")
        return text.replace(before, after)


def _set_test(fault: Fault, rest: str) -> None:
    while setting := re.match(r"([A-Z_]+)=(\S+) ", rest):
        fault.settings[setting[1]] = setting[2]
        rest = rest[setting.end() :]
    fault.tests = re.split(r" (?=tests/)", rest)  # parameters of tests may have spaces


def read(area: str, *, is_planted: bool = False) -> list[Fault]:
    """Read the table of an area, and check that each fault applies.

    In sources in which one of them is planted, it does not.
    """
    faults: list[Fault] = []
    packages: list[str] = []
    python: tuple[int, ...] = ()
    lane = path = ""
    for number, line in enumerate(
        (FOLDER / f"{area}.txt").read_text(encoding="utf-8").splitlines(), 1
    ):
        place = f"tests/mutations/{area}.txt:{number}"
        word, _, rest = line.partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "lane" and rest in LANES:
            lane = rest
        elif word == "needs":
            packages = rest.split()
        elif word == "python":
            python = tuple(map(int, rest.split(".")))
        elif word == "file" and (ROOT / rest).is_file():
            path = rest
        elif word == "fault" and lane and path:
            faults.append(Fault(place, path, lane, packages, python, rest))
        elif word == "-" and faults:
            faults[-1].before.append(rest)
        elif word == "+" and faults:
            faults[-1].after.append(rest)
        elif word == "test" and faults and rest and not faults[-1].tests:
            _set_test(faults[-1], rest)
        else:
            raise TableError(f"{place}: invalid line: {line}")
    for fault in faults:
        if not fault.before or not fault.tests:
            raise TableError(f"{fault.place}: no text or no test")
        if not is_planted:
            fault.apply((ROOT / fault.path).read_text(encoding="utf-8"))
    return faults
