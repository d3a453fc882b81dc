"""Test that ``python -m mxnp`` runs programs like Python, but imports mxnp."""

from __future__ import annotations

import builtins
import importlib
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import threading
import zipfile
from pathlib import Path

import numpy
import pytest
from support.paths import python_path

import mxnp
from mxnp._engine import core, environment
from mxnp._interop import owners, program_files

PLAIN = [sys.executable]
STDLIB = sysconfig.get_path("stdlib")
RUNNER = [sys.executable, "-m", "mxnp"]


@pytest.fixture(autouse=True, scope="module")
def interruptible():
    """Allow interrupts of children, which a shell disables for background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(start, args, cwd, stdin="", **environment):
    """Run a Python in a folder; return its status, output and errors."""
    clean = {name: text for name, text in os.environ.items() if name[:5] != "MXNP_"}
    done = subprocess.run(
        [*start, *args],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=clean | {"PYTHONDONTWRITEBYTECODE": "1"} | environment,
    )
    return done.returncode, done.stdout, done.stderr


def write(folder, files):
    """Write files from a dict of names and texts."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


# -- Same behaviour as Python ---------------------------------------------------------

# Scripts. Their output, tracebacks and status must equal those of plain Python.
SCRIPTS = {
    "arrays": """
        import numpy as np
        a = np.arange(6.0).reshape(2, 3)
        print(a, a.T @ a, np.linalg.norm(a), repr(a[0]), sep="\\n")
        """,
    "an array as the status": """
        import sys
        import numpy as np
        sys.exit([np.arange(3), "over"])
        """,
    "calls without a frame": """
        import _thread, atexit, queue
        import numpy as np
        found = queue.Queue()
        _thread.start_new_thread(found.put, (0,))
        for text in (repr, str, np.array_repr):
            # The iterator calls the function, and the thread runs nothing but C.
            texts = map(text, [np.arange(3)])
            _thread.start_new_thread(map(found.put, texts).__next__, ())
        print(sorted(str(found.get(timeout=30)) for _ in range(4)))
        roots = map(np.sqrt, [-np.ones(100_000)])  # the warning has no line
        _thread.start_new_thread(map(found.put, roots).__next__, ())
        print(found.get(timeout=30)[0])
        atexit.register(print, np.arange(3), np.float64(1))
        """,
    "names of __main__": """
        import sys
        print([name for name in globals()])
        print(__name__, __file__, __package__, __spec__, __doc__, __cached__)
        print(type(__loader__), __loader__.name, __loader__.path, __builtins__)
        print(sys.modules["__main__"].__dict__ is globals(), sys.argv, sys.path)
        """,
    "docstring": """
        '''What it does.'''
        print(__doc__)
        """,
    "uncaught": """
        import numpy as np
        def f(x):
            return g(x)
        def g(x):
            raise ValueError(f"no {x}")
        f(np.float64(1.5))
        """,
    "NumPy's error": """
        import numpy as np
        def f():
            return np.ones((2, 3)) + np.ones(4)
        f()
        """,
    "chained": """
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise KeyError("x") from error
        """,
    "in handling": """
        try:
            {}["a"]
        except KeyError:
            undefined
        """,
    "group": "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])",
    "notes": """
        error = ValueError("a")
        error.add_note("and this")
        raise error
        """,
    "syntax error": "x = (\ny = 2 +* 3\n",
    "indentation": "if True:\nprint(1)\n",
    "future": """
        from __future__ import annotations
        def f(x: not_there): pass
        print(f.__annotations__)
        """,
    "no future": """
        def f(x: int): pass
        print(f.__annotations__)
        """,
    "no such module": "def f():\n    import not_there_at_all\nf()\n",
    "no such submodule": "import numpy.not_there\n",
    "no such submodule, caught": """
        import traceback
        try:
            import numpy.not_there as x
        except ModuleNotFoundError as error:
            print(error, error.name, error.path is None)
            traceback.print_exc()
        """,
    "from no such submodule": "from numpy.not_there import x\n",
    "helper that fails": {
        "main.py": "import helper\n",
        "helper.py": "import numpy as np\nimport deeper\n",
        "deeper.py": "def f():\n    raise RuntimeError('deep')\nf()\n",
    },
    "helper with a syntax error": {
        "main.py": "import helper\n",
        "helper.py": "def f(:\n",
    },
    "helper that warns its importer": {
        "main.py": "import helper\n",
        "helper.py": "import warnings\n"
        "warnings.warn('old', DeprecationWarning, stacklevel=2)\n",
    },
    "warning": """
        import numpy as np, warnings
        warnings.warn("look", UserWarning)
        np.array([1.0]) / np.array([0.0])
        """,
    "warning of the compiler": "print('\\d', 1 is 1)\n",
    "exit 3": "import sys; sys.exit(3)",
    "exit with a message": "import sys; sys.exit('could not')",
    "exit with None": "import sys; sys.exit()",
    "exit with an object": "raise SystemExit([1, 2])",
    "exit in a function": "def f(): raise SystemExit(7)\nf()\n",
    "os._exit": "import os; print(1, flush=True); os._exit(5)",
    "keyboard interrupt": """
        import os, signal, time
        def wait():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        wait()
        """,
    "keyboard interrupt, caught": """
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("caught")
            raise SystemExit(130)
        """,
    "keyboard interrupt and atexit": """
        import atexit
        atexit.register(print, "at the end")
        raise KeyboardInterrupt("now")
        """,
    "atexit": """
        import atexit, sys
        atexit.register(lambda: print("last", sys.exc_info()[0]))
        print("first")
        raise ValueError
        """,
    "excepthook": """
        import sys
        def hook(kind, value, traceback):
            frames = []
            while traceback:
                frames.append(traceback.tb_frame.f_code.co_name)
                traceback = traceback.tb_next
            print(kind.__name__, value, frames, sys.last_value is value)
            print(sys.excepthook is hook)
        sys.excepthook = hook
        def f(): 1 / 0
        f()
        """,
    "excepthook that fails": """
        import sys
        def hook(*args):
            raise KeyError(str(sys.exc_info()))
        sys.excepthook = hook
        1 / 0
        """,
    "excepthook that exits": """
        import sys
        def hook(kind, value, traceback):
            sys.exit(f"{value}, line {traceback.tb_lineno}")
        sys.excepthook = hook
        1 / 0
        """,
    "excepthook of None": "import sys\nsys.excepthook = None\n1 / 0\n",
    "excepthook deleted": """
        import atexit, sys
        atexit.register(lambda: print(hasattr(sys, "excepthook")))
        del sys.excepthook
        1 / 0
        """,
    "last traceback": """
        import atexit, sys, traceback
        atexit.register(lambda: print(traceback.extract_tb(sys.last_traceback)))
        def f(): 1 / 0
        f()
        """,
    "limited traceback": "import sys\nsys.tracebacklimit = 1\ndef f(): 1/0\nf()\n",
    "raised again": """
        def f(): 1 / 0
        try:
            f()
        except ZeroDivisionError as error:
            kept = error
        raise kept
        """,
    "the end of the names": """
        class A:
            def __init__(self, name): self.name = name
            def __del__(self): print("end of", self.name)
        a, b = A("a"), A("b")
        b.itself = b
        def f():
            try:
                yield
            finally:
                print("end of the generator")
        started = f()
        next(started)
        """,
    "closed output": "import sys\nprint(1)\nsys.stdout.close()\n",
    "exit of 263": "raise SystemExit(256 + 7)",
    "exit of -1": "raise SystemExit(-1)",
    "exit of True": "raise SystemExit(True)",
    "exit of a float": "raise SystemExit(1.5)",
    "quit": "print(1)\nquit(4)\n",
    "killed": "import os\nos.kill(os.getpid(), 15)\n",
    "subclass of KeyboardInterrupt": "class A(KeyboardInterrupt): pass\nraise A\n",
    "interrupted loop of asyncio": """
        import asyncio, os, signal
        async def f():
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        asyncio.run(f())
        """,
    "exit without hook": """
        import sys, atexit
        atexit.register(lambda: print(sys.excepthook is sys.__excepthook__))
        sys.exit(1)
        """,
    "thread that fails": """
        import threading
        def work(): 1 / 0
        thread = threading.Thread(target=work, name="worker")
        thread.start(); thread.join()
        print("on")
        """,
    "thread that goes on": """
        import threading
        def work():
            threading.main_thread().join(); print("done")
        threading.Thread(target=work).start()
        raise ValueError("main is over")
        """,
    "pickle of main": """
        import pickle, numpy as np
        class A:
            def __init__(self): self.a = np.arange(3)
        def f(x): return x + 1
        assert pickle.loads(pickle.dumps(f)) is f
        print(pickle.loads(pickle.dumps(A())).a, A, f.__module__)
        """,
    "from __main__": "x = 3\nfrom __main__ import x as y\nimport __main__\n"
    "print(y, __main__.x, __main__)\n",
    "inspect": """
        import inspect
        def f():
            return 1  # a line
        print(inspect.getsource(f), inspect.getsourcefile(f) == __file__)
        """,
    "import functions": """
        import importlib, inspect, pickle
        print(__import__.__name__, __import__.__module__, __import__)
        print(importlib.import_module.__name__, importlib.import_module.__module__)
        print(pickle.loads(pickle.dumps(importlib.import_module)) is
              importlib.import_module, inspect.signature(importlib.import_module))
        print(__import__("os.path").__name__)
        print(__import__("os.path", fromlist=["a"]).__name__)
        for wrong in ((), (1,), ("",), ("os", None, None, (), -1)):
            try:
                __import__(*wrong)
            except Exception as error:
                print(type(error).__name__)
        """,
    "encoding": b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n",
    "byte order mark": b"\xef\xbb\xbfprint('\xc3\xa9' == '\\xe9')\n",
    "empty": "",
    "star": """
        from numpy import *
        print(arange(3) + pi, sorted(globals())[:5] == [], array([1]).dtype)
        """,
    "names of star": """
        from numpy import *
        from numpy.linalg import *
        print(sorted(globals()))
        """,
    "circular": {
        "main.py": "import one\nprint(one.x, one.two.y)\n",
        "one.py": "import numpy as np\nx = np.ones(2)\nimport two\n",
        "two.py": "import one, numpy as np\ny = one.x + np.ones(2)\n",
    },
    "package without __init__": {
        "main.py": "from space.part import x\nprint(x)\n",
        "space/part.py": "from numpy import ones\nx = ones(2)\n",
    },
    "packages": {
        "main.py": "from pack import a\nfrom pack.sub import b\nprint(a.x, b.y)\n",
        "pack/__init__.py": "",
        "pack/a.py": "import numpy as np\nx = np.eye(2)\n",
        "pack/sub/__init__.py": "from ..a import x\n",
        "pack/sub/b.py": "from . import x\ny = x * 2\n",
    },
    "own numpy in a package": {
        "main.py": "from pack import f\nprint(f())\n",
        "pack/__init__.py": "from .numpy import f\n",
        "pack/numpy.py": "def f(): return __name__\n",
    },
}
# Scripts that need packages of the extra test-all.
WITH_PACKAGES = {
    "pandas": """
        import numpy as np, pandas as pd
        frame = pd.DataFrame({"a": np.arange(4.0), "b": np.array(list("xyxy"))})
        frame["c"] = np.sqrt(frame["a"])
        print(frame, frame.groupby("b").mean(), frame["a"].to_numpy().mean(), sep="\\n")
        """,
    "scipy": """
        import numpy as np
        from scipy import linalg, optimize, integrate, sparse
        a = np.array([[4.0, 1.0], [1.0, 3.0]])
        print(linalg.solve(a, np.ones(2)), linalg.eigvalsh(a))
        print(optimize.minimize(lambda x: np.sum((x - 1) ** 2), np.zeros(2)).x.round(4))
        print(integrate.quad(np.sin, 0, np.pi)[0], sparse.csr_matrix(a) @ np.ones(2))
        """,
    "scikit-learn": """
        import numpy as np
        from sklearn.cluster import KMeans
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        x = rng.normal(size=(40, 2)) + np.repeat([[0, 0], [9, 9]], 20, axis=0)
        print(np.sort(KMeans(2, n_init=1, random_state=0).fit_predict(x)[[0, -1]]))
        print(LinearRegression().fit(x, x @ np.array([1.0, 2.0])).coef_.round(6))
        """,
    "matplotlib": """
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt, numpy as np, zlib
        x = np.linspace(0, 2 * np.pi, 50)
        figure, (left, right) = plt.subplots(1, 2, dpi=50)
        left.plot(x, np.sin(x)); right.imshow(np.outer(x, x))
        figure.canvas.draw()
        print(zlib.crc32(np.asarray(figure.canvas.buffer_rgba()).tobytes()))
        """,
}
# Command lines for these files.
FILES = {
    "script.py": "import sys\nprint(sys.argv, sys.path[0], __file__)\n",
    "inner/script.py": "import beside, sys\nprint(sys.argv, sys.path[0], __file__)\n",
    "inner/beside.py": "import numpy as np\nprint(np.arange(2), __file__)\n",
    "folder/__main__.py": "import sys, aside\n"
    "print(sys.argv, sys.path[0], __file__, __name__, __package__, __spec__.origin)\n"
    "aside.fail()\n",
    "folder/aside.py": "def fail():\n    raise ValueError\n",
    "no_main/other.py": "",
    "pack/__init__.py": "print('package', __name__)\n",
    "pack/__main__.py": "import sys\nfrom . import mod\n"
    "print(sys.argv, sys.path[0], __name__, __package__, __spec__.name)\n",
    "pack/mod.py": "import numpy as np\nprint(np.ones(2), __name__, __package__)\n",
    "pack/bad.py": "import numpy as np\nnp.zeros(2).reshape(3)\n",
    "flags.py": "import sys\nprint(sys.flags)\nassert 0\n",
}
COMMANDS = {
    "arguments": ["script.py", "-x", "--version", "-m", "a b", ""],
    "path with dots": ["./inner/../script.py"],
    "another folder": ["inner/script.py", "a"],
    "link": ["link.py"],
    "folder": ["folder", "1"],
    "zip": ["packed.zip", "1"],
    "folder without main": ["no_main"],
    "no such file": ["not_there.py"],
    "module": ["-m", "pack.mod", "a", "-b"],
    "module, in one word": ["-mpack.mod"],
    "package": ["-m", "pack", "-m", "x"],
    "module that fails": ["-m", "pack.bad"],
    "no such module": ["-m", "not_there"],
    "no such module in a package": ["-m", "pack.not_there"],
    "module with .py": ["-m", "script.py"],
    "code": ["-c", "import sys; print(sys.argv, sys.path[0], [*globals()])", "a", "-c"],
    "code, in one word": ["-cprint(1)"],
    "code that fails": ["-c", "def f():\n  1/0\nf()"],
    "code with a syntax error": ["-c", "1 +"],
    "code of several lines": ["-c", "for i in range(2):\n  print(i)"],
    "standard input": ["-", "a", "-b"],
    "standard input, unnamed": [],
    "profiled": ["-m", "cProfile", "-o", os.devnull, "script.py", "a"],
    "traced": ["-m", "trace", "--count", "-C", os.devnull, "script.py"],
    "timed": ["-m", "timeit", "-h"],
    "doctest": ["-m", "doctest", "script.py"],
    "compiled": ["script.pyc"],
}
STDIN = """
import sys, numpy as np
print(sys.argv, sys.path[0], [*globals()], np.ones(2), repr(sys.stdin.read()))
def f():
    raise ValueError
f()
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_is_the_same(tmp_path, name):
    compare_script(tmp_path, name, SCRIPTS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PACKAGES)
def test_script_with_a_package_is_the_same(tmp_path, name):
    compare_script(tmp_path, name, WITH_PACKAGES[name])


def compare_script(tmp_path, name, files):
    if isinstance(files, bytes):
        (tmp_path / "main.py").write_bytes(files)
    else:
        write(tmp_path, files if isinstance(files, dict) else {"main.py": files})
    plain = run(PLAIN, ["main.py", "a", "-b"], tmp_path)
    assert run(RUNNER, ["main.py", "a", "-b"], tmp_path) == plain
    assert plain != (0, "", "") or name in ("empty", "exit with None")


@pytest.mark.slow
def test_an_error_at_the_end_has_the_traceback_of_the_program(tmp_path):
    text = """
        import numpy as np
        class Model:
            def step(self):
                i = (np.arange(100_000) * 2).astype(np.int32)
                y = np.zeros(100_000)[i]
        Model().step()
        """
    write(tmp_path, {"main.py": text})
    status, out, errors = run(RUNNER, ["main.py"], tmp_path)
    assert (status, out) == (1, "")
    assert errors.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/main.py", line 6, in step',
        "    y = np.zeros(100_000)[i]",
        "IndexError: index 100000 is out of bounds for axis 0 with size 100000",
        f"recorded at {tmp_path}/main.py:6",
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("programs")
    write(made, FILES)
    (made / "link.py").symlink_to(made / "inner" / "script.py")
    with zipfile.ZipFile(made / "packed.zip", "w") as packed:
        for name in ("__main__.py", "aside.py"):
            packed.write(made / "folder" / name, name)
    code = "import py_compile; py_compile.compile('script.py', 'script.pyc')"
    subprocess.run([*PLAIN, "-c", code], cwd=made, check=True)
    return made


# Options of the interpreter, standard input, and the rest of the command.
OPTIONS = {
    "optimized": ["-O", "", "flags.py"],
    "isolated": ["-I", "", "script.py"],
    "safe path": ["-P", "", "script.py"],
    "safe path, module": ["-P", "", "-m", "script"],
    "safe path, folder": ["-P", "", "folder"],
    "warnings are errors": ["-Werror", "", "-c", "import numpy as np; np.ones(2) / 0"],
    "development": ["-Xdev", "", "-c", "import sys; print(sys.flags.dev_mode)"],
    "inspect": ["-iq", "x + 1\nimport numpy; numpy.ones(1)\n", "-c", "x = 1"],
    "inspect an error": ["-iq", "import sys; sys.last_value\n", "-c", "1/0"],
    "inspect an exit": ["-iq", "1 + 1\n", "-c", "raise SystemExit(3)"],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OPTIONS)
def test_option_is_the_same(folder, name):
    option, typed, *args = OPTIONS[name]
    plain = run([*PLAIN, option], args, folder, typed)
    assert run([PLAIN[0], option, "-m", "mxnp"], args, folder, typed) == plain


# Python reads files and strings in separate ways, and the errors have separate texts.
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            b"print(1)\n\0",
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11, 4),
                reason="Python 3.11.4 or later is needed",
            ),
        ),
        b"x = '\xe4'\n",
    ],
)
def test_unreadable_source_is_a_syntax_error(tmp_path, source):
    (tmp_path / "main.py").write_bytes(source)
    for start in (PLAIN, RUNNER):
        status, output, errors = run(start, ["main.py"], tmp_path)
        assert (status, output) == (1, "")
        assert errors.splitlines()[-1].startswith("SyntaxError: ")
        assert "Traceback" not in errors


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_the_same(folder, name):
    stdin = STDIN if name.startswith("standard") else ""
    plain = run(PLAIN, COMMANDS[name], folder, stdin)
    assert run(RUNNER, COMMANDS[name], folder, stdin) == plain
    assert plain != (0, "", "") or name == "doctest"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options", [["-O"], ["-P"], ["-I"], ["-W", "error"], ["-X", "dev"]]
)
def test_pythons_options_hold(folder, options):
    program = ["script.py"] if "-P" in options or "-I" in options else ["flags.py"]
    plain = run([*PLAIN, *options], program, folder)
    assert run([*PLAIN, *options, "-m", "mxnp"], program, folder) == plain


def test_under_inspection_the_console_follows(folder):
    # Without a terminal, the console does not start, and only the end can be compared.
    status, _, errors = run([*PLAIN, "-i", "-m", "mxnp"], ["-c", "1/0"], folder)
    assert (status, errors) == run([*PLAIN, "-i"], ["-c", "1/0"], folder)[::2]


# -- Replaced imports -----------------------------------------------------------------

# Each program prints names of modules and classes, with these values under the runner.
GIVES = {
    "import": ("import numpy; print(numpy.__name__)", "mxnp"),
    "import as": ("import numpy as np; print(np.__name__)", "mxnp"),
    "import of a submodule": (
        "import numpy.linalg; print(numpy.__name__, numpy.linalg.__name__)",
        "mxnp mxnp.linalg",
    ),
    "import of a submodule as": (
        "import numpy.lib.stride_tricks as s; print(s.__name__)",
        "mxnp.lib.stride_tricks",
    ),
    "from": (
        "from numpy import arange as a; print(type(a(3)))",
        "<class 'mxnp.ndarray'>",
    ),
    "from a submodule": (
        "from numpy.linalg import inv; print(type(inv([[1.]])))",
        "<class 'mxnp.ndarray'>",
    ),
    "from, a submodule": ("from numpy import fft; print(fft.__name__)", "mxnp.fft"),
    "star": ("from numpy import *; print(type(ones(1)))", "<class 'mxnp.ndarray'>"),
    "star of a submodule": (
        "from numpy.fft import *; print(type(fft([1])))",
        "<class 'mxnp.ndarray'>",
    ),
    "__import__": (
        "print(__import__('numpy').__name__, __import__('numpy.fft').__name__,"
        " __import__('numpy.fft', fromlist=['fft']).__name__,"
        " __import__(name='numpy').__name__)",
        "mxnp mxnp mxnp.fft mxnp",
    ),
    "import_module": (
        "from importlib import import_module as f; print(f('numpy').__name__,"
        " f('numpy.fft').__name__, f(name='numpy').__name__,"
        " f('.fft', 'numpy').__name__)",
        "mxnp mxnp.fft mxnp mxnp.fft",
    ),
    "sys.modules": (
        "import numpy, sys; print(sys.modules['numpy'].__name__)",
        "numpy",
    ),
    "in a function": (
        "def f():\n import numpy as n\n return n\nprint(f().__name__)",
        "mxnp",
    ),
    "in a thread": (
        "import threading\ndef f():\n import numpy as n\n print(n.__name__)\n"
        "t = threading.Thread(target=f); t.start(); t.join()",
        "mxnp",
    ),
    "in exec": ("exec('import numpy as n; print(n.__name__)', {})", "mxnp"),
    "in exec with names": ("exec('import numpy as n; print(n.__name__)')", "mxnp"),
    "in eval": ("print(eval('__import__(\"numpy\").__name__'))", "mxnp"),
    "in timeit": (
        "from timeit import timeit\n"
        "timeit('print(n.__name__)', 'import numpy as n', number=1)",
        "mxnp",
    ),
    "by runpy": (
        "import runpy; print(runpy.run_path('beside.py')['np'].__name__)",
        "mxnp",
    ),
    "in a helper": ("import beside; print(beside.np.__name__)", "mxnp"),
    "in a package": ("import pack.sub.mod as m; print(m.np.__name__)", "mxnp"),
    "in scipy": ("import scipy.linalg._basic as b; print(b.np.__name__)", "numpy"),
    "in the standard library": (
        "import pkgutil; print(pkgutil.resolve_name('numpy.fft').__name__)",
        "numpy.fft",
    ),
    "private": (
        "import numpy._core.umath as u; from numpy import _core, ones\n"
        "from numpy._core import numeric\n"
        "print(u.__name__, _core.__name__, type(ones(1)), numeric.__name__)",
        "numpy._core.umath numpy._core <class 'mxnp.ndarray'> numpy._core.numeric",
    ),
    "private inside": (
        "import numpy.lib._iotools as i; print(i.__name__)",
        "numpy.lib._iotools",
    ),
    "old core": (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import numpy, numpy.core.multiarray; print(numpy.__name__)\n"
        "import numpy.core.multiarray as m; print(m.__name__)",
        "mxnp\nnumpy.core.multiarray",
    ),
    "f2py": ("import numpy.f2py as f; print(f.__name__)", "numpy.f2py"),
    "pickled functions of NumPy": (
        "import pickle, sys; np = sys.modules['numpy']\n"
        "print(pickle.loads(pickle.dumps(np.dot)) is np.dot)",
        "True",
    ),
    "excluded": (
        "import pack.sub.mod as m, beside; print(m.np.__name__, beside.np.__name__)",
        "numpy mxnp",
        ["--exclude", "pack"],
    ),
    "excluded by path": (
        "import pack.sub.mod as m, beside; print(m.np.__name__, beside.np.__name__)",
        "numpy mxnp",
        ["--exclude=./pack"],
    ),
    "included": (
        "import scipy.linalg._basic as a, scipy.special._basic as b\n"
        "print(a.np.__name__, b.np.__name__)",
        "mxnp numpy",
        ["--include", "scipy.linalg._basic"],
    ),
    "to functions that array_api_compat calls": (
        "from pack.array_api_compat import call\n"
        "def name():\n    import numpy as np\n    return np.__name__\n"
        "print(call(name))",
        "mxnp",
    ),
    "to array_api_compat in scipy": (
        "import scipy.special, sys; print('mxnp.ma' in sys.modules)",
        "False",
    ),
}


USES_SCIPY = [pytest.mark.slow, pytest.mark.needs("scipy")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=USES_SCIPY if "scipy" in code else ())
        for name, (code, *_) in GIVES.items()
    ],
)
def test_import_gives(tmp_path, name):
    code, expected, *options = GIVES[name]
    write(
        tmp_path,
        {
            "main.py": code,
            "beside.py": "import numpy as np\n",
            "pack/__init__.py": "",
            "pack/sub/__init__.py": "",
            "pack/sub/mod.py": "from numpy import fft\nimport numpy as np\n",
            "pack/array_api_compat.py": "def call(function): return function()\n",
        },
    )
    args = [*(options[0] if options else []), "main.py"]
    assert run(RUNNER, args, tmp_path) == (0, expected + "\n", "")


MISSING = """
for module in ("numpy", "numpy.linalg", "numpy.ma", "numpy.lib.stride_tricks"):
    try:
        exec(f"from {module} import sum_of_nothing")
    except ImportError as error:
        print(error, error.name, error.path)
