"""pytest: tests of the program."""

import os
import sys
from pathlib import Path

import pytest

TEST = """
import numpy as np
import pytest

@pytest.fixture
def data():
    return np.arange(30_000) * 0.5 + 1

@pytest.mark.parametrize("scale", [np.float64(2), np.arange(3) * 1.0])
@pytest.mark.parametrize("kind", np.array([1, 2]))
def test_scaled(data, scale, kind):
    assert (data[:3] * scale) == pytest.approx(data[:3] * scale + 1e-9)
    assert isinstance(data, np.ndarray)

def test_fails(data):
    assert list(data[:2]) == [1.0, 2.0]
"""


def approximately(x):
    y = x * 1.0 + 1
    return (
        y == pytest.approx(x + 1),
        x + 1 + 1e-9 == pytest.approx(y),
        y == pytest.approx(x, abs=0.5),
        y.sum() == pytest.approx(float((x + 1).sum())),
        {"a": y.max()} == pytest.approx({"a": (x + 1).max()}),
        [y[0], y[1]] == pytest.approx([y[0], y[1] + 1e-12]),
        y.tolist() == pytest.approx(y),
        y == pytest.approx(2.0, abs=10),
    )


def approximate_texts(small):
    return repr(pytest.approx(small[:3] * 2)), repr(
        pytest.approx(small[:4].reshape(2, 2))
    )


def raised(x):
    with pytest.raises(ValueError, match="broadcast") as caught:
        x + x[:7]
    return str(caught.value), caught.type.__name__


def warned(x):
    with pytest.warns(RuntimeWarning, match="divide") as caught:
        (1 / (x * 0.0)).sum()
    return [str(w.message) for w in caught]


def parameters(small):
    made = pytest.param(small * 2, small[0], id="a")
    return made.values[0], made.id


def changed(x):
    with pytest.MonkeyPatch.context() as patch:
        values = {"a": x}
        patch.setitem(values, "a", x + 1)
        inside = values["a"] * 2
    return inside, values["a"] is x


class _Outcomes:
    def __init__(self):
        self.found = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else ""
            self.found.append((report.nodeid.split("::")[-1], report.outcome, message))


def tests_in_a_file():
    name = f"test_{Path(sys.argv[0]).stem}_{Path(__file__).stem}.py"
    module = "mxnp" if "import_" in __file__ else "numpy"
    Path(name).write_text(TEST.replace("import numpy", f"import {module}"))
    outcomes = _Outcomes()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest.main(["-q", "-p", "no:cacheprovider", name], [outcomes])
    return outcomes.found


def error_not_equal(x):
    assert x[:3] * 2 == pytest.approx(x[:3] * 2 + 1)
