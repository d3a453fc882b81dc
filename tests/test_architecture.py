"""The floors of the house: imports and includes go down, or to the left on one floor.

A new file gets its place in the tables below; a file without one fails the test.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Modules of mxnp, ground floor first. "x|y" on one floor are strangers: neither may
# import the other. A folder is named with its slash and stands for what is in it.
PYTHON = [
    "_core | _bridge | _import",  # compiled
    "_boundary | _lib | _figures | _profile | _wishes",
    "_counter | _custom | _explain | _members | _metal_kernels | _settings | _syntax | _table | _tolerances | _trace",
    "_bindings | _devices | _modes",
    "_array | _vectorization",
    "_findings | _notes | _pickles | _ufunc",
    "_array_patterns | _differences | _element_patterns | _snapshots | _watch",
    "_trap | _verify",
    "_methods",
    "_mirror",
    "_at | _classes | _copies | _expressions | _packages | _reductions | _standard | _warnings",
    "_indexing | _metal_functions | _placed | _selections | _statistics",
    "_metal_random | _metal_updates",
    "_dask | _namespace | _nanfunctions | random | testing | ma | ctypeslib",
    "_page | _runner",
    "_gate | _report",
    "_doctor | _notebook",
    "_reporting",
    "__init__",
    "_dask_array",
    "__main__ | array_namespace/",
    "bench/",
]

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
    "cast_runs | index_runs | own_runs | pair_runs | team",
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

# Who may use what, beyond the floors.
ONLY = {"_core": {"_lib"}}
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
        assert user in ONLY.get(used, {user}), f"only {ONLY[used]} may use {used}"
        assert known[used][0] < known[user][0], f"{user} is not above {used}"


# -- Python ---------------------------------------------------------------------------

MODULES = sorted((ROOT / "mxnp").rglob("*.py"))


def module_of(path):
    """Give the dotted name of a file within mxnp: "_lib", "lib.scimath"."""
    parts = path.relative_to(ROOT / "mxnp").with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def place_of(module, known):
    """Give the entry that a module falls under: its own, or its folder's."""
    parts = module.split(".")
    folders = ["/".join(parts[:n]) + "/" for n in range(len(parts), 0, -1)]
    return next((f for f in folders if f in known), module)


def imports(path, known):
    """Give the entries of the modules of mxnp that a file imports, at the top or inside a function."""
    package = ("mxnp", *path.relative_to(ROOT / "mxnp").parts[:-1])
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
                tails = [
                    place_of(".".join(rest[:n]), known) for n in range(len(rest), 0, -1)
                ]
                yield next((tail for tail in tails if tail in known), "__init__")


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_python_imports_go_down(path):
    known = places(PYTHON)
    user = place_of(module_of(path), known)
    check(user, user, known)
    for used in imports(path, known):
        check(user, used, known)


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
    compiled = {path.stem for path in (ROOT / "mxnp").glob("*.pyi")}
    known = places(PYTHON)
    modules = {place_of(module_of(path), known) for path in MODULES}
    assert known.keys() <= modules | compiled
    assert places(C).keys() <= {*map(noun_of, SOURCES), "digest"}
    for name, floors in {"cpu": CPU, "metal": METAL}.items():
        there = {path.stem for path in HALVES if path.parent.name == name}
        assert places(floors).keys() <= there


@pytest.mark.parametrize(
    ("floors", "user", "used", "complaint"),
    [
        (PYTHON, "_array", "_ufunc", "_array is not above _ufunc"),
        (PYTHON, "random", "ma", "random is not above ma"),
        (PYTHON, "_array", "_core", "only {'_lib'} may use _core"),
        (PYTHON, "_helpers", "_array", "give _helpers a place"),
        (PYTHON, "_array", "_helpers", "_array uses _helpers, which has no place"),
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
