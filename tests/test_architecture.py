"""The architecture: which folders may import which, and which C files include which.

A new folder or C file is named in the tables below; without a name it fails the test.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Folders and public modules of mxnp, and what each may import beside the compiled modules.
PYTHON = {
    "_engine": "",
    "_array": "_engine",
    "_namespace": "_engine _array",
    "_routines": "_engine _array _namespace",
    "_array_api": "_engine _array _namespace",
    "_metal": "_engine _array _routines",
    "_interop": "__init__ _engine _array _namespace",
    "_profiler": "_engine",
    "_doctor": "_engine _interop _profiler",
    "_verify": "_engine _array",
    "_cli": "_engine _doctor _interop _namespace _profiler",
    "random": "_array _metal _namespace",
    "testing ma ctypeslib": "_array _namespace",
    "__main__": "__init__ _engine _cli",
    "array_namespace": "__init__ _array_api",
    "bench": "__init__ _engine",
}
COMPILED = {"_bridge", "_import", "_core"}
MOST_MODULES = 12  # of a folder

# Nouns of csrc: a noun is its .h, .c, .m and .def together.
C = [
    "mxnp | digest",  # the C API, and what the build writes
    "base",
    "error | alloc | axes | cgroup | dtypes | ops | instruction",
    "pool | loop",
    "buffer",
    "fuse",
    "report | backend",
    "stream | cpu/ | metal/",
    "recorder",
    "api | ffi",
    "python/",  # knows Python, and of the core what is recorded
]

# Nouns of csrc/cpu. "x & y" are at home in one place: they may include each other.
CPU = [
    "bfloat | conditions | copies | cores | half | isa",
    "cast_runs | index_runs | own_runs | pair_runs | thread_pool",
    "casts | compact | indices | own_loops | ranges | search",
    "program & blocks & scratch & pairs & reduce & scan & find & gather & scatter",
    "backend",
]

# Nouns of csrc/metal.
METAL = [
    "text | device & none",
    "pipelines | kernel & steps & passes",
    "batch | dispatch",
    "groups | launch",
    "metal & backend",
]

# What may use nothing else of the floors below it.
NOTHING_BUT = {"python/": {"recorder", "dtypes", "ops"}}


def places(floors):
    """Give (floor, side) of each name."""
    return {
        name: (floor, side)
        for floor, names in enumerate(floors)
        for side, together in enumerate(names.split(" | "))
        for name in together.split(" & ")
    }


def name_of(path, known):
    """Give the entry that a file falls under: its own, or its folder's."""
    folders = [f"{parent.as_posix()}/" for parent in path.parents]
    return next((f for f in folders if f in known), path.with_suffix("").as_posix())


def check(user, used, known):
    """Fail if user is not above used."""
    assert user in known, f"give {user} a place in {__file__}"
    assert used in known, f"{user} uses {used}, which has no place in {__file__}"
    if known[used] != known[user]:
        assert used in NOTHING_BUT.get(user, {used}), f"{user} must not use {used}"
        assert known[used][0] < known[user][0], f"{user} is not above {used}"


# -- Python ---------------------------------------------------------------------------

MODULES = sorted((ROOT / "mxnp").rglob("*.py"))
ALLOWED = {
    name: {name, *used.split(), *COMPILED}
    for names, used in PYTHON.items()
    for name in names.split()
}


def module_of(path):
    """Return the dotted name of a file within mxnp: "random", "_engine.core"."""
    parts = path.relative_to(ROOT / "mxnp").with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


NAMES = {module_of(path) for path in MODULES} | COMPILED


