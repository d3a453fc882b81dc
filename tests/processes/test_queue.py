"""Test the queue under signals, forks, threads and several interpreters."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.paths import ROOT, python_path
from support.processes import end_of

HAS_FORK = hasattr(os, "fork")


def find_tool(name: str) -> str | None:
    """Return the path of a program, beside this Python or in PATH."""
    return shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)


def run(program: str, **environment: str) -> str:
    """Run a program in a separate process; return its output."""
    end = end_of("-c", textwrap.dedent(program), seconds=300, **environment)
    assert end.status == 0, end.out + end.err
    assert end.err == ""
    return end.out.strip()


# -- Interrupts ------------------------------------------------------------------------

# Signals arrive when the queue has run some chunks of the work, of which it has more. Several
# threads share chunks as they come, so that the one that looks for signals may get none.
SIGNALS = """
    import os, signal, threading
    import numpy
    import mxnp as np
    from mxnp._bridge import pending

    # A shell may have had it ignored, in jobs that it started in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    np._bridge.set_signal_interval(0)
    np.set_num_threads(1)

    def send(number=signal.SIGINT):
        np._bridge.raise_signal_after(number, 3)

    def work(xp, x):
        y, total = x, x + 0
        for _ in range(rounds):
            y = xp.arctan2(y, x + 1) + x
            total += y
        return total, y.sum(axis=0, keepdims=True)

    def is_right(found):
        expected = work(numpy, numpy.asarray(x))
        return bool((numpy.asarray(found[0]) == expected[0]).all()
                    and numpy.allclose(found[1], expected[1]))

    rounds = 15
    x = np.linspace(0, 1, 300_000)
    np.synchronize()
"""


def run_with_signals(program: str, **environment: str) -> str:
    return run(textwrap.dedent(SIGNALS) + textwrap.dedent(program), **environment)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_interrupts_lose_nothing_and_repeat_nothing(threads: int) -> None:
    program = f"""
        np.set_num_threads({threads})
        stops = 0
        while stops < 2:  # of the same work
            found, stops = work(np, x), 0
            while pending():
                try:
                    send()
                    np.synchronize()
                except KeyboardInterrupt:
                    stops += pending() > 0
            assert is_right(found)
        print("over")
    """
    assert run_with_signals(program) == "over"


def test_interrupt_where_an_element_is_read() -> None:
    program = """
        found = work(np, x)
        try:
            send()
            float(found[0][5])
        except KeyboardInterrupt:
            print("interrupted")
        found[0][:] += 1  # after what had not run
        found[0][:] -= 1
        expected = work(numpy, numpy.asarray(x))[0]
        print((numpy.asarray(found[0]) == expected + 1 - 1).all())
    """
    assert run_with_signals(program).split() == ["interrupted", "True"]


def test_interrupted_work_warns_once() -> None:
    program = """
        import warnings

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = work(np, x)
            infinite = 1 / x
            try:
                send()
                np.synchronize()
            except KeyboardInterrupt:
                print("interrupted")
            np.synchronize()
        print([str(warning.message) for warning in told], infinite[0], is_right(found))
    """
    assert run_with_signals(program).splitlines() == [
        "interrupted",
        "['divide by zero encountered in divide'] inf True",
    ]


def test_interrupt_before_the_warnings_are_issued() -> None:
    program = """
        import warnings

        np._bridge.set_signal_interval(10**18)  # the queue is done before it looks for one
        for _ in range(2):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found, infinite = work(np, x), 1 / x
                try:
                    send()
                    np.synchronize()
                except KeyboardInterrupt:
                    print(pending(), len(told))
                np.synchronize()
            print(*(warning.message for warning in told))
    """
    expected = ["0 0", "divide by zero encountered in divide"]
    assert run_with_signals(program).splitlines() == 2 * expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["SIGINT", "SIGUSR1"])
@pytest.mark.parametrize(
    "body",
    [
        "float((x[:50_000] * 2).sum())",  # recorded and run by the handler
        "float(found[1][0])",  # already running
        "np.synchronize()",
        pytest.param(
            "fork()",
            marks=pytest.mark.skipif(not HAS_FORK, reason="needs os.fork"),
        ),
    ],
)
def test_handlers_use_the_queue(body: str, name: str) -> None:
    """A handler that uses the queue runs after its own thread has left the queue."""
    program = f"""
        def fork():
            if os.fork() == 0:
                os._exit(int(not is_right(found)))
            assert os.wait()[1] == 0

        def handle(number, frame):
            assert frame is None or frame.f_code
            handled.append({body})

        handled = []
        signal.signal(signal.{name}, handle)
        found = work(np, x)
        send(signal.{name})
        np.synchronize()
        print(len(handled), is_right(found))
    """
    assert run_with_signals(program) == "1 True"


def test_interrupts_that_are_ignored() -> None:
    program = """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        found = work(np, x)
        send()
        np.synchronize()
        print(is_right(found))
    """
    assert run_with_signals(program) == "True"


def test_interrupt_while_another_thread_runs_the_queue() -> None:
    program = """
        found, read = work(np, x), []
        thread = threading.Thread(target=lambda: read.append(float(found[0][0])))
        interrupts = 0
        try:
            thread.start()
            send()
            float(found[0][1])  # waits for the other
        except KeyboardInterrupt:
            interrupts += 1
        thread.join()
        print(interrupts, read[0] == found[0][0], is_right(found))
    """
    assert run_with_signals(program) == "1 True True"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_fork_after_an_interrupt() -> None:
    """Both processes finish the work that had begun."""
    program = """
        np.set_num_threads(2)
        while not pending():
            found = work(np, x)
            try:
                send()
                np.synchronize()
            except KeyboardInterrupt:
                pass
        child = os.fork()
        is_same = is_right(found)
        if child == 0:
            os._exit(int(not is_same))
        print(os.waitpid(child, 0)[1], is_same)
    """
    assert run_with_signals(program).split() == ["0", "True"]


# -- Fork ------------------------------------------------------------------------------


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_recorded_operations_run_on_both_sides_of_a_fork() -> None:
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


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_fork_while_other_threads_work() -> None:
    program = """
        import os, threading
        import mxnp as np

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


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_fork_in_a_thread_while_the_main_one_works() -> None:
    program = """
        import os, threading
        import mxnp as np

        np.set_num_threads(2)
        x = np.arange(400_000.0)
        statuses = []

        def fork():
            for n in range(20):
                y = x * n  # waits in both
                child = os.fork()
                if child == 0:
                    os._exit(int((y + 1).max() != 399_999 * n + 1))
                statuses.append(os.waitpid(child, 0)[1])

        thread = threading.Thread(target=fork)
        thread.start()
        rounds = 0
        while thread.is_alive() or rounds < 5:
            assert (np.sin(x) * 2).max() <= 2
            rounds += 1
        print(len(statuses), set(statuses))
    """
    assert run(program) == "20 {0}"


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_children_of_children() -> None:
    program = """
        import os
        import mxnp as np

        np.set_num_threads(3)
        x = np.arange(300_000.0)
        waiting = x + 1
        for depth in range(4):
            waiting += depth  # in place, in each process for itself
            child = os.fork()
            if child:
                status = os.waitpid(child, 0)[1]
                is_right = float(waiting[0]) == 1 + sum(range(depth + 1))
                done = is_right and status == 0 and float((waiting - x).max()) == waiting[0]
                if depth == 0:
                    print(done)
                os._exit(int(not done)) if depth else exit()
        os._exit(int(waiting.sum() != (x + 7).sum()))
    """
    assert run(program) == "True"


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="counts threads in /proc"
)
def test_child_has_threads_of_its_own() -> None:
    program = """
        import os
        import numpy
        import mxnp as np

        def work():
            return float((np.exp(x) + np.arctan2(x, x + 1)).sum())

        def count():
            return len(os.listdir("/proc/self/task"))

        np.set_num_threads(4)
        x = np.linspace(0, 1, 1_000_000)
        first = work()
        child = os.fork()
        if child == 0:
            before = count()
            same = work() == first
            os._exit(int(not (same and before == 1 and count() == 4)))
        print(os.waitpid(child, 0)[1], work() == first)
    """
    assert run(program) == "0 True"


