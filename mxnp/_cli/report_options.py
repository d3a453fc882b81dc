"""What the command line asks for, apart from what does it and takes long to import."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ReportOptions:
    """
    What the command line asks for.

    Parameters
    ----------
    outputs : list of (str, str)
        What to write (``text``, ``json``, ``html`` or ``trace``) and the file: empty
        for the standard error, ``-`` for the standard output.
    fallbacks, waits : int or None
        How many calls of NumPy with large arrays, and how many waits, the program may
        have; None: any number.
    allowed : list of str
        What of these does not count: see `gate.is_allowed`.
    is_doctor : bool
        Whether to print what the program could do faster, too.
    """

    outputs: list[tuple[str, str]] = field(default_factory=list)
    fallbacks: int | None = None
    waits: int | None = None
    allowed: list[str] = field(default_factory=list)
    is_doctor: bool = False

    def __bool__(self) -> bool:
        limits = (self.fallbacks, self.waits)
        return bool(self.outputs) or limits != (None, None) or self.is_doctor
