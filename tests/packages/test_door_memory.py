"""Test memory that a program and a package written in Python share, in random programs.

The package keeps views of the arrays that it gets, writes them later, returns them, and
calls functions of the program that write. The results must equal NumPy's to the last bit.
``MXNP_FUZZ=20000`` sets the number of programs, as in `.ci/full`.
"""

from __future__ import annotations

import os
import random
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from support.doors import FOLDER, installed, needs_doors, plain

import mxnp
from mxnp import _bridge

pytestmark = needs_doors

PROGRAMS = int(os.environ.get("MXNP_FUZZ", "160"))


@pytest.fixture(autouse=True, params=[8, 2000])
def size(request: pytest.FixtureRequest) -> Iterator[int]:
    """Return the size of arrays, and record operations of any size."""
    before = _bridge.set_threshold(min(_bridge.get_threshold(), 4))
    mxnp.synchronize()
    with installed():
        yield request.param
    _bridge.set_threshold(before)


EXPRESSIONS = [
    "{a}", "{a}", "({x} + {y})", "({x} * {y} % 31)", "({x} - {y})", "np.maximum({x}, {y})",
    "np.where({x} > 4, {x}, {y})", "({x} * 2)[::-1]", "keeper.combine({a}, {y})",
    "keeper.keep({x})", "keeper.keep_reversed({x})", "keeper.keep_reversed({x}, also={a})",
    "(keeper + {x})", "({x} if keeper.total() > 9 else {y})", "np.cumsum({x}) % 23",
    "keeper.call(lambda t: t + {y}, {x})", "keeper.call(lambda t: {y}, {a})",
    "keeper.call(write, {a})", "keeper.call(write_own, {x})", "keeper.call(np.sort, {x})",
    "keeper.call_twice(write, {a})", "keeper.call(np.abs({a}).clip, {y})",
    "keeper.keep_all([{x}, {a}])[1]", "keeper.keep_all(({x}, {a}))[0]",
    "list(map(keeper.keep, [{x}]))[0]", "keep_function({x})", "np.full(size, keeper[{n}][0])",
]  # fmt: skip
STATEMENTS = [
    "{a} = {x} % 41", "{a} = {x} % 37", "{a} += {x} % 7", "{a}[{n}::5] = {n}", "{a} -= 1",
    "{a} = keeper.call(write, {x}) % 29", "see({x})", "see(keeper.total())",
    "{a}[::2] += 1; see(keeper.copies())", "keeper.write({n})", "keeper.write_one({n}, 2)",
    "v = {a}[1::2]; v += 3", "v = keeper.view({n}); v %= 11", "keeper.last = {x}",
    "v = keeper.last; v = None if v is None else v + 1; see(v)", "keeper[{n}] = {x}",
    "keeper[{n}][...] = {n}", "keeper += {a}", "keeper.forget()", "see(float({a}[{n} % 8]))",
    "items = [{a}, {x}]; keeper.swap(items); see(items); items[1] += 1",
    "items = dict(x={a}); keeper.fill(items); see(items['new']); items['x'] -= 2",
    "g = keeper.steps({a}); see(next(g)); {a} *= 2; see(next(g)); {a} %= 19",
    "for v in keeper.views(): v += {n}", "see([v + 1 for v in keeper.views()])",
    "with keeper as v: v -= 1", "see(keeper.call_kept(write_own, {n}))",
    "see(keeper.call_kept(lambda t: t * 2, {n}))", "kept.append({a}); kept[-1][0] = {n}",
    "keeper.call(remember, {a}); kept[-1][1:3] += 1", "{a} = {x} % 43; keeper.write({n})",
    "try: keeper.call(raise_after_write, {a})\nexcept ValueError: see({a})",
    "v = keeper.pair({a}); v.view[1:3] += {n}; {a} += v[0] % 3; keeper.write(2)",
    "v = keeper.split({a}); v[1] -= 2; keeper.write_one(-1, 3); see(v[0] + v[1])",
    "v = keeper.mapping({x}); v['view'] *= 2; v['views'][1] -= 1; see(v['x'] * 2)",
    "v = keeper.mapping({a}); {a} += 1; v['views'][0] %= 5; see(keeper.copies())",
    "v = keeper.state({a}); {a} += 2; v[1][1][:2] -= {n}; see(keeper.check_state())",
    "v = keeper.state(); v[0] += 1; see(v[1][0] * 3); see(keeper.check_state())",
    "v = keeper.view_of_view({a}); {a} -= 1; v += 3; see(keeper.copies())",
    "v = keeper.reshaped({a}); {a} *= 2; v[1] += 1; {a} %= 29; see(v.sum(axis=0) % 31)",
    "v = keeper.view_of_view({a}); w = v + 1; keeper.write({n}); see([v, w])",
    "w = {a} * 2; keeper.keep({a}); v = {a} + w; keeper.write({n}); see([w, v])",
    "keeper.current = {x}; keeper.use_current({n}); see(keeper.current)",
    "keeper.current = {a}; {a} += 1; keeper.use_current({n}); {a}[1] = {n}",
    "keeper.use_current({n}); v = keeper.current; v = None if v is None else v + 1",
    "keeper.get_table()['x'] = {x}; keeper.use_table({n})",
    "keeper.table['y'] = {a}; {a} += 1; see(keeper.total()); {a} *= 2; keeper.use_table(1)",
    "keeper.table.update(x={a}, y={x}); {a}[2] = {n}; keeper.use_table({n}); {a} += 1",
    "v = keeper.table.get('y', {a}); v += 2; keeper.use_table(2); see(v)",
    "keeper.pull({x} + i for i in range(2))", "keeper.pull(steps({a}), {n})",
    "g = steps({a}); keeper.pull(g, 1); {a} += 1; see(next(g)); keeper.pull(g, 1)",
    "keeper.pull(zip_first({a}, {x})); {a} -= 2", "keeper.pull(dict(x={a}, y={x}).values())",
    "keeper.drive(steps({a}), {x}); {a} += {n}", "keeper.drive(echo({x}), {a}); {a} *= 2",
    "g = keeper.running(); next(g); v = g.send({a}); {a} += 1; see(v); v = g.send({x} + v[0])",
    "keeper.pull(deque([{a}, {x}])); {a} += 1; keeper.write({n})",
    "v = OrderedDict(x={a}, y={x}); keeper.fill(v); {a} %= 9; see([v['x'], v['y'], v['new']])",
    "keeper.call(remember, {x}); {a} += kept[-1][0]", "{a} = np.asarray({x} % 47)",
]  # fmt: skip
FUNCTIONS = """
from collections import OrderedDict, deque
kept = []
keep_function = keeper.keep

def write(t):
    t += 1
    a1[:] = a1 % 17 + 2
    return t % 59

def write_own(t):
    a0[1:] -= 1
    keeper.write(1)
    a2[:] = a2 * 2 % 53
    return t + a0[0]

def remember(t):
    kept.append(t)
    return t

def steps(t):
    for i in range(4):
        t += i
        yield t
        a1[2:] += t[0] % 3

def echo(t):
    while True:
        t = yield t
        a0[:] = a0 % 13 + t[1]

def zip_first(*arrays):
    return map(lambda pair: pair[0], zip(arrays, arrays))

def raise_after_write(t):
    t += 5
    a0[:3] += 1
    raise ValueError("a fault of the program")
"""


