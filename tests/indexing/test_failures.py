"""Test index errors that are found after the program has continued."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import mxnp as np
from mxnp import _bridge

N = 20_000


@pytest.fixture(autouse=True)
def large() -> Any:
    before = _bridge.set_threshold(1_000)
    yield
    _bridge.set_threshold(before)


def computed(value: int, at: int = 7) -> Any:
    """Return indices that are still to be computed: zeros, and one other value."""
    i = np.zeros(N, dtype=int) + 0
    i[at : at + 1] += value
    j = i + 0
    assert _bridge.pending()
    return j


def line() -> int:
    return sys._getframe(1).f_lineno


def error_of(call: Callable[[], Any]) -> IndexError:
    with pytest.raises(IndexError) as caught:
        call()
    return caught.value


READERS: dict[str, Callable[[Any], Any]] = {
    "item": lambda a: a[3],
    "item()": lambda a: a.item(0),
    "tolist": lambda a: a.tolist(),
    "repr": repr,
    "float": lambda a: float(a[0]),
    "sum": lambda a: float(a.sum()),
    "asarray": numpy.asarray,
    "memoryview": memoryview,
    "iteration": lambda a: next(iter(a)),
    "add": lambda a: a + 1,
    "into": lambda a: a.__iadd__(1),
    "compare": lambda a: a == 1,
    "view": lambda a: a[2:].tolist(),
    "sort": lambda a: a.sort(),
    "linalg": np.linalg.norm,
    "concatenate": lambda a: np.concatenate([a, a]).tolist(),
    "many": lambda a: numpy.concatenate([numpy.zeros(1)] * 40 + [a]),
    "save": lambda a: a.tobytes(),
    "assignment": lambda a: np.zeros(N).__setitem__(slice(None), a),
    "interface": lambda a: a.__array_interface__,
    "dlpack": lambda a: a.__dlpack__(),
    "copy": lambda a: a.copy().tolist(),
    "gather": lambda a: a[np.arange(5)],
    "index": lambda a: np.arange(9)[a.astype(int)],
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_unwritten_results_raise_their_error(read: Callable[[Any], Any]) -> None:
    x = np.arange(5.0)
    y = x[computed(5)]
    error_of(np.synchronize)
    for _ in range(3):
        error = error_of(lambda: read(y))
        assert str(error) == "index 5 is out of bounds for axis 0 with size 5"
    np.synchronize()  # the error was already raised


def test_an_error_outlives_the_array_of_its_call() -> None:
    """An array that is freed before it is computed asks for the device of the context."""
    with np.device("cpu"):
        y = np.arange(5.0)[computed(5)]
    error_of(np.synchronize)
    error_of(lambda: np.zeros(N).__setitem__(slice(None), y))


@pytest.mark.parametrize("read", [list, tuple, sorted, sum, max])
def test_an_iteration_does_not_take_the_error_for_its_end(
    read: Callable[[Any], Any],
) -> None:
    y = np.arange(5.0)[computed(5)]
    error_of(lambda: read(iter(y)))
    error_of(lambda: read(iter(y)))


def test_the_note_names_the_line() -> None:
    x, i = np.arange(5.0), computed(9)
    y, here = x[i], line()
    z = y * 2
    error = error_of(lambda: z[0])
    assert error.__notes__ == [f"recorded at {__file__}:{here}"]
    assert "\nrecorded at" in "".join(__import__("traceback").format_exception(error))


@pytest.mark.parametrize("value", [5, -6, 2**40, -(2**40)])
def test_the_message_is_numpys(value: int) -> None:
    i = numpy.zeros(N, dtype=int)
    i[7] = value
    with pytest.raises(IndexError) as caught:
        numpy.zeros((3, 5))[:, i]
    y = np.zeros((3, 5))[:, computed(value)]
    assert str(error_of(lambda: y[0, 0])) == str(caught.value)


def test_the_message_names_the_first_axis_and_index() -> None:
    i, j = computed(7, at=900), computed(3, at=10)
    k = np.where(np.arange(N) > 950, 8, i)
    y = np.zeros((5, 3))[k, j]
    assert "index 7 is out of bounds for axis 0" in str(error_of(lambda: y[0]))


@pytest.mark.parametrize("value", [5, -6])
@pytest.mark.parametrize(
    "use",
    [
        lambda xp, i: xp.zeros(5)[i],
        lambda xp, i: xp.zeros(5).__setitem__(i, 1),
        lambda xp, i: xp.add.at(xp.zeros(5), i, 1),
    ],
    ids=["get", "set", "add.at"],
)
@pytest.mark.parametrize("is_deferred", [False, True])
def test_the_last_of_indices_with_gaps_is_checked(
    use: Callable[[Any, Any], Any], value: int, is_deferred: bool
) -> None:
    values = numpy.zeros(2 * 1500, dtype=int)
    values[-2] = value
    with pytest.raises(IndexError) as caught:
        use(numpy, values[::2])
    all_indices = np.array(values)
    if is_deferred:
        all_indices = (all_indices - 1) + 1
    assert str(error_of(lambda: (use(np, all_indices[::2]), np.synchronize()))) == str(
        caught.value
    )


def test_transposed_indices_are_checked_in_memory_order() -> None:
    values = numpy.zeros((100, 200), dtype=int)
    values[3, 150], values[70, 2] = 33, 77
    i = np.array(values).T.copy(order="K") + 0
    with pytest.raises(IndexError) as caught:
        numpy.zeros(5)[values.T.copy(order="K")]
    y = np.zeros(5)[i]
    assert str(error_of(y.tolist)) == str(caught.value)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("steps", [(-1, -1), (-1, 1), (1, -1), (-2, -3)])
def test_reversed_indices_are_checked_in_numpys_order(
    steps: tuple[int, int], order: Any
) -> None:
    values = numpy.zeros((100, 200), dtype=int, order=order)
    values[3, 148], values[71, 1] = 33, 77
    key = tuple(slice(None, None, step) for step in steps)
    with pytest.raises(IndexError) as caught:
        numpy.zeros(5)[values[key]]
    y = np.zeros(5)[(np.array(values, order="K") + 0)[key]]
    assert str(error_of(y.tolist)) == str(caught.value)


# -- Other arrays ----------------------------------------------------------------------


def test_targets_are_untouched() -> None:
    a, b = np.ones(50), np.ones(N)
    i = computed(50)
    a[i] = 3.0
    np.add.at(a, i, 1.0)
    b += 1
    b[:10] = 7
    error_of(np.synchronize)
    assert a.tolist() == [1.0] * 50
    assert b.tolist() == [1.0] * N


def test_earlier_operations_are_computed() -> None:
    u = np.arange(N) / 2.0
    before, total = np.sqrt(u), np.zeros(N)
    total += u
    y = u[computed(N)]
    total += y
    error_of(lambda: y.sum())
    assert numpy.array_equal(before, numpy.sqrt(numpy.arange(N) / 2.0))
    assert numpy.array_equal(total, numpy.arange(N) / 2.0)


def test_the_error_comes_once_where_nothing_of_it_is_read() -> None:
    y = np.zeros(5)[computed(5)]
    assert len(y) == N
    error_of(np.synchronize)
    np.synchronize()
    z = np.ones(N) + 1
    assert z[0] == 2


def test_new_arrays_after_it_fail_too() -> None:
    a = np.ones(N)
    y = np.zeros(5)[computed(5)]
    later = a * 2
    stacked = np.concatenate([a, a])
    error_of(lambda: y[0])
    error_of(lambda: later[0])
    error_of(lambda: stacked[0])
    assert (a * 2)[0] == 2  # recorded after the error was raised


@pytest.mark.slow
def test_the_program_goes_on() -> None:
    """Check that a loop that catches a thousand errors loses and leaks nothing."""
    x, good = np.arange(7.0), np.zeros(N)
    caught = 0
    sizes = []
    for k in range(1_000):
        i = computed(7 if k % 2 else 3)
        try:
            y = x[i]
            good += y
            caught -= y[7] != 3.0
        except IndexError:
            caught += 1
        if k % 100 == 99:
            del y, i
            gc.collect()
            sizes.append(np.memory_info()["in_use"])
    assert caught == 500
    assert good[7] == 1_500
    assert sizes[-1] == sizes[1]
    assert not _bridge.pending()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fuse", ["0", "1"])
def test_values_are_numpys_around_errors(fuse: str) -> None:
    """Check that loops that catch errors in some steps have NumPy's results."""
    program = """
    import sys
    import numpy
    import mxnp
    mxnp._bridge.set_threshold(100)
    def run(np):
        random = numpy.random.default_rng(5)
        state, table = np.zeros(500), np.arange(40.0)
        for step in range(200):
            i = np.array(random.integers(-40, 40 + (step % 3 == 0), 500)) + 0
            try:
                values = table[i] * 2
                state += values
                float(state[0])
                table[i] += 1
                float(table[0])
                np.subtract.at(state, i, values)
                float(state[1])
            except IndexError:
                state = np.sqrt(np.abs(state))
        return state.tolist(), table.tolist()
    assert run(mxnp) == run(numpy)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "MXNP_FUSE": fuse},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


# -- Threads ---------------------------------------------------------------------------


def test_each_thread_gets_its_own_errors() -> None:
    results: dict[int, list[str]] = {}
    meet = threading.Barrier(4)

    def work(k: int) -> None:
        messages = []
        a = np.ones(N) * k
        meet.wait()
        for step in range(25):
            good = a + step
            try:
                y = np.zeros(10 + k)[computed(10 + k)] if step % 2 else None
                assert good[5] == k + step
                if y is not None:
                    y.sum()
            except IndexError as error:
                messages.append(str(error))
        results[k] = messages

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        size = 10 + k
        text = f"index {size} is out of bounds for axis 0 with size {size}"
        assert results[k] == [text] * 12


def test_results_of_another_threads_error() -> None:
    made = []

    def work() -> None:
        made.append(np.zeros(5)[computed(5)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    total = np.ones(N)
    mine, more = total + 1, made[0] + 1
    total += made[0]
    np.synchronize()  # no operation of this thread failed
    assert mine[0] == 2
    assert total[0] == 1
    error_of(_bridge.raise_pending)  # the thread ended without seeing its error
    _bridge.raise_pending()
    error_of(lambda: made[0][0])
    error_of(lambda: more[0])


def test_no_error_is_lost_between_threads() -> None:
    """A thread gets the errors of its operations even if another thread ran them."""
    lost = []

    def work(number: int) -> None:
        for turn in range(60):
            i = np.zeros(N, dtype=int) + (N if number % 2 else 1)
            try:  # raised here if another thread has computed the indices
                np.full(N, number)[i].tolist()
            except IndexError:
                continue
            if number % 2:
                lost.append((number, turn))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert lost == []


# -- The end of a program --------------------------------------------------------------


def end_of(program: str, *command: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *command, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


PENDING = """
    import {name} as np
    i = (np.arange(100_000) * 2).astype(np.int32)
    y = np.zeros(100_000)[i]
