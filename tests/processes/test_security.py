"""Test the statements of docs/security.md: what is written, loaded and started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.paths import ROOT

import mxnp

PROGRAM = """
import numpy as np
x = np.linspace(0, 1, 100_000)
i = np.random.default_rng(1).integers(0, 100_000, 50_000)
y = np.sqrt(x * x + 1)[i]
np.add.at(x, i, 1.0)
print(float(np.sort(x) @ x + y.sum()))
"""


def run(folder: Path, *command: str, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={
            **{k: v for k, v in os.environ.items() if k[:5] != "MXNP_"},
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        **options,
    )


def sources(folder: str, *endings: str) -> list[Path]:
    found = [path for path in (ROOT / folder).rglob("*") if path.suffix in endings]
    assert found
    return found


# -- Loading, starting and writing --------------------------------------------------------

# Functions of the C library or of Metal that load, start, write or connect.
CALLS = re.compile(
    r"\b(dlopen|system|popen|exec[lv]\w*|posix_spawn\w*|v?fork|open|openat|creat|mkstemp|"
    r"mkdtemp|tmpfile|unlink|rename|mkdir|socket|connect|writeToURL|newBinaryArchive\w*)\s*[(:]"
)


# Only where there is an NVIDIA GPU: docs/security.md describes what they open.
ALLOWED = {
    "cuda/api.c": {"dlopen"},
    "base/code_cache.c": {"open", "openat", "mkdir"},
}


@pytest.mark.parametrize(
    "path", sources("csrc", ".c", ".h", ".m"), ids=lambda p: p.name
)
def test_the_core_loads_starts_and_writes_nothing(path):
    code = re.sub(
        r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.S
    )
    name = path.relative_to(ROOT / "csrc").as_posix()
    assert set(CALLS.findall(code)) == ALLOWED.get(name, set())
    modes = re.findall(r'\bfopen\([^,]+, "(\w+)"', code)
    assert len(modes) == len(re.findall(r"\bfopen\b", code))
    assert set(modes) <= {"r"}


def test_a_program_writes_no_file_and_starts_no_process(tmp_path):
    """Python's audit events cover its functions; the test above covers the core."""
    watched = f"""
        import os, sys
        def told(event, args):
            writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
            starts = event.startswith(("subprocess.", "os.", "socket.", "ctypes.")) and event not in (
                "os.listdir", "os.scandir", "os.putenv", "os.unsetenv")
            if writes or starts:
                sys.__stderr__.write(f"{{event}} {{args}}\\n")
        import ctypes, numpy  # what they do is theirs
        sys.addaudithook(told)
        import mxnp
        mxnp.install()
        exec({PROGRAM!r}, {{"__name__": "__main__"}})
        folders = [os.path.realpath(folder) for folder in mxnp.__path__]
        folders += [os.path.dirname(os.path.realpath(mxnp._bridge.__file__))]
        owned = tuple(folder + end for folder in folders for end in ("/", ".libs/"))
        loaded = {{line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps") if ".so" in line}}
        print(sorted(path.rpartition("/")[2] for path in loaded if path.startswith(owned)))
    """
    done = run(tmp_path, "-c", textwrap.dedent(watched))
    assert done.stderr == ""
    if sys.platform == "linux":
        assert done.stdout.splitlines()[-1] == str(
            [f"{name}.abi3.so" for name in ("_bridge", "_core")]
        )
    assert list(tmp_path.iterdir()) == []


# -- The current folder -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "is_imported"),
    [(["-m", "mxnp"], True), (["-P", "-m", "mxnp"], False)],
)
def test_modules_of_the_current_folder(tmp_path, command, is_imported):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "numpy.py").write_text("raise SystemExit('numpy.py of the current folder')")
    (there / "program.py").write_text("import numpy as np; print(np.arange(3).sum())")
    command = [sys.executable, *command, str(there / "program.py")]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True)
    assert (done.stderr.strip(), done.stdout.strip()) == (
        ("numpy.py of the current folder", "") if is_imported else ("", "3")
    )


# -- Reports ------------------------------------------------------------------------------

EVIL = "\"'><img src=x onerror=alert(1)></style><script>alert(2)</script>"


@pytest.mark.slow
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
@pytest.mark.parametrize("option", ["--report=html", "--report=json", "--trace"])
def test_a_report_is_written_as_open_does(tmp_path, option, mask, mode):
    (tmp_path / "program.py").write_text(PROGRAM)
    run(tmp_path, "-m", "mxnp", option, "out", "program.py", umask=mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
def test_text_of_the_program_is_escaped_everywhere(tmp_path):
    """Check the source, names, reasons and titles, on pages and in notebooks."""
    name = EVIL.replace("/", "") + ".py"  # a file name has no slash
    (tmp_path / name).write_text(
        f"import numpy as np\nx = np.ones(30_000); x + len({EVIL!r})\nprint(x)\n"
    )
    page = run(tmp_path, "-m", "mxnp", "--report=html", "-", name).stdout
    text = f"np.ones(30_000) + len({EVIL!r}); print(np.ones(30_000))"
    with mxnp.profile() as profile:
        exec(compile(text, EVIL, "exec"), {"np": mxnp})
    assert "alert(1)" in page
    for shown, scripts in (
        (page, 1),
        (profile.to_html(), 1),
        (profile._repr_html_(), 0),
    ):
        found = Tags(shown)
        assert found.tags.count("script") == scripts
        assert "img" not in found.tags
        assert not [name for name in found.attributes if name.startswith("on")]
