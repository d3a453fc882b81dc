"""Test that only the operation that produces the first NaN is reported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.metal import needs_metal

import mxnp
from mxnp import NaNError, _bridge

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, params=[0, 2**14], ids=["recorded", "immediate"])
def threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    mxnp.synchronize()
    before = _bridge.set_threshold(request.param)
    yield
    _bridge.set_threshold(before)


def arrays(dtype: str = "f8") -> dict[str, Any]:
    x = mxnp.array([4.0, 1.0, -1.0, 0.0], dtype)
    return {"np": mxnp, "x": x, "nan": mxnp.array([1, numpy.nan, 2, 3], dtype)}


MAKE_NAN = {
    "np.log(x)": ("log", "result[2] is nan, operands: -1.0"),
    "np.sqrt(x)": ("sqrt", "result[2] is nan, operands: -1.0"),
    "x / (x * 0)": ("divide", "result[3] is nan, operands: 0.0, 0.0"),
    "x / x": ("divide", "result[3] is nan, operands: 0.0, 0.0"),
    "0.0 / x * 1": ("divide", "result[3] is nan, operands: 0.0, 0.0"),
    "x.__itruediv__(x)": ("in-place divide", "result[3] is nan, operands: 0.0, 0.0"),
    "np.log(x, out=x)": ("log", "result[2] is nan, operands: -1.0"),
    "np.divmod(x, 0.0)": ("divmod", "is nan"),
    "x[None] % (x[:, None] * 0)": ("remainder", "result[0, 0] is nan, operands: 4.0, 0.0"),
    "np.arccos(x)": ("arccos", "result[0] is nan, operands: 4.0"),
    "np.power(x - 2, 0.5)": ("power", "operands: -1.0, 0.5"),
    "nan * (np.array([1e300, 1, 1, np.inf]) - np.inf)": ("subtract", "operands: inf, inf"),
    "nan + np.log(x)": ("log", "result[2] is nan"),
    "np.fmax(x / x, 1)": ("divide", "result[3] is nan"),
    "np.mean(x[:0])": ("mean", "result is nan"),
    "(x[:0] * 1).mean()": ("ndarray.mean", "result is nan"),
    "np.std(x[:1], ddof=1)": ("std", "result is nan"),
    "np.corrcoef([x * 0, x])": ("corrcoef", "is nan"),
    "np.add.reduce(np.array([np.inf, -np.inf]))": ("add.reduce", "result is nan"),
    "np.cumsum(np.array([np.inf, -np.inf]))": ("cumsum", "result[1] is nan"),
    "np.log(x, where=x > -2)": ("log", "result[2] is nan"),
    "np.subtract.outer(np.array([np.inf]), np.array([np.inf]))": ("subtract.outer", "is nan"),
    "np.log(x + 0j) * np.array([0, 0, 0, complex(0, np.inf)])": ("multiply", "(-inf+0j), infj"),
    "np.float16(1) * np.sqrt(x.astype('e'))": ("sqrt", "operands: -1.0"),
}  # fmt: skip

MAKE_NONE = [
    "nan + x", "np.sqrt(nan)", "nan.sum()", "np.mean(nan)", "-nan", "nan.copy()",
    "nan * np.array([1, 2, 3, 4.0])", "np.full(3, np.nan)", "np.array([np.nan, 1])",
    "x * np.nan", "np.nan + x", "np.add(x, float('nan'))", "np.where(x > 0, x, np.nan)",
    "np.where(x > 0, np.log(abs(x) + 1), np.nan)", "x.fill(np.nan)", "x.__setitem__(2, np.nan)",
    "x.__setitem__(x < 0, np.nan)", "np.copyto(x, np.nan)", "np.putmask(x, x < 0, np.nan)",
    "np.pad(x, 1, constant_values=np.nan)", "np.empty(4)", "np.array(['nan', '1'], float)",
    "np.array(['nan']).astype(float)", "np.frombuffer(b'\\xff' * 8)", "np.fromstring('nan 1', sep=' ')",
    "nan[1]", "nan[1:2]", "nan.reshape(2, 2)", "nan.view('f8')", "np.isnan(nan)", "np.sort(nan)",
    "np.nan_to_num(nan)", "np.nanmean(nan)", "np.concatenate([x, nan])", "list(nan)",
    "np.log(x, where=x > 0, out=np.zeros(4))", "np.arange(3) // 1", "nan.tolist()",
    "np.array([None, np.nan], object) + np.array([1.0, 2], object) if 0 else x",
    "np.array([1.5, 'nan'], object).astype(float)", "np.ma.masked_invalid(nan) + 1",
    "np.array(['NaT'], 'M8[D]').astype(float)", "np.random.random(3)", "x / 0 if 0 else x + 1",
    "np.log(x[:1])", "1 / (x - 7)", "np.linalg.svd(np.ones((2, 2)))", "nan / nan * 0",
    "np.add.at(x, [1], np.nan)", "np.insert(x, 1, np.nan)", "np.clip(nan, 0, 1)", "nan @ x",
]  # fmt: skip


@pytest.mark.parametrize("text", MAKE_NAN)
def test_the_operation_that_makes_one(text: str) -> None:
    name, detail = MAKE_NAN[text]
    names = arrays()
    with mxnp.trap_nan(), pytest.raises(NaNError) as caught:
        eval(text, names)
    message = str(caught.value)
    assert message.startswith(f"{name} produced the first NaN\n  at "), message
    assert detail in message, message


@pytest.mark.parametrize("text", MAKE_NONE)
def test_no_operation_makes_one(text: str) -> None:
    names = arrays()
    with mxnp.trap_nan():
        eval(text, names)


def test_results_without_nan_do_not_need_the_watcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call of the watcher takes 30 us, a hundred times as long as an operation."""
    asked: list[str] = []
    begin = mxnp.trap_nan.begin

    def counted(self: Any, operation: Any) -> Any:
        asked.append(operation.name)
        return begin(self, operation)

    monkeypatch.setattr(mxnp.trap_nan, "begin", counted)
    x, y = mxnp.arange(1.0, 7.0), mxnp.full((4, 6), mxnp.nan)
    with mxnp.trap_nan():
        for k in range(4):
            y[k] = mxnp.sqrt(x) * x[2] + mxnp.concatenate([x[:3], x[3:]])
            x[::2] += y[k, 1:4]
            assert bool(y[:k].sum() >= 0)
            x[0] = float(x[1]) + mxnp.dot(x, x).astype("f4")
        assert asked == []
        with pytest.raises(
            NaNError, match=r"in-place divide produced .*\n.*\n.*0.0, 0.0"
        ):
            x[::2].__itruediv__(x[::2].__imul__(0))
    assert asked == ["in-place divide"]


