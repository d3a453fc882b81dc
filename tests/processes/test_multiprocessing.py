"""Test arrays in other processes: each start method of multiprocessing, and joblib."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from support.processes import run_file

METHODS = multiprocessing.get_all_start_methods()

pytestmark = pytest.mark.skipif("fork" not in METHODS, reason="needs POSIX")

HEAD = """
    import multiprocessing
    import os
    import signal
    import sys
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import shared_memory

    import numpy
    import mxnp as np
    from mxnp._bridge import pending

    N = 50_000
    numbers = numpy.linspace(-3, 3, N)
    recorded = np.array(numbers) * 2  # by each process that imports this, or forks


    def arrays(xp):
        x = xp.array(numbers)
        grid = x.reshape(200, 250)
        return [
            x + 1, grid.T * 2, grid[::-2, 3:], xp.asfortranarray(grid),
            (x * 10).astype("i2"), x > 0, x.astype("F"), x.astype("f2"),
            xp.array(3.5), xp.empty((0, 4)), xp.array(["a", "bc"]),
            xp.array([None, {}, 2.5], dtype=object), xp.broadcast_to(x[:3], (4, 3)),
            xp.array([(1, 2.0)], dtype="i4, f8"), xp.array(["2001-01-01"], dtype="M8[D]"),
        ]


    def facts(a):
        return type(a).__name__, str(a.dtype), a.shape, a.strides, a.flags.writeable, a.tolist()


    def compute(x):
        y = np.sqrt(x * x + 1) - x
        y[y > 1] *= 2
        return y, y[::2].sum(axis=0), float(y.max())


    def expect(x):
        y = numpy.sqrt(x * x + 1) - x
        y[y > 1] *= 2
        return y, y[::2].sum(axis=0), float(y.max())


    def is_same(ours, numpys):
        return (
            type(ours[0]) is np.ndarray
            and (ours[0].__array__() == numpys[0]).all()
            and numpy.allclose(ours[1], numpys[1], rtol=1e-13)
            and ours[2] == numpys[2]
        )
"""

# Each case defines the functions of the children, and main(context), which prints.
CASES = {
    "map": (
        """
        def main(context):
            given = [np.array(numbers[n:]) * (n + 1) for n in range(6)]
            expected = [expect(numbers[n:] * (n + 1)) for n in range(6)]
            with context.Pool(2, maxtasksperchild=2) as pool:
                found = pool.map(compute, given, chunksize=1)
                found += pool.imap(compute, given)
                found.append(pool.apply_async(compute, (given[0],)).get())
            print(len(found), all(map(is_same, found, [*expected, *expected, *expected])))
        """,
        "13 True",
    ),
    "arguments and results": (
        """
        def give_back(given, queue):
            queue.put((given, [facts(a) for a in given]))


        def main(context):
            queue = context.SimpleQueue()
            ours = arrays(np)
            process = context.Process(target=give_back, args=(ours, queue))
            process.start()
            found, seen = queue.get()
            process.join()
            # NumPy's rule of what a copy through pickle keeps.
            import pickle
            expected = [facts(a) for a in pickle.loads(pickle.dumps(arrays(numpy)))]
            if context.get_start_method() == "fork":  # nothing was pickled for the child
                expected_there = [facts(a) for a in arrays(numpy)]
            else:
                expected_there = expected
            print(process.exitcode, [facts(a) for a in found] == expected,
                  seen == expected_there)
        """,
        "0 True True",
    ),
    "shared memory": (
        """
        def work(name, lock, go):
            memory = shared_memory.SharedMemory(name)
            a = np.ndarray((N,), "f8", buffer=memory.buf)
            go.wait()
            for _ in range(20):
                with lock:
                    a += recorded  # seen by others when the lock is given back
            del a
            memory.close()


        def main(context):
            memory = shared_memory.SharedMemory(create=True, size=8 * N)
            try:
                a = np.ndarray((N,), "f8", buffer=memory.buf)
                a[:] = 0
                lock, go = context.Lock(), context.Event()
                arguments = memory.name, lock, go
                processes = [context.Process(target=work, args=arguments) for _ in range(2)]
                for process in processes:
                    process.start()
                go.set()
                for _ in range(20):
                    with lock:
                        a += recorded
                for process in processes:
                    process.join()
                expected = numpy.zeros(N)
                for _ in range(60):
                    expected += numbers * 2
                print([p.exitcode for p in processes], (a == expected).all())
                del a
                memory.close()
            finally:
                memory.unlink()
        """,
        "[0, 0] True",
    ),
    "an executor": (
        """
        def fail(number):
            x = np.array(numbers)
            if number == 0:
                return x + np.zeros(3)
            if number == 1:
                i = np.zeros(N, int)
                i[7] = N
                return x[i + 0] * 2  # found when the result is pickled
            if number == 2:
                return x.sum(axis=3)
            return np.add(x, 1, out=np.zeros(N, int))


        def main(context):
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                x = np.array(numbers) + 1
                futures = [executor.submit(compute, x * n) for n in range(4)]
                print(all(is_same(f.result(), expect((numbers + 1) * n))
                          for n, f in enumerate(futures)))
                for number in range(4):
                    error = executor.submit(fail, number).exception()
                    print(type(error).__name__, error)
                print(is_same(executor.submit(compute, x).result(), expect(numbers + 1)))
        """,
        "True\n"
        "ValueError operands could not be broadcast together with shapes (50000,) (3,) \n"
        "IndexError index 50000 is out of bounds for axis 0 with size 50000\n"
        "AxisError axis 3 is out of bounds for array of dimension 1\n"
        "UFuncTypeError Cannot cast ufunc 'add' output from dtype('float64') to "
        "dtype('int64') with casting rule 'same_kind'\n"
        "True",
    ),
    "work that waits": (
        """
        def work(x, queue):
            waits = pending() > 0
            x += 1  # its own
            queue.put((waits, x, (recorded * 3)[5]))


        def main(context):
            queue = context.SimpleQueue()
            np.synchronize()
            x = np.array(numbers)
            for _ in range(5):
                x = x * 2 + 1  # is computed once, or once on each side of a fork
            expected = numbers
            for _ in range(5):
                expected = expected * 2 + 1
            process = context.Process(target=work, args=(x, queue))
            process.start()
            still = pending() > 0
            waited, there, third = queue.get()
            process.join()
            is_fork = context.get_start_method() == "fork"
            print(process.exitcode, still == is_fork, waited or not is_fork,
                  (there.__array__() == expected + 1).all(), third == numbers[5] * 2 * 3,
                  (x.__array__() == expected).all())
        """,
        "0 True True True True True",
    ),
    "a child that dies": (
        """
        def die(how):
            x = np.array(numbers) * 3  # waits for ever
            if how == "exit":
                os._exit(3)
            os.kill(os.getpid(), getattr(signal, how))


        def main(context):
            x = np.array(numbers) * 2
            for how in ("exit", "SIGKILL", "SIGTERM"):
                process = context.Process(target=die, args=(how,))
                process.start()
                process.join()
                print(process.exitcode, end=" ")
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                try:
                    executor.submit(die, "SIGKILL").result()
                except BrokenProcessPool:
                    print("broken", end=" ")
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                print(is_same(executor.submit(compute, x).result(), expect(numbers * 2)))
        """,
        "3 -9 -15 broken True",
    ),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_multiprocessing(case: str, method: str, tmp_path: Path) -> None:
    body, expected = CASES[case]
    end = f"""
        if __name__ == "__main__":
            main(multiprocessing.get_context({method!r}))
    """
    assert run_file(tmp_path, HEAD, body, end) == expected.strip()


# -- joblib ----------------------------------------------------------------------------

JOBLIB = """
    import joblib
    from joblib import Parallel, delayed


    def kind(a):
        return type(a).__name__, a.flags.writeable, a.max(), (a[1:] * 2).tolist()[-1]


    def nested(x, backend):
        return Parallel(n_jobs=2, backend=backend)(delayed(compute)(x * n) for n in range(2))


    def is_parallel_same(**options):
        x, large = np.array(numbers) * 2, np.array(numbers) * 2 + 1
        run = Parallel(n_jobs=2, **options)
        found = run(delayed(compute)(large * n) for n in range(5))
        same = all(map(is_same, found, (expect((numbers * 2 + 1) * n) for n in range(5))))
        # A large argument is a file that both map: NumPy's memmap, that cannot be written.
        kinds = [run(delayed(kind)(a) for _ in range(3)) for a in (x, numbers * 2)]
        return same, kinds[0] == kinds[1], kinds[0][0][:2]
