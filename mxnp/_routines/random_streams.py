"""Forms of the draws of NumPy's random generators, which run on all threads.

They draw immediately, in the core, with the bits that NumPy would draw, and leave the
bit generator in the state in which NumPy leaves it. What is unusual is left to NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy
from numpy.random import Generator, RandomState

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine.threads import count_threads
from mxnp._namespace.mirror import find_counterpart
from mxnp._namespace.ordinary import ORDINARY

from .arguments import is_core_dtype

# -- Bit generators -------------------------------------------------------------------

_KINDS = {"PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"}


def _bits_of(generator: Any) -> Any:
    """Return the bit generator of a RandomState, or itself."""
    is_state = isinstance(generator, RandomState)
    return generator._bit_generator if is_state else generator


def _numpys_class(generator: Any) -> Any:
    """Return NumPy's class of the bit generator, or None if the core does not draw.

    A program may have derived a class of its own.
    """
    kind = type(_bits_of(generator))
    if kind.__name__ not in _KINDS:
        return None
    original = getattr(numpy.random, kind.__name__)
    return original if kind in (original, find_counterpart(original)) else None


# -- Draws ----------------------------------------------------------------------------

_Parameters = tuple[float, ...]
_SAMPLE = 401  # draws by which a sampler is compared with NumPy's
_agrees: dict[tuple[Any, ...], bool] = {}


class _Draw(NamedTuple):
    """What is drawn: a sampler of the core, and the method of NumPy that draws so."""

    sampler: str
    parameters: _Parameters
    dtype: str
    owner: type  # Generator or RandomState
    method: str  # which has its numbers
    keywords: dict[str, Any]  # of the method, without size


def _fill(generator: Any, kind: str, out: Any, draw: _Draw) -> bool:
    """
    Fill an array with draws of a RandomState or a bit generator.

    The core reads the state and writes it in one step, which no signal interrupts.
    """
    capsule = _bits_of(generator).capsule
    done = _bridge.draw(out, draw.sampler, draw.parameters, kind, capsule, generator)
    return done is True


def _is_numpys(original: Any, draw: _Draw) -> bool | None:
    """
    Return whether a sampler has the bits of the NumPy that runs.

    The samplers are those of the NumPy with which the core was built, which has the
    same minor version. It is None if the core declines these parameters.
    """
    theirs, ours = draw.owner(original(0)), draw.owner(original(0))
    expected = getattr(theirs, draw.method)(size=_SAMPLE, **draw.keywords)
    out = _bridge.empty((_SAMPLE,), expected.dtype.num, False)
    source = ours.bit_generator if draw.owner is Generator else ours
    if not _fill(source, original.__name__, out, draw):
        return None
    is_same: bool = numpy.asarray(out).tobytes() == expected.tobytes()
    return is_same and _state_of(ours) == _state_of(theirs)


def _state_of(owner: Any) -> Any:
    """Return the state of a generator, with lists in place of arrays."""
    is_new = isinstance(owner, Generator)
    return _listed(
        owner.bit_generator.state if is_new else owner.get_state(legacy=False)
    )


def _listed(state: Any) -> Any:
    """Return a state with lists in place of arrays."""
    if type(state) is dict:
        return {name: _listed(value) for name, value in state.items()}
    return numpy.asarray(state).tolist()


def _known(original: Any, draw: _Draw) -> bool:
    """Return whether a sampler has NumPy's bits, for parameters of about this size."""
    sizes = tuple(math.frexp(number)[1] for number in draw.parameters)
    key = original, draw.sampler, draw.owner, draw.method, draw.dtype, sizes
    if key not in _agrees:
        agrees = _is_numpys(original, draw)
        if agrees is None:
            return False
        _agrees[key] = agrees
    return _agrees[key]


def _shape(size: Any) -> tuple[int, ...] | None:
    """Return the shape of a draw, or None if NumPy must handle it."""
    shape = size if type(size) is tuple else (size,)
    is_plain = all(type(n) is int and n > 0 for n in shape)
    return shape if shape and is_plain else None


def _is_output(out: Any, size: Any, dtype: Any) -> bool:
    """Return whether NumPy would write its draws to an array."""
    return (
        type(out) is ndarray
        and out.dtype == dtype
        and out.flags.carray
        and out.size > 0
        and (size is None or _shape(size) == out.shape)
    )


