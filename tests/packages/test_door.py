"""Test calls of packages by a program: they get NumPy arrays, and give mxnp arrays back.

Each use of the package ``visited`` runs with NumPy and with mxnp, as a program of its own
that no call has met before. The package notes the classes of all arrays that it gets.
"""

from __future__ import annotations

import ast
import functools
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest
from support.doors import FOLDER, forget, installed, needs_doors, plain

import mxnp

pytestmark = needs_doors


@pytest.fixture
def visited():
    with installed():
        import visited

        yield visited


@pytest.fixture(params=[5, 20_000], ids=["small", "large"])
def n(request):
    return request.param


def run(function, np, n):
    """Run a function as a new program, or with NumPy as code of another package."""
    forget()
    import visited

    text = textwrap.dedent(inspect.getsource(function))
    text = text[text.index("def ") :].replace("(np, p, x)", "(x)", 1)
    names = {"__name__": "__main__", "np": np, "p": visited}
    if np is numpy:
        names |= {"__name__": "other", "__file__": f"{FOLDER}/other.py"}
    exec(compile(text, "<stdin>", "exec"), names)
    x = np.arange(float(n)) + 1
    result = plain((names[function.__name__](x), x))
    assert {each.__module__.partition(".")[0] for each in visited.seen} <= {"numpy"}
    return result


uses = []


def use(function):
    uses.append(pytest.param(function, id=function.__name__))
    return function


def fails(reason):
    mark = pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)

    def decorate(function):
        uses.append(pytest.param(function, id=function.__name__, marks=mark))
        return function

    return decorate


# -- Functions -------------------------------------------------------------------------


@use
def function(np, p, x):
    y = p.double(x)
    assert type(y) is np.ndarray
    return y


@use
def pending_work(np, p, x):
    y = (x * 3 + 1) / 2
    z = p.double(y)
    y += 1
    return p.double(y - z)


@use
def named_argument(np, p, x):
    return p.with_default(x, shift=x, scale=x[0])


@use
def package_in_a_variable(np, p, x):
    package, f = p, p.double
    return package.variadic(*[x]), f(*[x]), list(map(package.shout, [x]))


@use
def many_arguments(np, p, x):
    return p.variadic(*[x + i for i in range(40)], **{f"k{i}": x - i for i in range(9)})


@use
def unpacked_arguments(np, p, x):
    args, kwargs = [x, x], {"shift": x}
    return p.variadic(*args), p.with_default(*(x,), **kwargs)


@use
def written_in_place(np, p, x):
    y = p.increment(x)
    assert y is x
    x += 1
    return y


@use
def same_argument_twice(np, p, x):
    return p.is_same(x, x), p.is_same(x, x[:]), p.has_same_items([x, x])


@use
def containers(np, p, x):
    tree = {"a": [x, (x + 1, {"b": x})], "c": {"d": [x]}}
    y = p.nested(tree)
    assert y is tree
    return y


@use
def long_containers(np, p, x):
    return p.nested([0] * 20 + [x]), p.nested({str(i): x + i for i in range(20)})


@use
def same_list_twice(np, p, x):
    items = [x]
    return p.is_same(items, items), p.has_same_items([items, items])


@use
def list_changed_in_place(np, p, x):
    items = [x, x + 1]
    p.append_sum(items)
    assert items[0] is x
    assert type(items[1]) is np.ndarray
    return items


@use
def list_reversed_in_place(np, p, x):
    items = [x, x + 1]
    assert p.reverse(items) is items
    assert items[1] is x
    return items


@use
def dict_changed_in_place(np, p, x):
    items = {"a": x, "c": x}
    p.change_dict(items)
    assert items["c"] is x
    return items


@use
def list_that_a_package_keeps(np, p, x):
    items = [x, [x]]
    keeper = p.Keeper(items)
    items.append(x + 1)
    items[1].append(5)
    assert keeper.get(0) is x
    assert keeper.get(1) is items[1]
    keeper.set(0, 3)
    return keeper.count(), items, keeper.items is items


@use
def dict_that_a_package_keeps(np, p, x):
    own = {"a": x, "b": {"c": [x]}}
    keeper = p.Keeper(own, inside=own["b"])
    own["d"] = x + 1
    keeper.options["inside"]["e"] = 5
    assert keeper.get("a") is own["a"] is x
    return keeper.count(), own, keeper.items is own


@use
def tuple_that_a_package_keeps(np, p, x):
    pair = x, [x]
    keeper = p.Keeper(pair)
    pair[1].append(3)
    return keeper.count(), keeper.get(1), keeper.items is pair, keeper.get(0) is x


@use
def dict_that_a_callback_changes_by_its_own_name(np, p, x):
    state = {"u": np.ones(2), "k": 1.0}

    def own(y, given):
        assert given is state
        state["k"] += 1
        state["u"] = state["u"] * 2
        return y * state["k"] + given["u"][0]

    return p.solve(own, x, (state,)), p.solve(own, x, [state]), state


@use
def list_that_a_callback_extends(np, p, x):
    history = [np.ones(2)]

    def own(y, seen, **options):
        assert seen is history
        assert options["also"] is history
        history.append(y[0])
        return y * len(seen)

    y = p.solve(own, x, args=(history,), options={"also": history})
    return y, history


@use
def containers_of_other_classes(np, p, x):
    import collections

    own = collections.deque([x]), collections.OrderedDict(a=x), p.ListOf([x])
    keepers = [p.Keeper(each) for each in own]
    for each in (own[0], own[2]):
        each.append(x + 1)
    own[1]["b"] = x
    assert all(keeper.items is each for keeper, each in zip(keepers, own))
    assert keepers[0].get(0) is keepers[1].get("a") is keepers[2].get(0) is x
    return [keeper.count() for keeper in keepers]


@use
def list_that_another_thread_reads(np, p, x):
    import threading

    items, seen, done = [x], [], threading.Event()

    def look():
        seen.append(type(items[0]))
        done.set()

    def own(y):
        threading.Thread(target=look).start()
        done.wait()
        return y

    p.solve(lambda y, given: own(y), x, (items,))
    p.apply(lambda y, given: own(y), x, items)
    assert seen == [np.ndarray] * len(seen)
    return len(seen)


@use
def tuple_of_the_call(np, p, x):
    table = p.Table()
    table[str((x, 1))] = 3
    return table[x, 1], p.variadic(*(x, x)), p.first_of((x, x + 1))


@use
def private_function(np, p, x):
    return p._private(x)


@use
def recursion_in_the_package(np, p, x):
    return p.recursive(x, 30)


