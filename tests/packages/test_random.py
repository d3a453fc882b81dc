"""Test that NumPy's random generators, which packages use, take mxnp arrays."""

import importlib
from pathlib import Path

import numpy
import pytest
from support.processes import end_of

from mxnp import _bridge

GENERATORS = {
    "Generator": numpy.random.default_rng,
    "RandomState": numpy.random.RandomState,
    "functions": lambda seed: numpy.random.seed(seed) or numpy.random,
}
OURS = {
    "Generator": lambda xp: xp.random.default_rng(0),
    "RandomState": lambda xp: xp.random.RandomState(0),
    "functions": lambda xp: xp.random.seed(0) or xp.random,
}


@pytest.fixture(params=[6, 20_000], ids=["small", "large"])
def n(request):
    return request.param


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
class TestOfPackages:
    def test_shuffle(self, xp, make, n):
        x, y = xp.arange(2 * n).reshape(n, 2) * 1, xp.arange(float(n)) + 1
        earlier = y * 2
        make(0).shuffle(x)
        make(1).shuffle(y)
        return x, y, earlier, x.sum()

    def test_shuffle_views(self, xp, make, n):
        x = xp.arange(2 * n).reshape(n, 2) * 1
        make(0).shuffle(x[::2])
        make(0).shuffle(x[:, 1])
        return x

    def test_permutation_and_choice(self, xp, make, n):
        x = xp.arange(n) * 2
        weights = (xp.arange(n) + 1) / (xp.arange(n) + 1).sum()
        rng = make(0)
        drawn = rng.choice(x, 5, p=weights), rng.choice(x), rng.permutation(x)
        return [numpy.asarray(one).tolist() for one in drawn]

    def test_parameters(self, xp, make):
        rng, x = make(0), xp.arange(1.0, 4) + 1
        drawn = rng.normal(x, scale=x), rng.multinomial(9, x / x.sum()), rng.poisson(x)
        return [one.tolist() for one in drawn]

    def test_shuffle_lists(self, xp, make):
        items = [xp.full(2, i) for i in range(40)]
        shuffled = list(items)
        make(0).shuffle(shuffled)
        return [[item is one for one in items].index(True) for item in shuffled]


class TestGeneratorsOfPackages:
    def test_axes(self, xp, n):
        x = xp.arange(12 * n).reshape(4, n, 3) * 1
        rng = numpy.random.default_rng(0)
        rng.shuffle(x, axis=1)
        rng.shuffle(x, axis=-1)
        return x, rng.permuted(x, axis=1).tolist()

    def test_results_into_arrays(self, xp, n):
        rng = numpy.random.default_rng(0)
        x, y = xp.zeros(n), xp.arange(n) * 1
        z = xp.zeros(n, "f4")
        same = (
            rng.random(out=x) is x,
            rng.permuted(y, out=y) is y,
            rng.standard_normal(n, "f4", out=z) is z,
        )
        return x, y, z, same

    def test_errors(self, xp):
        rng = numpy.random.default_rng(0)
        with pytest.raises(TypeError, match="wrong type"):
            rng.random(out=xp.zeros(3, int))
        with pytest.raises(ValueError, match="sum to 1"):
            rng.choice(xp.arange(3), p=xp.ones(3))
        x = xp.arange(3)
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            rng.shuffle(x)

    @pytest.mark.parametrize("name", ["SeedSequence", "PCG64", "MT19937", "Philox"])
    def test_seeds(self, xp, name):
        made = getattr(numpy.random, name)(xp.array([3, 5]) + 1)
        if name == "SeedSequence":
            return made.generate_state(3).tolist()
        return numpy.random.Generator(made).integers(0, 99, 5).tolist()

    def test_states(self, xp):
        made = numpy.random.MT19937(0)
        made.state = {
            "bit_generator": "MT19937",
            "state": {"key": xp.arange(624), "pos": 3},
        }
        state = numpy.random.RandomState(0)
        state.set_state(("MT19937", xp.arange(624), 3))
        return numpy.random.Generator(made).random(3).tolist(), state.rand(3).tolist()

    @pytest.mark.slow
    @pytest.mark.needs("sklearn")
    def test_of_scikit_learn(self, xp):
        from sklearn.utils import check_random_state

        x = xp.arange(12).reshape(6, 2) * 1
        check_random_state(0).shuffle(x)
        return x

    @pytest.mark.slow
    @pytest.mark.needs("scipy")
    def test_in_cython_code(self, xp):
        from scipy.linalg.interpolative import interp_decomp

        a = xp.vander(xp.arange(1.0, 9) / 8)
        found = interp_decomp(a, 1e-8, rng=xp.random.default_rng(0))
        return found[0], found[1].tolist()


