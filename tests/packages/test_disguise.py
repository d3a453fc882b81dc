"""Test who sees NumPy's class: Python code does, and compiled code never."""

import _thread
import abc
import collections.abc
import copy
import functools
import gc
import inspect
import operator
import pickle
import subprocess
import sys
import threading
import types
import typing
import weakref

import numpy
import pytest

import mxnp as np


class Holder:
    def __init__(self, x):
        self.x = x


def matches(x):
    match x:
        case numpy.ndarray():
            return "array"
        case numpy.ufunc():
            return "ufunc"
    return None


@functools.singledispatch
def dispatched(x):
    return type(x)


@dispatched.register(numpy.ndarray)
@dispatched.register(numpy.ufunc)
def _(x):
    return "NumPy's"


@typing.runtime_checkable
class Summed(typing.Protocol):
    def sum(self): ...


class Registered(abc.ABC):  # noqa: B024
    """An abstract class that has classes of NumPy as virtual subclasses."""


Registered.register(numpy.ndarray)
Registered.register(numpy.ufunc)


class Meta(type):
    def __instancecheck__(cls, x):
        return x.__class__ in {numpy.ndarray, numpy.ufunc}


class Other(metaclass=Meta):
    pass


stored = isinstance
CLASSES = (numpy.ndarray, numpy.ufunc)


def last_of_many_names():
    """Return a function whose instruction has an argument above 255."""
    lines = "".join(f"        x.name{i}\n" for i in range(400))
    names = {}
    exec(f"def read(x):\n    if x is None:\n{lines}    return x.__class__", names)
    return names["read"]


ASK = {
    "isinstance": lambda x: isinstance(x, CLASSES),
    "of each": lambda x: [isinstance(x, c) for c in CLASSES],
    "nested tuple": lambda x: isinstance(x, (int, (str, CLASSES))),
    "union": lambda x: isinstance(x, int | numpy.ndarray | numpy.ufunc),
    "other classes": lambda x: isinstance(x, (int, str, list | dict)),
    "object": lambda x: isinstance(x, object),
    "abstract": lambda x: isinstance(x, collections.abc.Callable),
    "registered": lambda x: isinstance(x, Registered),
    "registered, in a union": lambda x: isinstance(x, int | Registered),
    "protocol": lambda x: isinstance(x, Summed),
    "metaclass": lambda x: isinstance(x, Other),
    "attribute": lambda x: x.__class__.__name__,
    "attribute, many names": last_of_many_names(),
    "method of the class": lambda x: x.__class__.mro(),
    "getattr": lambda x: getattr(x, "__class__"),
    "getattr, other string": lambda x: getattr(x, "".join(["__cl", "ass__"]), None),
    "match": matches,
    "singledispatch": dispatched,
    "map": lambda x: list(map(isinstance, [x, x], [*CLASSES])),
    "filter": lambda x: len(list(filter(lambda y: isinstance(y, CLASSES), [x]))),
    "partial": lambda x: functools.partial(isinstance, x)(CLASSES),
    "operator.call": lambda x: operator.methodcaller("__call__", x, CLASSES)(isinstance),
    "other name": lambda x: stored(x, CLASSES),
    "any": lambda x: any(isinstance(y, CLASSES) for y in [x]),
    "sorted": lambda x: sorted([x], key=lambda y: isinstance(y, CLASSES)) is not None,
    "splat": lambda x: isinstance(*[x, CLASSES]),
    "conditions": lambda x: 1 if isinstance(x, CLASSES) and x.__class__ else 2,
    "issubclass": lambda x: issubclass(x.__class__, CLASSES),
}  # fmt: skip


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
class TestPython:
    def test_sees_the_class_of_numpys_array(self, xp, ask):
        return [ask(xp.ones(n)) for n in (3, 20_000)]

    def test_sees_the_class_of_ufuncs(self, xp, ask):
        return ask(xp.sin)

    def test_when_it_is_traced(self, xp, ask):
        before = sys.gettrace()
        sys.settrace(lambda *_: lambda *_: None)
        try:
            return ask(xp.ones(3))
        finally:
            sys.settrace(before)

    def test_in_code_that_ran_often(self, xp, ask):
        for _ in range(40):
            for other in (3, numpy.ones(3), numpy.sin):
                if ask is not ASK["method of the class"]:
                    ask(other)
            answer = ask(xp.ones(3))
        return answer


