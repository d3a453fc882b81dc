"""Test how programs with recorded work end: status and messages are NumPy's."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from support.processes import End, end_of

pytest.importorskip("resource", reason="needs POSIX")

HEAD = """
import atexit, gc, importlib, os, signal, sys, threading, time, weakref
np = importlib.import_module(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
x = np.linspace(0, 1, 50_000)
y = np.sqrt(x * 4) + 1  # waits
"""

# Each program follows a line "## name". Lines above a line "--" run before the import.
PROGRAMS = """
## the last line

## sys.exit
sys.exit()

## sys.exit with a status
z = y * 2
sys.exit(5)

## sys.exit with words
sys.exit("over")

## an exception
def inner(a):
    b = a * 2
    raise LookupError(float(b[-1]))
inner(y)

## an exception, and a hook that uses arrays
sys.excepthook = lambda kind, error, traceback: print(kind.__name__, float(y[-1]))
raise ValueError(y * 2)

## an exception whose arguments are arrays
raise RuntimeError((y * 2)[::10_000])

## os._exit
z = y * 2
os._exit(4)

## os.execv
os.execv(sys.executable, [sys.executable, "-c", "print('another')"])

## a warning
z = 1 / (x - x)

## a warning, and sys.exit
z = np.log(x - 1)
sys.exit(3)

## handlers of atexit
import atexit
atexit.register(lambda: print("before", float((y * 2)[-1])))
atexit.register(lambda: print("and its work waits", type(y + 1).__module__ == np.__name__))
--
atexit.register(lambda: print("after", float(y[-1])))

## a handler of atexit that fails
import atexit
atexit.register(lambda: np.ones(3) + np.ones(4))
--
atexit.register(lambda: (y * 2) + np.ones(4))

## a handler of atexit that warns
import atexit
atexit.register(lambda: 1 / (x - x))
--
atexit.register(lambda: np.log(x - 1))

## a handler of atexit that has a thread
def late():
    found = []
    thread = threading.Thread(target=lambda: found.append(float((y * 3)[-1])))
    try:
        thread.start()
        thread.join()
    except RuntimeError as error:
        print(error)
    else:
        print(found)
atexit.register(late)

## finalizers
weakref.finalize(y, print, "y is gone") if 0 else None
kept = np.cos(x) + 1
weakref.finalize(threading, lambda a: print(float((a * 2)[0])), kept)

## __del__ of globals
class Node:
    def __init__(self, a):
        self.a = a
    def __del__(self):
        print(float((self.a * 2 + 1)[-1]), (self.a + 1).shape)
node = Node(y)
others = [Node(y * 1) for n in range(3)]  # Python does not say in which order they go

## __del__ in cycles
class Node:
    def __init__(self, a):
        self.a, self.me = a, self
    def __del__(self):
        self.a += 1
        print(float(self.a[0]), float((self.a * 2)[-1]))
gc.disable()
node = Node(np.ones(50_000) * 2)
Node(np.ones(50_000) * 3)

## __del__ that leaves work
class Node:
    def __init__(self, a):
        self.a, self.me = a, self
    def __del__(self):
        global left
        self.a *= 2
        left = self.a + 1
nodes = [Node(y * n) for n in range(3)]

## arrays in cycles of everything
loop = [y * 2]
loop.append(loop)
table = {"loop": loop, "view": loop[0][::2], "function": lambda: loop}
sys.loop = table
np.loop = loop

## a subclass with __array_finalize__ and __del__
class Array(np.ndarray):
    def __array_finalize__(self, other):
        self.other = other
    def __del__(self):
        gone.append(self.shape)
gone = []
view = y.view(Array)
more = (view + 1)[::2]
print(float(more[0]))

## a thread that goes on
def work():
    threading.main_thread().join()
    for n in range(20):
        a = np.sqrt(x * n) + 1
    print(float(a[-1]))
    b = a * 2  # waits
threading.Thread(target=work).start()

## a thread that ends after its work was recorded
def work():
    found.append(x * 3)
found = []
thread = threading.Thread(target=work)
thread.start()
thread.join()

## a thread that fails
def work():
    a = np.sqrt(x) + 1
    raise LookupError(float(a[-1]))
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()

## daemon threads that work, and one that waits
def work():
    while True:
        a = np.sqrt(x * 3) + 1
        a += a.sum()
        started.set()
def wait():
    a = x * 2
    recorded.set()
    threading.Event().wait()
started, recorded = threading.Event(), threading.Event()
for target in (work, work, wait):
    threading.Thread(target=target, daemon=True).start()
started.wait()
recorded.wait()

## daemon threads, and an exception
def work():
    while True:
        a = (np.sqrt(x * 3) + 1).max()
        started.set()
started = threading.Event()
threading.Thread(target=work, daemon=True).start()
started.wait()
raise LookupError(float(y[-1]))

## SIGTERM
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)