@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
def test_child_that_ends_with_work_recorded() -> None:
    program = """
        import os, sys, warnings
        import mxnp as np

        warnings.showwarning = lambda message, *rest: os.write(1, f"{message};".encode())
        x = np.arange(30_000.0)
        y = 1 / x
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        sys.exit()
    """
    assert run(program) == "divide by zero encountered in divide;" * 2


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FORK, reason="needs os.fork")
@pytest.mark.parametrize("before", ["pass", "x.sum()"])
def test_pool_of_processes(before: str) -> None:
    program = f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import mxnp as np

        x = np.arange(50_000.0) + 1  # recorded: each process runs it
        {before}

        def work(n):
            return float((x * n).sum()), x * n

        def run(queue):
            queue.put((x * 3).tolist()[:3])

        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            found = list(executor.map(work, range(6)))
        same = [a == b and (c == d).all() for (a, c), (b, d) in zip(found, map(work, range(6)))]
        queue = context.SimpleQueue()
        process = context.Process(target=run, args=(queue,))
        process.start()
        print(len(same), all(same), queue.get(), process.join(), process.exitcode)
    """
    assert run(program) == "6 True [3.0, 6.0, 9.0] None 0"


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_many_threads_at_random(seed: int) -> None:
    program = f"""
        import random
        import threading
        import numpy
        import mxnp as np

        N = 40_000
        values = numpy.linspace(0.1, 1, N)
        shared = np.array(values) * 2
        values = values * 2
        wrong = []

        def step(xp, own, shared, kind, i, j, number):
            if kind == 0:
                own[i] += shared * number
            elif kind == 1:
                own[i] = xp.sqrt(xp.abs(own[j]) + shared)
            elif kind == 2:
                own[i][::2] *= number
            elif kind == 3:
                own[i][1:] = own[j][:-1]
            elif kind == 4:
                own[i] = xp.where(own[j] > shared, own[i], shared)
            elif kind == 5:
                own[i] = xp.maximum(own[i], own[j][::-1]) - own[i].max()
            elif kind == 6:
                own[i] = xp.concatenate([own[j][N // 2 :], own[i][: N // 2]])
            elif kind == 7:
                xp.divide(own[i], 1 + xp.abs(own[j]), out=own[i])
            elif kind == 8:
                own[i][:] = number

        def work(thread):
            choose = random.Random(100 * {seed} + thread)
            own, expected = ([xp.zeros(N) + n for n in range(3)] for xp in (np, numpy))
            for n in range(80):
                what = choose.randrange(9), choose.randrange(3), choose.randrange(3)
                number = choose.random()
                step(np, own, shared, *what, number)
                step(numpy, expected, values, *what, number)
                if n % 9 == thread:
                    np.synchronize()
                elif n % 11 == thread:
                    np.set_num_threads(choose.randrange(1, 5))
                elif n % 13 == thread and own[what[1]][n] != expected[what[1]][n]:
                    wrong.append((thread, n, what))
            wrong.extend(
                (thread, i) for i in range(3) if not (numpy.asarray(own[i]) == expected[i]).all()
            )
            finished.append(thread)

        finished = []
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sorted(finished), wrong)
    """
    assert run(program) == "[0, 1, 2, 3, 4, 5, 6, 7] []"


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


def test_exit_beside_a_daemon_thread_with_work_recorded() -> None:
    program = """
        import threading, warnings
        import mxnp as np

        warnings.showwarning = lambda message, *rest: print(message)
        x = np.arange(30_000.0)
        recorded = threading.Event()

        def work():
            y = 1 / x
            recorded.set()
            threading.Event().wait()

        threading.Thread(target=work, daemon=True).start()
        recorded.wait()
    """
    assert run(program) == "divide by zero encountered in divide"


def test_warnings_are_issued_at_exit() -> None:
    program = """
        import warnings
        import mxnp as np

        warnings.showwarning = lambda message, *rest: print(message)
        x = np.arange(30_000.0)
        y = 1 / x
    """
    assert run(program) == "divide by zero encountered in divide"


# -- Interpreters ----------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["isolated", "legacy"])
@pytest.mark.parametrize("first", ["import mxnp", "pass"])
def test_other_interpreters_are_refused(first: str, kind: str) -> None:
    """Either mxnp or NumPy refuses the import."""
    program = f"""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import sys
        import warnings
        warnings.simplefilter("ignore")
        {first}
        if {kind!r} == "isolated":
            other = interpreters.create()
        elif sys.version_info >= (3, 13):
            other = interpreters.create("legacy")
        else:
            other = interpreters.create(isolated=False)
        code = '''if True:
            import warnings
            warnings.simplefilter("ignore")
            try:
                import mxnp
            except ImportError as error:
                words = str(error)
                ours = "main interpreter only" in words
                numpys = "once per process" in words or "umath" in words
                assert ours or numpys or "import from subinterpreter" in words, words
            else:
                raise SystemError("imported")
        '''
        found = interpreters.run_string(other, code)
        assert found is None, found
        interpreters.destroy(other)
        print("refused")
        if "mxnp" in globals():
            print((mxnp.ones(30_000) + 1).sum())
    """
    end = end_of("-c", textwrap.dedent(program), seconds=300)
    assert end.status == 0, end.out + end.err
    # Python 3.14 also prints errors of the imports of subinterpreters.
    assert end.err == "" or end.err.startswith("Exception while importing from subint")
    assert end.out.split() == ["refused", "60000.0"][: 1 + (first != "pass")]


# -- Builds ----------------------------------------------------------------------------

needs_build = pytest.mark.skipif(
    not (find_tool("meson") and find_tool("cc"))
    or not importlib.util.find_spec("cffi.gen_src"),
    reason="needs meson, a C compiler and cffi 2.1",
)


def refusal(folder: Path, **environment: str) -> str:
    """Return the output of a build that is refused."""
    native = folder / "native.ini"
    native.write_text(f"[binaries]\npython = '{sys.executable}'\n")
    kept = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # a sanitizer
    done = subprocess.run(
        [find_tool("meson"), "setup", folder / "b", ROOT, "--native-file", native],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stdout


@pytest.mark.slow
@needs_build
def test_a_free_threaded_python_is_refused(tmp_path: Path) -> None:
    """Check with a Python whose configuration says that it is free-threaded."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sysconfig\nsysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n"
    )
    output = refusal(tmp_path, PYTHONPATH=python_path(tmp_path))
    assert "global interpreter lock, and this one is free-threaded" in output


@pytest.mark.slow
@needs_build
@pytest.mark.skipif(platform.machine() != "x86_64", reason="others have no such flag")
def test_an_old_compiler_is_refused(tmp_path: Path) -> None:
    """Check with a compiler that refuses one flag."""
    old = tmp_path / "old"
    old.write_text(
        f'#!/bin/sh\ncase "$*" in *-march=x86-64-v4*) exit 1;; esac\nexec {find_tool("cc")} "$@"\n'
    )
    old.chmod(0o755)
    assert "does not know -march=x86-64-v4" in refusal(tmp_path, CC=str(old))
