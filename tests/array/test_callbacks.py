"""What code of the program writes while NumPy calls it, in a call that has the array."""

import contextlib
import io
import subprocess
import sys
import weakref

import numpy
import pytest

import mxnp

SIZE = 40_000


def ones(xp):
    """Return a large array whose elements are computed."""
    a = xp.ones(SIZE) * 1.0
    a[:1].tolist()
    return a


class Change:
    """Set all elements of an array once, when NumPy asks for a value."""

    def __init__(self, a):
        self.a, self.calls = a, 0

    def change(self):
        self.calls += 1
        if self.calls == 1:
            self.a[...] = 5.0


class Values(Change):
    def __array__(self, dtype=None, copy=None):
        self.change()
        return numpy.ones(SIZE, dtype)


class Index(Change):
    def __index__(self):
        self.change()
        return 0


class Items(Change):
    def __len__(self):
        self.change()
        return 2

    def __getitem__(self, i):
        if i > 1:
            raise IndexError(i)
        return 1.0


class Numbers(Change):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.change()
        return getattr(ufunc, method)(*[1.0 if x is self else x for x in inputs])


class Type(Change):
    @property
    def dtype(self):
        self.change()
        return numpy.dtype("f4")


READS = {
    "+": lambda xp, a: a + Values(a),
    "<": lambda xp, a: a < Values(a),
    "add": lambda xp, a: xp.add(a, Values(a)),
    "add, override": lambda xp, a: xp.add(a, Numbers(a)),
    "*, override": lambda xp, a: a * Numbers(a),
    "where": lambda xp, a: xp.where(a > 0, a, Values(a)),
    "concatenate": lambda xp, a: xp.concatenate([a, Values(a)]),
    "concatenate before": lambda xp, a: xp.concatenate([Values(a), a]),
    "append": lambda xp, a: xp.append(a, Items(a)),
    "dot": lambda xp, a: xp.dot(a, Values(a)),
    "einsum": lambda xp, a: xp.einsum("i,i->i", a, Values(a)),
    "sum": lambda xp, a: xp.add.reduce(a, axis=Index(a)),
    "take": lambda xp, a: xp.take(a, Index(a)),
    "item": lambda xp, a: a[Index(a)],
    "item, tuple": lambda xp, a: a[(Index(a),)],
    "slice": lambda xp, a: a[Index(a) :].copy(),
    "astype": lambda xp, a: a.astype(Type(a)),
    "array": lambda xp, a: xp.array(a, dtype=Type(a)),
    "in": lambda xp, a: Items(a) in a[:2],
}


@pytest.mark.parametrize("name", READS)
def test_reads_see_what_a_callback_wrote(xp, name):
    a = ones(xp)
    return READS[name](xp, a), a


