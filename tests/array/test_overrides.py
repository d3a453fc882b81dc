"""Classes with NumPy's protocols get the functions and arrays that the program has."""

import json
import subprocess
import sys
import textwrap

import pytest

from mxnp import _bridge

# Each program runs with `numpy` and with `mxnp` as np, in a module and a process without the
# other: a module that has both gets NumPy's objects. All programs of one run in turn, in
# one process.
CLASS = """
import sys
import {library} as np
SIZES = 3, {large}

class Plain:
    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        if ufunc is np.multiply:
            return out[0] if out else inputs
        if ufunc is np.add and method == "at":
            inputs[0][1] = 99
            return None
        if ufunc is np.divmod:
            out[0][...], out[1][...] = 1, 2
            return out
        if ufunc is np.subtract:
            inputs[0][...] = 7
            raise ValueError("no")
        return NotImplemented

    def __array_function__(self, func, types, args, kwargs):
        if func is np.vstack:
            return [type(x) is np.ndarray for x in args[0]], [t is np.ndarray for t in types]
        if func is np.linalg.norm:
            return args[0] is self
        if func is np.mean:
            return args, kwargs
        return func(*[np.ones(3) if x is self else x for x in args], **kwargs)

class Derived(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if ufunc is np.multiply:
            return [type(x) is np.ndarray for x in inputs]
        inputs = [x.view(np.ndarray) if x is self else x for x in inputs]
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        if func is np.mean:
            return "mean"
        return super().__array_function__(func, types, args, kwargs)
"""

