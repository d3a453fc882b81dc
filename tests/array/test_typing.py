"""Test that a type checker sees NumPy's types in mxnp."""

import ast
import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import code_blocks
import numpy
import pytest
from support.paths import ROOT

import mxnp

PROGRAM = """
import mxnp
import mxnp as np
import mxnp.random
import mxnp.typing as npt
from mxnp import linalg
from mxnp.fft import rfft
from mxnp.linalg import norm

a: npt.NDArray[np.float32] = np.zeros((3, 3), dtype=np.float32)
reveal_type(a + a)
reveal_type(np.argmax(a))
reveal_type(linalg.solve(a, a))
reveal_type(mxnp.random.default_rng(1))
reveal_type(np.lib.stride_tricks.as_strided)
np.random.default_rng(1).normal(size=3)
rfft(a), norm(a)
mxnp.install(exclude=["x"])
np.zeross(3)
np.zeros("three", dtypo=1)
"""


SIGNATURES = """
import mxnp as np
import mxnp.typing as npt

def scale(x: npt.NDArray[np.float64], by: float) -> npt.NDArray[np.float64]:
    return x * by

def first(x: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    return int(x[0])

scale(np.ones(3), 2.0)
first(np.arange(3))
with np.device("cpu"):
    previous: str = np.set_device(np.devices()[0])
policy: str = np.set_float64_policy(np.get_float64_policy())
device: str = np.get_device()
kernel = np.metal_kernel("twice", ["x"], ["y"], "y[i] = 2 * x[i];")
with np.verify(0.5) as checks, np.trap_nan(inf=True):
    count: int = checks.verified
with np.doctor() as d:
    d.findings
mode: str = np.get_mode()
line = scale(np.ones(3), 2.0)
changed: npt.NDArray[np.float64] = np.at(line)[1:].add(line[1:], mode="drop")
scale(np.at(changed)[0].set(1.0), 2.0)
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typing")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder)]
    return subprocess.run(
        [*command, str(program)],
        cwd=folder,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.slow
@pytest.mark.needs("mypy")
def test_types_are_numpys(output):
    revealed = [line for line in output.splitlines() if "Revealed type" in line]
    for each, line in zip(
        ("numpy.ndarray[", "numpy.signedinteger[", "numpy.ndarray[", "Generator"),
        revealed,
        strict=False,
    ):
        assert each in line
    assert len(revealed) == 5


@pytest.mark.slow
@pytest.mark.needs("mypy")
def test_mistakes_are_found_and_nothing_else(output):
    lines = PROGRAM.splitlines()
    wrong = {
        lines.index(line) + 1 for line in lines if "zeross" in line or "po=" in line
    }
    errors = [line for line in output.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in errors} == wrong, output


def test_every_own_name_has_a_type():
    names = set()
    for node in ast.parse(
        Path(mxnp.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    ).body:
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname for each in node.names}
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    program = "import mxnp; print(*dir(mxnp))"  # other tests import mxnp.bench
    public = subprocess.check_output([sys.executable, "-c", program], text=True)
    own = {name for name in public.split() if name[0] != "_"}
    assert {name for name in own if not hasattr(numpy, name)} <= names


# -- The documentation -----------------------------------------------------------------

# The type of arrays is NumPy's, which has no `at`. The function `mxnp.at` has a type.
AT = ('has no attribute "at"', 'Cannot access attribute "at"')
UNTYPED = {"scaling.md": "functions of dask have no types"}


def source_of(page):
    """Return the Python code of a page, where `np` is mxnp."""
    parts = ["import mxnp as np\n"]
    for block in code_blocks.blocks(page):
        if block.word == "python" and not block.mark.startswith("file:"):
            code = block.code
            if ">>>" in code:
                examples = doctest.DocTestParser().get_examples(code)
                code = "".join(each.source for each in examples)
            parts.append(code)
    return "".join(parts) if len(parts) > 1 else ""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return a folder with a program for each page, and the stubs."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "mxnp").symlink_to(ROOT / "mxnp")
    (folder / "signatures.py").write_text(SIGNATURES)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        source = source_of(page)
        if source and page.name not in UNTYPED:
            (folder / f"{page.stem.replace('-', '_')}.py").write_text(source)
    return folder


def files_of(folder):
    return [str(path) for path in sorted(folder.glob("*.py"))]


@pytest.mark.slow
@pytest.mark.needs("mypy")
def test_pages_pass_mypy(programs):
    """Functions of the examples have no annotations, which --strict would require."""
    options = ["--strict", "--allow-untyped-defs", "--allow-untyped-calls"]
    command = [sys.executable, "-m", "mypy", *options, "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, "--cache-dir", str(programs / "cache"), *files_of(programs)],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    errors = [line for line in lines if ": error:" in line and AT[0] not in line]
    assert not errors, "\n".join(errors)
    assert lines[-1].startswith("Found"), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.needs("pyright")
def test_pages_pass_pyright(programs):
    settings = {
        "include": [path.rpartition("/")[2] for path in files_of(programs)],
        "reportMissingImports": False,  # as for mypy
        "reportPossiblyUnbound": False,
        "reportPossiblyUnboundVariable": False,
        "reportUnusedExpression": False,
    }
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable, "-p", str(programs)],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    errors = [
        f"{each['file']}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in report["generalDiagnostics"]
        if each["severity"] == "error" and AT[1] not in each["message"]
    ]
    assert report["summary"]["filesAnalyzed"] == len(files_of(programs))
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize(
    "name",
    [
        *("linalg", "lib", "typing", "polynomial", "exceptions", "random", "fft"),
        *("char", "rec", "dtypes", "strings"),
    ],
)
def test_modules_with_stubs_have_a_source(name):
    """Type checkers warn of an import for which they find a stub alone."""
    folder = Path(mxnp.__file__).parent
    module = importlib.import_module(f"mxnp.{name}")
    source = Path(module.__file__)
    assert source.parent in (folder, folder / name)
    assert source.with_suffix(".pyi").exists()
    original = importlib.import_module(f"numpy.{name}")
    assert {*original.__all__} <= {*dir(module)}
    assert hasattr(module, "__path__") == hasattr(original, "__path__")


@pytest.mark.slow
@pytest.mark.needs("pyright")
def test_imports_of_modules_pass_pyright(tmp_path):
    names = ("typing", "linalg", "char", "rec", "dtypes", "strings")
    lines = [f"import mxnp.{name}\n" for name in names]
    (tmp_path / "program.py").write_text("".join(lines))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "0 errors, 0 warnings" in done.stdout, done.stdout