@pytest.mark.parametrize("make", OURS.values(), ids=OURS)
class TestListsOfPrograms:
    """A program shuffles its list of examples."""

    def order(self, items, before):
        return [[item is one for one in before].index(True) for item in items]

    def test_arrays(self, xp, make, n):
        before = [xp.arange(n) * 1.0 + i for i in range(40)]
        items = list(before)
        make(xp).shuffle(items)
        return self.order(items, before)

    def test_pairs(self, xp, make):
        before = [(xp.arange(3) * i, xp.array([i])) for i in range(9)]
        before += [[xp.ones(2), 1], {"x": xp.ones(2)}, 7, "text"]
        items = list(before)
        make(xp).shuffle(items)
        return self.order(items, before)

    def test_numbers(self, xp, make):
        items = list(range(9))
        make(xp).shuffle(items)
        return items


# Functions of NumPy that hand a list of the program on to a function of the program.
HAND_ON = {
    "apply_along_axis": lambda xp, f, x, seen: xp.apply_along_axis(f, 1, x, seen),
    "named": lambda xp, f, x, seen: xp.apply_along_axis(f, 1, x, seen=seen),
    "piecewise": lambda xp, f, x, seen: xp.piecewise(x, [x < 1, x >= 1], [f, 3], seen),
    "fromfunction": lambda xp, f, x, seen: xp.fromfunction(
        lambda i: f(i + x[0, 0], seen), (3,)
    ),
    "vectorize": lambda xp, f, x, seen: xp.vectorize(f, excluded={1})(x, seen),
    "vectorize by name": lambda xp, f, x, seen: xp.vectorize(f, excluded={"seen"})(
        x, seen=seen
    ),
}


@pytest.mark.parametrize("hand_on", HAND_ON.values(), ids=HAND_ON)
def test_lists_that_numpy_hands_on(xp, hand_on):
    first = xp.zeros(1)
    found = [first, {"a": [first]}]

    def own(x, seen):
        assert seen is found
        seen.append(float(xp.sum(x)))
        return xp.sum(x)

    y = hand_on(xp, own, xp.eye(2) + 1.5, found)
    return y, found[0] is found[1]["a"][0] is first, found[2:]


def test_a_function_that_packages_call(xp):
    first = xp.zeros(1)
    found = [first]
    numpy.apply_along_axis(lambda row, seen: seen.append(1) or 0, 1, xp.eye(2), found)
    return found[0] is first, found[1:]


def test_a_generator_is_its_own_generator(xp):
    rng, state = xp.random.default_rng(3), xp.random.RandomState(3)
    other = xp.random.default_rng(state)
    return xp.random.default_rng(rng) is rng, other.random() == state.random()


def test_the_samplers_are_those_of_one_numpy():
    """Without them, the tests of draws on threads are skipped."""
    library = Path(numpy.random.__file__).parent / "lib" / "libnpyrandom.a"
    found = [i for i in range(1000) if _bridge.has_samplers(f"2.{i}.0")]
    assert len(found) == library.exists()
    for minor in found:  # the wheel may have been built with another NumPy
        assert _bridge.has_samplers(f"2.{minor}.12")
        assert not _bridge.has_samplers(f"2.{minor}")


SEEDED = {
    "scipy.stats": lambda stats, seed: stats.norm.rvs(size=3, random_state=seed),
    "sklearn.utils": lambda utils, seed: utils.check_random_state(seed).random(3),
    "networkx": lambda nx, seed: nx.gnp_random_graph(9, 0.5, seed=seed).edges,
    "lmfit.minimizer": lambda lmfit, seed: lmfit._make_random_gen(seed).random(3),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.needs(n.split(".")[0])) for n in SEEDED]
)
def test_the_module_is_a_seed(xp, name):
    """`if seed is np.random`, a package asks, and means NumPy's module."""
    xp.random.seed(5)
    return list(SEEDED[name](importlib.import_module(name), xp.random))


AFTERWARDS = """
from scipy import stats
import mxnp as np
np.random.seed(5)
print(*stats.norm.rvs(size=3, random_state=np.random) == np.random.RandomState(5).randn(3))
"""


@pytest.mark.needs("scipy")
def test_the_module_is_a_seed_of_packages_that_were_imported_before():
    end = end_of("-c", AFTERWARDS)
    assert (end.status, end.out) == (0, "True True True\n"), end.err
