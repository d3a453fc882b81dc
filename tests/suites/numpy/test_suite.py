"""Run a part of NumPy's own tests. All of them run with tests/suites/numpy/run.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent
sys.path.insert(0, str(SUITE))

from classify import Classifier  # noqa: E402
from rewrite import SOURCE, rewrite  # noqa: E402

LIMIT = 1800  # seconds, ten times the usual


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_quick_part_of_numpys_own_tests_passes():
    command = [sys.executable, str(SUITE / "run.py"), "--quick"]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    ran = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=LIMIT
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    assert "crashes and hangs: 0" in ran.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import numpy as np", "import mxnp as np"),
        ("import numpy", "import mxnp as numpy"),
        ("import os, numpy.linalg", "import os, mxnp.linalg, mxnp as numpy"),
        ("import numpy.linalg as la", "import mxnp.linalg as la"),
        ("import numpy._core.umath as u", "import numpy._core.umath as u"),
        ("from numpy.fft import fft as f", "from mxnp.fft import fft as f"),
        ("from numpy._core import umath", "from numpy._core import umath"),
        (
            "from numpy.linalg.tests.test_linalg import (\n    A,\n    B)",
            "from numpy_tests.linalg.tests.test_linalg import A, B",
        ),
        (
            "import numpy as np\nx = np._core.umath, np.linalg",
            'import mxnp as np\nx = __import__("numpy")._core.umath, np.linalg',
        ),
        ("p = 'import numpy as np'", "p = 'import mxnp as np'"),
        ("assert 'ä' in np; import numpy", "assert 'ä' in np; import mxnp as numpy"),
    ],
)
def test_only_imports_are_rewritten(before, after):
    assert rewrite(before, "mxnp") == after


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("assert np.add(1, 2) == 3", "numeric"),
        ("assert a.T.strides == (8,)", "numeric"),
        ("np.zeros(3, 'i8')", "numeric"),
        ("np.zeros(3, 'M8[s]')", "public"),
        ("np.zeros(3, dtype=object)", "public"),
        ("np.zeros(3, [('x', int), ('y', int)])", "public"),
        ("np.ma.array(3)", "public"),
        ("helper()", "public"),
        ("np._core.umath", "private"),
        ("umath.add(1, 2)", "private"),
        ("subprocess.run([])", "private"),
    ],
)
def test_kind_follows_from_the_names_a_test_uses(body, kind, tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text(
        "import subprocess\nimport numpy as np\nfrom numpy._core import umath\n"
        f"def helper(): return repr(np.ones(3))\ndef test_it(a):\n    {body}\n"
    )
    assert Classifier().kind([(file, "test_it")]) == kind


@pytest.mark.slow
def test_every_copy_can_be_parsed():
    files = [*SOURCE.glob("_core/tests/test_*.py"), *SOURCE.glob("*/tests/test_*.py")]
    assert len(files) > 100
    for file in files:
        compile(
            rewrite(file.read_text(encoding="utf-8"), "mxnp"),
            str(file),
            "exec",
            dont_inherit=True,
        )