def _always_pays(sampler: str) -> bool:
    """Return whether draws of a sampler are faster than NumPy's, whatever they are."""
    return sampler in ("uniform_f", "integers_8") or count_threads() > 1


def _pays(draw: _Draw, kind: str) -> bool:
    """Return whether draws are faster than NumPy's, in one thread if there is one."""
    if _always_pays(draw.sampler):
        return True
    is_shifted = draw.parameters != (0.0, 1.0)
    return draw.sampler == "uniform" and (is_shifted or kind == "MT19937")


def _draw(generator: Any, draw: _Draw, size: Any, out: Any = None) -> Any:
    """Return draws of a RandomState or a bit generator, or NotImplemented."""
    dtype, original = numpy.dtype(draw.dtype), _numpys_class(generator)
    if original is None or not _pays(draw, original.__name__):
        return NotImplemented
    if out is None:
        shape = _shape(size)
        if shape is None:
            return NotImplemented
        out = _bridge.empty(shape, dtype.num, False)
        if out is NotImplemented:
            return NotImplemented
    elif not _is_output(out, size, dtype):
        return NotImplemented
    if not _known(original, draw):
        return NotImplemented
    with _bits_of(generator).lock:
        has_drawn = _fill(generator, original.__name__, out, draw)
    return out if has_drawn else NotImplemented


# -- Parameters -----------------------------------------------------------------------

_Test = Callable[[float], bool]


class _Parameter(NamedTuple):
    """A parameter of a distribution, and the values that NumPy accepts, or some."""

    name: str
    accepts: _Test
    default: float | None = None
    is_integer: bool = False


def _is_least(x: float) -> bool:
    return 0 <= x < math.inf and math.copysign(1, x) > 0  # NumPy looks at the sign


def _any(name: str, default: float | None = None) -> _Parameter:
    return _Parameter(name, math.isfinite, default)


def _least(name: str, default: float | None = None) -> _Parameter:
    return _Parameter(name, _is_least, default)


def _positive(name: str) -> _Parameter:
    return _Parameter(name, lambda x: 0 < x < math.inf)


def _count(name: str) -> _Parameter:
    return _Parameter(name, lambda x: 0 <= x < 10**9, None, True)


_probability = _Parameter("p", lambda x: 0 < x <= 1)
_LOCATED = _any("loc", 0.0), _least("scale", 1.0)


class _Row(NamedTuple):
    """A distribution: a method's sampler, its parameters, and its dtype."""

    parameters: tuple[_Parameter, ...] = ()
    dtype: str = "float64"
    sampler: str = ""  # that of the name of the method, unless given


_lam = _Parameter("lam", lambda x: 0 <= x < 2.0**62, 1.0)
_trials = _Parameter("n", lambda x: 0 <= x < 2**62, None, True)
_COMMON = {
    "normal": _Row(_LOCATED),
    "exponential": _Row((_least("scale", 1.0),)),
    "laplace": _Row(_LOCATED),
    "gumbel": _Row(_LOCATED),
    "logistic": _Row(_LOCATED),
    "triangular": _Row((_any("left"), _any("mode"), _any("right"))),
    "poisson": _Row((_lam,), "int64"),
    "binomial": _Row((_trials, _probability), "int64"),
}
_OF_GENERATOR = _COMMON | {
    "standard_cauchy": _Row(),
    "chisquare": _Row((_positive("df"),)),
    "pareto": _Row((_positive("a"),)),
    "weibull": _Row((_least("a"),)),
    "power": _Row((_positive("a"),)),
    "rayleigh": _Row((_least("scale", 1.0),)),
    "standard_t": _Row((_positive("df"),)),
    "gamma": _Row((_least("shape"), _least("scale", 1.0))),
    "beta": _Row((_positive("a"), _positive("b"))),
    "f": _Row((_positive("dfnum"), _positive("dfden"))),
    "lognormal": _Row((_any("mean", 0.0), _least("sigma", 1.0))),
    "noncentral_chisquare": _Row((_positive("df"), _least("nonc"))),
    "noncentral_f": _Row((_positive("dfnum"), _positive("dfden"), _least("nonc"))),
    "wald": _Row((_positive("mean"), _positive("scale"))),
    "vonmises": _Row((_any("mu"), _least("kappa"))),
    "geometric": _Row((_probability,), "int64"),
    "logseries": _Row((_Parameter("p", lambda x: 0 < x < 1),), "int64"),
    "zipf": _Row((_Parameter("a", lambda x: 1 < x < math.inf),), "int64"),
    "negative_binomial": _Row(
        (
            _Parameter("n", lambda x: 0 < x < 1e9),
            _Parameter("p", lambda x: 1e-6 < x <= 1),
        ),
        "int64",
    ),
    "hypergeometric": _Row(
        (_count("ngood"), _count("nbad"), _count("nsample")), "int64"
    ),
}
# NumPy's legacy binomial numbers are those of another algorithm than the library's.
_OF_STATE = {
    **{name: row for name, row in _COMMON.items() if name != "binomial"},
    "normal": _Row(_LOCATED, sampler="gauss_pair"),
    "standard_normal": _Row(sampler="gauss_pair"),
    "exponential": _COMMON["exponential"]._replace(sampler="legacy_exponential"),
    "standard_exponential": _Row(sampler="legacy_exponential"),
}
_STANDARD_PARAMETERS = {
    "legacy_exponential": (1.0,),
    "gauss_pair": (0.0, 1.0),
}
_NUMBERS = (int, float, numpy.float64)
_is_dtype = ORDINARY["dtype"]