def test_proxies_in_c_show_the_class(xp):
    x = xp.ones(3)
    proxy = weakref.proxy(x)
    ask = [lambda y: isinstance(y, CLASSES), lambda y: isinstance(y, int | Registered),
           lambda y: isinstance(y, Summed), lambda y: y.__class__.__name__, matches]  # fmt: skip
    return [question(proxy) for question in ask]


@pytest.mark.parametrize("asked", [int, str, (str, int), int | str])
def test_objects_in_c_may_show_another_class(compiled, asked):
    x = compiled.Shown()
    assert [isinstance(x, asked) for _ in range(3)] == [asked is not str] * 3
    assert isinstance(x, compiled.Shown)


def test_functions_show_the_class_of_numpys(xp):
    functions = (xp.mean, xp.apply_along_axis, xp.vectorize, xp.random.normal)
    return [isinstance(f, type(numpy.mean)) for f in functions]


OBJECTS = [np.ones(3), np.sin, np.mean, np.float64(1), np.random.default_rng(1)]


@pytest.mark.parametrize("x", OBJECTS, ids=lambda x: type(x).__name__)
def test_objects_are_instances_of_their_own_classes(x):
    for own in type(x).__mro__:
        assert isinstance(x, own)
        assert isinstance(x, (str, own))
        assert isinstance(x, (str, (str, own)))


@pytest.mark.parametrize(
    "call",
    ["isinstance(1)", "isinstance()", "isinstance(x, 2)", "isinstance(x, (int, 2))",
     "isinstance(x, a=1)", "isinstance(x, int, b=1)", "isinstance(x, list[int])",
     "isinstance(2, 2)", "getattr(x)", "getattr(x, 1)", "getattr(x, 'absent')"],
)  # fmt: skip
def test_errors_of_the_functions_that_ask(xp, call):
    try:
        return eval(call, {"x": xp.ones(3)})
    except (TypeError, AttributeError) as error:
        return type(error), str(error).replace("mxnp.ndarray", "numpy.ndarray")


def test_classes_nested_too_deeply():
    classes = (numpy.ndarray,)
    for _ in range(100_000):
        classes = (classes,)
    with pytest.raises(RecursionError, match="in __instancecheck__"):
        isinstance(np.ones(3), classes)


def test_errors_of_a_metaclass_pass():
    class Failing(type):
        def __instancecheck__(cls, x):
            raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        isinstance(np.ones(3), Failing("Failing", (), {}))
    assert isinstance(np.ones(3), numpy.ndarray)


def test_the_functions_that_ask_look_as_before():
    assert type(isinstance) is types.BuiltinFunctionType
    assert repr(isinstance) == "<built-in function isinstance>"
    assert str(inspect.signature(isinstance)) == "(obj, class_or_tuple, /)"
    assert isinstance.__module__ == getattr.__module__ == "builtins"
    for function in (isinstance, getattr):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.copy(function) is function