@use
def functions_of_a_function(np, p, x):
    return p.compose(p.double, p.increment)(x + 0)


@use
def closure(np, p, x):
    add = p.make_adder(x)
    y = add(x)
    x += 1
    return y, add(x)


@use
def lambda_of_a_package(np, p, x):
    return p.shout(x)


@use
def partial_of_a_package(np, p, x):
    return p.triple(x)


@use
def partial_of_the_program(np, p, x):
    import functools

    return functools.partial(p.with_default, x)(scale=3)


@use
def partials_at_one_place(np, p, x):
    import functools

    calls = [functools.partial(f, x) for f in (p.double, p.increment, p._private)]
    return [call() for call in calls]


@use
def by_attribute_name(np, p, x):
    return [getattr(p, name)(x) for name in ("double", "increment", "_private")]


@use
def from_a_dict(np, p, x):
    return [p.FUNCTIONS[name](x) for name in ("double", "increment")]


@use
def from_a_result(np, p, x):
    return p.factory(3)(x)


@use
def from_an_import(np, p, x):
    from visited import double as twice

    return twice(x)


@use
def an_alias(np, p, x):
    f = g = p.double
    return f(x), g(x)


@use
def functions_at_one_place(np, p, x):
    def own(x):
        return x + 1

    results = []
    for f in [p.double, own, p._private, own, np.sqrt, p.shout, own, p.MODEL.predict]:
        results.append(f(x))
    return results


@use
def many_calls_at_one_place(np, p, x):
    def call(f, x):
        return f(x)

    def own(x):
        return x + 1

    for _ in range(400):
        call(own, x)
    for _ in range(400):
        call(p.double, x)
    return call(p._private, x)


@use
def many_classes_at_one_place(np, p, x):
    class Own:
        def __init__(self, x):
            self.x = x

    def call(f, x):
        return f(x).x

    for _ in range(400):
        call(Own, x)
    for _ in range(400):
        call(p.Model, x)
    return call(p.Created, x), call(p.WithMeta, x)


@use
def many_objects_at_one_place(np, p, x):
    return [p.Context(x + i).x for i in range(1000)][::333]


@use
def many_calls_with_other_arrays(np, p, x):
    total = 0
    for i in range(600):
        total = total + p.double(x + i)
    return total


# -- Functions that call functions -----------------------------------------------------


@use
def mapped(np, p, x):
    return list(map(p.double, [x, x + 1]))


@use
def mapped_from_a_dict(np, p, x):
    return list(map(p.FUNCTIONS["double"], [x, x + 1]))


@use
def mapped_method(np, p, x):
    model = p.Model()
    return list(map(model.predict, [x, x + 1])), list(map(p.Model.twice, [x]))


@use
def mapped_class(np, p, x):
    return [model.x for model in map(p.Model, [x, x + 1])]


@use
def filtered(np, p, x):
    return list(filter(p.TABLE.__contains__, [x])), list(filter(p.double, [x[0:1]]))


@use
def sorted_by_key(np, p, x):
    items = [x[2:3], x[0:1], x[1:2]]
    return sorted(items, key=p.double), min(items, key=p.double)


@use
def reduced(np, p, x):
    import functools

    return functools.reduce(p.with_default, [x, 2, 3])


@use
def starmapped(np, p, x):
    import itertools

    return list(itertools.starmap(p.with_default, [(x, 2)]))


@use
def method_caller(np, p, x):
    import operator

    model = p.Model()
    return operator.methodcaller("predict", x)(model)


@use
def threads(np, p, x):
    import threading

    results = []
    t = threading.Thread(target=lambda: results.append(p.double(x)))
    t.start()
    t.join()
    t = threading.Thread(target=p.increment, args=(x,))
    t.start()
    t.join()
    return results


@use
def pool_of_threads(np, p, x):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(p.double, x).result()
        return first, list(pool.map(p.variadic, [x, x + 1], [x, x]))


@use
def pool_with_a_method(np, p, x):
    from concurrent.futures import ThreadPoolExecutor

    model = p.Model()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(model.predict, x).result()


@use
def coroutine(np, p, x):
    import asyncio

    return asyncio.run(p.compute(x))


@use
def coroutines_together(np, p, x):
    import asyncio

    async def main():
        return await asyncio.gather(*[p.compute(x + i) for i in range(3)])

    return asyncio.run(main())


@use
def in_another_thread(np, p, x):
    import asyncio

    async def main():
        return await asyncio.to_thread(p.double, x)

    return asyncio.run(main())


@use
def async_generator(np, p, x):
    import asyncio

    async def main():
        return [y async for y in p.stream(x)]

    return asyncio.run(main())


@use
def async_context(np, p, x):
    import asyncio

    async def main():
        async with p.Context(x) as y:
            return y + 1

    return asyncio.run(main())


@use
def async_callback(np, p, x):
    import asyncio

    async def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return asyncio.run(p.call_async(own, x))


@use
def generator(np, p, x):
    return list(p.steps(x)), [y + 1 for y in p.steps(x)], next(p.steps(x))


@use
def generator_expression(np, p, x):
    return tuple(p.double(y) for y in [x, x + 1])


@use
def comprehension(np, p, x):
    return {i: p.double(y) for i, y in enumerate([x, x + 1])}


@use
def sent(np, p, x):
    means = p.running_mean()
    next(means)
    return [means.send(x), means.send(x + 1)]


# -- Decorators ------------------------------------------------------------------------


@use
def cached(np, p, x):
    y = p.cached(5)
    assert p.cached(5) is not None
    return y, p.by_identity(p.Key(x))


@use
def cached_with_array_in_it(np, p, x):
    key = p.Key(x)
    return p.by_identity(key, scale=np.float64(2)), p.by_identity.cache_info()[:2]


@use
def dispatched(np, p, x):
    return p.dispatched(x), p.Model().dispatch(x)


@use
def context_manager_function(np, p, x):
    with p.opened(x) as y:
        return y


@use
def decorated_in_the_package(np, p, x):
    return p.decorated(x)


@use
def decorator(np, p, x):
    @p.logged
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return own(x)


@use
def decorator_without_wraps(np, p, x):
    @p.bare
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return own(x)


@use
def decorator_with_arguments(np, p, x):
    @p.scaled(x)
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return own(x)


@use
def decorator_object(np, p, x):
    @p.Memory
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return own(x)


@use
def decorated_method(np, p, x):
    class Own:
        @p.logged
        def step(self, x):
            assert type(x) is np.ndarray
            return x + 1

        @staticmethod
        @p.logged
        def static(x):
            return x + 2

        @property
        @p.logged
        def value(self):
            return x

    return Own().step(x), Own.static(x), Own().value