PROGRAMS = {
    "ufunc": """
        d = Plain()
        for size in SIZES:
            a = np.ones(size)
            print([type(x) is np.ndarray for x in a * d], np.multiply(d, 1, out=a) is a)
            np.add.at(a, [0], d)
            print(a[:2], (a * 2)[:2], np.isscalar((np.float64(2) * d)[0]))
    """,
    "outputs": """
        for size in SIZES:
            a, b = np.zeros(size) + 1, np.zeros(size)
            out = np.divmod(Plain(), 1, out=(a, b))
            print(out[0] is a, out[1] is b, a[:2], (a + b)[:2], type(out))
    """,
    "errors": """
        for size in SIZES:
            a = np.zeros(size) + 1
            try:
                a - Plain()
            except ValueError as error:
                print(error, a[:2])
            try:
                a / Plain()
            except TypeError as error:
                print(str(error)[:70])
    """,
    "function": """
        d = Plain()
        for size in SIZES:
            a = np.ones(size)
            print(np.vstack([a, d]), np.linalg.norm(d), np.sum(d, axis=0), np.dot(d, np.ones(3)))
            (x,), named = np.mean(d, where=a > 0)
            print(x is d, type(named["where"]) is np.ndarray)
            items = [d, a]
            np.vstack(items)
            print(items[0] is d, items[1] is a)
    """,
    "subclass": """
        for size in SIZES:
            a = np.ones(size)
            s = a.view(Derived)
            print(s * a, np.mean(s), (s + a)[:2], type(s + 1) is np.ndarray)
            print(np.concatenate([s, a])[:2], type(np.concatenate([s, a])) is np.ndarray)
    """,
    "mixin": """
        class Mixed(Plain, np.ndarray):
            pass
        s = np.ones(3).view(Mixed)
        print(type((np.ones(3) * s)[0]) is np.ndarray, np.linalg.norm(s))
    """,
    "scalar": """
        class Number(np.float64):
            __array_function__ = Plain.__array_function__
        for size in SIZES:
            print(np.vstack((np.ones(size), Number(1))), np.linalg.norm(Number(1)))
            print(np.searchsorted(np.ones(size), Number(5)))
    """,
    "operators of a scalar": """
        class Loud(np.float64):
            def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                return ufunc is np.add, [type(x) is np.ndarray for x in inputs]
        class Amount(np.float32):
            __array_priority__ = 1
            def __rmul__(self, other):
                return "times", type(other) is np.ndarray
            def __gt__(self, other):
                return "greater", type(other) is np.ndarray
        class Silent(np.float64):
            def __rmul__(self, other):
                return "not called"
        for size in SIZES:
            for a in np.ones(size), np.ones(size, "f4"), np.ones(size, "i4"):
                print(a + Loud(2), Loud(2) + a, np.add(a, Loud(2)), np.sqrt(Loud(2)))
                print(a * Amount(2), a < Amount(2), np.multiply(a, Amount(2))[:2])
                print((a * Silent(2))[:2], (a + a + a * Silent(2))[:2])
                try:
                    a += Amount(2)
                except TypeError as error:
                    print(error, a[:2])
    """,
    "scalar that keeps arrays": """
        class Keeping(np.float64):
            def __array_ufunc__(self, ufunc, method, *inputs):
                self.kept = inputs
        for size in SIZES:
            a = np.ones(size)
            number = Keeping(2)
            a * number
            a += 1
            a *= 3
            print(number.kept[0][0], number.kept[1] is number, a[:2])
    """,
    "direct call": """
        a = np.ones(3)
        out = Plain().__array_ufunc__(np.multiply, "__call__", a, out=(a,))
        print(out is a, Plain().__array_function__(np.linalg.norm, (), (a,), {}))
    """,
    "function of another kind": """
        def add(self, func, *args, **kwargs):
            arrays = [type(x) is np.ndarray for x in args[1:]]
            return func is np.add, func is np.mean, arrays, kwargs

        class Later:
            pass
        Later.__array_ufunc__ = Later.__array_function__ = lambda *args: add(*args)
        class Static:
            @staticmethod
            def __array_ufunc__(*args): return add(*args)
        class OfClass:
            @classmethod
            def __array_ufunc__(cls, *args): return cls.__name__, add(*args)
        names = "__array_ufunc__", "__array_function__"
        methods = {name: lambda *args: add(*args) for name in names}
        Made = type("Made", (), methods)
        for kind in Later, Static, OfClass, Made:
            print(kind.__name__, [np.add(np.ones(size), kind()) for size in SIZES])
        print(np.mean(Later()), np.mean(Made()))
    """,
    "class with a metaclass": """
        class Meta(type):
            def __setattr__(cls, name, value):
                super().__setattr__(name, value)
            def __delattr__(cls, name):
                super().__delattr__(name)
        class Later(metaclass=Meta):
            pass
        Later.__array_ufunc__ = lambda *args: args[1] is np.add
        print(np.add(Later(), 1), type.__setattr__(Later, "x", 1), Later.x)
        del Later.__array_ufunc__, Later.x
        try:
            np.add(Later(), 1)
        except TypeError as error:
            print(error)
        for change in (object.__setattr__, Later, "x", 1), (setattr, int, "x", 1):
            try:
                change[0](*change[1:])
            except TypeError as error:
                print(error)
    """,
    "no function of NumPy": """
        class Any:
            def __array_function__(self, func, *args):
                return func
        print([*map(Any().__array_function__, [3, "x"], [()] * 2)])
    """,
    "foreign": """
        def other_code():
            import numpy
            for size in SIZES:
                a = numpy.zeros(size)
                try:
                    numpy.subtract(a, Plain())
                except ValueError:
                    print(a[:2])
        other_code()
    """,
    "many arrays": """
        for size in SIZES:
            arrays = [np.zeros(size) + i for i in range(40)]
            print(np.vstack([*arrays, Plain()])[0] == [True] * 40 + [False])
    """,
}


RUN = """
import contextlib, io, json, sys, traceback

def run(text):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(text, {"__name__": "program"})
        except Exception:
            traceback.print_exc(file=printed)
    return printed.getvalue()

print(json.dumps([run(text) for text in json.load(sys.stdin)]))
"""


def run(library, *programs):
    large = max(2 * _bridge.get_threshold(), 6)
    head = CLASS.format(library=library, large=large)
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([head + textwrap.dedent(text) for text in programs]),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def printed():
    runs = [run(library, *PROGRAMS.values()) for library in ("numpy", "mxnp")]
    return dict(zip(PROGRAMS, zip(*runs, strict=True), strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_override_gets_the_objects_of_the_program(printed, name):
    expected, ours = printed[name]
    assert ours == expected
    assert expected
    assert "Traceback" not in expected


def test_a_module_that_has_numpy_gets_numpys_objects():
    program = """
        import numpy
        class Both(Plain):
            def __array_function__(self, func, types, args, kwargs):
                return func is numpy.sum, type(args[1]) is numpy.ndarray
        print(np.sum(Both(), np.ones(3)))
    """
    assert run("mxnp", program) == ["(True, True)\n"]