"""


def test_an_import_of_a_missing_name_has_numpys_error(tmp_path):
    (tmp_path / "main.py").write_text(MISSING)
    made = [run(start, ["main.py"], tmp_path) for start in (PLAIN, RUNNER)]
    assert made[1] == made[0]


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_variables_include_and_exclude(tmp_path):
    write(
        tmp_path, {"own.py": "import numpy as np\n", "other.py": "import numpy as np\n"}
    )
    code = "import own, other, scipy.linalg._basic as b\n"
    code += "print(own.np.__name__, other.np.__name__, b.np.__name__)"
    settings = {
        "MXNP_EXCLUDE": os.pathsep.join(["own", "x"]),
        "MXNP_INCLUDE": "scipy.linalg._basic",
    }
    done = run(RUNNER, ["-c", code], tmp_path, **settings)
    assert done == (0, "numpy mxnp mxnp\n", "")


CHILDREN = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import beside

def work(x):
    import numpy
    return numpy.__name__, np.__name__, beside.np.__name__, type(x).__name__, x.sum()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, [np.arange(3.0)] * 2))
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        print(executor.submit(work, np.arange(3.0)).result())
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
@pytest.mark.parametrize("start", [["main.py"], ["-m", "main"]])
def test_children_get_it_too(tmp_path, method, start):
    if sys.platform == "win32" and method != "spawn":
        pytest.skip("Windows has spawn alone")
    write(tmp_path, {"main.py": CHILDREN, "beside.py": "import numpy as np\n"})
    options = [
        "-W",
        "ignore::DeprecationWarning",
    ]  # of a fork with threads, from Python 3.12
    start = [*start, method]
    status, plain, errors = run([*PLAIN, *options], start, tmp_path)
    assert (status, errors) == (0, "")
    expected = plain.replace("'numpy'", "'mxnp'")
    assert "'mxnp', 'mxnp', 'mxnp', 'ndarray', np.float64(3.0)" in expected
    done = run([*PLAIN, *options, "-m", "mxnp"], start, tmp_path)
    assert done == (0, expected, "")


@pytest.mark.needs("joblib")
@pytest.mark.slow
def test_joblib_children_get_it_too(tmp_path):
    code = """
        from joblib import Parallel, delayed
        import beside
        def work():
            import numpy
            return numpy.__name__
        if __name__ == "__main__":
            with Parallel(2) as parallel:
                print(parallel([delayed(work)(), delayed(beside.work)()]))
        """
    beside = "import numpy as np\ndef work(): return np.__name__\n"
    write(tmp_path, {"main.py": code, "beside.py": beside})
    status, output, _ = run(RUNNER, ["main.py"], tmp_path)
    assert (status, output) == (0, "['mxnp', 'mxnp']\n")


def test_modules_that_the_server_of_processes_imports(tmp_path):
    code = """
        import multiprocessing
        import beside
        def work(_):
            import beside
            return beside.np.__name__
        if __name__ == "__main__":
            multiprocessing.set_start_method("forkserver")
            multiprocessing.set_forkserver_preload(["beside"])
            with multiprocessing.Pool(1) as pool:
                print(pool.map(work, [0]))
        """
    write(tmp_path, {"main.py": code, "beside.py": "import numpy as np\n"})
    assert run(RUNNER, ["main.py"], tmp_path) == (0, "['mxnp']\n", "")


# If a child does not find mxnp, it dies and the pool waits forever.
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_find_mxnp_where_the_program_did(tmp_path, method):
    folders = {str(Path(path).parent) for path in (*mxnp.__path__, *numpy.__path__)}
    code = f"""
        import sys
        sys.path += {sorted(folders)}
        import mxnp
        mxnp.install()
        import multiprocessing
        import numpy as np
        def work(a):
            import numpy
            return numpy.__name__, a.sum()
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map_async(work, [np.ones(2)]).get(timeout=60))
        """
    write(tmp_path, {"main.py": code})
    # With -S, the only site-packages are those that the program adds.
    done = run([*PLAIN, "-S"], ["main.py"], tmp_path)
    assert done == (0, "[('mxnp', np.float64(2.0))]\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
@pytest.mark.parametrize("options", [[], ["-E"]])
def test_console(tmp_path, options):
    import pty

    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [*PLAIN, *options, "-m", "mxnp"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        text=True,
        env=os.environ | {"TERM": "dumb", "PYTHON_BASIC_REPL": "1"},
    )
    os.close(terminal)
    os.write(
        master,
        b"import numpy as np, os\n"
        b"print(np.__name__, __name__, os.environ.get('PYTHONINSPECT'))\n"
        b"1/0\nimport sys; sys.exit(4)\n",
    )
    output, _ = process.communicate(timeout=300)
    os.close(master)
    assert process.returncode == 4
    assert "mxnp __main__ None" in output
    assert "ZeroDivisionError" in output
    assert "mxnp 0.1.0 (NumPy" in output


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_interrupted_from_outside(tmp_path):
    # The signal may come before the sleep, so both are in one line.
    text = "import time\nprint(1, flush=True); time.sleep(600)\n"
    write(tmp_path, {"main.py": text})
    done = []
    for start in (PLAIN, RUNNER):
        process = subprocess.Popen(
            [*start, "main.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONNODEBUGRANGES": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        done.append((*process.communicate(timeout=300), process.returncode))
    assert done[0] == done[1]
    assert done[0][2] == -signal.SIGINT


# -- install and uninstall ------------------------------------------------------------


@pytest.fixture
def installed():
    mxnp.install()
    yield
    mxnp.uninstall()


def importer():
    """Import numpy like a program; this test file counts as one."""
    import numpy as found

    return found


LATE = """
    import numpy as np
    a = np.arange(300_000.0)
    print(np.sort(a)[0], np.linalg.norm(a[:3]), np.random.default_rng(1).random(3).shape)
    print(np.unique(a.astype(int) % 7), np.fft.fft(a[:4]).dtype)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "option", ["none", "--report", "--doctor", "--verify", "--trap-nan"]
)
def test_mxnp_imports_the_standard_library(tmp_path, option):
    """The program has files of the names of modules that NumPy does not import for it."""
    write(tmp_path, {"program.py": LATE + "    import sys; print(*sys.modules)"})
    loaded = run(PLAIN, ["program.py"], tmp_path)[1].split()
    names = sys.stdlib_module_names.difference(sys.builtin_module_names, loaded)
    files = {f"{name}.py": "1 / 0" for name in {*names, "weakref", "dataclasses"}}
    write(tmp_path, files | {"program.py": LATE})
    arguments = ["program.py"] if option == "none" else [option, "program.py"]
    status, output, errors = run(RUNNER, arguments, tmp_path)
    assert status == 0, errors
    assert output.startswith("0.0 ")


