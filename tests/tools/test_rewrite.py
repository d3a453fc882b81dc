"""Test that `--rewrite` offers patches of programs, and only those that change nothing."""

import contextlib
import importlib
import io
import linecache
import marshal
import re
import subprocess
import sys
import tracemalloc

import numpy
import pytest
from support.beginners import PROGRAMS
from support.beginners import SETUP as BEGIN

import mxnp as np
from mxnp import _bridge
from mxnp._doctor.doctor import diagnose
from mxnp._rewrite import copies as _copies
from mxnp._rewrite import hooks
from mxnp._rewrite import recording as _recording
from mxnp._rewrite.copies import Copier, TooLargeError, Unknown, difference
from mxnp._rewrite.patches import patch
from mxnp._rewrite.recording import Recording

SETUP = """\
import mxnp as np
n = 3000
rng = np.random.default_rng(5)
x = rng.standard_normal(n)
w = rng.standard_normal(n)
k = rng.integers(0, 100, n)
y = np.zeros(n)
t = 0.0
"""


@pytest.fixture(autouse=True)
def processor():
    """Use the same device and threshold in every CI lane."""
    device, threshold = np.set_device("cpu"), _bridge.set_threshold(16384)
    yield
    np.set_device(device)
    _bridge.set_threshold(threshold)