## SIGTERM in a thread that computes
def work():
    while True:
        (np.sqrt(x * 3) + 1).max()
        started.set()
started = threading.Event()
threading.Thread(target=work, daemon=True).start()
started.wait()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)

## SIGTERM that is handled
def leave(number, frame):
    print(float((y * 2)[-1]))
    sys.exit(7)
signal.signal(signal.SIGTERM, leave)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)

## SIGINT
z = y * 2
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)

## a child of fork that leaves by sys.exit
z = y * 2
child = os.fork()
if child == 0:
    print(float(z[-1]))
    sys.exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

## a child of fork that leaves by an exception
z = y * 2
child = os.fork()
if child == 0:
    raise LookupError(float(z[-1]))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

## a generator and a context that are left open
import contextlib
def halves(a):
    try:
        while True:
            a = a * 0.5
            yield a
    finally:
        print(float(a[-1]))
generator = halves(y)
next(generator)
next(generator)
context = np.errstate(divide="ignore")
context.__enter__()
z = 1 / (x - x)

## asyncio
import asyncio
async def work():
    a = y * 2
    await asyncio.sleep(0)
    asyncio.get_running_loop().create_task(asyncio.sleep(60))
    sys.exit(int(float(a[-1])))
asyncio.run(work())
"""


def programs() -> list[object]:
    found = re.split(r"^## (.*)\n", PROGRAMS, flags=re.MULTILINE)[1:]
    return [
        pytest.param(source, id=name)
        for name, source in zip(found[::2], found[1::2], strict=True)
    ]


def run(source: str, library: str, folder: Path) -> End:
    before, _, after = source.rpartition("--\n")
    (folder / "program.py").write_text(before + HEAD + after)
    end = end_of(folder / "program.py", library, PYTHONMALLOC="debug")
    return end._replace(err=re.sub("0x[0-9a-f]+", "0x", end.err))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", programs())
def test_ends_as_with_numpy(source: str, tmp_path: Path) -> None:
    assert run(source, "mxnp", tmp_path) == run(source, "numpy", tmp_path)


def test_interrupt_while_the_last_work_runs(tmp_path: Path) -> None:
    """The program ends immediately, and Python reports it as in any atexit handler."""
    program = """
        import signal
        import mxnp as np

        def stop(number, frame):
            print("stopped", np._bridge.pending() > 0)
            raise KeyboardInterrupt

        np._bridge.set_signal_interval(0)
        np.set_num_threads(1)
        signal.signal(signal.SIGALRM, stop)
        x = np.linspace(0, 1, 300_000)
        for _ in range(60):
            x = np.arctan2(x, x + 1) + x
        np._bridge.raise_signal_after(signal.SIGALRM, 3)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    end = end_of(tmp_path / "program.py")
    assert (end.status, end.out) == (0, "stopped True\n")
    assert end.err.startswith("Exception ignored in atexit callback")
    assert end.err.endswith("KeyboardInterrupt: \n")