def imports(path):
    """Return the modules of mxnp that a file imports, at the top or inside a function."""
    package = ("mxnp", *path.relative_to(ROOT / "mxnp").parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*start, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "mxnp":  # the longest beginning that is a module
                tails = (".".join(rest[:n]) for n in range(len(rest), 0, -1))
                found.add(next((tail for tail in tails if tail in NAMES), "__init__"))
    return found - {module_of(path)}


def refused(user, used):
    """Return why a module must not import another one, or ""."""
    folder, other = user.partition(".")[0], used.partition(".")[0]
    if folder == "__init__":
        return ""
    if folder not in ALLOWED:
        return f"name {folder} in {__file__}"
    if used == "_core" and user != "_engine.core":
        return "only _engine.core may import _core"
    return "" if other in ALLOWED[folder] else f"{folder} must not import {other}"


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_python_imports_follow_the_rules(path):
    user = module_of(path)
    for used in imports(path):
        assert not refused(user, used)


def test_the_page_has_the_same_rules():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`_.*?) \| ?(.*?) ?\|$", text, re.MULTILINE)
    said = {
        name: set(re.findall(r"`(\w+)`", used))
        for names, used in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    private = {name: used.split() for name, used in PYTHON.items() if name[1] != "_"}
    rules = {name: {*used} - {"__init__"} for name, used in private.items()}
    assert said == {name: used for name, used in rules.items() if name[0] == "_"}


def test_python_imports_have_no_circle():
    waiting = {module_of(path): imports(path) for path in MODULES}
    # A folder's own __init__ is entered before its modules, and imports them.
    for user, used in waiting.items():
        waiting[user] = {name for name in used if not user.startswith(f"{name}.")}
    while free := [user for user, used in waiting.items() if not used & waiting.keys()]:
        for user in free:
            del waiting[user]
    assert not waiting


def test_folders_are_small():
    for folder in {path.parent for path in MODULES} - {ROOT / "mxnp/bench/programs"}:
        modules = [p for p in folder.glob("*.py") if not p.name.startswith("__")]
        assert len(modules) <= MOST_MODULES, folder


@pytest.mark.parametrize(
    ("user", "used", "complaint"),
    [
        ("_array.ndarray", "_routines.copies", "_array must not import _routines"),
        ("random", "ma", "random must not import ma"),
        ("_array.ndarray", "_core", "only _engine.core may import _core"),
        ("_helpers", "_array.ndarray", "name _helpers in"),
        ("_profiler.model", "_doctor.doctor", "_profiler must not import _doctor"),
    ],
)
def test_wrong_imports_are_refused(user, used, complaint):
    assert complaint in refused(user, used)


# -- C --------------------------------------------------------------------------------

SOURCES = sorted(
    path
    for path in (ROOT / "csrc").rglob("*")
    if path.suffix in {".c", ".h", ".m", ".def"}
)
HALVES = [path for path in SOURCES if path.parent.name in {"cpu", "metal"}]


def noun_of(path):
    return name_of(path.relative_to(ROOT / "csrc"), places(C))


def includes(path):
    """Give the files of csrc that a file includes."""
    text = path.read_text()
    for name in re.findall(r'^\s*#\s*(?:include|import)\s*"(.+?)"', text, re.MULTILINE):
        beside = (path.parent / name).resolve()
        yield beside if beside.exists() else ROOT / "csrc" / name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_c_includes_go_down(path):
    known = places(C)
    user = noun_of(path)
    check(user, user, known)
    for used in includes(path):
        check(user, noun_of(used), known)


@pytest.mark.parametrize("path", HALVES, ids=lambda path: path.name)
def test_includes_of_a_backend_go_down(path):
    known = places(CPU if path.parent.name == "cpu" else METAL)
    check(path.stem, path.stem, known)
    for used in includes(path):
        if used.parent == path.parent:
            check(path.stem, used.stem, known)


# -- The tables -----------------------------------------------------------------------


def test_tables_name_nothing_that_is_gone():
    assert ALLOWED.keys() <= {name.partition(".")[0] for name in NAMES}
    assert places(C).keys() <= {*map(noun_of, SOURCES), "digest"}
    for name, floors in {"cpu": CPU, "metal": METAL}.items():
        there = {path.stem for path in HALVES if path.parent.name == name}
        assert places(floors).keys() <= there


@pytest.mark.parametrize(
    ("floors", "user", "used", "complaint"),
    [
        (C, "stream", "cpu/", "stream is not above cpu/"),
        (C, "fuse", "stream", "fuse is not above stream"),
        (C, "python/", "pool", "python/ must not use pool"),
        (CPU, "copies", "program", "copies is not above program"),
    ],
)
def test_wrong_use_is_seen(floors, user, used, complaint):
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        check(user, used, places(floors))


def test_those_of_one_place_use_each_other():
    check("program", "reduce", places(CPU))
    check("reduce", "program", places(CPU))
