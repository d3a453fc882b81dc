"""Options of the command for reports. Importing them does not import the profiler."""

from __future__ import annotations


class ReportOptions:
    """
    The reports and checks that the command line requests.

    Attributes
    ----------
    outputs : list of (str, str)
        The form (``text``, ``json``, ``html`` or ``trace``) and the file of each
        output. An empty file is the standard error, and ``-`` the standard output.
    fallbacks, waits : int or None
        The allowed number of NumPy calls with large arrays, and of waits; None for no
        limit.
    allowed : list of str
        Patterns of calls and waits that do not count: see `gate.is_allowed`.
    is_doctor : bool
        Whether to print the findings of the doctor.
    patch : str or None
        The file for the changes that the doctor suggests; None for none.
    """

    def __init__(self) -> None:
        self.outputs: list[tuple[str, str]] = []
        self.fallbacks: int | None = None
        self.waits: int | None = None
        self.allowed: list[str] = []
        self.is_doctor = False
        self.patch: str | None = None

    def __bool__(self) -> bool:
        others = (self.fallbacks, self.waits, self.patch)
        return bool(self.outputs) or others != (None,) * 3 or self.is_doctor