def printed(path):
    """Run a file, and return what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(path.read_bytes(), str(path), "exec"), {"__name__": "program"})
    return output.getvalue()


class Rewritten:
    """A program that was run once, and the patch for it."""

    def __init__(self, folder, content):
        self.folder, self.path = folder, folder / "program.py"
        content = content if isinstance(content, bytes) else content.encode()
        self.path.write_bytes(content)
        linecache.clearcache()
        output = io.StringIO()
        with Recording() as recording, np.doctor() as doctor:
            code = recording.compile(content, str(self.path))
            with contextlib.redirect_stdout(output):
                exec(code, {"__name__": "program"})
        self.printed = output.getvalue()
        made = patch(recording, diagnose(doctor.report)[1], folder)
        self.diff, self.notes = made.diff, made.notes.split("\n")

    def added(self):
        """Return the lines that the patch adds."""
        lines = self.diff.decode().split("\n")
        return [line[1:] for line in lines if line[:1] == "+" and line[:3] != "+++"]

    def verdict(self):
        """Return what the notes say of the only place."""
        assert self.notes[0].endswith(" 1 place")
        return " ".join(line.strip() for line in self.notes[3:])

    def apply(self):
        """Apply the patch, and return what the program prints then."""
        command = ["git", "apply", "-p0", "--unsafe-paths", "-"]
        subprocess.run(command, input=self.diff, cwd=self.folder, check=True)
        return printed(self.path)


# -- Programs of beginners -------------------------------------------------------------

DIFFERENT = {"Monte Carlo"}  # it draws the numbers in another order


def shown(program):
    """Return lines that print the results of a program, rounded if they may differ."""
    names = set(re.findall(r"(?m)^(?: *)(y|s|means) \+?=", program.text))
    value = "numpy.asarray({0}).tolist()"
    if program.result != "exact":
        value = "numpy.round({0}, 9).tolist()"
    lines = [f"print(type({name}), {value.format(name)})" for name in sorted(names)]
    return "\n".join(["import numpy", *lines])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_a_beginner_prints_the_same(name, tmp_path):
    setup = f"import mxnp as np\nn, m = 1500, 40\n{BEGIN}"
    program = PROGRAMS[name]
    run = Rewritten(tmp_path, f"{setup}{program.text}\n{shown(program)}\n")
    if name in DIFFERENT:
        assert run.diff == b""
        assert run.verdict().endswith("not rewritten: `inside` has other values")
        return
    assert run.notes[0].startswith("Rewrite: 1 of ")
    assert len(run.printed) > 20
    before = run.path.read_bytes()
    assert run.apply() == run.printed
    assert run.path.read_bytes() != before


# -- What is offered -------------------------------------------------------------------

SAME = "the same values, compared in 1 of 1 run"
OFFERED = {
    "list": ("y = []\nfor v in x: y.append(v + 1)\nprint(y)", ["y = list(x + 1)"]),
    "list as array": (
        "y = []\nfor v in x: y.append(v + 1)\ny = np.array(y)",
        ["y = x + 1"],
    ),
    "list that is an array later": (
        "y, o = [], 0\ny = []\nfor v in x: y.append(v + 1)\no += 1\n"
        "y = np.array(y) * o\nprint(y)",
        ["y = x + 1"],
    ),
    "list that may stay": (
        "y = []\nfor v in x: y.append(v + 1)\nif t: y = np.array(y)",
        ["y = list(x + 1)"],
    ),
    "list that is printed too": (
        "o = []\nfor v in x: o.append(v + 1)\ny = np.array(o)\nprint(o)",
        ["o = list(x + 1)"],
    ),
    "comprehension": ("y = [v + 1 for v in x]", ["y = list(x + 1)"]),
    "count": (
        "c = 0\nfor v in x:\n    if v > 0: c += 1\nprint(c, type(c))",
        ["c += int(np.count_nonzero(x > 0))"],
    ),
    "arrays that grow": (
        "a = b = np.zeros(0)\nfor i in range(n):\n    a = np.append(a, i)\n"
        "    b = np.append(b, -i)",
        [
            *("a_parts = []", "b_parts = []", "    a_parts.append(i)"),
            *("    b_parts.append(-i)", "a = np.append(a, a_parts)"),
            "b = np.append(b, b_parts)",
        ],
    ),
    "attributes": (
        "class P:\n    n = 3000\n    def f(self):\n        for i in range(self.n):\n"
        "            self.v[i] = self.v[i] * 2\n"
        "p = P()\np.v = np.arange(3000.)\np.f()\nprint(p.v)",
        ["        self.v[:self.n] = self.v[:self.n] * 2"],
    ),
    "global random numbers": (
        "np.random.seed(3)\nfor i in range(n): y[i] = np.random.normal()\n"
        "print(y, np.random.normal())",
        ["y[:n] = np.random.normal(size=n)"],
    ),
    "list of a part": (
        "o = []\nfor v in x.repeat(6).reshape(n, 6)[:, 2]: o.append(str(v))\nprint(o)",
        ["for v in x.repeat(6).reshape(n, 6)[:, 2].tolist(): o.append(str(v))"],
    ),
    "text of several lines": (
        "o = []\nfor v in x:\n    o.append('''a\nb''' + str(v))\nprint(o)",
        ["for v in x.tolist():"],
    ),
    "several in a line": (
        "print(f'{max(x)} {sum(x > 1)}', min(\nx[1:]), min(x)); m = max(w)",
        ["print(f'{x.max()} {(x > 1).sum()}', x[1:].min(), x.min()); m = w.max()"],
    ),
    "decorated function": (
        "@np.vectorize\ndef f(v): return v * 2 if v > 1 else v\ny = f(x)",
        ["y = np.where(x > 1, x * 2, x)"],
    ),
    "any": ("y = any(x > 9)\nprint(type(y))", ["y = bool((x > 9).any())"]),
    "inner loop": (
        "p = x.reshape(60, 50)\nfor i in range(60):\n    t = 1.0\n    for j in range(50):"
        "\n        p[i, j] = p[i, j] + 1\n    if t > 2: break",
        ["    p[i, :50] = p[i, :50] + 1"],
    ),
}


@pytest.mark.parametrize("case", OFFERED)
def test_change_that_is_offered(case, tmp_path):
    text, added = OFFERED[case]
    run = Rewritten(tmp_path, f"{SETUP}{text}\nprint(y)\n")
    assert run.added() == added
    assert not any("not rewritten" in note for note in run.notes)
    assert any("the same values, compared in " in note for note in run.notes)
    assert run.apply() == run.printed


def test_difference_by_rounding_is_stated(tmp_path):
    run = Rewritten(tmp_path, SETUP + "for v in x: t += v\nprint(round(t, 9))\n")
    begin, end = run.verdict().split(", by ")
    assert begin == "element loop: the values differ by rounding"
    figure, _, rest = end.partition(" ")
    assert 0 < float(figure) < 1e-12
    assert rest == "of a value at most; compared in 1 of 1 run"
    assert run.apply() == run.printed


def test_conditions_for_other_data_are_stated(tmp_path):
    run = Rewritten(tmp_path, SETUP + "m = max(x)\nprint(m)\n")
    assert run.verdict() == (
        f"Python's max: {SAME} With other data, valid if no element of `x` is NaN."
    )


def test_first_runs_of_a_loop_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(_recording, "_FIRST", 3)
    text = "def f(x):\n    for i in range(500): y[i] = x[i]\nfor _ in range(9): f(x)\n"
    run = Rewritten(tmp_path, SETUP + text)
    assert "compared in 5 of 9 runs" in run.verdict()  # 1, 2, 3, 4 and 8


# -- Rewrites that are refused ---------------------------------------------------------

REFUSED = {
    "other type": (
        "for i in range(n - 1, 0, -1): t = t * 0.5 + x[i]",
        "`t` is of type numpy.float64 and would be float",
    ),
    "other type in an expression": (
        "o = [v for v in k if v % 8 == 0]",
        "the expression has other elements",
    ),
    "other types": (
        "o = []\nfor v in x: o.append(round(v, 1))",
        "`o` has other elements",
    ),
    "function": (
        "def g(v): return v\no = []\nfor v in x: o.append(g(v))",
        "`g` is called, and may have effects",
    ),
    "output": (
        "for v in x:\n    if v > 9: print(v)",
        "`print` is called, and may have",
    ),
    "file": (
        "import os\nwith open(os.devnull, 'w') as f:\n    for v in x: f.write(str(v))",
        "`f` is of type TextIOWrapper, which cannot be copied",
    ),
    "saved": (
        "for v in x:\n    if v > 9: np.save('no', x)",
        "it calls `save`",
    ),
    "values that nothing reads": (
        "def f(x):\n    for v in x: u = v * 2\nf(x)",
        "no result of it was compared",
    ),
    "warning": (
        "for i in range(n): y[i] = np.sqrt(x[i]) if x[i] > 0 else 0.0",
        "RuntimeWarning: invalid value encountered in sqrt",
    ),
    "warning of a large array": (
        "class P: pass\np = P()\np.x, p.y = np.linspace(-1, 1, 20_000), np.zeros(20_000)\n"
        "for i in range(20_000): p.y[i] = np.sqrt(p.x[i]) if p.x[i] > 0 else 0.0",
        "RuntimeWarning: invalid value encountered in sqrt",
    ),
    "error": (
        "c = np.zeros((15, 15), int)\na = x[:225].reshape(15, 15)\nfor i in range(15):\n"
        "    for j in range(15):\n        for q in range(15):\n"
        "            c[i, j] += a[i, q] * a[q, j]",
        "UFuncTypeError: Cannot cast ufunc 'add' output",
    ),
    "shared memory": (
        "def f(y, x):\n    for i in range(1, len(x)): y[i] = x[i - 1] + 1\n"
        "f(y, x)\nf(x[1:], x[:-1])",
        "`x` and `y` share memory",
    ),
    "name": (
        "k_list = 3\nfor i in range(n): t = t * 0.5 + k[i]",
        "`k_list` has another use",
    ),
    "list of more than is read": (
        "def f(j):\n    t = 0.0\n    for i in range(j, j + 20): t = t * 0.5 + x[i]\n"
        "    return t\nfor j in range(100): t += f(j)",
        "a list of `x` takes longer than its reads",
    ),
    "generator": (
        "def f(x):\n    for v in x: yield v\nt = sum(f(x))",
        "it contains return, yield or await",
    ),
    "proxy": (
        "class P:\n    def __getattr__(self, name): return x\n    @property\n"
        "    def __dict__(self): raise RuntimeError\np = P()\n"
        "for i in range(n): y[i] = p.u[i]",
        "`p` is of type P, which cannot be copied",
    ),
    "list in itself": (
        "o = []\no.append(o)\nfor v in x: o.append(str(v))",
        "its values cannot be copied",
    ),
    "nested lists": (
        "o = []\nfor _ in range(3000): o = [o]\nfor v in x: o.append(str(v))",
        "its values cannot be copied",
    ),
    "nested lists that are copied": (
        "import sys\no, s = [], []\nfor _ in range(700): o = [o]\n"
        "sys.setrecursionlimit(9000)\nfor v in x: s.append(str(v) + str(len(o)))\n"
        "sys.setrecursionlimit(1000)",
        "its values are nested too deeply to compare",
    ),
    "class that cannot be read": (
        "class P:\n    @property\n    def __class__(self): raise RuntimeError\n"
        "o = [P()]\nfor v in x: o.append(str(v))",
        "`o` is of type P, which cannot be copied",
    ),
    "attributes that cannot be read": (
        "class P:\n    def __getattribute__(self, name): raise RuntimeError\n"
        "o = [P()]\nfor v in x: o.append(str(v))",
        "`o` is of type P, which cannot be copied",
    ),
    "list in a late execution": (
        "def f(x): return max(x)\nfor _ in range(17): f(x)\nf(x.tolist())",
        "AttributeError: 'list' object has no attribute 'max'",
    ),
    "one element in a late execution": (
        "def f(x):\n    m = x[0]\n    for i in range(1, len(x)): m = max(m, x[i])\n"
        "    return m\nfor _ in range(17): f(x)\nf(x[:1])",
        "ValueError: zero-size array to reduction operation",
    ),
    "other values in an execution that does not end": (
        "def f(x): return max(x)\nfor _ in range(17): f(x)\n"
        "try: f(k[:0])\nexcept ValueError: pass",
        "values of other types or lengths were not compared",
    ),
    "integers of an object": (
        "class P: pass\np = P()\np.u = k.astype('u1')\no = []\n"
        "for v in p.u: o.append(str(v))",
        "`p.u` is an array of uint8",
    ),
    "integers": (
        "u = k.astype('u1')\nfor i in range(n): t = t * 0.5 + u[i]",
        "`u` is an array of uint8",
    ),
    "text of several lines": (
        "o = []\nif True:\n    for v in x: o.append('''a\nb''' + str(v))",
        "its lines cannot be moved",
    ),
    "no end": (
        "try:\n    for i in range(9000): y[i] = x[i]\nexcept IndexError: pass",
        "it did not run to its end",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_change_that_is_refused(case, tmp_path):
    text, reason = REFUSED[case]
    run = Rewritten(tmp_path, SETUP + text + "\nprint(t)\n")
    assert f"not rewritten: {reason}" in run.verdict()
    assert run.diff == b""


def test_large_values_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(_recording, "_MOST_BYTES", 8 * 3000)
    run = Rewritten(tmp_path, SETUP + "for i in range(n): y[i] = x[i]\n")
    assert run.verdict().endswith("its values need more memory than copies may take")
    run = Rewritten(tmp_path, SETUP + "m = max(x)\n")
    assert run.notes[0] == "Rewrite: 0 of 1 place"


def test_loops_that_do_not_end_keep_the_copies_of_one_execution(tmp_path):
    text = "import numpy\ndef f(depth):\n    x = numpy.zeros(1 << 17)\n"
    text += (
        "    for i in range(2):\n        if depth: return f(depth - 1)\n        x[i]\n"
    )
    (tmp_path / "program.py").write_text(text + "f(30)\n")
    peaks = []
    for is_recorded in (False, True):
        recording = Recording()
        file = str(tmp_path / "program.py")
        with recording if is_recorded else contextlib.nullcontext():
            code = recording.compile((tmp_path / "program.py").read_bytes(), file)
            tracemalloc.start()
            exec(code, {})
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] - peaks[0] < 5 << 20  # arrays of 1 MiB


def test_copies_of_executions_that_do_not_end_are_free_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_recording, "_MOST_BYTES", 8 * 3000 * 5)
    text = "def f(x, n):\n    for i in range(500):\n        if i == n: return\n"
    text += "        y[i] = x[i]\nfor _ in range(9): f(x, 9)\nm = max(x)\n"
    run = Rewritten(tmp_path, SETUP + text)
    assert run.added() == ["m = x.max()"]


def test_lists_of_too_many_objects_are_not_copied(monkeypatch):
    lists = [[i] for i in range(100)]
    with pytest.raises(TooLargeError):
        Copier(100 * 4096).copied(lists)
    assert Copier(110 * 4096).copied(lists) == lists
    monkeypatch.setattr(_copies, "_MOST_OBJECTS", 98)
    with pytest.raises(TooLargeError):
        Copier(1 << 30).copied(lists)


def test_values_that_are_too_large_are_not_copied_again(tmp_path, monkeypatch):
    copied = []
    take = Copier._take
    monkeypatch.setattr(Copier, "_take", lambda *args: (copied.append(1), take(*args)))
    monkeypatch.setattr(_copies, "_MOST_OBJECTS", 50)
    text = "o = [[v] for v in range(100)]\ndef f():\n    for v in x: o.copy(), v\n"
    run = Rewritten(tmp_path, f"{SETUP}{text}for _ in range(16): f()\n")
    assert "its values need more memory than copies may take" in run.verdict()
    assert len(copied) < 16 * 50


def test_loop_in_a_rewritten_loop_is_not_rewritten_twice(tmp_path):
    text = "g = k.reshape(60, 50)\nfor i in range(60):\n    total = 0\n"
    text += "    for j in range(50):\n        total += g[(i + 1) % 60, (j - 1) % 50]\n"
    text += "    for j in range(50):\n        total += g[i, j]\n    y[i] = total\n"
    run = Rewritten(tmp_path, SETUP + text + "print(y)\n")
    assert run.notes[0].startswith("Rewrite: 1 of ")
    assert run.apply() == run.printed


# -- Files -----------------------------------------------------------------------------

LOOP = (
    "import mxnp as np\nx = np.arange(3000.0)\ny = np.zeros(3000)\n"
    "if True:  # é\n\t# before\n\tfor i in range(3000):  # one\n\t\t# two\n"
    "\t\ty[i] = x[i] * 2  # three\n\t# after\nprint(y.sum()); m = max(x)"
)
CHANGED = (
    "import mxnp as np\nx = np.arange(3000.0)\ny = np.zeros(3000)\n"
    "if True:  # é\n\t# before\n\t# one\n\t# two\n"
    "\ty[:3000] = x[:3000] * 2  # three\n\t# after\nprint(y.sum()); m = x.max()"
)
FILES = {
    "no line feed at the end": ("utf-8", lambda text: text),
    "CRLF": ("utf-8", lambda text: text.replace("\n", "\r\n") + "\r\n"),
    "byte order mark": ("utf-8-sig", lambda text: text),
    "latin-1": ("latin-1", lambda text: f"# coding: latin-1\n{text}\n"),
}


@pytest.mark.parametrize("case", FILES)
def test_other_bytes_of_the_file_stay(case, tmp_path):
    encoding, form = FILES[case]
    run = Rewritten(tmp_path, form(LOOP).encode(encoding))
    assert run.notes[0] == "Rewrite: 2 of 2 places"
    assert run.diff.startswith(b"--- program.py\n+++ program.py\n@@ ")
    assert run.diff.count(b"--- ") == 1
    assert run.apply() == run.printed
    assert run.path.read_bytes() == form(CHANGED).encode(encoding)


def test_module_of_the_program_is_changed_and_a_package_is_not(tmp_path, monkeypatch):
    body = "import mxnp as np\ndef total(x):\n    t = 0.0\n    for v in x: t += v\n"
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "rewritten_package.py").write_text(body + "    return t\n")
    (tmp_path / "rewritten_module.py").write_text(body + "    return t\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    names = ("rewritten_package", "rewritten_module")
    text = "".join(f"import {name}\nprint({name}.total(x))\n" for name in names)
    try:
        run = Rewritten(tmp_path, SETUP + text)
    finally:
        for name in names:
            sys.modules.pop(name, None)
    assert run.diff.startswith(b"--- rewritten_module.py\n+++ rewritten_module.py\n")
    assert run.diff.count(b"--- ") == 1
    cached = importlib.util.cache_from_source
    assert not (tmp_path / cached("rewritten_module.py")).exists()


def test_error_in_the_program_has_its_own_lines(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("x = [1]\nfor i in range(2):\n    sum([x[i],\n    i])\n")
    with Recording() as recording, pytest.raises(IndexError) as caught:
        exec(recording.compile(path.read_bytes(), str(path)), {})
    places = [*caught.value.__traceback__.tb_next.tb_frame.f_code.co_positions()]
    assert caught.tb.tb_next.tb_lineno == 3
    assert (3, 3, 9, 13) in places


HANDLER = """\
import signal
def handler(number, frame): raise TimeoutError
class P:
    @property
    def __dict__(self): signal.raise_signal(signal.SIGTERM)