def test_code_that_ran_often_before_mxnp():
    program = """
import numpy
def ask(x): return isinstance(x, numpy.ndarray)
def match(x):
    match x:
        case numpy.ndarray(): return True
    return False
x = numpy.ones(3)
for _ in range(10_000): assert ask(x) and match(x)
import mxnp
for x in (mxnp.ones(3), numpy.ones(3)) * 10_000: assert ask(x) and match(x)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture(params=[lambda: np.ones(3), lambda: np.ones(20_000) + 1, lambda: np.sin],
                ids=["small", "recorded", "ufunc"])  # fmt: skip
def x(request):
    return request.param()


class TestCompiledCode:
    """The functions return whether they were told that x is an object of NumPy."""

    @pytest.fixture(autouse=True)
    def numpys_objects_are_known(self, compiled):
        assert compiled.attribute(Holder(numpy.ones(3)))
        assert compiled.attribute(Holder(numpy.sin))

    def test_attributes(self, compiled, x):
        assert not compiled.attribute(Holder(x))
        assert [compiled.attribute(h) for h in (Holder(x), Holder(x))] == [False, False]
        assert list(map(compiled.attribute, [Holder(x)])) == [False]
        assert sorted([Holder(x)], key=compiled.attribute)

    def test_results_of_callbacks(self, compiled, x):
        assert not compiled.called(lambda: x)

    def test_callbacks_that_ask(self, compiled, x):
        def callback():
            assert isinstance(x, CLASSES)
            assert isinstance(x, Registered)
            assert x.__class__ in CLASSES
            return x

        assert not compiled.called(callback)
        assert not functools.partial(compiled.called, callback)()

    def test_items(self, compiled, x):
        assert compiled.items({1: x}.values()) == [False]
        assert compiled.items(y for y in (x, x)) == [False, False]
        assert compiled.items(y for y in (x, 1) if isinstance(y, CLASSES)) == [False]
        assert compiled.items(map(copy.copy, (x,))) == [False]

    def test_variables_found_by_name(self, compiled, x):
        d = {"x": x}
        assert d
        assert not compiled.variable("x")
        assert not compiled.variable("d")

    def test_functions_made_at_run_time(self, compiled, x):
        asked = compiled.made()
        assert not asked(x)
        assert list(map(asked, [x, x])) == [False, False]
        assert [asked(y) for y in (x, x)] == [False, False]
        for isinstance in (asked, asked):
            assert not isinstance(x)
        holder = types.SimpleNamespace(__class__=3, isinstance=asked)
        assert not holder.isinstance(x)

    def test_where_python_asked_before(self, compiled, x):
        """One instruction calls isinstance, and then compiled code."""
        asked = compiled.made()
        for function, expected in ((stored, True), (asked, False)) * 40:
            assert function(x, CLASSES) is expected

    def test_attributes_that_ask(self, compiled, x):
        compiled.attribute(Holder(x))
        assert not compiled.Taker().told

    def test_within_a_question_of_python(self, compiled, x):
        asked = compiled.made()

        class Asking(type):
            def __instancecheck__(cls, x):
                return (asked(x), x.__class__ in CLASSES) == (False, True)

        assert isinstance(x, Asking("Asking", (), {}))

    def test_after_a_question_that_failed(self, compiled, x):
        with pytest.raises(TypeError):
            isinstance(x, list[int])
        assert not compiled.attribute(Holder(x))

    def test_with_a_trace(self, compiled, x):
        before = sys.gettrace()
        sys.settrace(lambda *_: lambda *_: None)
        try:
            assert not compiled.attribute(Holder(x))
        finally:
            sys.settrace(before)

    def test_without_a_frame(self, compiled, x):
        answers = []
        _thread.start_new_thread(compiled.made(), (x, answers))
        while not answers:
            pass
        assert answers == [False]

    def test_in_threads(self, compiled, x):
        asked, wrong = compiled.made(), []

        def run():
            for _ in range(2000):
                if (
                    asked(x)
                    or not isinstance(x, Registered)
                    or x.__class__ not in CLASSES
                ):
                    wrong.append(x)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_code_is_not_kept_alive():
    codes = []
    for i in range(3000):
        names = {"x": np.ones(3)}
        exec(f"def ask(): return x.__class__, {i}", names)
        names["ask"]()
        codes.append(weakref.ref(names["ask"].__code__))
    names.clear()
    gc.collect()
    assert sum(code() is not None for code in codes) < 1000


def test_code_at_the_place_of_other_code(compiled):
    """Code objects are freed, and their addresses are used again."""
    asked = compiled.made()
    for i in range(2000):
        names = {"x": np.ones(3), "f": asked}
        read = ("x.__class__ is not None", "f(x)")[i % 2]
        exec(f"def ask(): return {read}", names)
        assert names["ask"]() is (i % 2 == 0)