def _bind(
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name. For wrong ones, NumPy raises an error."""
    if len(args) > len(names) or not kwargs.keys() <= {*names[len(args) :]}:
        raise TypeError
    return dict(zip(names, args, strict=False)) | kwargs


def _read(parameters: tuple[_Parameter, ...], given: dict[str, Any]) -> Any:
    """Return the parameters among the arguments of a call, or None for odd ones."""
    values: list[float] = []
    for parameter in parameters:
        value: Any = given.get(parameter.name, parameter.default)
        kinds = (int,) if parameter.is_integer else _NUMBERS
        if type(value) not in kinds or not parameter.accepts(value):
            return None
        values.append(value if parameter.is_integer else float(value))
    return tuple(values)


def _are_ordered(name: str, values: _Parameters) -> bool:
    """Check parameters that depend on each other."""
    if name == "triangular":
        return values[0] <= values[1] <= values[2] and values[0] < values[2]
    if name == "hypergeometric":
        return values[0] + values[1] < 10**9 and values[2] <= values[0] + values[1]
    return True


# -- Forms ----------------------------------------------------------------------------


def _register(owner: type, name: str, form: Callable[..., Any]) -> None:
    """Assign a form to the name that the table of functions has for it."""
    globals()[f"_{owner.__name__.lower()}_{name}"] = form


def _distribution(owner: type, name: str, row: _Row) -> None:
    """Make the form of a method whose parameters are numbers."""
    names = (*(each.name for each in row.parameters), "size")
    sampler = row.sampler or name

    def form(generator: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bind(names, args, kwargs)
        values = _read(row.parameters, given)
        if values is None or not _are_ordered(name, values):
            return NotImplemented
        size = given.get("size")
        keywords = dict(zip(names, values, strict=False))
        values = values or _STANDARD_PARAMETERS.get(sampler, ())
        draw = _Draw(sampler, values, row.dtype, owner, name, keywords)
        return _draw(generator, draw, size)

    _register(owner, name, form)


def _standard(
    name: str, samplers: dict[str, str], parameters: tuple[_Parameter, ...] = ()
) -> None:
    """Make the form of a method that has the parameters `dtype` and `out`."""
    names = (*(each.name for each in parameters), "size", "dtype", "out")
    if name == "standard_exponential":
        names = "size", "dtype", "method", "out"

    def form(bits: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bind(names, args, kwargs)
        values = _read(parameters, given)
        if values is None or given.get("method", "zig") != "zig":
            return NotImplemented
        dtype = given.get("dtype", numpy.float64)
        if not _is_dtype(dtype):
            return NotImplemented
        found = numpy.dtype(dtype)
        kind = found.type.__name__  # the name of the dtype takes NumPy 3 us
        sampler = samplers.get(kind) if found.isnative else None
        if sampler is None:
            return NotImplemented
        keywords = dict(zip(names, values, strict=False)) | {"dtype": found}
        if sampler == "uniform":
            values = 0.0, 1.0
        draw = _Draw(sampler, values, kind, Generator, name, keywords)
        return _draw(bits, draw, given.get("size"), given.get("out"))

    _register(Generator, name, form)


def _uniform(owner: type) -> None:
    names = "low", "high", "size"
    parameters = _any("low", 0.0), _any("high", 1.0)

    def form(generator: Any, *args: Any, **kwargs: Any) -> Any:
        given = _bind(names, args, kwargs)
        low, high = _read(parameters, given) or (0.0, math.inf)
        is_range = _is_least(high - low) or (high == low and owner is RandomState)
        if not is_range:
            return NotImplemented
        keywords = {"low": low, "high": high}
        values = low, high - low
        draw = _Draw("uniform", values, "float64", owner, "uniform", keywords)
        return _draw(generator, draw, given.get("size"))

    _register(owner, "uniform", form)


def _legacy_random(name: str) -> None:
    def form(state: Any, size: Any = None) -> Any:
        draw = _Draw("uniform", (0.0, 1.0), "float64", RandomState, name, {})
        return _draw(state, draw, size)

    _register(RandomState, name, form)


def _dimensions(name: str, of: str) -> None:
    """Make the form of `rand` or `randn`, whose arguments are the shape."""

    def form(state: Any, *shape: Any) -> Any:
        return globals()[f"_randomstate_{of}"](state, shape)

    _register(RandomState, name, form)


def _draw_integers(
    generator: Any,
    owner: type,
    low: Any,
    high: Any,
    size: Any,
    dtype: Any,
    keywords: dict[str, Any],
) -> Any:
    """Draw integers of a range, which includes its end if the keywords say so."""
    if not _is_dtype(dtype):
        return NotImplemented
    found = numpy.dtype(dtype)
    least, end = (0, low) if high is None else (low, high)
    if type(least) is not int or type(end) is not int or found.kind not in "iub":
        return NotImplemented
    most = end if keywords.get("endpoint") else end - 1
    is_bool = found.kind == "b"
    name = "bools" if is_bool else f"integers_{8 * found.itemsize}"
    if not _always_pays(name):
        return NotImplemented
    limits = None if is_bool else numpy.iinfo(found)
    first, last = (limits.min, limits.max) if limits else (0, 1)
    if not first <= least < most <= last or not found.isnative:
        return NotImplemented
    keywords = {"low": least, "high": end, "dtype": dtype, **keywords}
    parameters = least % 2**64, most - least, int(owner is RandomState)
    method = "randint" if owner is RandomState else "integers"
    draw = _Draw(name, parameters, found.name, owner, method, keywords)
    return _draw(generator, draw, size)


def _integers(
    bits: Any,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = numpy.int64,
    endpoint: Any = False,
) -> Any:
    if type(endpoint) is not bool:
        return NotImplemented
    keywords = {"endpoint": endpoint}
    return _draw_integers(bits, Generator, low, high, size, dtype, keywords)


def _randint(
    state: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = int
) -> Any:
    return _draw_integers(state, RandomState, low, high, size, dtype, {})


# -- Exchanges ------------------------------------------------------------------------

_MANY = 10_001  # elements from which NumPy chooses some by exchanges
_LONGEST = 2**32 - 1  # elements that are exchanged by halves of words
_arange: Any = find_counterpart(numpy.arange)


def _exchange_elements(
    generator: Any, kind: str, out: Any, first: int, is_masked: bool
) -> bool:
    """Exchange each element of a row from one on with itself or one before it."""
    parameters = first, out.itemsize, int(is_masked)
    draw = _Draw("shuffle", parameters, out.dtype.name, Generator, "shuffle", {})
    return _fill(generator, kind, out, draw)


@cache
def _exchanges(original: Any, owner: type, is_masked: bool) -> bool:
    """Return whether the core exchanges elements as the NumPy that runs does."""
    theirs, ours = owner(original(0)), owner(original(0))
    if is_masked:
        expected, first = theirs.permutation(_MANY), 1
    else:
        expected, first = theirs.choice(_MANY, _SAMPLE, False), _MANY - _SAMPLE
    out = _arange(_MANY)
    source = ours.bit_generator if owner is Generator else ours
    if not _exchange_elements(source, original.__name__, out, first, is_masked):
        return False
    is_same: bool = numpy.asarray(out)[-expected.size :].tobytes() == expected.tobytes()
    return is_same and _state_of(ours) == _state_of(theirs)


def _exchange(generator: Any, out: Any, first: int = 1, is_masked: bool = True) -> Any:
    """Return a row whose elements are exchanged in place, or NotImplemented."""
    original = _numpys_class(generator)
    owner = RandomState if isinstance(generator, RandomState) else Generator
    if original is None or not _exchanges(original, owner, is_masked):
        return NotImplemented
    with _bits_of(generator).lock:
        done = _exchange_elements(generator, original.__name__, out, first, is_masked)
    return out if done else NotImplemented


def _is_row(x: Any, axis: Any) -> bool:
    """Return whether the core may exchange the elements of an array, or of a copy."""
    is_row = type(x) is ndarray and x.ndim == 1 and 1 < x.size <= _LONGEST
    return is_row and type(axis) is int and axis == 0 and is_core_dtype(x.dtype)


def _permutation(generator: Any, x: Any, axis: Any = 0) -> Any:
    if _is_row(x, axis):
        return _exchange(generator, x.copy())
    is_number = type(x) is int and type(axis) is int
    if not is_number or not 1 < x <= _LONGEST:
        return NotImplemented
    return _exchange(generator, _arange(x))


def _shuffle(generator: Any, x: Any, axis: Any = 0) -> Any:
    if not _is_row(x, axis) or not x.flags.carray:
        return NotImplemented
    done = _exchange(generator, x)
    return done if done is NotImplemented else None


def _legacy_permutation(state: Any, x: Any) -> Any:
    return _permutation(state, x)


def _legacy_shuffle(state: Any, x: Any) -> Any:
    return _shuffle(state, x)


def _choose_some(bits: Any, a: Any, size: Any, axis: Any, shuffle: bool) -> Any:
    """Choose elements once each: they are the last ones after exchanges."""
    shape = _shape(size)
    if type(a) is ndarray and type(axis) is int and -a.ndim <= axis < a.ndim:
        n = a.shape[axis]
    elif type(a) is int:
        n = a
    else:
        return NotImplemented
    if shape is None or not _MANY <= n <= _LONGEST:
        return NotImplemented
    chosen = math.prod(shape)
    if not n // (50 if shuffle else 20) < chosen <= n:
        return NotImplemented  # NumPy chooses few in another way
    places = _exchange(bits, _arange(n), max(n - chosen, 1), is_masked=False)
    if places is NotImplemented:
        return places
    places = places[n - chosen :].reshape(shape).copy()
    return places if type(a) is int else a.take(places, axis=axis)


def _choose(
    integers: Callable[..., Any], generator: Any, a: Any, size: Any, axis: Any
) -> Any:
    """Choose elements with replacement: they are those at random positions."""
    if type(a) is int:
        return integers(generator, 0, a, size)
    if type(a) is not ndarray or type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    places = integers(generator, 0, a.shape[axis], size)
    return places if places is NotImplemented else a.take(places, axis=axis)


def _choice(
    bits: Any,
    a: Any,
    size: Any = None,
    replace: Any = True,
    p: Any = None,
    axis: Any = 0,
    shuffle: Any = True,
) -> Any:
    if type(replace) is not bool or p is not None or type(shuffle) is not bool:
        return NotImplemented
    if not replace:
        return _choose_some(bits, a, size, axis, shuffle)
    return _choose(_integers, bits, a, size, axis)


def _legacy_choice(
    state: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    if replace is not True or p is not None or (type(a) is ndarray and a.ndim != 1):
        return NotImplemented
    return _choose(_randint, state, a, size, 0)


def _names(name: str) -> dict[str, str]:
    return {"float64": name, "float32": f"{name}_f"}


for _name, _row in _OF_GENERATOR.items():
    _distribution(Generator, _name, _row)
for _name, _row in _OF_STATE.items():
    _distribution(RandomState, _name, _row)
_standard("random", _names("uniform"))
_standard("standard_normal", _names("standard_normal"))
_standard("standard_exponential", _names("standard_exponential"))
_standard("standard_gamma", _names("standard_gamma"), (_least("shape"),))
_uniform(Generator)
_uniform(RandomState)
_legacy_random("random_sample")
_legacy_random("random")
_dimensions("rand", "random_sample")
_dimensions("randn", "standard_normal")
_generator_integers = _integers
_randomstate_randint = _randint
_generator_choice, _generator_permutation = _choice, _permutation
_generator_shuffle, _randomstate_shuffle = _shuffle, _legacy_shuffle
_randomstate_permutation = _legacy_permutation
_randomstate_choice = _legacy_choice