@use
def wrapper_of_the_program(np, p, x):
    import functools

    @functools.wraps(p.double)
    def double(x):
        assert type(x) is np.ndarray
        return p.double(x)

    return double(x)


# -- Classes ---------------------------------------------------------------------------


@use
def instance(np, p, x):
    model = p.Model(x, option=x)
    y = model.fit(x).predict(x)
    assert model.holds(x)
    return y, model.read()


@use
def instance_of_a_global(np, p, x):
    return p.MODEL.predict(x), p.TABLE(x, y=x)


@use
def instance_of_a_class_in_a_function(np, p, x):
    scale = p.make_scale()
    return scale(x)


@use
def kept_array_is_shared(np, p, x):
    model = p.Model(x)
    x += 1
    first = model.read()
    model.write(7)
    x[1] = 3
    return first, model.read(), x


@use
def private_method(np, p, x):
    return p.Model()._hidden(x)


@use
def class_method(np, p, x):
    return p.Model.from_array(x).read(), p.Model(x).from_array(x).read()


@use
def static_method(np, p, x):
    return p.Model.twice(x), p.Model().twice(x)


@use
def function_of_a_class(np, p, x):
    return p.Model.predict(p.Model(x), x)


@use
def bound_method(np, p, x):
    predict = p.Model().predict
    return predict(x), [f(x) for f in [p.Model().predict, p.Model().fit(x).step]]


@use
def property_that_is_set(np, p, x):
    model = p.Model()
    model.data = x
    x += 1
    return model.data


@use
def property_that_is_set_by_name(np, p, x):
    model = p.Model()
    for name in ["data"]:
        setattr(model, name, x)
    return model.data


@use
def cached_property(np, p, x):
    model = p.Model(x)
    y = model.total
    assert type(model.total) is not None
    return y


@use
def partial_methods(np, p, x):
    model = p.Model()
    return model.by_three(x), model.halve() if False else None


@use
def subclass_in_the_package(np, p, x):
    return p.Derived(x).predict(x)


@use
def slots(np, p, x):
    return p.Slotted(x).get()


@use
def new(np, p, x):
    return p.Created(x).x


@use
def new_of_another_class(np, p, x):
    return p.Family(x).x


@use
def parameters_of_an_estimator(np, p, x):
    class Own(p.Estimator):
        def __init__(self, weights):
            self.weights = weights
            self.mine = weights + 1

    own = Own(x)
    assert type(own.mine) is np.ndarray
    return own.copy("weights"), own.get_parameter("weights"), own.mine


@use
def metaclass(np, p, x):
    return p.WithMeta(x).x, p.WithMeta[x], p.WithMeta.of(x).x


@use
def dataclass(np, p, x):
    a = p.Record(x, y=x + 1)
    return a.x, p.Frozen(x).get()


@use
def replaced_dataclass(np, p, x):
    import dataclasses

    return dataclasses.replace(p.Record(x), y=x).y


@use
def descriptor(np, p, x):
    d = p.Descriptors()
    d.x = x
    return d.x


@use
def set_attribute(np, p, x):
    d = p.Attributes()
    d.x = x
    return d.missing


