"""Check the layers: which folders may import which, and which C files include which.

A new folder must be added to the tables below.
"""

import ast
import re
from functools import cache

import pytest
from support.paths import ROOT

# Folders and public modules of mxnp, and what each may import besides compiled modules.
PYTHON = {
    "_engine": "",
    "_array": "_engine",
    "_namespace": "_engine _array",
    "_routines": "_engine _array _namespace",
    "_numpy_layer": "_engine _array _namespace",
    "_array_api": "_engine _array _namespace",
    "_gpu": "_engine _array _namespace _routines _numpy_layer",
    "_jit": "_engine",
    "_metal": "__init__ _engine _verify",
    "_pyinstaller": "",
    "_interop": "__init__ _engine _array _namespace",
    "_packages": "_engine _interop",
    "_profiler": "_engine _interop",
    "_doctor": "_engine _namespace _interop _profiler",
    "_rewrite": "_engine _interop _profiler _doctor",
    "_verify": "_engine _array _packages",
    "_cli": "__init__ _engine _metal _doctor _interop _namespace _packages _profiler "
    "_rewrite _verify",
    "random": "_array _engine _gpu _namespace _routines",
    "testing ma ctypeslib": "_array _namespace",
    "char dtypes exceptions lib linalg polynomial rec strings typing": "_namespace",
    "fft": "_array_api _namespace",
    "__main__": "_cli",
    "array_namespace": "__init__ _array_api",
    "bench": "__init__ _engine",
}
COMPILED = {"_bridge", "_core"}
MOST_MODULES = 12  # in one folder

# Folders of csrc, and what the files of each may include besides their own folder. Code
# for Python's C API uses the core only through api/recorder.h and the tables of ir/.
C = {
    "": "",  # mxnp.h, the C API
    "base": "",
    "ir": "base",
    "memory": "base",
    "scheduler": "base ir memory",
    "cpu/threads": "base",
    "cpu/kernels": "base ir memory cpu/threads",
    "cpu/compiled": "base",
    "cpu/plan": "base ir memory scheduler cpu/threads cpu/kernels cpu/compiled",
    "cpu": "base scheduler cpu/threads cpu/plan",
    "gpu": "base ir memory scheduler",
    "metal": "base memory gpu",
    "cuda": "base ir gpu",
    "draws": "base memory cpu/threads",
    "api": "base ir memory scheduler cpu cpu/threads cpu/kernels cpu/compiled cpu/plan gpu "
    "draws",
    "python/base": "ir api",
    "python/profile": "ir python/base",
    "python/record": "ir python/base python/profile",
    "python/direct": "base ir python/base python/profile python/record",
    "python/convert": "python/base python/profile python/record",
    "python/access": "ir python/base python/profile python/record python/direct python/convert",
    "python/packages": "python/base python/profile python/record python/direct python/convert",
    "python/object": "ir python/base python/profile python/record python/direct "
    "python/convert python/access python/packages",
    "python": "python/base python/profile python/record python/direct python/convert "
    "python/access python/packages python/object",
}

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


@cache
def imports(path):
    """Return the modules of mxnp that a file imports, also inside functions."""
    package = ("mxnp", *path.relative_to(ROOT / "mxnp").parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
            if first == "mxnp":  # the longest prefix that is a module
                tails = (".".join(rest[:n]) for n in range(len(rest), 0, -1))
                found.add(next((tail for tail in tails if tail in NAMES), "__init__"))
    return found - {module_of(path)}


def refused(user, used):
    """Return why a module must not import another one, or an empty string."""
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
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
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
    # The __init__ of a folder is imported before its modules, and imports them.
    for user, used in waiting.items():
        waiting[user] = {name for name in used if not user.startswith(f"{name}.")}
    assert not without_those_that_use_nothing_else(waiting)


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

CSRC = ROOT / "csrc"
MADE = {"digest.h", "language.inc"}  # by build steps
SOURCES = sorted(p for p in CSRC.rglob("*") if p.suffix in {".c", ".h", ".m", ".def"})


def folder_of(path):
    folder = path.relative_to(CSRC).parent.as_posix()
    return "" if folder == "." else folder


def included(path):
    """Return the files of csrc that a file includes; a generated one may not exist."""
    text = path.read_text(encoding="utf-8")
    names = re.findall(r'^\s*#\s*(?:include|import)\s*"(.+?)"', text, re.MULTILINE)
    return [CSRC / name for name in names]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CSRC)))
