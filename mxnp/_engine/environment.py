"""The environment variables of mxnp. This module alone reads them, for the core too."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator


class Variable:
    """
    A variable, as documentation and `check` use it.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        The values that it may have, in words.
    pattern : str
        The same as a regular expression.
    default : str
        The value if it is not set, or empty and neither a file nor a folder.
    meaning : str
        What it does.
    if_wrong : str
        What happens if the value is wrong.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        pattern: str,
        default: str,
        meaning: str,
        if_wrong: str,
    ) -> None:
        self.name, self.kind, self.pattern = name, kind, pattern
        self.default, self.meaning, self.if_wrong = default, meaning, if_wrong


_ERROR, _WARNING = "ImportError", "is ignored, with a warning"
# fmt: off
VARIABLES = {row[0]: Variable(*row) for row in (
    ("MXNP_MODE", "strict or fast", "strict|fast", "strict",
     "the initial mode", _ERROR),
    ("MXNP_DEVICE", "auto, or a device as in np.devices()", ".*", "auto",
     "the initial device", _ERROR),
    ("MXNP_THRESHOLD", "a number of elements", r"\d+", "16384",
     "the smallest size that is recorded", _ERROR),
    ("MXNP_NUM_THREADS", "a positive number", r"0*[1-9]\d*", "",
     "threads for large operations; 64 at most are used", _WARNING),
    ("MXNP_FUSE", "0 or 1", "0|1", "1",
     "0: each operation is a pass of its own", _ERROR),
    ("MXNP_JIT", "0, 1 or always", "0|1|always", "1",
     "whether groups are compiled that run often, or all", _ERROR),
    ("MXNP_WARM", "0 or 1", "0|1", "1",
     "0: malloc keeps as much freed memory as without mxnp", _ERROR),
    ("MXNP_SCIPY", "0 or 1", "0|1", "1",
     "0: SciPy's compiled functions run on one thread", _ERROR),
    ("MXNP_TRACEBACKS", "program or full", "program|full", "program",
     "full: tracebacks show the code of mxnp too", _ERROR),
    ("MXNP_INCLUDE", "names and paths, separated as in PATH", ".*", "",
     "more values for --include", "matches nothing"),
    ("MXNP_EXCLUDE", "names and paths, separated as in PATH", ".*", "",
     "more values for --exclude", "matches nothing"),
    ("MXNP_JIT_CACHE", "a folder, or empty for none", ".*", "~/.cache/mxnp/jit",
     "for machine code of groups", "nothing is kept"),
    ("MXNP_CUDA_CACHE", "a folder, or empty for none", ".*", "~/.cache/mxnp/cuda",
     "for machine code of the GPU", "nothing is kept"),
    ("MXNP_AUTO_SIZES", "a file, or empty for none", ".*",
     "~/.cache/mxnp/auto-sizes.json",
     'for the sizes from which device "auto" uses the GPU', "the sizes are guessed"),
    ("MXNP_CUDA_STAND_IN", "a library", ".*", "",
     "for tests: loaded instead of NVIDIA's driver", "there is no GPU"),
    ("MXNP_WARNED", "names of variables", ".*", "",
     "set by mxnp: child processes do not warn again", "matches nothing"),
)}
# fmt: on
_OF_TESTS = "ARRAY_API_SUITE FUZZ FUZZ_WITHOUT LARGE OUTCOMES VERIFY"
_KNOWN = {*VARIABLES, *(f"MXNP_{name}" for name in _OF_TESTS.split())}


def get(name: str) -> str:
    """Return the value of a variable. A wrong one that is ignored counts as not set."""
    variable = VARIABLES[name]
    text = os.environ.get(name)
    is_ignored = variable.if_wrong == _WARNING and _problem(name)
    return variable.default if not text or is_ignored else text


def get_names(name: str) -> list[str]:
    """Return the parts of a variable that is separated as ``PATH`` is."""
    return [part for part in get(name).split(os.pathsep) if part]


def get_path(name: str) -> str:
    """Return the file or folder of a variable, or "" if there is to be none."""
    chosen = os.environ.get(name)
    if chosen is not None:
        return chosen
    home = os.environ.get("HOME")
    caches = os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    return VARIABLES[name].default.replace("~/.cache", caches) if caches else ""


def _get_num_threads() -> int:
    """Return how many threads mxnp or OpenMP are to use, or 0 if neither is told.

    OpenMP's variable may have a number for each level of nested threads. The first one
    counts.
    """
    outer = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    text = get("MXNP_NUM_THREADS") or outer
    return min(int(text), 2**31 - 1) if text.isdecimal() else 0


def _leaves_malloc() -> bool:
    """Return whether nobody has set the limits of glibc's malloc in the environment."""
    limits = ("mmap_threshold", "mmap_max", "trim_threshold", "top_pad")
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return not any(
        f"MALLOC_{name.upper()}_" in os.environ or f"glibc.malloc.{name}" in tunables
        for name in limits
    )


def get_core_settings() -> dict[str, int | str]:
    """Return fields of struct mx_settings in csrc/mxnp.h."""
    return {
        "n_threads": _get_num_threads(),
        "fuses": int(get("MXNP_FUSE")),
        "is_warm": int(get("MXNP_WARM") == "1" and _leaves_malloc()),
        "jit_cache": get_path("MXNP_JIT_CACHE"),
        "device_cache": get_path("MXNP_CUDA_CACHE"),
        "device_library": get("MXNP_CUDA_STAND_IN"),
    }


def _problem(name: str) -> str:
    """Return what is wrong with a variable that is set, or an empty string."""
    text = os.environ.get(name)
    if name not in _KNOWN:
        import difflib  # few processes need it

        near = difflib.get_close_matches(name[5:], [known[5:] for known in _KNOWN], 1)
        cure = f": did you mean MXNP_{near[0]}?" if near else ""
        return f"{name} is not a setting of mxnp{cure}"
    row = VARIABLES.get(name)
    if not text or not row or re.fullmatch(row.pattern, text, re.DOTALL):
        return ""
    end = "; it is ignored" if row.if_wrong == _WARNING else ""
    return f"{name} must be {row.kind}, but is {text!r}{end}"


def check() -> None:
    """
    Check all variables of mxnp.

    A wrong value is an error if another one would change what the program asked for. A
    number of threads is none, as in OpenMP, and neither is a name that mxnp does not
    know. Processes that this one starts do not repeat its warnings.

    Raises
    ------
    ImportError
        If a value is wrong. Its name begins with ``MXNP_``.
    """
    ours = sorted(name for name in os.environ if name.startswith("MXNP_"))
    problems = {name: text for name in ours if (text := _problem(name))}
    errors = [
        text
        for name, text in problems.items()
        if name in VARIABLES and VARIABLES[name].if_wrong == _ERROR
    ]
    if errors:
        raise ImportError("; ".join(errors), name="MXNP_")
    warned = os.environ.get("MXNP_WARNED", "").split()
    if problems:
        os.environ["MXNP_WARNED"] = " ".join({*warned, *problems})
    for name, text in problems.items():
        if name not in warned:
            warnings.warn(text, RuntimeWarning, stacklevel=5)  # of `import mxnp`


def describe() -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each variable, and what it is if not set."""
    others = sorted(name for name in os.environ if name.startswith("MXNP_"))
    for name in dict.fromkeys([*VARIABLES, *others]):
        text = os.environ.get(name)
        if text is not None:
            yield name, f"{text} ({_problem(name)})" if _problem(name) else text
        elif name != "MXNP_WARNED":
            yield name, f"{VARIABLES[name].default or 'none'} (not set)"