@use
def operators(np, p, x):
    o = p.Operand()
    return [
        *(o + x, o - x, o * x, o / x, o // x, o % x, o**x, o @ x),
        *(o & x, o | x, o ^ x, o << x, o >> x, divmod(o, x)[0]),
    ]


@use
def operators_of_a_class_that_grows(np, p, x):
    p.Growing().method(x)
    p.Growing.grow()

    class Own(p.Growing):
        pass

    return Own() + x


@use
def reflected_operators(np, p, x):
    o = p.Operand()
    return [
        *(x + o, x - o, x * o, x / o, x // o, x % o, x**o, x @ o),
        *(x & o, x | o, x ^ o, x << o, x >> o, divmod(x, o)[0]),
    ]


@use
def comparisons(np, p, x):
    o = p.Operand()
    return [o == x, o != x, o < x, o <= x, o > x, o >= x]


@use
def reflected_comparisons(np, p, x):
    o = p.Operand()
    return [x == o, x != o, x < o, x <= o, x > o, x >= o]


@use
def operators_in_place(np, p, x):
    o = p.Operand()
    o += x
    o *= x
    o -= x
    o |= x
    return o.x


@use
def operators_of_a_global(np, p, x):
    return p.OPERAND + x, x + p.OPERAND, -p.OPERAND


@use
def functions_for_operators(np, p, x):
    import operator

    return operator.add(p.Operand(), x), operator.iadd(p.Operand(), x).x


@use
def subscripts(np, p, x):
    table = p.Table()
    table["a"] = x
    table[x] = x + 1
    assert x in table
    first = table[x]
    del table[x]
    return table["a"], first, table(x)


@use
def iteration(np, p, x):
    table = p.Table()
    table["a"] = x
    return list(table), list(reversed(table)), len(table)


@use
def context_manager(np, p, x):
    with p.Context(x) as y:
        y += 1
        x += 1
    return y


@use
def several_context_managers(np, p, x):
    import contextlib

    with p.Context(x) as a, contextlib.ExitStack() as stack:
        b = stack.enter_context(p.Context(x + 1))
        return a + b


@use
def sequence(np, p, x):
    items = p.Sequence(x, x)
    items.insert(0, x + 1)
    items[1] = x
    return [items[0], *items, items.pop()]


@use
def subclass_of_list(np, p, x):
    return p.ListOf([x, x + 1]).total()


@use
def object_in_an_object(np, p, x):
    parent = p.Parent()
    parent.child["a"] = x
    parent.children[0]["a"] = x
    parent.child += x
    return parent.child + x, x + parent.children[1]


@use
def object_in_a_slot(np, p, x):
    parent = p.Slotted(p.Parent())
    parent.x.child["a"] = x
    return p.factory(3) and parent.x.children[0] + x


@use
def object_in_a_result(np, p, x):
    parent = p.make_parent()
    parent.child["a"] = x
    return parent.children[1] + x


@use
def object_in_a_dict(np, p, x):
    bag = p.Bag()
    bag.fill("a")
    return bag["a"] * x, x - bag["a"]


@use
def dicts_that_a_package_keeps(np, p, x):
    store = p.Store()
    store.options["a"] = x
    store.settings["b"] = [x, {"c": x}]
    store.settings.update(c=(x, x))
    store.row("d")["e"] = x
    store.row("d")["f"] = {"g": x}
    store.row("d")["f"]["h"] = x
    store.ordered["i"] = x
    first = store.read()
    store.ordered["i"] = x + 1
    store.ordered.setdefault("j", x)
    assert store.settings["c"][0] is x
    return first, store.read()


@use
def dict_that_both_keep(np, p, x):
    store, own, items = p.Store(), {"a": x}, [x]
    store.options["own"], store.settings["items"] = own, items
    own["b"] = x + 1
    first = store.read()
    own["c"] = x + 2
    items.append(x[0])
    x += 1
    assert store.settings["items"] is items
    return first, store.read(), own, items


@use
def dict_that_is_set(np, p, x):
    store = p.Store()
    store.options = {"a": x}
    store.options["b"] = x
    return store.read()


@use
def attribute_that_is_set(np, p, x):
    model = p.Model()
    model.x = x
    y = model.predict(x)
    model.x = model.x + x
    model.x += x
    model.scale = x
    return y, model.predict(x), model.x


@use
def attributes_of_several_kinds(np, p, x):
    slotted, derived, record = p.Slotted(x), p.Derived(), p.Record(3)
    slotted.x = x + 1
    derived.x = [x, {"a": x}]
    record.x, record.y = x, (x,)
    record.__post_init__()
    for name in ["x"]:
        setattr(p.MODEL, name, x)
    del derived.options
    return slotted.get(), derived.read(), record.x, p.MODEL.read(), vars(derived)


@use
def attribute_that_a_decorated_function_reads(np, p, x):
    decorated = p.Decorated()
    decorated.hidden = x
    return decorated.read()


@use
def attributes_set_in_other_ways(np, p, x):
    model, other = p.Model(), p.Model()
    object.__setattr__(model, "x", x)
    other.__setattr__("x", x)
    first = model.read(), other.read()
    object.__delattr__(model, "x")
    other.__delattr__("x")
    return first, hasattr(model, "x"), hasattr(other, "x")


@use
def attribute_that_shares_memory(np, p, x):
    model = p.Model()
    model.x = x
    x += 1
    first = model.read() + 0
    model.write(7)
    return first, x, model.x * 2


@use
def attributes_of_the_program(np, p, x):
    model = p.Model()
    model.mine = x

    class Own(p.Model):
        def __init__(self, x):
            super().__init__(x)
            self.mine = self.x = x

        def step(self, x):
            return x + self.mine

    own = Own(x)
    assert model.mine is own.mine is x
    return own.transform(x), own.read()


@use
def attribute_of_a_later_class(np, p, x):
    class Own(p.Model):
        pass

    class Setter(p.Model):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)

    own, setter = Own(), Setter()
    own.x = setter.x = x
    return own.read(), setter.read()


@fails("the interpreter reads an attribute without a call")
def attribute_that_is_read(np, p, x):
    model = p.Model(x)
    return model.x is x


@use
def callback_in_an_attribute(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    model = p.Model()
    model.x = own
    return model.call_kept(x)


@use
def classes_of_items(np, p, x):
    return [type(y) is np.ndarray for y in p.steps(x)]


@use
def class_of_an_awaited_result(np, p, x):
    import asyncio

    async def main():
        return type(await p.compute(x)) is np.ndarray

    return asyncio.run(main())


@use
def classes_of_items_that_wait(np, p, x):
    import asyncio

    async def main():
        return [type(y) is np.ndarray async for y in p.stream(x)]

    return asyncio.run(main())


@use
def classes_of_tasks(np, p, x):
    import asyncio

    async def main():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(p.compute(x)) for _ in range(2)]
        results = [task.result() for task in tasks]
        results += [await tasks[0], await asyncio.wait_for(p.compute(x), None)]
        results += [await asyncio.to_thread(p.double, x)]
        loop = asyncio.get_running_loop()
        return [*results, await loop.run_in_executor(None, p.double, x)]

    results = asyncio.run(main())
    return results, [type(y) is np.ndarray for y in results]


@fails("gather() keeps the list that it gives")
def classes_of_gathered_results(np, p, x):
    import asyncio

    async def main():
        return await asyncio.gather(p.compute(x))

    return [type(y) is np.ndarray for y in asyncio.run(main())]


@fails("accessors of a class only show the classes of their results")
def classes_of_accessors(np, p, x):
    with p.Context(x) as y:
        return type(y) is np.ndarray, type(p.Model(x).data) is np.ndarray


@use
def classes_of_other_results(np, p, x):
    o, model, table = p.Operand(), p.Model(x), p.Table()
    table["a"] = x
    results = [o + x, x + o, table["a"], model.predict(x), model.read(), -o]
    results += [p.Model.twice(x), p.dispatched(x), p.triple(x)[1], p.pair(x)[1]]
    return [type(y) is np.ndarray for y in results]


@use
def nested_functions_and_default_values(np, p, x):
    def outer(f=p.FUNCTIONS["double"], *, g=p.Model().predict):
        def inner():
            return f(x), g(x), [h(x) for h in (f, g)]

        return inner

    return outer()(), outer(p._private, g=p.shout)()


@use
def functions_in_objects_of_the_program(np, p, x):
    import types

    tools = types.SimpleNamespace(f=p.double, g=p.Model().predict, cls=p.Model)

    class Own:
        f = staticmethod(p.double)
        predict = p.Model.predict
        scale = 3

        def __init__(self):
            self.f = p._private
            self.x = None

    own = Own()
    return (
        tools.f(x),
        tools.g(x),
        tools.cls(x).read(),
        own.f(x),
        Own.f(x),
        own.predict(x),
    )


@use
def unpacking_and_matching(np, p, x):
    record = p.Record(x, y=p.Pair(x, x))
    match record:
        case p.Record(x=a, y=(b, c)):
            pass
    (d, e), f = p.pair(x), p.listed(x)[0]
    return a, b, c, d, e, f


@use
def named_tuples(np, p, x):
    import collections
    import typing

    class Point(typing.NamedTuple):
        x: object
        y: object = None

    class Shape(tuple):
        pass

    point = Point(x, [x])
    y = p.nested(point)
    assert y.x is x
    assert type(y) is Point
    pair = collections.namedtuple("pair", "a")(x)
    assert type(p.nested(Shape([1, 2]))) is Shape
    return (
        p.apply(lambda pair: pair, pair)[0],
        p.variadic(*point[:1]),
        p.nested({"a": pair}),
    )


@use
def kinds_of_arrays(np, p, x):
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    arrays = [
        *(x, x + 1, x.astype("f4"), x.astype(complex), x > 2, x.astype("U3")),
        *(x.astype(object), np.array(3.0), np.zeros((0, 3)), np.empty((2, 0))),
        *(np.ones((3, 4)).T, np.ones((3, 4), order="F"), np.ones((4, 4))[::2, 1:]),
        *(np.zeros(3, "M8[s]"), np.zeros(2, [("a", "f8"), ("b", "i4")]), frozen),
        *(np.broadcast_to(np.arange(3), (2, 3)), np.arange(6).view("i2"), x[::-1]),
        *(np.zeros(3, ">f8"), np.zeros(4).reshape(2, 2), x[np.newaxis], x[2:3]),
        *(np.ma.array([1, 2], mask=[0, 1]), np.rec.array([(1, 2.0)])),
        *(np.frombuffer(b"12345678"), np.zeros(9, "i1")[1:].view("i8"), np.eye(3)),
    ]
    return [p.describe(each) for each in arrays], [
        p.nested(each).shape for each in arrays
    ]


@use
def overlapping_arguments(np, p, x):
    y = x * 2
    return p.overlaps(y, y[1:3]), p.overlaps(y[::2], y[1::2]), y, p.overlaps(x, x), x


@use
def arrays_without_elements(np, p, x):
    return p.double(x[:0]), p.variadic(x[:0], np.zeros((3, 0)))


@use
def scalars_and_dtypes(np, p, x):
    values = [x[0], x.sum(), x.dtype, np.float32(2), np.int64, float(x[1]), len(x)]
    return [str(type(each)) for each in p.nested(values)], p.with_default(x[0], x[1])


@use
def random_generators(np, p, x):
    rng = np.random.default_rng(3)
    y = p.apply(rng.normal, 0.0, 1.0, len(x))
    return y, p.apply(lambda r: r.integers(9), rng), rng.normal()


@use
def class_arguments_and_subscripts(np, p, x):
    class Own(p.Registered, x=x):
        pass

    return p.Registered.kinds["Own"], p.Registered[x], Own[x]


@use
def subclasses_of_dicts(np, p, x):
    a, b = p.Defaults(), p.Own()
    a["x"] = b["x"] = x
    b.update(y=x + 1)
    return a["x"], a["none"], b["x"], b["y"], b.data["y"]


@use
def copies_and_states(np, p, x):
    import copy
    import pickle

    state = p.State(x)
    others = [copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
    return [each.x for each in others], f"{state:.2f}", round(state, 1), [3, 4][state]


@use
def converted_objects(np, p, x):
    state = p.State(x)
    return np.asarray(state), np.sum(state), x + np.asarray(state), np.add(x, state)


@use
def total_ordering(np, p, x):
    a, y = p.Ordered(x[:1]), x[1:2]
    return a == y, a < y, a <= y, a > y


@use
def objects_that_compute(np, p, x):
    a = p.Universal(x)
    return np.sin(a), np.add(a, x), np.add(x, a), x + a, np.mean(a), np.add.reduce(a)


@use
def contexts_and_timers(np, p, x):
    import contextvars
    import sched

    results = [contextvars.copy_context().run(p.double, x)]
    scheduler = sched.scheduler()
    scheduler.enter(0, 0, p.increment, (x,))
    scheduler.run()
    return results, x


@use
def callbacks_in_several_ways(np, p, x):
    import functools

    def own(y, *, z=None):
        assert type(y) is np.ndarray
        return y + x[0]

    class Own:
        def __call__(self, y):
            return own(y)

        __getitem__ = method = __call__

    return p.visit(
        *(own, Own(), Own().method, Own().__getitem__, Own.method.__get__(Own())),
        *(functools.partial(own, z=3), functools.wraps(own)(lambda y: own(y))),
        named=own,
        other=functools.partial(Own().method),
    )


@fails("the methods of a class are looked at once")
def methods_added_later(np, p, x):
    class Own(p.Model):
        pass

    own = Own(x)
    own.transform(x)

    def step(self, x):
        assert type(x) is np.ndarray
        return x * 9

    Own.step = step
    return own.step(x), p.Model.transform(own, x)


@use
def generator_of_the_program(np, p, x):
    return p.consume(x + i for i in range(3))


@use
def iterators(np, p, x):
    return p.consume(map(np.sqrt, [x])), p.consume(zip([x], [x]))


@use
def kinds_of_iterators(np, p, x):
    import collections
    import itertools

    d = {"a": x, "b": (x, [x])}

    def steps(x):
        yield x
        yield [x, {"a": x}]
        return x

    class Own:
        def __iter__(self):
            return iter([x])

        def __getitem__(self, i):
            return [x, x][i]

    chained = itertools.chain([x], (x + i for i in range(2)))
    items = [
        *(d.values(), d.items(), iter(d.values()), iter(d.items()), iter([x])),
        *(iter((x,)), reversed([x]), filter(np.any, [x])),
        *(enumerate([x]), itertools.islice(steps(x), 2), chained, steps(x)),
        *(itertools.product([x], [x + 1]), itertools.repeat(x, 2), iter(x)),
        *(itertools.starmap(np.add, [(x, x)]), itertools.pairwise([x, x]), Own()),
        *(itertools.accumulate([x, x]), itertools.combinations([x, x], 2)),
        *(itertools.combinations_with_replacement([x], 2), itertools.tee([x])[1]),
        *(itertools.permutations([x, x]), itertools.compress([x, x], [1, 0])),
        *(
            itertools.islice(itertools.cycle([x]), 3),
            itertools.dropwhile(np.any, [x * 0, x]),
        ),
        *(itertools.takewhile(np.any, [x]), itertools.filterfalse(np.any, [x * 0])),
        *(itertools.zip_longest([x], []), itertools.batched([x, x], 2)),
        *(
            (
                list(group)
                for _, group in itertools.groupby([x[0:1], x[0:1]], key=np.sum)
            ),
        ),
        iter(collections.deque([x])),
        *(p.steps(x), zip(p.steps(x), p.steps(x)), (p.double(y) for y in [x])),
    ]
    return [p.consume(each) for each in items], p.consume(iter([]))


@use
def iterators_that_both_use(np, p, x):
    import inspect

    generator, pairs = (x + i for i in range(5)), zip([x] * 3, [x] * 3)
    first = next(generator), p.first(generator), next(generator), p.first(generator)
    assert type(first[0]) is type(first[1]) is type(first[2]) is np.ndarray
    assert inspect.isgenerator(generator)
    assert isinstance(pairs, zip)
    assert p.is_same(generator, generator)
    return first, p.first(generator), next(pairs), p.first(pairs), p.first(pairs)


@use
def generator_that_writes(np, p, x):
    def steps(buffer):
        for i in range(3):
            buffer += i
            yield buffer

    return p.consume(y.copy() for y in steps(x)), p.consume(steps(x)), x


@use
def generator_that_is_driven(np, p, x):
    closed = []

    def steps():
        total = 0.0
        try:
            while True:
                y = yield total
                assert y is None or type(y) is np.ndarray
                total = total + (x if y is None else y)
        except ValueError:
            yield x * 3
        finally:
            closed.append(x)

    return p.drive(steps(), x), closed


@use
def generators_inside_generators(np, p, x):
    def inner(x):
        y = yield x
        return y + 1

    def outer(x):
        z = yield from inner(x)
        yield z
        yield from p.steps(x)

    return p.consume_all(outer(x), x), list(p.delegate(outer(x * 2)))


@use
def values_that_generators_return(np, p, x):
    def own(x):
        yield x
        return x + 1

    def outer(x):
        y = yield from p.returned(own(x))
        assert type(y) is np.ndarray
        yield y
        return x, y

    def ends(generator):
        try:
            while True:
                next(generator)
        except StopIteration as end:
            return end.value

    return list(outer(x)), ends(p.returned(own(x))), ends(outer(x)), list(own(x))


@use
def generators_in_objects(np, p, x):
    model = p.Model()
    model.x = (x + i for i in range(2))
    store = p.Store()
    store.options["a"] = (x + i for i in range(2))
    store.read()
    return p.consume(model.x), list(p.apply(lambda: (x for _ in [0])))


@use
def callbacks_from_a_generator(np, p, x):
    def own(y):
        assert type(y) is np.ndarray
        return y + x

    return p.apply_all((own for _ in range(2)), x)


@use
def coroutine_of_the_program(np, p, x):
    import asyncio

    async def own(x):
        await asyncio.sleep(0)
        return x + 1

    async def main():
        awaited = await p.await_all([own(x), own(x + 1)])
        return awaited, await own(x), await p.call_async(own, x)

    return asyncio.run(main()), asyncio.run(own(x)), asyncio.run(p.await_all([own(x)]))


@use
def tasks_of_the_program(np, p, x):
    import asyncio

    async def own(x):
        await asyncio.sleep(0)
        return x + 1

    async def main():
        future = asyncio.get_running_loop().create_future()
        tasks = [asyncio.create_task(own(x)), asyncio.ensure_future(own(x)), future]
        future.set_result(x)
        results = await p.await_all([*tasks, asyncio.shield(own(x))])
        assert await future is future.result() is x
        assert type(await tasks[0]) is np.ndarray
        return results, p.wait_for(future)

    return asyncio.run(main())


@use
def task_that_fails(np, p, x):
    import asyncio

    async def own():
        raise ValueError("no")

    async def main():
        try:
            return await p.await_all([asyncio.create_task(own())])
        except ValueError as error:
            return str(error)

    return asyncio.run(main())


@use
def coroutine_that_fails(np, p, x):
    import asyncio

    async def own(x):
        await asyncio.sleep(0)
        raise ValueError("no")

    try:
        return asyncio.run(p.call_async(own, x))
    except ValueError as error:
        return str(error)


@use
def other_containers(np, p, x):
    import collections

    class Own(dict):
        mine = 3

        def __getitem__(self, key):
            return super().__getitem__(key) + 0

    class Items(list):
        pass

    items, counts = Items([x, 2, (x, [x])]), collections.defaultdict(list)
    counts["a"].append(x)
    containers = [
        *(collections.deque([x, [x]]), collections.OrderedDict(a=x, b=(x, [x]))),
        *(Own(a=x), counts, items, [Items([x])], {"a": collections.OrderedDict(b=x)}),
    ]
    for each in containers:
        assert p.nested(each) is each
    assert containers[0][0] is containers[1]["a"] is items[0] is counts["a"][0] is x
    return [list(each) for each in containers], [p.consume(each) for each in containers]


@use
def other_containers_changed_in_place(np, p, x):
    import collections

    items, deque = collections.OrderedDict(a=x, c=x), collections.deque([x, x + 1])
    p.change_dict(items)
    p.reverse(deque)
    assert items["c"] is deque[1] is x
    try:
        p.fail(deque)
    except ValueError:
        assert deque[1] is x
    return list(items), items["c"], list(deque)


@fails("a package reads an attribute of the program's object without a call")
def attribute_of_an_object_of_the_program(np, p, x):
    import types

    return p.read_attribute(types.SimpleNamespace(x=x))


@fails("a factory fills the program's own dict")
def factory_of_a_dict(np, p, x):
    import collections

    return p.look_up(collections.defaultdict(lambda: x), "a")


@use
def results_of_an_executor(np, p, x):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        own = [type(y) is np.ndarray for y in pool.map(p.double, [x])]
        return own, p.list_results(pool.map(lambda y: y + x, [x]))


@fails("an exception is the program's own object, and so are the arrays in it")
def exception_of_a_callback(np, p, x):
    def own(x):
        raise ValueError(x)

    return p.catch(own, x)


@fails("a list that a package has is not changed")
def callback_that_gets_a_list(np, p, x):
    return p.apply_to_list(lambda items: type(items[0]) is np.ndarray, x)


@use
def async_generator_of_the_program(np, p, x):
    import asyncio

    async def own():
        yield x

    return asyncio.run(p.consume_async(own()))


@fails("a package reads the variables of its caller")
def variable_of_the_program(np, p, x):
    return p.read_variable("x")


@fails("vars() returns the dict of the object")
def attribute_set_in_its_dict(np, p, x):
    model = p.Model()
    vars(model)["x"] = x
    return model.predict(x)


@use
def property_of_an_object_of_the_program(np, p, x):
    class Own:
        @property
        def x(self):
            return x

    return p.read_attribute(Own())


@use
def chains_of_calls(np, p, x):
    return p.Model(x).fit(p.double(x), p.increment(x)).predict(p.Model.twice(x))


@use
def walrus_and_conditions(np, p, x):
    y = p.double(x) if (z := p._private(x)).any() else p.increment(x)
    return y, z, p.MODEL and p.MODEL.predict(z), [w for w in [p.double(z)] if w.all()]


# -- Subclasses of the program ---------------------------------------------------------


@use
def inherited_methods(np, p, x):
    class Own(p.Model):
        pass

    own = Own(x)
    own.data = x + 1
    return own.predict(x), own.transform(x), own.data, own.total, Own.twice(x)


@use
def overridden_methods(np, p, x):
    class Own(p.Model):
        def __init__(self, x, offset):
            super().__init__(x)
            self.offset = offset

        def step(self, x):
            assert type(x) is np.ndarray
            return super().step(x) + self.offset

        def predict(self, x):
            assert type(x) is np.ndarray
            return p.Model.predict(self, x) - 1

    own = Own(x, x * 2)
    return own.transform(x), own.step(x), own.predict(x)


@use
def abstract_methods(np, p, x):
    class Own(p.Abstract):
        def step(self, x):
            assert type(x) is np.ndarray
            return x * 2

    return Own().run(x)


@use
def made_by_the_package(np, p, x):
    class Own(p.Model):
        def __init__(self, x):
            assert type(x) is np.ndarray
            super().__init__(x)

    return Own(x).make(x).read(), Own.from_array(x).read()


@use
def class_as_an_argument(np, p, x):
    class Own:
        def __init__(self, x):
            assert type(x) is np.ndarray
            self.x = x

    return p.construct(Own, x).x, p.construct(p.Model, x).x


@use
def subclass_with_a_metaclass(np, p, x):
    class Own(p.WithMeta):
        pass

    return Own(x).x, Own[x], Own.of(x).x


@use
def subclass_of_a_dataclass(np, p, x):
    import dataclasses

    @dataclasses.dataclass
    class Own(p.Record):
        __annotations__ = {"z": object}
        z = None

    own = Own(x, x, z=x)
    assert own.z is x
    return own.x, own.y, own.z


# -- Callbacks -------------------------------------------------------------------------


@use
def callback(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return p.apply(own, x), p.apply(own, x=x), p.apply_to_new(own)


@use
def callbacks_with_many_arguments(np, p, x):
    def own(*args):
        kinds.update(type(each) is np.ndarray for each in args)
        return sum(args)

    kinds = set()
    found = [p.solve(own, x, (x,) * n) for n in range(12, 20)]
    return found, kinds


@use
def callback_lambda(np, p, x):
    return p.apply(lambda x: x.T * 2, x), p.apply(lambda: x)


@use
def callback_that_writes(np, p, x):
    def own(y):
        y += 1
        y[1] = x[0]

    return p.kept_write(own, x), x


@use
def callbacks_of_numbers(np, p, x):
    """Operations that they start end before the package goes on."""

    def write(number):
        x[:] = (x * number + 1) / 2

    def read(number):
        kept.append((x * number + 1) / 2)

    kept = []
    return p.number_write(write, x), p.number_write(read, x), kept


@use
def callback_that_writes_its_variables(np, p, x):
    def own(y):
        x[:] = x * 2 + 1
        return y + 1

    return p.apply(own, x), p.apply(own, x)


@use
def callback_that_returns_its_argument(np, p, x):
    y = p.apply(lambda x: x, x)
    assert y is x
    return y


@use
def callback_that_keeps_its_argument(np, p, x):
    kept = []
    p.apply(kept.append, x)
    p.apply(lambda x: kept.append(x), x)
    x += 1
    return kept


@use
def callbacks_in_containers(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return p.apply_all([own, lambda x: x - 1], x), p.apply_all({"a": own}, x)


@use
def callback_method(np, p, x):
    class Own:
        def __init__(self):
            self.calls = []

        def step(self, x):
            assert type(x) is np.ndarray
            self.calls.append(x)
            return x * len(self.calls)

    own = Own()
    return p.apply(own.step, x), p.apply(own.step, x), own.calls


@use
def callback_object(np, p, x):
    class Own:
        def __call__(self, x):
            assert type(x) is np.ndarray
            return x * 2

        def other(self, x):
            assert type(x) is np.ndarray
            return x * 3

    return p.apply(Own(), x), p.method_of(Own(), "other", x)


@use
def callback_class_method(np, p, x):
    class Own:
        @classmethod
        def make(cls, x):
            assert type(x) is np.ndarray
            return x + 1

        @staticmethod
        def static(x):
            assert type(x) is np.ndarray
            return x + 2

    return p.apply(Own.make, x), p.apply(Own.static, x), p.apply(Own().static, x)


@use
def callback_partial(np, p, x):
    import functools

    def own(y, x):
        assert type(x) is np.ndarray
        return x + y

    return p.apply(functools.partial(own, x), x)


@use
def callback_with_a_cache(np, p, x):
    import functools

    @functools.cache
    def own(i):
        return x + i

    return p.apply(own, 3), p.apply(own, 3)


@use
def callback_dispatched(np, p, x):
    import functools

    @functools.singledispatch
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return p.apply(own, x)


@use
def callback_results(np, p, x):
    return p.apply(lambda x: (x, [x + 1], {"a": x}), x)


@use
def callback_of_a_package(np, p, x):
    return p.apply(p.double, x)


@use
def callback_of_numpy(np, p, x):
    functions = [np.sqrt, np.mean, np.sort, np.zeros_like, np.fft.fft, np.array]
    return [p.apply(f, x) for f in functions], p.apply(np.add, x, x)


@use
def context_managers_of_the_standard_library(np, p, x):
    import contextlib

    @contextlib.contextmanager
    def own(x):
        assert type(x) is np.ndarray
        yield x + 1

    with p.opened(x) as y:
        assert type(y) is np.ndarray
    with own(x) as z, contextlib.nullcontext(x) as same:
        assert same is x
        assert type(z) is np.ndarray
    managers = own(x), contextlib.nullcontext(x)
    with contextlib.ExitStack() as stack:
        own_stack = p.apply(lambda: stack).enter_context(own(x))
        assert type(own_stack) is np.ndarray
    return y, z, [p.use_context(each) for each in managers]


@use
def context_manager_that_a_callback_makes(np, p, x):
    import contextlib

    @contextlib.contextmanager
    def own(x):
        yield x + 1

    return p.apply_context(own, x)


@use
def futures_of_the_program(np, p, x):
    from concurrent.futures import Future, ThreadPoolExecutor

    future = Future()
    future.set_result(x)
    with ThreadPoolExecutor(1) as pool:
        results = [pool.submit(p.double, x).result(), pool.submit(lambda: x).result()]
    assert {type(each) for each in results} == {np.ndarray}
    assert future.result() is x
    return p.wait_for(future), results


@use
def objects_that_are_loaded(np, p, x):
    import pickle

    table = pickle.loads(b"\x80\x02cvisited\nTable\n)\x81}X\x04\x00\x00\x00rows}sb.")
    table["a"] = x
    return table["a"]


@use
def pickles_that_a_package_loads(np, p, x):
    import pickle

    return p.load(pickle.dumps(x))


@use
def copies_of_objects(np, p, x):
    import copy

    copies = [copy.copy(p.Model(x)), copy.deepcopy(p.Model(x))]
    for each in copies:
        each.x = x + 1
    return [each.predict(x) for each in copies]


@use
def results_of_a_pool_of_threads(np, p, x):
    from multiprocessing.pool import ThreadPool

    with ThreadPool(1) as pool:
        results = [pool.apply(p.double, (x,)), pool.apply_async(p.double, (x,)).get()]
        results += [*pool.map(p.double, [x]), *pool.imap(p.double, [x])]
        results += [*pool.imap(p.double, [x, x], 2), *pool.starmap(p.double, [(x,)])]
        assert {type(each) for each in results} == {np.ndarray}
        return results, p.list_results(pool.imap(lambda y: y + x, [x]))


@use
def callback_in_a_pool(np, p, x):
    import asyncio

    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    mapped = p.map_in_pool(own, x)
    return p.apply_in_pool(own, x), mapped, asyncio.run(p.apply_in_executor(own, x))


@use
def callback_of_numpy_class(np, p, x):
    return p.apply(np.ndarray.sum, x), p.apply(np.ndarray.copy, x)


@use
def callback_of_an_array(np, p, x):
    y = x + 1
    x -= 1
    return p.apply(x.dot, y), p.apply(x.clip, 2, y), p.apply(np.add.accumulate, x)


@use
def callback_operator_of_an_array(np, p, x):
    return p.apply(x.__add__, x), p.apply(x.__getitem__, 1), p.apply(x.__neg__)


@use
def callback_called_later(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return p.apply_later(own)(x)


@use
def callback_in_another_thread(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return x + 1

    return p.thread_apply(own, x)


@use
def callback_for_a_sort(np, p, x):
    def own(x):
        assert type(x) is np.ndarray
        return -x[0]

    return p.sort_by([x[1:2], x[0:1]], own)


@use
def minimum(np, p, x):
    def gradient(x):
        assert type(x) is np.ndarray
        return 2 * x - np.sin(x)

    return p.minimise(gradient, x)


@use
def callback_in_an_object(np, p, x):
    class Own:
        def __init__(self):
            self.functions = [lambda x: x + 1]

        def step(self, x):
            assert type(x) is np.ndarray
            return self.functions[0](x)

    return p.method_of(Own(), "step", x)


@use
def program_to_package_and_back(np, p, x):
    def descend(x, n):
        assert type(x) is np.ndarray
        if n == 0:
            return x
        return p.apply(descend, x + 1, n - 1) * 2

    return p.apply(descend, x, 12)


# -- Results ---------------------------------------------------------------------------


@use
def new_array(np, p, x):
    y = p.made()
    assert type(y) is np.ndarray
    return y


@use
def named_tuple(np, p, x):
    y = p.pair(x)
    assert y.first is x
    assert type(y.second) is np.ndarray
    return y.first, y.second, type(y).__name__


@use
def lists_and_dicts(np, p, x):
    y, z = p.listed(x), p.mapping(x)
    assert y[0] is x
    assert type(y[1]) is type(y[2][0]) is type(y[3]["x"]) is np.ndarray
    assert z["x"] is x
    assert type(z["y"][0]) is np.ndarray
    return y, z


@use
def kept_lists_stay(np, p, x):
    assert p.kept_list() is p._kept
    y = p.kept_tuple()
    assert y[0] is p._kept
    p.check_kept()
    return y[0][0]


@use
def arrays_of_two_packages(np, p, x):
    model = p.Model(p.double(x))
    y = model.read()
    y += 1
    return model.read(), p.calls_a_lot(y)


# -- Code that is run in other ways ----------------------------------------------------


@use
def evaluated(np, p, x):
    names = {"p": p, "x": x}
    exec("y = p.double(x)", names)
    return names["y"], eval("p._private(x)"), eval("[p.shout(y) for y in [x]]")


@use
def compiled_first(np, p, x):
    code = compile("list(map(p.double, [x]))", "somewhere.py", "eval")
    return eval(code)


@use
def timed(np, p, x):
    import timeit

    names = {"p": p, "x": x}
    timeit.timeit("y = p.double(x); global z; z = y", globals=names, number=2)
    timeit.timeit(lambda: p.increment(x), number=3)
    return names["z"], x


@use
def by_doctest(np, p, x):
    import doctest

    names = {"p": p, "x": x}
    parser = doctest.DocTestParser()
    test = parser.get_doctest(">>> y = p.double(x)\n", names, "t", "t.py", 0)
    doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
    return test.globs["y"]


@use
def references_to_an_object(np, p, x):
    counts = []
    for _ in range(3):
        kept = p.Counted(counts)
        p.Counted(counts)[0] = kept[0] = x
        counts += [p.Counted(counts) + x, kept + x, p.Counted(counts) + 1, kept + 1]
        counts += [p.Counted(counts).count(), kept.count()]
    return counts


@fails("the caller of a door keeps references, so functions that count them are none")
def arguments_of_a_function_that_counts_references(np, p, x):
    return p.Counted([]).count(x)


@pytest.mark.parametrize("body", uses)
def test_packages_get_numpy_arrays(visited, n, body):
    assert run(body, mxnp, n) == run(body, numpy, n)


def test_compiled_code_that_calls_a_door(visited, compiled):
    f = functools.partial(visited.double, numpy.ones(3))
    names = {"__name__": "__main__", "f": f, "compiled": compiled, "found": []}
    text = """
def own():
    found.append(type(f()))
    found.append(compiled.called(f))
f()
is_numpys = [compiled.called(f), compiled.called(f)]
compiled.called(own)
found.append(type(f()))
"""
    exec(compile(text, "<stdin>", "exec"), names)
    assert names["is_numpys"] == [True, True]
    assert names["found"] == [mxnp.ndarray, True, mxnp.ndarray]


def test_names_of_uses():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
    assert len(names) == len(set(names))


# The hooks of the interpreter are cleared after its modules.
LATE = """
import contextvars
import subprocess
import sys
import numpy as np
class Late:
    def hook(self, *_): pass
    def __del__(self):
        if self is not None:
            np.sin(2.0)
contextvars.ContextVar("late").set(Late())
sys.addaudithook(Late().hook)
print("end")
"""


def test_code_that_runs_when_the_modules_are_gone(tmp_path):
    (tmp_path / "program.py").write_text(LATE)
    done = subprocess.run(
        [sys.executable, "-m", "mxnp", tmp_path / "program.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