def test_c_includes_follow_the_rules(path):
    folder = folder_of(path)
    assert folder in C, f"name {folder} in {__file__}"
    for used in included(path):
        assert used.exists() or used.name in MADE, "paths are relative to csrc"
        assert folder_of(used) in {folder, "", *C[folder].split()}, used


def without_those_that_use_nothing_else(graph):
    """Return a graph without the nodes that do not lead to a circle."""
    graph = {user: set(used) for user, used in graph.items()}
    while free := [user for user, used in graph.items() if not used & graph.keys()]:
        for user in free:
            del graph[user]
    return graph


def test_c_includes_have_no_circle():
    # A header and its source count as one.
    graph = {}
    for path in SOURCES:
        user = path.with_suffix("")
        uses = {used.with_suffix("") for used in included(path)} - {user}
        graph.setdefault(user, set()).update(uses)
    circle = without_those_that_use_nothing_else(graph)
    # Remove the files that include a circle without being part of it.
    users = {path: set() for path in circle}
    for user, uses in circle.items():
        for used in uses & circle.keys():
            users[used].add(user)
    circle = without_those_that_use_nothing_else(users)
    assert not circle, sorted(str(path.relative_to(CSRC)) for path in circle)


# Where the contents of a buffer are is the business of one module: other files obtain a
# pointer from it. The driver of a GPU that shares memory needs the address alone.
READS_BUFFERS = ("csrc/memory/", "csrc/metal/device.m")


def test_only_one_module_knows_where_contents_are():
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if re.search(r"\bbuffer->data\b", path.read_text(encoding="utf-8"))
    }
    assert not {name for name in naming if not name.startswith(READS_BUFFERS)}


# Functions of the core whose names do not begin with the name of their file.
API = set(re.findall(r"\b(mx_\w+)\(", (CSRC / "mxnp.h").read_text(encoding="utf-8")))
NAMED_OTHERWISE = {
    "mx_fail": "error.c: `return mx_fail(...)` marks each point of failure",
    "mx_realloc": "alloc.c: named after the C function",
    "mx_free": "alloc.c: named after the C function",
}
MACRO = re.compile(r"^#(?:.*\\\n)*.*$", re.MULTILINE)
# The definition or the declaration of a function that is not static.
FUNCTION = re.compile(
    r"^(?!static\b|SHARED\b|typedef\b)(?:[A-Za-z]\w*[\s*]+)+(\w+)\([^;{}]*\)\s*[;{]",
    re.MULTILINE,
)
CORE_FILES = [
    p
    for p in SOURCES
    if p.suffix == ".c"
    and p.relative_to(CSRC).parts[0]
    in {"base", "ir", "memory", "scheduler", "cpu", "gpu", "metal", "cuda"}
]


def stems(noun):
    """Return the noun of a file and its singular."""
    irregular = {"indices": "index", "copies": "copy"}
    return {noun, irregular.get(noun, noun.removesuffix("s"))}


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda p: str(p.relative_to(CSRC)))
def test_c_functions_are_named_after_their_file(path):
    text = MACRO.sub("", path.read_text(encoding="utf-8"))
    names = set(FUNCTION.findall(text)) - API - NAMED_OTHERWISE.keys()
    prefixes = tuple(f"mx_{stem}" for stem in stems(path.stem))
    for name in names:
        assert any(f"{name}_".startswith(f"{prefix}_") for prefix in prefixes), name