"""


@pytest.mark.needs("joblib")
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend: str, tmp_path: Path) -> None:
    # Processes of multiprocessing are daemons, which may not have children.
    inner = "threading" if backend == "multiprocessing" else backend
    body = f"""
        if __name__ == "__main__":
            for max_nbytes in ("1K", None):
                print(*is_parallel_same(backend={backend!r}, max_nbytes=max_nbytes))
            x = np.array(numbers) + 1
            for found in Parallel(n_jobs=2, backend={backend!r})(
                delayed(nested)(x, {inner!r}) for _ in range(2)
            ):
                print(all(is_same(f, expect((numbers + 1) * n)) for n, f in enumerate(found)))
    """
    small = "('ndarray', True)"
    large = small if backend == "threading" else "('memmap', False)"
    assert run_file(tmp_path, HEAD, JOBLIB, body).splitlines() == [
        f"True True {large}",
        f"True True {small}",
        "True",
        "True",
    ]


@pytest.mark.needs("joblib")
@pytest.mark.slow
def test_joblib_limits_threads(tmp_path: Path) -> None:
    body = """
        if __name__ == "__main__":
            for threads in (1, 3):
                with joblib.parallel_config("loky", inner_max_num_threads=threads):
                    print(Parallel(n_jobs=2)(delayed(np.get_num_threads)() for _ in range(2)))
    """
    no = {"MXNP_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    assert run_file(tmp_path, HEAD, JOBLIB, body, **no).splitlines() == [
        "[1, 1]",
        "[3, 3]",
    ]


@pytest.mark.needs("joblib")
@pytest.mark.slow
def test_joblib_keeps_arrays(tmp_path: Path) -> None:
    """Arrays are cached in files, with hashes of their contents."""
    body = """
        @joblib.Memory("cache", verbose=0).cache
        def square(x):
            called.append(1)
            return x * x


        if __name__ == "__main__":
            called = []
            x = np.array(numbers) * 2
            print(joblib.hash(x) == joblib.hash(np.array(numbers) * 2) != joblib.hash(x + 1))
            joblib.dump([x, x[::2]], "arrays")
            for mode in (None, "r"):
                back = joblib.load("arrays", mmap_mode=mode)
                print([type(a).__name__ for a in back], (back[0] == x).all(),
                      (back[1] == x[::2]).all())
            for _ in range(2):
                print((square(x) == numbers * 2 * (numbers * 2)).all(), len(called))
    """
    body = body.replace('"cache"', repr(str(tmp_path / "cache")))
    body = body.replace('"arrays"', repr(str(tmp_path / "arrays")))
    assert run_file(tmp_path, HEAD, JOBLIB, body).splitlines() == [
        "True",
        "['ndarray', 'ndarray'] True True",
        "['memmap', 'memmap'] True True",
        "True 1",
        "True 1",
    ]
