"""Test doors in whole programs: how they are started, and what else they do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from support.doors import FOLDER, needs_doors
from support.paths import python_path

pytestmark = [needs_doors, pytest.mark.slow]

RUNNER = ("-m", "mxnp")

CALLS = """
x = np.arange(5.0)
y = visited.double(x)
visited.increment(x)
assert list(map(visited.Model().predict, [x]))[0][1] == 4
assert type(y) is np.ndarray, type(y)
print(*{each.__module__ for each in visited.seen})
"""
PROGRAM = f"import numpy as np, visited\n{CALLS}"
OWN = f"import mxnp as np, visited\n{CALLS}"


def run(*arguments, text=None, folder=None, status=0, **variables):
    done = subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": python_path(FOLDER)} | variables,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + (done.stderr if status else "")


@pytest.fixture
def script(tmp_path):
    """Return a function that writes a file of the program."""

    def write(text, name="script.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


# -- Ways to start a program -----------------------------------------------------------


def test_script(script):
    assert run(*RUNNER, script(PROGRAM)) == "numpy\n"
    assert run(script(OWN)) == "numpy\n"


def test_command():
    assert run(*RUNNER, "-c", PROGRAM) == "numpy\n"
    assert run("-c", OWN) == "numpy\n"


def test_standard_input():
    assert run(*RUNNER, "-", text=PROGRAM) == "numpy\n"
    assert run("-", text=OWN) == "numpy\n"


def test_interactive_input():
    text = OWN.replace("\n\n", "\n")
    assert "numpy\n" in run("-i", text=text + "\n\n")


def test_module(script, tmp_path):
    script(PROGRAM, "tool/__main__.py")
    script(OWN, "own/__main__.py")
    assert run(*RUNNER, "-m", "tool", folder=tmp_path) == "numpy\n"
    assert run("-m", "own", folder=tmp_path) == "numpy\n"


def test_path_that_is_run(script):
    path = script(OWN)
    assert run("-c", f"import runpy; runpy.run_path({path!r})") == "numpy\n"


def test_folder_that_is_gone(tmp_path):
    text = f"""
import os
{OWN}
os.rmdir(os.getcwd())
exec(compile("visited.double(x)", "relative.py", "exec"))
eval(compile("visited.double(x)", "", "eval"))
eval(compile("visited.double(x)", "a" * 5000, "eval"))
print(*{{each.__module__ for each in visited.seen}})
"""
    (tmp_path / "gone").mkdir()
    assert run("-c", text, folder=tmp_path / "gone").split() == ["numpy", "numpy"]


def test_module_of_the_program(script, tmp_path):
    script(PROGRAM, "part.py")
    assert run(*RUNNER, "-c", "import part", folder=tmp_path) == "numpy\n"


DECORATED = """
import functools, visited

def plain(x):
    return list(map(visited.double, [x]))

class Part:
    @staticmethod
    def static(x):
        return visited.FUNCTIONS["double"](x)

    @functools.cached_property
    def cached(self):
        return visited.Model(self.x)

    def method(self, x):
        def inner():
            return [f(x) for f in visited.FUNCTIONS.values()]
        return inner()