def test_it_is_raised_at_the_line_of_the_program() -> None:
    x = mxnp.array([4.0, -1.0])
    with mxnp.trap_nan():
        y = x * 2
        with pytest.raises(FloatingPointError) as caught:
            mxnp.sqrt(y)
    assert str(caught.traceback[-1].statement).strip() == "mxnp.sqrt(y)"
    assert f"{__file__}:{caught.traceback[-1].lineno + 1}: mxnp.sqrt(y)" in str(
        caught.value
    )


def test_computed_values_stay() -> None:
    x = mxnp.array([4.0, -1.0])
    with mxnp.trap_nan(), pytest.raises(NaNError):
        mxnp.sqrt(x, out=x)
    assert x[0] == 2.0
    assert numpy.isnan(x[1])


def test_infinities() -> None:
    x = mxnp.array([4.0, 0.0])
    with mxnp.trap_nan():
        1 / x
    with mxnp.trap_nan(inf=True):
        with pytest.raises(NaNError, match="divide produced the first infinity"):
            1 / x
        with pytest.raises(NaNError, match=r"result\[0\] is inf, operands: 1000.0"):
            mxnp.exp(mxnp.array([1000.0]))
        mxnp.array([numpy.inf]) * 2
        mxnp.full(3, numpy.inf)
        with pytest.raises(NaNError, match="subtract produced the first NaN"):
            mxnp.array([numpy.inf]) - numpy.inf


def test_of_this_thread_or_of_all() -> None:
    def in_thread() -> list[BaseException]:
        errors: list[BaseException] = []

        def work() -> None:
            try:
                mxnp.sqrt(mxnp.array([-1.0]))
            except NaNError as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return errors

    with mxnp.trap_nan():
        assert not in_thread()
    with mxnp.trap_nan(everywhere=True):
        assert len(in_thread()) == 1


def test_blocks_within_blocks() -> None:
    x = mxnp.array([-1.0])
    with mxnp.trap_nan():
        with mxnp.trap_nan(inf=True), pytest.raises(NaNError):
            mxnp.sqrt(x)
        with pytest.raises(NaNError):
            mxnp.sqrt(x)
    mxnp.sqrt(x)


def test_subclasses_and_numpys_arrays() -> None:
    class Mine(mxnp.ndarray):  # type: ignore[misc]
        pass

    with mxnp.trap_nan():
        with pytest.raises(NaNError, match="sqrt produced"):
            mxnp.sqrt(mxnp.array([-1.0]).view(Mine))
        with pytest.raises(NaNError, match="sqrt produced"):
            mxnp.sqrt(numpy.array([-1.0]))
        with pytest.raises(NaNError, match="sqrt produced"):
            numpy.sqrt(mxnp.array([-1.0]))
        with pytest.raises(
            NaNError, match=r"log produced .*\n.*\n .*result is nan, operands"
        ):
            mxnp.log(-1.0)


def test_with_errstate_and_verify() -> None:
    x = mxnp.array([-1.0])
    with mxnp.trap_nan(), mxnp.verify() as checks:
        with pytest.raises(NaNError):
            mxnp.sqrt(x)
        with (
            mxnp.errstate(invalid="raise"),
            pytest.raises(FloatingPointError) as caught,
        ):
            mxnp.sqrt(x)
        assert type(caught.value) is FloatingPointError  # NumPy's error is raised first
    assert checks.failure is None


@needs_metal
def test_on_a_device() -> None:
    x = mxnp.array([4.0, -1.0] * 3000, dtype="f4")
    with mxnp.device("metal"), mxnp.trap_nan():
        y = x + 1
        with pytest.raises(NaNError, match=r"result\[1\] is nan, operands: -1.0"):
            mxnp.log(x * 1)
        assert y.sum() == 15000


def run(option: str, program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mxnp", option, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ,
    )


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "x = np.arange(4.0) - 1\n"
        "with np.errstate(all='ignore'):\n"
        "    y = 1 / x\n"
        "    z = np.log(x)\n"
    )
    done = run("--trap-nan", program)
    assert done.returncode == 1
    assert re.search(
        rf"mxnp.NaNError: log produced the first NaN\n  at {re.escape(str(program))}:5: "
        r"z = np.log\(x\)\n  result\[0\] is nan, operands: -1.0\n$",
        done.stderr,
    ), done.stderr
    assert "_trap.py" not in done.stderr
    done = run("--trap-nan=inf", program)
    assert done.returncode == 1
    assert "divide produced the first infinity" in done.stderr
    assert run("--trap-nan=zero", program).returncode == 2