def expression(rng: random.Random, depth: int) -> str:
    return rng.choice(EXPRESSIONS if depth else EXPRESSIONS[:1]).format(
        a=f"a{rng.randrange(3)}",
        n=rng.randrange(8),
        x=depth and expression(rng, depth - 1),
        y=depth and expression(rng, depth - 1),
    )


def program(seed: int) -> str:
    """Return a program whose arrays are global, for it and its callbacks."""
    rng = random.Random(seed)
    lines = [
        rng.choice(STATEMENTS).format(
            a=f"a{rng.randrange(3)}",
            n=rng.randrange(8),
            x=expression(rng, rng.randrange(3)),
        )
        for _ in range(rng.randrange(4, 16))
    ]
    body = "\n".join([*lines, "see([a0, a1, a2, kept, keeper.copies()])"])
    if rng.random() < 0.5:
        return f"{FUNCTIONS}\n{body}"
    body = textwrap.indent(f"global a0, a1, a2, keeper\n{body}", "    ")
    return f"{FUNCTIONS}\ndef main():\n{body}\nmain()"


def run(np: Any, text: str, size: int) -> Any:
    """Run a program, with NumPy as code of another package, which has no doors."""
    from visited.keeper import Keeper  # type: ignore[import-not-found]

    keeper = Keeper()
    seen: list[Any] = []
    names = {"np": np, "keeper": keeper, "size": size, "__name__": "__main__"}
    names |= {f"a{i}": np.arange(float(size)) * (i + 1) % 10 + i for i in range(3)}
    names["see"] = lambda x: seen.append(plain(x))
    if np is numpy:
        names |= {"__name__": "other", "__file__": f"{FOLDER}/other.py"}
    try:
        with numpy.errstate(all="ignore"):
            exec(compile(text, "<stdin>", "exec"), names)
    except Exception as error:
        seen.append((type(error), str(error)))
    assert mxnp.ndarray not in keeper.classes
    return seen, plain(keeper.kept), [plain(names[f"a{i}"]) for i in range(3)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, size: int) -> None:
    for seed in range(part, PROGRAMS, 4):
        text = program(seed)
        wanted = run(numpy, text, size)
        assert run(mxnp, text, size) == wanted, f"seed {seed}:\n{text}"


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_view_that_both_keep(is_kept: bool, size: int) -> None:
    text = f"""
view = keeper.keep_reversed(a0)
if not {is_kept}:
    del view
a0[::2] += 100
see(keeper.copies())
"""
    assert run(mxnp, text, size) == run(numpy, text, size)