p, before = P(), signal.signal(signal.SIGTERM, handler)
try:
    for i in range(3): p.u
except TimeoutError:
    print("reached")
finally:
    signal.signal(signal.SIGTERM, before)
"""


def test_error_of_a_signal_handler_reaches_the_program(tmp_path):
    assert Rewritten(tmp_path, HANDLER).printed == "reached\n"


def recorded(folder, text):
    """Return the code of a program with the calls that record."""
    path = folder / "program.py"
    path.write_text(text)
    with Recording() as recording:
        return recording.compile(path.read_bytes(), str(path))


def test_code_runs_in_another_process(tmp_path):
    text = "y = 0\nfor i in range(3): y += sum([i, 1])\nprint(y)\n"
    run = "import marshal, sys; exec(marshal.load(sys.stdin.buffer))"
    code = marshal.dumps(recorded(tmp_path, text))
    done = subprocess.run([sys.executable, "-c", run], input=code, capture_output=True)
    assert (done.stdout.strip(), done.stderr) == (b"6", b"")


@pytest.mark.parametrize("kind", ["def f(x)", "async def f(x)", "class C"])
@pytest.mark.parametrize("decorator", ["", "@compiled\n"], ids=["plain", "decorated"])
def test_decorated_code_is_not_recorded(decorator, kind, tmp_path):
    text = f"{decorator}{kind}:\n    def g(x):\n        for v in x: max(x)\n"
    found = [*constants(recorded(tmp_path, text))]
    assert (hooks.__name__ in found) == (not decorator)


def constants(code):
    """Yield the constants of a code object and of the code in it."""
    for value in code.co_consts:
        if isinstance(value, type(code)):
            yield from constants(value)
        else:
            yield value


# -- Copies ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (1.0, 1.0 + 2**-50, 2**-50 / (1 + 2**-50)),
        (1.0, numpy.float64(1.0), numpy.inf),
        (1, True, numpy.inf),
        (0.0, -0.0, numpy.inf),
        (1.0, 1.001, numpy.inf),
        ([1.0, "a"], [1.0, "a"], 0),
        ([1.0], [1.0, 2.0], numpy.inf),
        ({"a": 1.0}, {"a": 1.5}, numpy.inf),
        (numpy.array([1.0, numpy.nan]), numpy.array([1.0, numpy.nan]), 0),
        (numpy.zeros(2), numpy.zeros(2, "f4"), numpy.inf),
        (numpy.zeros((1, 2)), numpy.zeros(2), numpy.inf),
        (numpy.array([1, 2]), numpy.array([1, 3]), numpy.inf),
        (numpy.array([1j, 2]), numpy.array([1j, 2 + 1e-3j]), numpy.inf),
        (numpy.array([numpy.inf]), numpy.array([1.0]), numpy.inf),
    ],
)
def test_difference(one, other, apart):
    assert difference(one, other) == apart
    assert difference(other, one) == apart


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": 2, "c": 3, "d": 4},
        {"a": [1], "b": {"c": (2, 3)}, (4, 5): [], "d": 6},
        [[1.0, "a"], (2, [None])],
        (numpy.float64(1.0), 2),
        {},
    ],
)
def test_copy_of_containers(value):
    copied = Copier(1 << 30).copied(value)
    assert difference(copied, value) == 0
    assert type(value) is tuple or copied is not value


def test_copies_of_one_object_are_one_object():
    x = np.arange(4.0)
    generator = np.random.default_rng(3)
    copies = Copier(1 << 20).copied([x, x, {"a": x}, generator, 3, print])
    assert isinstance(copies, Unknown)
    one, other, inner, drawn = Copier(1 << 20).copied([x, x, {"a": x}, generator])
    assert one is other is inner["a"]
    assert one is not x
    assert difference(drawn, generator) == 0
    drawn.random()
    assert difference(drawn, generator) == numpy.inf


def test_difference_of_the_states_of_older_generators():
    generator = np.random.RandomState(3)
    copied = Copier(1 << 20).copied(generator)
    assert difference(copied, generator) == 0
    copied.random_sample()
    assert difference(copied, generator) == numpy.inf


# -- The command -----------------------------------------------------------------------


def command(
    folder, *options, text=SETUP + "for i in range(n): y[i] = x[i]\nprint(t)\n"
):
    (folder / "program.py").write_text(text.replace("mxnp", "numpy"))
    line = [sys.executable, "-m", "mxnp", *options]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, input="")


@pytest.mark.slow
def test_patch_is_printed_behind_the_notes(tmp_path):
    done = command(tmp_path, "--rewrite", "program.py")
    assert (done.returncode, done.stdout) == (0, "0.0\n")
    notes, diff = done.stderr.split("\n\n--- program.py\n")
    assert notes.startswith("Rewrite: 1 of 1 place\n\nprogram.py:9  for i in range(n)")
    assert diff.endswith("-for i in range(n): y[i] = x[i]\n+y[:n] = x[:n]\n print(t)\n")


def test_patch_is_written_to_a_file(tmp_path):
    text = SETUP + "import os\nos.chdir('/')\nfor i in range(n): y[i] = x[i]\n"
    (tmp_path / "fix.patch").write_text("before")
    done = command(
        tmp_path,
        "--rewrite=fix.patch",
        "program.py",
        text=text + "raise SystemExit(3)\n",
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Rewrite: 1 of 1 place\n")
    assert "+++" not in done.stderr
    assert (
        (tmp_path / "fix.patch")
        .read_text(encoding="utf-8")
        .startswith("--- program.py\n+++ pro")
    )


def test_module_is_run_by_its_name(tmp_path):
    done = command(tmp_path, "--rewrite=-", "-m", "program")
    assert done.stdout.startswith("0.0\n--- program.py\n")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("-c", "pass"), 2, "expected a script or -m module, which has a file"),
        (("-cpass",), 2, "expected a script or -m module, which has a file"),
        (("-",), 2, "expected a script or -m module, which has a file"),
        (("a.ipynb",), 2, "expected a script, not a notebook; save it as one"),
        (("missing.py",), 2, "Rewrite: no file of the program ran"),
        (
            ("--fail-on-sync", "empty.py"),
            2,
            "argument --rewrite: not allowed with argument --fail-on-sync",
        ),
        (("empty.py",), 0, "Rewrite: no loop found that the doctor can rewrite"),
    ],
)
def test_program_without_a_patch(args, status, message, tmp_path):
    (tmp_path / "empty.py").write_text("")
    done = command(tmp_path, "--rewrite", *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.endswith(f"{message}\n")