def deco(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@deco
def decorated(x):
    return visited.FUNCTIONS["double"](x)

@functools.lru_cache
def cached(n):
    return visited.FUNCTIONS["double"](n.x)
"""


def test_modules_imported_before_mxnp(script, tmp_path):
    script(DECORATED, "part.py")
    text = """
import part, visited
import mxnp as np
x = np.arange(5.0)
part.plain(x), part.Part.static(x), part.Part().method(x), part.decorated(x)
p = part.Part(); p.x = x; p.cached; part.cached(p)
print(*{each.__module__ for each in visited.seen})
"""
    assert run(script(text, "first.py"), folder=tmp_path) == "numpy\n"


def test_running_functions_before_mxnp(script):
    text = """
import visited
def main():
    import mxnp as np
    x = np.arange(5.0)
    for f in visited.FUNCTIONS.values():
        f(x)
    print(*{each.__module__ for each in visited.seen})
main()
"""
    assert run(script(text)) == "numpy\n"


# -- Whose code it is ------------------------------------------------------------------


def test_included_package():
    text = """
import numpy as np
import visited, visited.inner
x = np.arange(5.0)
visited.double(x)
print(visited.inner.call(x), *{each.__module__ for each in visited.seen})
"""
    assert run(*RUNNER, "-c", text) == "numpy.ndarray numpy\n"
    only = ("--include", "visited.inner")
    assert run(*RUNNER, *only, "-c", text) == "mxnp.ndarray numpy\n"
    alone = text.replace("visited.double(x)\n", "")  # which opens that door
    assert run(*RUNNER, *only, "-c", alone) == "mxnp.ndarray numpy\n"
    whole = run(*RUNNER, "--include", "visited", "-c", text).split()
    assert whole == ["mxnp.ndarray", "mxnp"]


def test_package_that_takes_arrays_when_it_is_asked(script, tmp_path):
    """The program calls other packages in between."""
    script(
        """
        from . import _config
        def kind(x):
            return type(x).__module__
        """,
        "site-packages/sklearn/__init__.py",
    )
    script(
        "takes = {}\n_get_threadlocal_config = lambda: takes",
        "site-packages/sklearn/_config.py",
    )
    text = """
import mxnp as np, sklearn, visited
x = np.arange(5.0)
takes = sklearn._config.takes
for answer in False, True:
    takes["array_api_dispatch"] = answer
    print(sklearn.kind(x))
    visited.double(x)
    print(sklearn.kind(x))
"""
    path = python_path(FOLDER, str(tmp_path / "site-packages"))
    assert run(script(text), PYTHONPATH=path).split() == ["numpy"] * 2 + ["mxnp"] * 2


@pytest.mark.parametrize("store", ["setattr(model, ", "model.__setattr__("])
def test_attribute_whose_name_is_only_a_string(script, store):
    text = f"""
import mxnp, visited
model = visited.Model()
{store}"x", mxnp.arange(5.0))
visited.seen.clear()
model.read()
print(*{{each.__module__ for each in visited.seen}})
"""
    assert run(script(text)) == "numpy\n"


def test_excluded_module(script, tmp_path):
    script("def kind(x):\n    return type(x).__module__\n", "part.py")
    text = "import numpy as np, part; print(part.kind(np.arange(5.0)))"
    assert run(*RUNNER, "-c", text, folder=tmp_path) == "mxnp\n"
    only = ("--exclude", "part")
    assert run(*RUNNER, *only, "-c", text, folder=tmp_path) == "numpy\n"


def test_package_that_imports_mxnp():
    text = """
import mxnp as np
import visited.aware
print(visited.aware.is_mxnp(np.arange(5.0)))
"""
    assert run("-c", text) == "True\n"


# -- Errors and interrupts -------------------------------------------------------------


def test_exceptions_are_as_they_were(script):
    text = """
import numpy as np, traceback, visited
x = np.arange(5.0)
for call in [
    lambda: visited.fail(x), lambda: visited.double(), lambda: visited.double(x, 1),
    lambda: visited.double(y=x), lambda: visited.apply(lambda x: 1 / 0, x),
    lambda: visited.Model(x).none(x), lambda: visited.Operand() @ None,
    lambda: visited.apply(lambda x: visited.fail(x), x),
]:
    try:
        call()
    except Exception as error:
        print(repr(error), error.__cause__, error.__context__)
        for each in traceback.extract_tb(error.__traceback__):
            print(each.filename, each.name, each.lineno, each.colno, each.end_colno)
"""
    path = script(text)
    assert run(*RUNNER, path) == run(path)


def test_interrupt_in_a_package(script):
    text = """
import mxnp as np, signal, threading, time, os, visited
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
x = np.arange(5.0)
def wait(x):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
for i in range(20):
    try:
        visited.apply(wait, x)
    except KeyboardInterrupt:
        print("interrupted")
"""
    assert run(script(text)) == "interrupted\n" * 20


def test_interrupts_at_any_time(script):
    text = """
import mxnp as np, signal, sys, visited
x = np.arange(5.0)
n_signals = n_caught = 0
class Alarm(Exception): pass
def ring(*_):
    global n_signals
    n_signals += 1
    raise Alarm
signal.signal(signal.SIGALRM, ring)
made = []
while n_signals < 200:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + n_signals % 10 * 0.0001)
        while True:
            class Own(visited.Model):
                def step(self, x):
                    return x + 1
            own = Own(x)
            own.transform(x)
            exec("visited.apply(lambda x: x + 1, x)")
    except Alarm:
        n_caught += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(n_caught == n_signals)