WRITES = {
    "[...]": lambda xp, a: a.__setitem__(..., Values(a)),
    "[:2]": lambda xp, a: a.__setitem__(slice(2), Items(a)),
    "[i]": lambda xp, a: a.__setitem__(Index(a), 3.0),
    "[i, ...]": lambda xp, a: a.__setitem__((Index(a), ...), 3.0),
    "flat": lambda xp, a: a.flat.__setitem__(slice(None), Values(a)),
    "+=": lambda xp, a: a.__iadd__(Values(a)),
    "out": lambda xp, a: xp.add(2.0, Values(a), out=a),
    "add.at": lambda xp, a: xp.add.at(a, [0, 0], Items(a)),
    "copyto": lambda xp, a: xp.copyto(a, Values(a)),
    "put": lambda xp, a: xp.put(a, [0, 1], Items(a)),
    "fill": lambda xp, a: a.fill(Index(a)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_come_after_what_a_callback_wrote(xp, name):
    a = ones(xp)
    WRITES[name](xp, a)
    return a


def test_functions_that_are_called_for_each_row(xp):
    a = ones(xp).reshape(4, -1)

    def total(row):
        a[...] = a + 1
        return row.sum()

    over = xp.apply_over_axes(lambda x, axis: (total(x), x.sum(axis))[1], a, [0])
    return xp.apply_along_axis(total, 1, a), over, a


def test_functions_that_are_called_for_each_element(xp):
    a, b = ones(xp), ones(xp)

    def number(x):
        if x == 1.0:
            a[-1] = b[0] = 7.0
            a[: SIZE // 2] = 3.0
        return x

    return xp.frompyfunc(number, 1, 1)(a).astype(float), xp.vectorize(number)(b), a, b


def test_functions_of_pieces(xp):
    a = ones(xp)

    def piece(x):
        a[...] = a * 2
        return x

    return xp.piecewise(a, [a > 2, a <= 2], [piece, piece]), a


def test_readers_of_files_and_iterators(xp):
    a = ones(xp)

    def convert(text):
        a[...] = a + 1
        return float(text)

    def elements():
        for i in range(3):
            a[...] = float(i)
            yield a[0]

    loaded = xp.loadtxt(io.StringIO("1 2\n3 4"), converters=convert)
    return loaded, a.copy(), xp.fromiter(elements(), float), a


def test_what_is_printed(xp):
    a = ones(xp)

    def show(x):
        a[...] = 7.0
        return str(float(x))

    with xp.printoptions(formatter={"float_kind": show}):
        return str(a)


def test_the_array_that_other_code_of_the_call_reads(xp):
    """A callback reads the array before the call writes it."""
    a, seen = ones(xp), []

    class Reads(Change):
        def __array__(self, dtype=None, copy=None):
            seen.append(a + 1)
            return numpy.zeros(SIZE)

    xp.add(Reads(a), 2.0, out=a)
    return seen, a


def test_more_arrays_than_a_call_notes(xp):
    arrays = [ones(xp) for _ in range(40)]
    return xp.concatenate([Values(arrays[-1]), *arrays]).sum(), arrays[-1]


def test_an_array_that_a_callback_drops(xp):
    """A list is cleared while the call has its arrays."""
    arrays = [ones(xp)]
    array = weakref.ref(arrays[0])

    class Clears:
        def __array__(self, dtype=None, copy=None):
            arrays.clear()
            assert xp is numpy or array() is not None
            return numpy.ones(3)

    arrays.append(Clears())
    return xp.concatenate(arrays)


# The array is written and read in all ways, some of which fail.
CALLS = {
    "add": lambda xp, a: xp.add(a, "text"),
    "inv": lambda xp, a: xp.linalg.inv(a),
    "[text]": lambda xp, a: a["text"],
    "[text] =": lambda xp, a: a.__setitem__("text", 1),
    "= text": lambda xp, a: a.__setitem__(0, "text"),
    "= numbers": lambda xp, a: a.__setitem__([0, 1], [1.0, 2.0]),
    "concatenate": lambda xp, a: xp.concatenate([a, 1], axis=2),
    "<": lambda xp, a: a < {},
    "+": lambda xp, a: a + object(),
    "[a]": lambda xp, a: a[[0, 1, a]],
    "[(i,)]": lambda xp, a: a[([0, 1],)],
    "in": lambda xp, a: 3.0 in a,
    "text in": lambda xp, a: "text" in a,
    "float": lambda xp, a: float(a),
    "str": lambda xp, a: str(a[:3]),
    "key": lambda xp, a: numpy.zeros(3)[a],
    "value": lambda xp, a: numpy.zeros(3).__setitem__(..., a),
    "dict": lambda xp, a: xp.array({"a": a}, float),
    "many": lambda xp, a: xp.concatenate([a] * 40),
    "many, wrong": lambda xp, a: xp.concatenate([a] * 40, axis=2),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_array_is_free_again_after_the_call(xp, name):
    """Then operations on it wait again."""
    a = ones(xp)
    with contextlib.suppress(
        TypeError, ValueError, IndexError, numpy.linalg.LinAlgError
    ):
        CALLS[name](xp, a)
    if xp is not numpy:
        xp.synchronize()
    b = a + 1
    assert xp is numpy or xp._bridge.pending() == 1
    return b


class Lazy:
    """A number that is missing the first time."""

    def __init__(self):
        self.n_asked = 0

    def __float__(self):
        self.n_asked += 1
        if self.n_asked == 1:
            raise ValueError("not ready")
        return 1.0

    def __mul__(self, other):
        return float(self)

    __lt__ = __add__ = __eq__ = __mul__


@pytest.mark.parametrize(
    "expression",
    [
        "np.copyto(np.zeros(2), x, casting='unsafe')", "np.dot(x, x)", "np.inner(x, x)",
        "np.concatenate((x, x), dtype=float, casting='unsafe')", "np.lexsort((x, x))",
        "np.convolve(x, x)", "np.array_equal(x, x)", "np.average(x, weights=x)",
        "np.vstack((x, x), dtype=float, casting='unsafe')",
    ],
)  # fmt: skip
def test_functions_that_fail_are_not_called_again(expression):
    def run(np):
        number = Lazy()
        x = np.empty(2, object)
        x[:] = number
        try:
            return type(eval(expression, {"np": np, "x": x})), number.n_asked
        except Exception as error:
            return type(error), str(error), number.n_asked

    kind, *rest = run(mxnp)
    expected, *others = run(numpy)
    assert (kind.__name__, *rest) == (expected.__name__, *others)


# A trace function raises the exception, as a signal handler may do.
INTERRUPTED = """
import sys
import mxnp

def trace(frame, event, argument):
    if frame.f_code.co_name == "is_refused":
        raise KeyboardInterrupt

def select():
    try:
        mxnp.select([mxnp.arange(3) > 1], 7)
    except BaseException as error:
        print(type(error).__name__, error)

select()
sys.settrace(trace)
select()
"""


def test_exceptions_that_come_while_a_dispatcher_is_asked():
    command = [sys.executable, "-c", INTERRUPTED]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = ["TypeError 'int' object is not iterable", "KeyboardInterrupt "]
    assert result.stdout.splitlines() == expected


def test_a_function_that_is_bound_calls_its_own_function():
    """It has the ways of the other one, and not the code under its dispatcher."""
    owner = mxnp.random.default_rng(1)
    roots = mxnp._bridge.bind_function(mxnp.poly, numpy.roots, None, owner)
    assert roots([1.0, -3.0, 2.0]).tolist() == [2.0, 1.0]
    assert mxnp.poly([1.0, 2.0]).tolist() == [1.0, -3.0, 2.0]