def test_imports_that_no_file_hides_are_not_traced(tmp_path):
    """Whose import it is can be told only by all frames that lead to it."""
    code = "import sys; sys.modules['mxnp._cli.own_imports']._is_own_import = None\n"
    code += "import wave; print(wave.__name__)\n"
    code += "try: import winreg\nexcept ModuleNotFoundError as error: print(error)"
    end = run(RUNNER, ["-c", code], tmp_path)
    assert end == (0, "wave\nNo module named 'winreg'\n", "")


def test_a_program_imports_its_own_files(tmp_path):
    write(tmp_path, {"statistics.py": "print('own')", "own.py": "import statistics"})
    assert run(RUNNER, ["own.py"], tmp_path)[1] == "own\n"


def test_install_and_uninstall():
    before = (builtins.__import__, importlib.import_module, list(sys.meta_path))
    assert importer() is numpy
    mxnp.install()
    try:
        assert importer() is mxnp
        during = (builtins.__import__, importlib.import_module, list(sys.meta_path))
        mxnp.install()  # a second call changes nothing
        after = (builtins.__import__, importlib.import_module, list(sys.meta_path))
        assert after == during
        assert sys.modules["numpy"] is numpy
    finally:
        mxnp.uninstall()
    assert (builtins.__import__, importlib.import_module, sys.meta_path) == before
    assert importer() is numpy
    mxnp.uninstall()
    assert (builtins.__import__, importlib.import_module, sys.meta_path) == before