"""


@pytest.mark.slow
def test_an_error_at_exit_is_printed() -> None:
    _, printed = end_of(PENDING.format(name="mxnp"))
    assert printed.splitlines() == [
        "IndexError: index 100000 is out of bounds for axis 0 with size 100000",
        "recorded at <string>:4",
    ]


@pytest.mark.slow
def test_a_program_that_is_run_fails() -> None:
    code, printed = end_of(PENDING.format(name="numpy"), "-m", "mxnp")
    assert code == 1
    assert printed.endswith("recorded at <string>:4\n")


# -- Ranges ----------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any], Any]] = {
    "item": lambda i: i.__setitem__(3, 9),
    "slice": lambda i: i.__setitem__(slice(2, 5), 9),
    "recorded": lambda i: i.__setitem__(slice(None), 9),
    "view": lambda i: i[3:4].__setitem__(0, 9),
    "flat": lambda i: i.flat.__setitem__(3, 9),
    "iadd": lambda i: i.__iadd__(9),
    "view iadd": lambda i: i[3:5].__iadd__(9),
    "fill": lambda i: i.fill(9),
    "put": lambda i: i.put([3], [9]),
    "out": lambda i: np.add(i, 9, out=i),
    "copyto": lambda i: np.copyto(i, 9),
    "asarray": lambda i: numpy.asarray(i).__setitem__(3, 9),
    "memoryview": lambda i: memoryview(i).__setitem__(3, 9),
    "at": lambda i: np.add.at(i, [3], 9),
    "nditer": lambda i: [
        x.__setitem__(..., 9) for x in np.nditer(i, [], ["readwrite"])
    ],
    "numpy": lambda i: numpy.ndarray.__setitem__(i._np_array, 3, 9),
}


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_range_is_not_believed_after_a_write(
    write: Callable[[Any], Any], waits: bool, keeps: bool
) -> None:
    x, i = np.arange(5.0), np.arange(N) % 5
    np.synchronize()
    kept = numpy.asarray(i) if keeps else None
    for _ in range(2):
        assert x[i].shape == (N,)
    if not waits:
        np.synchronize()
    write(i)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
        x[i].tolist()
    if kept is not None:
        i.fill(0)
        assert x[i][3] == 0
        kept[3] = 9
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            x[i].tolist()


def test_an_error_that_a_recorded_form_meets_is_raised() -> None:
    """NumPy handles calls whose recorded forms fail, but not errors of earlier calls."""
    other = np.arange(N) % 7
    taken = np.arange(9.0)[computed(9)]
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        np.unique(other)
    assert np.unique(other).tolist() == [*range(7)]
    del taken