BRIDGE_FILES = [p for p in SOURCES if p.relative_to(CSRC).parts[0] == "python"]


@pytest.mark.parametrize("path", BRIDGE_FILES, ids=lambda p: str(p.relative_to(CSRC)))
def test_functions_of_the_bridge_are_named_after_their_file(path):
    # Python requires the prefix PyInit_.
    prefixes = ("PyInit_", *(f"{stem}_" for stem in stems(path.stem)))
    for name in FUNCTION.findall(MACRO.sub("", path.read_text(encoding="utf-8"))):
        assert name.startswith(prefixes), name


STATIC = re.compile(r"^static\b[^;{}()=]*\b([a-z]+)\([^;{}]*\)\s*\{", re.MULTILINE)


HEADER_MACRO = re.compile(r"^ *# *define +(MX_\w+)", re.MULTILINE)


def test_static_functions_of_one_word_have_different_names():
    """So that grep and breakpoints find one."""
    found = [
        name
        for path in SOURCES
        if path.suffix != ".h"
        for name in {*STATIC.findall(MACRO.sub("", path.read_text(encoding="utf-8")))}
    ]
    assert {"suits", "times"} <= {*found}
    assert not {name for name in found if found.count(name) > 1}


def test_macros_of_headers_have_different_names():
    """A file may include any two of them."""
    found = [
        name
        for path in SOURCES
        if path.suffix == ".h"
        for name in {*HEADER_MACRO.findall(path.read_text(encoding="utf-8"))}
    ]
    assert "MX_PRINTF" in found
    assert not {name for name in found if found.count(name) > 1}


def test_names_of_functions_are_found():
    names = FUNCTION.findall(
        (CSRC / "python/packages/slots.c").read_text(encoding="utf-8")
    )
    assert names == [
        *("slot_replace", "slot_patch", "slot_patch_new", "slot_patch_call"),
        "slots_set_sequence",
    ]
    header = (CSRC / "python/profile/call_site.h").read_text(encoding="utf-8")
    assert {"call_site_new", "call_site_free"} <= {*FUNCTION.findall(header)}


# -- Kinds of GPU ---------------------------------------------------------------------

# Files that may name a kind of GPU. All others read names and limits from its row.
NAMES_A_GPU = (
    "csrc/metal/",
    "csrc/cuda/",
    "csrc/gpu/devices.def",  # the list of kinds
    "csrc/python/record/device_export.",  # DLPack numbers the kinds of devices
    "mxnp/_metal/",
    "mxnp/_array_api/exchange.py",  # a protocol has the name
    "mxnp/_cli/main.py",  # calls the check of the GPU
    "mxnp/__init__.py",  # exports metal_kernel
    "mxnp/_engine/devices.py",  # the docstrings list the names
    "mxnp/_engine/environment.py",  # two names of variables have one
    "mxnp/_profiler/model.py",  # a public field has the name
    "mxnp/_verify/tolerances.py",  # cites the specification of the language
)


def test_only_its_own_files_name_a_gpu():
    kinds = re.findall(
        r"^DEVICE\((\w+)\)",
        (CSRC / "gpu" / "devices.def").read_text(encoding="utf-8"),
        re.M,
    )
    assert kinds
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in [*SOURCES, *MODULES]
        if re.search("|".join(kinds), path.read_text(encoding="utf-8"), re.IGNORECASE)
    }
    assert not {name for name in naming if not name.startswith(NAMES_A_GPU)}
    for allowed in NAMES_A_GPU:
        assert any(name.startswith(allowed) for name in naming), allowed


def test_the_rules_name_no_folder_that_is_gone():
    assert {name.partition(".")[0] for name in NAMES} >= ALLOWED.keys()
    assert {folder_of(path) for path in SOURCES} == C.keys()
    assert all({*used.split()} <= C.keys() for used in C.values())