"""
    assert run(script(text)) == "True\n"


def test_exceptions_of_handlers_reach_the_program(script):
    """They are of classes that Python raises too, where the door looks at objects."""
    text = """
import mxnp as np, sys, visited
x = np.arange(5.0)
lost = []
def attempt(moment, error):
    left, where = moment, None
    def trace(frame, event, _):
        nonlocal left, where
        if "_interop" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left < 0 and not where:
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            sys.settrace(None)
            raise error("handled")
        return trace
    try:
        sys.settrace(trace)
        class Own(visited.Model):
            def step(self, x):
                return x + 1
        own = Own(x)
        own.predict(x)
        exec("visited.apply(lambda x: x + 1, x)")
    except error as caught:
        return where
    finally:
        sys.settrace(None)
    if where:
        lost.append(where)
    return where
for error in ValueError, TypeError, RuntimeError, AttributeError:
    moment = 0
    while attempt(moment, error):
        moment += 1
    print(moment > 50)
print(sorted(set(lost)))
"""
    assert run(script(text)) == "True\n" * 4 + "[]\n"


def test_interrupts_while_a_callback_fails(script):
    text = """
import mxnp as np, signal, sys, visited
x = np.arange(2e6)
n_signals = n_caught = 0
def ring(*_):
    global n_signals
    n_signals += 1
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
def fail(y):
    for _ in range(4):
        y[:] = np.sqrt(y * 2 + 1)
    raise ValueError("a fault of the program")
visited.note = lambda *_: None
while n_signals < 60:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + n_signals % 30 * 0.002)
        while True:
            try:
                visited.apply(fail, x)
            except ValueError:
                pass
    except KeyboardInterrupt:
        n_caught += 1
print(n_signals - n_caught)
"""
    assert run(script(text)) == "0\n"


# -- Functions stay the same -----------------------------------------------------------


def test_functions_are_as_they_were(script):
    text = """
import numpy as np, copy, inspect, pickle, visited
x = np.arange(5.0)
before = visited.double, visited.Model.fit, visited.Model, visited.triple
visited.double(x), visited.Model(x).fit(x), visited.triple(x)
assert before == (visited.double, visited.Model.fit, visited.Model, visited.triple)
for each in before[:3]:
    assert pickle.loads(pickle.dumps(each)) is each
    assert copy.deepcopy(each) is each
    print(each.__name__, each.__qualname__, each.__module__, each.__doc__, *vars(each))
    print(inspect.signature(each), type(each), inspect.getsource(each))
print(visited.double.__code__.co_varnames, visited.double.__defaults__)
visited.double.__code__ = (lambda x: x * 3).__code__
print(visited.double(x))
def other(x, scale=5): return x * scale
visited.double.__code__, visited.double.__defaults__ = other.__code__, (5,)
print(visited.double(x))
visited.double.extra = 3
model = pickle.loads(pickle.dumps(visited.Model(x)))
print(type(model.x).__name__, model.predict(x))
"""
    path = script(text)
    assert run(*RUNNER, path).replace("mxnp", "numpy") == run(path)


# -- Deep recursion --------------------------------------------------------------------


def test_recursion_through_a_package(script):
    text = """
import mxnp as np, visited
def descend(x, n):
    return x if n == 0 else visited.apply(descend, x, n - 1)
x = np.arange(5.0)
assert descend(x, 200) is x
for n in (10**4, 10**5):
    try:
        descend(x, n)
    except RecursionError:
        print("too deep")
visited.double(x)
try:
    visited.recursive(x, 10**5)
except RecursionError:
    print("too deep")
print(*{each.__module__ for each in visited.seen})
"""
    assert run(script(text)) == "too deep\n" * 3 + "numpy\n"


@pytest.mark.parametrize("depth", [4_000, 9_000, 90_000])
def test_higher_limits_of_recursion(script, depth):
    text = f"""
import sys, threading, mxnp as np, visited
sys.setrecursionlimit(100_000)
def descend(x, n):
    return x if n == 0 else visited.apply(descend, x, n - 1)
