"""Refuse each memory request of Python in turn, while operations are recorded and run.

Python and NumPy have faults of their own here: some requests that fail lose a reference,
or crash. Therefore the test runs in a separate process, with operations of mxnp only.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import IS_DEFAULT
from support.paths import python_path

import mxnp
from mxnp import _bridge

MOST = 400  # requests of one program

# In these programs NumPy and Python fail themselves.
NOT_OURS = {
    *("broadcast", "variance", "concatenate", "nonzero", "matmul"),
    *("threads", "thread pool", "profile"),
}


def refusing(n: int, is_once: bool, run: Callable[[], Any]) -> BaseException | None:
    """Call `run` with Python's requests refused from the n-th on; return the error."""
    import _testcapi

    caught: BaseException | None = None
    _testcapi.set_nomemory(n, n + 1 if is_once else 0)
    try:
        try:
            run()
        finally:
            _testcapi.remove_mem_hooks()
    except BaseException as error:
        caught = error.with_traceback(None)
    return caught


def requests(run: Callable[[int, bool], bool]) -> None:
    """Call `run` for each request, until it succeeds several times in a row."""
    n, passed = 0, 0
    while passed < 5:
        assert n < MOST
        passed = 0 if run(n, False) else passed + 1
        n += 1
    for once in range(n):
        run(once, True)


def refuse_program(program: Any) -> None:
    from test_allocation_failures import Expected, assert_equal, check_next, read

    expected = Expected(program)
    assert_equal(read(program.run(mxnp, *program.make(mxnp))), expected.result)
    check_next()
    gc.collect()
    before = mxnp.memory_info()["in_use"]

    def fail(n: int, is_once: bool) -> bool:
        operands = program.make(mxnp)
        mxnp.synchronize()
        holders = [sys.getrefcount(operand) for operand in operands]
        results: list[Any] = []

        def run() -> None:
            results.append(program.run(mxnp, *operands))
            mxnp.synchronize()

        error = refusing(n, is_once, run)
        if error is None:
            assert_equal(read(results[0]), expected.result)
        else:
            assert type(error) is MemoryError, repr(error)
        results.clear()
        gc.collect()
        mxnp.synchronize()
        expected.check_operands(operands)
        assert [sys.getrefcount(operand) for operand in operands] == holders
        operands = ()
        check_next()
        assert mxnp.memory_info()["in_use"] == before, n
        return error is not None

    requests(fail)


def assert_recorded(operation: Callable[[], Any]) -> None:
    mxnp.synchronize()
    kept = operation()
    assert _bridge.pending() > 0
    mxnp.synchronize()
    del kept


def refuse_new_dtypes() -> None:
    """NumPy's answers about dtypes are cached, but MemoryErrors are not."""
    names = ("hypot", "fmod", "logaddexp", "copysign", "nextafter", "arctan2", "fmax")
    dtypes = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16")
    rows = iter([(name, x, y) for name in names for x in dtypes for y in dtypes])

    def fail(n: int, is_once: bool) -> bool:
        name, *pair = next(rows)
        x, y = (mxnp.array(numpy.ones(40000, dtype)) for dtype in pair)
        operation = getattr(mxnp, name)
        error = refusing(n, is_once, lambda: operation(x, y))
        assert error is None or type(error) is MemoryError
        assert_recorded(lambda: operation(x, y))
        return error is not None

    requests(fail)


def refuse_new_errstates() -> None:
    """The same holds for the conditions that an errstate block reports."""
    x = mxnp.array(numpy.ones(40000))

    def fail(n: int, is_once: bool) -> bool:
        for operation in (lambda: x / 2, lambda: divmod(x, 2), lambda: x.cumsum()):
            with mxnp.errstate(divide="ignore"):
                error = refusing(n, is_once, operation)
                assert error is None or type(error) is MemoryError
                assert_recorded(operation)
        return error is not None

    requests(fail)


def refuse_failed_checks() -> None:
    """An index that is out of bounds is always reported."""
    i = mxnp.array(numpy.arange(40000))
    x = mxnp.ones(40000)

    def outcome(read: Callable[[], Any]) -> str:
        try:
            read()
        except (IndexError, MemoryError) as error:
            return type(error).__name__
        return "nothing"

    def fail(n: int, is_once: bool) -> bool:
        target = mxnp.zeros(40000)
        mxnp.synchronize()
        taken = x[i * 3]
        more = taken + 1
        target[i * 2] = 5
        error = refusing(n, is_once, mxnp.synchronize)
        # Python itself may fail while it creates the exception.
        assert isinstance(error, IndexError | MemoryError | SystemError)
        errors = outcome(mxnp.synchronize), outcome(lambda: float(more[0]))
        assert errors[1] != "nothing", (n, errors)
        assert outcome(lambda: float(taken[0])) == errors[1]
        assert outcome(mxnp.synchronize) == "nothing"  # each thread gets the error once
        assert not numpy.array(target).any()
        return type(error) is MemoryError

    requests(fail)


OTHERS = [refuse_new_dtypes, refuse_new_errstates, refuse_failed_checks]


def main() -> None:
    from test_allocation_failures import PROGRAMS

    _bridge.set_threshold(1000)
    _bridge.set_eager(False)
    mxnp.set_memory_limit(0)
    gc.collect()
    gc.freeze()  # later collections are fast
    for program in PROGRAMS:
        if program.name not in NOT_OURS:
            print(program.name, flush=True)
            refuse_program(program)
    for other in OTHERS:
        print(other.__name__, flush=True)
        other()
    print("done")


@pytest.mark.slow
@pytest.mark.needs("_testcapi")
@pytest.mark.skipif(
    not IS_DEFAULT,
    reason="the same in every lane",
)
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="where Python itself fails was looked up in 3.11",
)
def test_a_request_to_python_is_refused() -> None:
    command = [sys.executable, "-X", "faulthandler", __file__]
    environment = os.environ | {"PYTHONPATH": python_path(Path(__file__).parents[1])}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")


if __name__ == "__main__":
    main()
