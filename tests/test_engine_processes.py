"""The queue where a process is not left in peace: signals, forks, threads, interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

HAS_FORK = hasattr(os, "fork")


def run(program: str, **environment: str) -> str:
    """Run a program in a process of its own; give what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


# -- Interrupts ------------------------------------------------------------------------

INTERRUPTED = """
    import signal
    import numpy
    import mxnp as np

    np.set_num_threads({threads})
    x = np.linspace(0, 1, 3_000_000)
    np.synchronize()

    def work(xp, x):
        y, total = x, x + 0
        for _ in range(15):
            y = xp.arctan2(y, x + 1) + x
            total += y
        return total, y.sum(axis=0, keepdims=True)

    signal.signal(signal.SIGALRM, signal.default_int_handler)  # as of SIGINT
    total, last = work(np, x)
    interrupts = 0
    for _ in range({times}):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            np.synchronize()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupts += 1
    expected, expected_last = work(numpy, x.__array__())
    same = (total.__array__() == expected).all()
    print(interrupts > 0, bool(same), numpy.allclose(last, expected_last))
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("times", [1, 4])
def test_interrupts_lose_nothing_and_repeat_nothing(times: int, threads: int) -> None:
    program = INTERRUPTED.format(times=times, threads=threads)
    assert run(program) == "True True True"


# -- Fork ------------------------------------------------------------------------------


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_what_is_recorded_runs_on_both_sides_of_a_fork() -> None:
    program = """
        import os
        import mxnp as np

        np.set_num_threads(2)
        x = np.arange(300_000.0)
        y = np.sqrt(x * 4) + 1
        child = os.fork()
        z = (y * 2).sum()
        w = np.cumsum(y)[-1] + float((x + y)[7])
        os.write(1, f"{int(z)} {int(w)} ".encode())  # at once
        if child == 0:
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    found = run(program).split()
    assert found[:2] == found[2:4]
    assert found[4:] == ["0"]


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_fork_while_other_threads_work() -> None:
    program = """
        import os, threading, warnings
        import mxnp as np

        warnings.simplefilter("ignore")  # Python's own, of a fork beside threads
        np.set_num_threads(2)
        x = np.arange(400_000.0)
        over = threading.Event()

        def work():
            while not over.is_set():
                assert (np.sin(x) * 2).max() <= 2

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        statuses = []
        for n in range(20):
            child = os.fork()
            if child == 0:
                os._exit(int((x + n).max() != 399_999 + n))
            statuses.append(os.waitpid(child, 0)[1])
        over.set()
        for thread in threads:
            thread.join()
        print(set(statuses), int(x.sum()))
    """
    assert run(program) == "{0} 79999800000"


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_pool_of_processes() -> None:
    program = """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import mxnp as np

        x = np.arange(50_000.0) + 1  # recorded: each process runs it

        def work(n):
            return float((x * n).sum())

        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            found = list(executor.map(work, range(6)))
        print(found == [work(n) for n in range(6)])
    """
    assert run(program) == "True"


# -- Threads ---------------------------------------------------------------------------


def test_many_threads() -> None:
    program = """
        import threading
        import numpy
        import mxnp as np

        values = numpy.linspace(0, 1, 60_000)
        shared = np.array(values) * 2
        wrong = []

        def work(number):
            own, expected = np.zeros(60_000), numpy.zeros(60_000)
            for step in range(40):
                own += shared * number
                expected += values * 2 * number
                if step % 10 == number % 10:
                    np.synchronize()
                if step % 16 == 3:
                    np.set_num_threads(1 + (number + step) % 3)
                if step % 7 == 2 and not (own[::7].__array__() == expected[::7]).all():
                    wrong.append((number, step))
            if not (own.__array__() == expected).all():
                wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(wrong)
    """
    assert run(program) == "[]"


def test_thread_that_ends_before_its_work_has_run() -> None:
    program = """
        import threading
        import mxnp as np

        found = []
        x = np.arange(30_000.0)
        thread = threading.Thread(target=lambda: found.append(x * 2 + 1))
        thread.start()
        thread.join()
        print(float(found[0][-1]))
    """
    assert run(program) == "59999.0"


def test_exit_beside_a_daemon_thread() -> None:
    program = """
        import threading, time
        import mxnp as np

        x = np.arange(200_000.0)
        started = threading.Event()

        def work():
            while True:
                (np.exp(x / 200_000) + 1).sum()
                started.set()

        threading.Thread(target=work, daemon=True).start()
        started.wait()
        y = x * 2
        print("over", flush=True)
    """
    assert run(program) == "over"


def test_what_is_due_at_exit_is_told() -> None:
    program = """
        import warnings
        import mxnp as np

        warnings.showwarning = lambda message, *rest: print(message)
        x = np.arange(30_000.0)
        y = 1 / x
    """
    assert run(program) == "divide by zero encountered in divide"


# -- Interpreters ----------------------------------------------------------------------


@pytest.mark.parametrize("first", ["import mxnp", "pass"])
def test_other_interpreters_are_refused(first: str) -> None:
    """By mxnp, or by NumPy or Python before it."""
    program = f"""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import warnings
        warnings.simplefilter("ignore")
        {first}
        other = interpreters.create()
        code = '''if True:
            import warnings
            warnings.simplefilter("ignore")
            try:
                import mxnp
            except ImportError as error:
                assert str(error)
            else:
                raise SystemError("imported")
        '''
        found = interpreters.run_string(other, code)
        assert found is None, found
        print("refused")
        if "mxnp" in globals():
            print((mxnp.ones(30_000) + 1).sum())
    """
    assert run(program).split() == ["refused", "60000.0"][: 1 + (first != "pass")]