def both():
    x = np.arange(5.0)
    for call in (visited.recursive, descend):
        try:
            call(x, {depth} // 2 if call is descend else {depth})
        except RecursionError:
            pass
        print("done")
both()
thread = threading.Thread(target=both)
thread.start()
thread.join()
"""
    assert run(script(text)) == "done\n" * 4


# -- Memory ----------------------------------------------------------------------------

MEMORY = """
import gc, sys, tracemalloc, weakref
import mxnp as np, visited
{before}
def once(i):
    x = np.arange(10.0) + i
{body}
tracemalloc.start()
def measure():
    for i in range({n}): once(i)
    del visited.seen[:]; gc.collect(); np.synchronize()
    return tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
looks = [measure() for _ in range(4)]
# A table that gets larger does so once. A leak grows each time.
growth = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(looks[1:], looks[2:])]
grows = all(size > 100 * {n} or blocks > {n} // 2 for size, blocks in growth)
print("grows" if grows else "stays", *growth)
"""


@pytest.mark.parametrize(
    "body",
    [
        "visited.double(x)",
        "visited.increment(x); visited.listed(x); visited.pair(x); visited.mapping(x)",
        "visited.apply(lambda y: y + x, x)",
        "visited.apply_all([lambda y: y, x.clip], x) if 0 else None",
        "m = visited.Model(x); m.fit(x).predict(x); m.data = x; m.x = None",
        "visited.append_sum([x, x]); visited.change_dict({'a': x})",
        "visited.Operand(x) + x; x + visited.Operand(x); visited.Operand() == x",
        "exec('y = visited.double(x)', {'visited': visited, 'x': x})",
        "eval(f'visited.double(x) + {i}', {'visited': visited, 'x': x})",
        "type('Own', (visited.Model,), {'step': lambda self, x: x})(x).transform(x)",
        "visited.apply(type('Own', (), {'__call__': lambda self, x: x})(), x)",
        "list(map(visited.make_adder(x), [x]))",
        "f = visited.logged(lambda y: y + 1); f(x)",
        "try: visited.fail(x)\n    except ValueError: pass",
        "try: visited.apply(lambda x: 1 / 0, [x])\n    except ZeroDivisionError: pass",
        "visited.apply(np.sort, x); visited.apply(x.sum)",
        "list(visited.steps(x))",
    ],
)
def test_memory_does_not_grow(script, body):
    text = MEMORY.format(before="", body=f"    {body}", n=2000)
    assert run(script(text)).startswith("stays")


def test_arrays_are_freed(script):
    text = """
import gc, weakref, mxnp as np, visited
class Array: pass
def check(use):
    x = np.arange(50_000.0) + 1
    gone = weakref.ref(x)
    use(x)
    del x
    gc.collect()
    print(gone() is None, end=" ")
check(visited.double)
check(lambda x: visited.apply(lambda y: y + 1, x))
check(lambda x: visited.append_sum([x]))
check(lambda x: visited.Model(x).fit(x).predict(x))
check(lambda x: visited.apply_all([lambda y: y], x))
check(lambda x: visited.Operand() + x)
"""
    assert set(run(script(text)).split()) == {"True"}


# -- Other users of the interpreter's hooks --------------------------------------------

HOOKS = {
    "tools 3 and 4": "[sys.monitoring.use_tool_id(i, str(i)) for i in (3, 4)]",
    "all events of another tool": """
m = sys.monitoring
m.use_tool_id(1, "coverage")
for event in (m.events.LINE, m.events.CALL, m.events.PY_START):
    m.register_callback(1, event, lambda *_: None)
m.set_events(1, m.events.LINE | m.events.CALL | m.events.PY_START)
""",
    "restarted events": """
class Restart:
    def __init__(self): self.n = 0
    def __call__(self, *_): sys.monitoring.restart_events()
m = sys.monitoring
m.use_tool_id(1, "coverage")
m.register_callback(1, m.events.PY_START, Restart())
m.set_events(1, m.events.PY_START)
""",
    "settrace": "sys.settrace(lambda *_: None)",
    "a local trace": "def trace(*_): return trace\nsys.settrace(trace)",
    "setprofile": "sys.setprofile(lambda *_: None)",
    "cProfile": "import cProfile; cProfile.Profile().enable()",
    "audit hooks": "sys.addaudithook(lambda *_: None)",
}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("is_first", [True, False])
def test_other_hooks(script, hook, is_first):
    imports = "import sys, visited\n", "import mxnp as np\n"
    text = (
        f"import sys\n{hook}\n{OWN}"
        if is_first
        else f"import sys\n{OWN}\n{hook}{CALLS}"
    )
    if "use_tool_id(i" in hook and not is_first:
        pytest.skip("mxnp has one of the tools")
    assert imports
    assert set(run(script(text)).split()) == {"numpy"}


def test_a_tool_that_other_code_frees(script):
    script(OWN, "other.py")
    text = """
import sys
import mxnp
m = sys.monitoring
(tool,) = [tool for tool in range(6) if m.get_tool(tool) == "mxnp"]
m.free_tool_id(tool)
import other
assert m.get_tool(tool) == "mxnp"
m.free_tool_id(tool)
m.use_tool_id(tool, "another")
del sys.modules["other"]
try:
    import other
except AssertionError:
    assert m.get_tool(tool) == "another"
"""
    assert run(script(text)).split()[0] == "numpy"


def test_traced_lines(script):
    text = """
import sys
lines = []
def trace(frame, event, arg):
    if "visited" in frame.f_code.co_filename:
        lines.append((event, frame.f_code.co_name, frame.f_lineno))
    return trace
import numpy as np, visited
sys.settrace(trace)
x = np.arange(5.0)
visited.double(x)
visited.apply(lambda x: x, x)
visited.Model(x).fit(x).predict(x)
sys.settrace(None)
print(lines)
"""
    path = script(text)
    assert run(*RUNNER, path) == run(path)


# -- Processes -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(script, method):
    text = f"""
import multiprocessing, concurrent.futures
import numpy as np, visited

def work(x):
    y = visited.double(x)
    return [each.__module__ for each in visited.seen[-1:]] + [type(y) is np.ndarray]

if __name__ == "__main__":
    x = np.arange(5.0)
    visited.double(x)
    context = multiprocessing.get_context("{method}")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        print(pool.submit(work, x).result(), pool.submit(visited.double, x).result())
"""
    assert run(*RUNNER, script(text)) == "['numpy', True] [0. 2. 4. 6. 8.]\n"


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_of_joblib(script, backend):
    pytest.importorskip("joblib")
    text = f"""
import numpy as np, visited
from joblib import Parallel, delayed

def work(x):
    y = visited.double(x)
    return [each.__module__ for each in visited.seen[-1:]] + [type(y) is np.ndarray, y]

def seen(x):
    return [each.__module__ for each in visited.seen[-1:]]

if __name__ == "__main__":
    x = np.arange(5.0)
    run = Parallel(n_jobs=2, backend="{backend}")
    (found,) = run([delayed(work)(x)])
    print(*found, type(found[-1]) is np.ndarray)
    (found,) = run([delayed(visited.double)(x)])
    print(found, type(found) is np.ndarray, *run([delayed(seen)(x)]))
"""
    expected = "numpy True [0. 2. 4. 6. 8.] True\n[0. 2. 4. 6. 8.] True ['numpy']\n"
    assert run(*RUNNER, script(text)) == expected


def test_fork(script):
    text = f"""
import os
{OWN}
if (child := os.fork()) == 0:
    visited.double(x)
    print(*set(visited.seen))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert run(script(text)).startswith("numpy\n")


def test_threads(script):
    text = """
import threading, mxnp as np, visited
def work(i):
    for j in range(300):
        x = np.arange(10.0) + i
        cls = type("Own", (visited.Model,), {"step": lambda self, x: x + 1})
        y = cls(x).transform(x)
        exec(f"z{j} = visited.apply(lambda y: y + {j}, x)", {"visited": visited, "x": x})
        assert y[0] == i + 1
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
print(*{each.__module__ for each in visited.seen})
"""
    assert run(script(text)) == "numpy\n"


@pytest.mark.parametrize("name", ["_interpreters", "_xxsubinterpreters"])
def test_subinterpreters(script, name):
    text = f"""
{OWN}
try:
    import {name} as interpreters
except ImportError:
    print("none")
else:
    each = interpreters.create()
    interpreters.run_string(each, "exec('a = 1'); import json; list(map(len, [[1]]))")
    interpreters.destroy(each)
visited.double(x)
"""
    assert run(script(text)).startswith("numpy\n")


def test_end_of_the_program(script):
    text = f"""
{OWN}
import atexit
class Last:
    def __del__(self):
        visited.double(x)
        visited.Model(x).fit(x)
last = Last()
atexit.register(lambda: visited.double(x))
"""
    assert run(script(text)) == "numpy\n"
    assert run(*RUNNER, script(text)) == "numpy\n"