def test_a_second_install_adds_names():
    mxnp.install(["pandas"], ["own"])
    try:
        mxnp.install(["scipy"], ["other"])
        rules = owners.get_rules()
    finally:
        mxnp.uninstall()
    assert {"pandas", "scipy"} <= set(rules.include)
    assert {"own", "other"} <= set(rules.exclude)


def test_uninstall_restores_the_spawners():
    from multiprocessing import spawn

    original = spawn.get_preparation_data
    mxnp.install()
    try:
        assert "mxnp" in spawn.get_preparation_data("x")
    finally:
        mxnp.uninstall()
    assert spawn.get_preparation_data is original
    assert "mxnp" not in spawn.get_preparation_data("x")


def test_wrappers_of_other_code_stay(monkeypatch):
    original = builtins.__import__
    mxnp.install()
    ours = builtins.__import__

    def theirs(*args, **kwargs):
        return ours(*args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", theirs)
    mxnp.uninstall()
    assert builtins.__import__ is theirs
    assert __import__("numpy") is numpy  # inside theirs, ours passes it on
    mxnp.install()
    assert builtins.__import__ is theirs
    assert importer() is mxnp
    monkeypatch.undo()
    assert builtins.__import__ is ours
    assert importer() is mxnp
    mxnp.uninstall()
    assert builtins.__import__ is original


def test_install_takes_names_not_a_name():
    for wrong in ({"include": "scipy"}, {"exclude": "scipy"}):
        with pytest.raises(TypeError, match="iterables of names, not str"):
            mxnp.install(**wrong)
    assert importer() is numpy


def test_install_in_many_threads():
    before = builtins.__import__
    start = threading.Barrier(8)
    failed = []

    def work():
        start.wait()
        for _ in range(200):
            mxnp.install()
            if importer() not in (numpy, mxnp):
                failed.append(1)
            mxnp.uninstall()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert builtins.__import__ is before
    assert importer() is numpy


def test_a_notebooks_cell(installed):
    names = {"__name__": "__main__", "__builtins__": builtins}
    exec(compile("import numpy as np", "/tmp/ipykernel_1/2.py", "exec"), names)
    assert names["np"] is mxnp


@pytest.mark.parametrize(
    ("names", "source", "expected"),
    [
        ({"__name__": "__main__"}, "<stdin>", True),
        ({"__name__": "a", "__file__": "/home/me/a.py"}, "/home/me/a.py", True),
        ({"__name__": "scipy", "__file__": numpy.__file__}, "x.py", False),
        ({"__name__": "os", "__file__": os.__file__}, os.__file__, False),
        ({"__name__": "timeit", "__file__": os.__file__}, "<timeit-src>", True),
        ({"__name__": "os", "__file__": os.__file__}, "<frozen os>", False),
        ({"__name__": "x", "__file__": f"{STDLIB}/site-packages/x"}, "<string>", False),
        ({"__name__": "mxnp", "__file__": mxnp.__file__}, mxnp.__file__, False),
        ({"__name__": "a", "__file__": "/x/dist-packages/a.py"}, "a.py", False),
        ({"__name__": "sys", "__spec__": sys.__spec__}, "", False),
        ({}, "<string>", True),
        ({"__name__": "a.b", "__file__": "/no/a/b.py"}, "b.py", False),
        ({"__name__": "ab", "__file__": "/no/ab.py"}, "ab.py", True),
        ({"__name__": "a.bc", "__file__": "/no/a/bc.py"}, "bc.py", True),
        ({"__name__": "pandas.y", "__file__": "/x/site-packages/y.py"}, "y.py", False),
        ({"__name__": "c", "__file__": "/lab/src/c.py"}, "c.py", False),
        ({"__name__": "pandas.x", "__file__": "/x/site-packages/x.py"}, "x.py", True),
    ],
)
def test_whose_import_it_is(names, source, expected):
    before = owners.get_rules()
    owners.set_rules(
        owners.ImportFilter(
            include=("pandas",), exclude=("a.b", "pandas.y", "/lab/src")
        )
    )
    try:
        assert owners.belongs_to_program(names, source) is expected
    finally:
        owners.set_rules(before)


def test_files_of_the_standard_library_need_no_metadata(tmp_path):
    code = """
import numpy
from mxnp._interop import program_files
program_files.editable_places.cache_clear()
import email.message, json.tool, xml.dom.minidom
print(program_files.is_in_standard_library(json.tool.__file__))
print(program_files.editable_places.cache_info().currsize)
print(program_files.is_in_package("/project/own.py"))
print(program_files.editable_places.cache_info().currsize)
"""
    assert run(RUNNER, ["-c", code], tmp_path) == (0, "True\n0\nFalse\n1\n", "")


@pytest.mark.parametrize(
    ("origin", "project"),
    [
        ('{"url": "file:///a%20b", "dir_info": {"editable": true}}', "/a b"),
        ('{"url": "file:///a", "dir_info": {"editable": false}}', ""),
        ('{"url": "file:///a", "dir_info": {}}', ""),
        ('{"url": "https://a.b/c", "dir_info": {"editable": true}}', ""),
        ("", ""),
    ],
)
def test_projects_of_packages_in_editable_form(tmp_path, origin, project):
    (tmp_path / "direct_url.json").write_text(origin)
    assert program_files._project_of(str(tmp_path)) == project


def test_a_folder_beside_an_editable_package_is_not_in_it(monkeypatch):
    monkeypatch.setattr(program_files, "editable_places", lambda: ("/project/tiny",))
    assert program_files.editable_root("/project/tiny/a.py") == "/project/tiny"
    assert program_files.editable_root("/project/tiny2/a.py") == ""


def test_packages_in_a_folder_that_pip_was_given(tmp_path):
    """`pip install --target FOLDER`, which has a module of the program, too."""
    source = "import numpy\nNAME = numpy.__name__\n"
    record = "shop/__init__.py,,\nshop/inner.py,,\nsingle.py,,\n"
    modules = dict.fromkeys(("shop/inner.py", "single.py", "own.py"), source)
    files = {"shop/__init__.py": "from .inner import NAME", **modules}
    write(tmp_path / "folder", {**files, "shop-1.0.dist-info/RECORD": record})
    code = "import shop, single, own; print(shop.NAME, single.NAME, own.NAME)"
    write(tmp_path, {"main.py": code})
    done = run(
        RUNNER, ["main.py"], tmp_path, PYTHONPATH=python_path(tmp_path / "folder")
    )
    assert done == (0, "numpy numpy mxnp\n", "")


SEES = "import gc\nSEEN = gc.get_threshold()\n"


@pytest.mark.parametrize(
    ("before", "inside"),
    [("(700, 10, 5)", 50_000), ("(60_000, 10, 5)", 60_000), ("(0, 10, 5)", 0)],
)
def test_the_collector_waits_while_a_package_loads_its_modules(
    tmp_path, before, inside
):
    files = {
        "shop/__init__.py": "",
        "shop/inner.py": f"import shop.last, single\n{SEES}",
        "shop/last.py": SEES,
        "shop/broken.py": "1 / 0",
        "single.py": SEES,
    }
    write(tmp_path / "site-packages", files)
    write(tmp_path / "own", {"__init__.py": "", "part.py": SEES})
    code = f"""
        import gc, sys
        gc.set_threshold(*{before})
        import own.part, shop.inner
        after = [gc.get_threshold()[0]]
        try:
            import shop.broken
        except ZeroDivisionError:
            after.append(gc.get_threshold()[0])
        modules = own.part, shop.inner, shop.last, sys.modules["single"]
        print(*(module.SEEN for module in modules), after)
    """
    write(tmp_path, {"main.py": textwrap.dedent(code)})
    folder = python_path(tmp_path / "site-packages")
    status, output, errors = run(RUNNER, ["main.py"], tmp_path, PYTHONPATH=folder)
    own = eval(before)
    seen = (inside, *own[1:])
    assert (status, errors) == (0, "")
    assert output == f"{own} {seen} {seen} {seen} {[own[0]] * 2}\n"


def test_a_package_may_set_the_threshold_of_the_collector(tmp_path):
    files = {"shop/__init__.py": "", "shop/inner.py": "import gc; gc.set_threshold(9)"}
    write(tmp_path / "site-packages", files)
    write(tmp_path, {"main.py": "import gc, shop.inner; print(gc.get_threshold()[0])"})
    folder = python_path(tmp_path / "site-packages")
    done = run(RUNNER, ["main.py"], tmp_path, PYTHONPATH=folder)
    assert done == (0, "9\n", "")


def test_no_call_maps_memory_for_its_frame(tmp_path):
    """Python maps a chunk for each call across the end of the last one, and touches it."""
    program = """
        import resource, sys
        sys.setrecursionlimit(2000)

        def descend(n):
            return n and descend(n - 1)

        def count():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for depth in range(0, 800, 20):
                for _ in range(100):
                    descend(depth)
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        count()  # touches the memory
        print(count() < 100)
    """
    write(tmp_path, {"main.py": program})
    assert run(RUNNER, ["main.py"], tmp_path) == (0, "True\n", "")


# -- The command line -----------------------------------------------------------------


@pytest.mark.slow
def test_version_and_help(tmp_path):
    expected = f"mxnp {mxnp.mxnp_version} (NumPy {numpy.__version__}, Python "
    for option in ("--version", "-V"):
        status, output, errors = run(RUNNER, [option], tmp_path)
        assert (status, errors) == (0, "")
        assert output.startswith(expected)
        assert output.count("\n") == 1
    status, output, errors = run(RUNNER, ["--help"], tmp_path)
    assert (status, errors) == (0, "")
    assert run(RUNNER, ["-h"], tmp_path) == (0, output, "")
    for option in (
        "-m",
        "-c",
        "--include",
        "--exclude",
        "--info",
        "--version",
        "MXNP_",
    ):
        assert option in output
    assert max(map(len, output.splitlines())) <= 88


@pytest.mark.parametrize("option", ["--info", "--help", "--version"])
def test_a_reader_may_close_the_output(option):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "mxnp", option],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_info(tmp_path):
    settings = {"MXNP_EXCLUDE": "x", "MXNP_NUM_THREADS": "1"}
    status, output, errors = run(RUNNER, ["--info"], tmp_path, **settings)
    assert (status, errors) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in output.splitlines())
    names = [name for name in environment.VARIABLES if name != "MXNP_WARNED"]
    assert list(lines) == [
        "mxnp", "NumPy", "Python", "platform", "threads", "BLAS", "Metal", "CUDA",
        *(["auto"] if core.gpu().models else []), *names,
    ]  # fmt: skip
    assert lines["mxnp"].startswith(mxnp.mxnp_version)
    assert lines["NumPy"].startswith(numpy.__version__)
    assert lines["MXNP_EXCLUDE"] == "x"
    assert lines["MXNP_MODE"] == "strict (not set)"
    # tests/c/test_cgroup.c checks the count against quotas.
    assert (
        lines["threads"]
        == f"1 used, {core.usable_threads()} usable, of {os.cpu_count()} processors"
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--no-such"], "unrecognized option: --no-such"),
        (["-z", "script.py"], "unrecognized option: -z"),
        (
            ["--fail-on-snyc=3", "script.py"],
            "unrecognized option: --fail-on-snyc=3; did you mean --fail-on-sync=3?",
        ),
        (["-m"], "argument expected for the -m option"),
        (["-c"], "argument expected for the -c option"),
        (["--include"], "argument --include: expected one argument"),
        (["--exclude="], "argument --exclude: expected a name"),
    ],
)
def test_refuses(tmp_path, args, message):
    status, output, errors = run(RUNNER, args, tmp_path)
    assert (status, output) == (2, "")
    assert errors.startswith("usage: python -m mxnp [options] script.py [args]\n")
    assert errors.endswith(f"python -m mxnp: error: {message}\n")
