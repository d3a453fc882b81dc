"""Compare random operations, keys and assignments of small arrays with NumPy."""

import gc
import operator
import os
import random
import sys
import warnings
import weakref

import numpy
import pytest
from support.same import assert_same

import mxnp

pytestmark = pytest.mark.skipif(
    os.environ.get("MXNP_THRESHOLD") == "0", reason="all operations are recorded"
)

DTYPES = "?bhilqBHILQefdFD"
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
    operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift,
    operator.rshift, operator.pow, operator.lt, operator.le, operator.eq, operator.ne,
    operator.gt, operator.ge,
]  # fmt: skip
INPLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.iand, operator.ior, operator.ixor, operator.ipow,
]  # fmt: skip
UNARY = [operator.neg, operator.pos, operator.abs, operator.invert]
UFUNCS = [
    "add", "multiply", "maximum", "minimum", "hypot", "arctan2", "fmax", "exp", "log", "sqrt",
    "sin", "tanh", "abs", "floor", "sign", "isnan", "logical_not", "square", "power", "divmod",
    "greater", "logical_and", "float_power",
]  # fmt: skip
NUMBERS = [
    0, 1, 2, -1, 3, 127, 128, 255, 256, -129, 2**31, 2**63, -(2**63), 2**64, 0.0, -0.0, 0.5, 1.0,
    2.0, -1.0, 1e10, 1e39, 1e300, float("inf"), float("nan"), 1j, 0.5 + 2j, True, False,
]  # fmt: skip
ROUNDS = 400


def values(rng, dtype, shape):
    size = int(numpy.prod(shape))
    few = [0, 1, 2, 3, 7, -1, -2, 100, 0.5, -0.25, 1e4]
    numbers = rng.choices(few, k=min(max(size, 4), 997))
    if rng.random() < 0.15:
        numbers[:4] = [numpy.inf, -numpy.inf, numpy.nan, 3e38]
        rng.shuffle(numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = numpy.resize(numpy.array(numbers), size)
        return flat.astype(dtype).reshape(shape)


def lay_out(rng, a):
    """Return an array with the same elements in another layout."""
    kind = rng.randrange(8)
    if kind == 0 and a.ndim:
        wide = numpy.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
        wide[..., 1::2] = a
        return wide[..., 1::2]
    if kind == 1:
        return numpy.asfortranarray(a)
    if kind == 2 and a.ndim:
        return a[::-1].copy()[::-1]
    if kind == 3 and a.ndim > 1:
        return a.swapaxes(0, 1).copy().swapaxes(0, 1)
    if kind == 4 and a.dtype.itemsize > 1:
        raw = numpy.zeros(a.nbytes + 1, "u1")[1:]
        view = raw.view(a.dtype).reshape(a.shape) if a.flags.c_contiguous else a
        view[...] = a
        return view
    if kind == 5 and rng.random() < 0.3:
        return a.astype(a.dtype.newbyteorder())
    return a


SHAPES = [(), (1,), (2,), (5,), (17,), (64,), (1, 1), (3, 4), (4, 1), (1, 4), (3, 1, 4), (2, 3, 4),
          (0,), (3, 0), (2, 3, 2, 2), (1, 3, 1, 2, 2)]  # fmt: skip


def operand(rng, shapes=SHAPES):
    if rng.random() < 0.3:
        return rng.choice(NUMBERS)
    dtype = rng.choice(DTYPES)
    if rng.random() < 0.2:
        return numpy.dtype(dtype).type(rng.choice([0, 1, 2, 5]))
    return lay_out(rng, values(rng, dtype, rng.choice(shapes)))


def outcome(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:
            result = (type(error), str(error))
        mxnp.synchronize()
    return result, [(w.category, str(w.message)) for w in caught]


def compare(function, ours, numpys, where):
    expected, expected_warnings = outcome(function, *numpys)
    result, its_warnings = outcome(function, *ours)
    assert_same(result, expected, where)
    assert its_warnings == expected_warnings, where


def copies(rng, *arguments):
    """Return two lists of copies of the arguments, with the same layout."""
    lists = []
    for wrap in (numpy.asarray, mxnp.asarray):
        state = rng.getstate()
        made = []
        for x in arguments:
            if isinstance(x, numpy.ndarray):
                x = wrap(clone(x))
            made.append(x)
        rng.setstate(state)
        lists.append(made)
    return lists


def clone(a):
    """Return a copy with the strides, the alignment and the byte order of an array."""
    if a.size == 0 or a.ndim == 0:
        return a.copy(order="K")
    low = sum(min(0, s * (n - 1)) for s, n in zip(a.strides, a.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(a.strides, a.shape))
    raw = numpy.zeros(high - low + a.itemsize + 16, "u1")
    offset = -low + a.ctypes.data % 16 % max(a.dtype.alignment, 1)
    out = numpy.ndarray(a.shape, a.dtype, raw, offset, a.strides)
    out[...] = a
    return out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.any_nan
def test_operators_agree(seed):
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        function = rng.choice(BINARY + UNARY)
        n = 1 if function in UNARY else 2
        numpys, ours = copies(rng, *(operand(rng) for _ in range(n)))
        if not any(isinstance(x, numpy.ndarray) for x in numpys):
            continue
        compare(function, ours, numpys, f"{seed}: {function.__name__}{numpys}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_ufuncs_agree(seed):
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        name = rng.choice(UFUNCS)
        nin = getattr(numpy, name).nin
        numpys, ours = copies(rng, *(operand(rng) for _ in range(nin)))
        if not any(isinstance(x, numpy.ndarray) for x in numpys):
            continue
        where = f"{seed}: {name}{numpys}"
        expected, expected_warnings = outcome(getattr(numpy, name), *numpys)
        result, its_warnings = outcome(getattr(mxnp, name), *ours)
        assert_same(result, expected, where)
        assert its_warnings == expected_warnings, where


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_inplace_operators_agree(seed):
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        function = rng.choice(INPLACE)
        shape = rng.choice(SHAPES)
        target = lay_out(rng, values(rng, rng.choice(DTYPES), shape))
        other = operand(rng, [shape, (), shape[-1:], (1,)])
        numpys, ours = copies(rng, target, other)
        where = f"{seed}: {function.__name__}{numpys}"
        compare(function, ours, numpys, where)
        if function is not operator.ipow or target.dtype.kind not in "biu":
            # NumPy leaves undefined values when it refuses a negative exponent.
            assert_same(ours[0], numpys[0], where)


def part(rng):
    kind = rng.randrange(9)
    if kind < 3:
        return rng.randrange(-5, 5)
    if kind < 6:
        ends = [None, *range(-6, 7)]
        return slice(
            rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, -1, -2, 3])
        )
    if kind == 6:
        return rng.choice([None, Ellipsis])
    if kind == 7:
        return rng.choice([numpy.int64(1), numpy.uint8(0), numpy.intp(-1), 2**70, True])
    return rng.choice([0, 1])


def key(rng):
    n = rng.randrange(5)
    return part(rng) if n == 0 else tuple(part(rng) for _ in range(n))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_items_agree(seed):
    rng = random.Random(seed)
    dtypes = [*DTYPES, "g", "M8[s]", "m8[s]", "U3", "O", "i4,f8"]
    for _ in range(ROUNDS):
        shape, dtype, where = rng.choice(SHAPES), rng.choice(dtypes), key(rng)
        with numpy.errstate(all="ignore"):
            a = values(rng, "i8", shape).astype(dtype)
        (x,), (y,) = copies(rng, lay_out(rng, a) if dtype in DTYPES else a)
        compare(operator.getitem, (y, where), (x, where), f"{seed}: {x!r}[{where}]")
        try:
            view, ours = x[where], y[where]
        except IndexError:
            continue
        if isinstance(view, numpy.ndarray):
            shares = numpy.shares_memory(view, x)
            assert numpy.shares_memory(numpy.asarray(ours), numpy.asarray(y)) == shares


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_assignments_agree(seed):
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        shape, where = rng.choice(SHAPES), key(rng)
        target = lay_out(rng, values(rng, rng.choice(DTYPES), shape))
        value = operand(
            rng,
            [
                (),
                (1,),
                *([numpy.empty(shape)[where].shape] if fits(shape, where) else []),
            ],
        )
        numpys, ours = copies(rng, target, value)
        text = f"{seed}: {numpys[0]!r}[{where}] = {value!r}"
        compare(set_item, (*ours, where), (*numpys, where), text)
        assert_same(ours[0], numpys[0], text)


def set_item(array, value, where):
    array[where] = value


def fits(shape, where):
    try:
        numpy.empty(shape)[where]
    except (IndexError, OverflowError):
        return False
    return True


def setitem(x, key, value):
    x[key] = value
    return x


def update(x, function, other):
    return x, function(x, other)


def add_to_part(x, key):
    x[key] += x[key]
    return x


FUNCTIONS = [
    lambda xp, x: x.sum(), lambda xp, x: xp.sum(x), lambda xp, x: x.max(), lambda xp, x: x.min(),
    lambda xp, x: x.any(), lambda xp, x: x.all(), lambda xp, x: x.mean(), lambda xp, x: xp.mean(x),
    lambda xp, x: x.argmax(), lambda xp, x: xp.argmin(x), lambda xp, x: x.copy(),
    lambda xp, x: xp.copy(x), lambda xp, x: x.T, lambda xp, x: x.ravel(), lambda xp, x: x.reshape(-1),
    lambda xp, x: x.reshape(2, -1), lambda xp, x: x.reshape((x.size, 1)), lambda xp, x: x.transpose(),
    lambda xp, x: x.astype(float), lambda xp, x: x.astype(int), lambda xp, x: x.astype(xp.float32),
    lambda xp, x: x.astype(bool), lambda xp, x: x.astype(xp.uint8), lambda xp, x: x.astype(complex),
    lambda xp, x: xp.where(x > 1, x, x), lambda xp, x: xp.where(x > 1, x, 0.0),
    lambda xp, x: xp.where(x > 1, 1, x), lambda xp, x: xp.zeros_like(x), lambda xp, x: x @ x.T,
    lambda xp, x: xp.dot(x.ravel(), x.ravel()), lambda xp, x: x @ x, lambda xp, x: x[0] @ x.T,
    lambda xp, x: x @ x[..., 0], lambda xp, x: xp.matmul(x[::2], x[::2].T), lambda xp, x: list(x),
    lambda xp, x: xp.dot(x[::2], x[::2]), lambda xp, x: xp.zeros(x.shape), lambda xp, x: xp.ones(x.size),
    lambda xp, x: xp.arange(x.size), lambda xp, x: xp.array(x.ravel().tolist()),
    lambda xp, x: 2.0 * x, lambda xp, x: xp.float64(2) * x, lambda xp, x: x * xp.float32(2),
    lambda xp, x: xp.full(x.shape, 2.5), lambda xp, x: xp.full(3, 7), lambda xp, x: (x.fill(2.0), x),
    lambda xp, x: (x.fill(7), x), lambda xp, x: x.item(0), lambda xp, x: x.item(-1),
    lambda xp, x: x[xp.array([0, -1, 1])], lambda xp, x: xp.concatenate([x, x]),
    lambda xp, x: xp.concatenate((x.ravel(), x.ravel()[:2])), lambda xp, x: x[...], lambda xp, x: x[None], lambda xp, x: x.ravel()[x.ravel() > 1],
    lambda xp, x: setitem(x, ..., 3), lambda xp, x: setitem(x, ..., x.copy()),
    lambda xp, x: setitem(x[0], x[0] > 1, 2.0), lambda xp, x: x.astype("f4"),
    lambda xp, x: x.astype("i8"), lambda xp, x: x.astype(x.dtype), lambda xp, x: x.sum(axis=1),
    lambda xp, x: xp.sum(x, axis=-1), lambda xp, x: x.max(axis=0), lambda xp, x: xp.min(x, axis=1),
    lambda xp, x: x.any(axis=0), lambda xp, x: (x > 1).all(axis=1), lambda xp, x: x.sum(0),
    lambda xp, x: xp.max(x, 2), lambda xp, x: (x > 1).any(1), lambda xp, x: x.sum(axis=(0, 1)),
    lambda xp, x: x.mean(axis=0), lambda xp, x: x.reshape(axis=1), lambda xp, x: xp.full(3, axis=1),
    lambda xp, x: x.sum(axis=0),
    lambda xp, x: x.max(axis=-1), lambda xp, x: xp.add(x, x, out=x), lambda xp, x: xp.sqrt(x, out=x),
    lambda xp, x: xp.multiply(x, 2, out=x[...]), lambda xp, x: xp.clip(x, 0, 1),
    lambda xp, x: xp.int64(3) + x, lambda xp, x: xp.float64(1) <= x, lambda xp, x: xp.int64(1) == x,
    lambda xp, x: xp.float32(1.5) > x, lambda xp, x: xp.float64(3) ** x, lambda xp, x: xp.int64(3) % x,
    lambda xp, x: xp.float32(-3) // x, lambda xp, x: pow(xp.int64(2), x, 3), lambda xp, x: xp.float64(2) != x.astype("U3"),
    lambda xp, x: xp.float64(2) == x.ravel()[0:1].reshape(()), lambda xp, x: xp.int64(2) < x.astype(object),
    lambda xp, x: xp.amax(x), lambda xp, x: xp.amin(x, axis=1), lambda xp, x: [x[i] for i in range(len(x))],
    lambda xp, x: x.clip(0, 2), lambda xp, x: xp.clip(x, 0.5, 2.0), lambda xp, x: xp.clip(x, x, x),
    lambda xp, x: xp.clip(x, -(2**63), 3), lambda xp, x: xp.clip(x, xp.float64("nan"), 1.0),
    lambda xp, x: xp.clip(x, x[..., :1], x), lambda xp, x: xp.clip(x, 1, None),
    lambda xp, x: x.std(), lambda xp, x: xp.std(x), lambda xp, x: xp.var(x), lambda xp, x: x.var(ddof=1),
    lambda xp, x: x.cumsum(), lambda xp, x: xp.cumsum(x), lambda xp, x: xp.cumsum(x, axis=0),
    lambda xp, x: x.cumsum(-1), lambda xp, x: xp.stack([x, x]), lambda xp, x: xp.stack((x, x, x)),
    lambda xp, x: xp.stack([x, x[0]]), lambda xp, x: xp.stack([]), lambda xp, x: xp.stack((x, x), axis=-1),
    lambda xp, x: xp.concatenate([x[:1], x]), lambda xp, x: xp.concatenate([x, x], axis=-1),
    lambda xp, x: xp.dot(x, x), lambda xp, x: x.dot(x.T), lambda xp, x: xp.dot(x.T, x),
    lambda xp, x: xp.dot(x, x.T.copy()), lambda xp, x: x.dot(x[..., 0]), lambda xp, x: xp.dot(x, x[0]),
    lambda xp, x: setitem(x.ravel(), xp.arange(x.size), x.ravel() + x.ravel()),
    lambda xp, x: setitem(x.ravel(), xp.asarray([0, -1, 0]), 3), lambda xp, x: setitem(x[0], xp.asarray([-1, 0]), 2.5),
    lambda xp, x: setitem(x, xp.asarray([0, 99]), 1), lambda xp, x: x[xp.asarray([0, -99])],
    lambda xp, x: setitem(x.astype("i8").ravel(), xp.asarray([0, -1]), x.astype("i8").ravel()[:2]),
    lambda xp, x: setitem(x, xp.asarray([], dtype="i8"), 1), lambda xp, x: setitem(x, ..., x[0]),
    lambda xp, x: setitem(x, ..., x[..., :1]), lambda xp, x: setitem(x, slice(None), x[None]),
    lambda xp, x: list(reversed(x)), lambda xp, x: tuple(x), lambda xp, x: [len(x), x.size, x.shape, x.ndim],
    lambda xp, x: update(x[1:], operator.iadd, x[:-1]), lambda xp, x: update(x[:-1], operator.imul, x[1:]),
    lambda xp, x: update(x, operator.isub, x[::-1]), lambda xp, x: update(x, operator.iadd, x),
    lambda xp, x: update(x, operator.itruediv, x - 1), lambda xp, x: update(x[..., :0], operator.iadd, 1),
    lambda xp, x: update(x, operator.ipow, 2), lambda xp, x: update(x, operator.ipow, 0.5),
    lambda xp, x: update(x, operator.ipow, -1), lambda xp, x: update(x.T, operator.iadd, x.T),
    lambda xp, x: (xp.add(x[1:], x[:-1], out=x[:-1]), x), lambda xp, x: (xp.add(x, 1, out=x[::-1]), x),
    lambda xp, x: (xp.sqrt(x, out=x), x), lambda xp, x: (xp.log(x, out=x.copy()), x),
    lambda xp, x: (xp.multiply(x, x, out=xp.empty_like(x)), x), lambda xp, x: xp.add(x, x, out=x[:1]),
    lambda xp, x: add_to_part(x, slice(1, None)), lambda xp, x: add_to_part(x, (Ellipsis, 0)),
    lambda xp, x: add_to_part(x, slice(None, None, 2)), lambda xp, x: x[None, 0], lambda xp, x: x[0, None, ...],
    lambda xp, x: (x.real, x.imag), lambda xp, x: xp.trace(x), lambda xp, x: x.diagonal().copy(),
    lambda xp, x: xp.roll(x, 2), lambda xp, x: xp.roll(x, -1, 0), lambda xp, x: xp.roll(x, 1, -1),
    lambda xp, x: xp.count_nonzero(x > 1), lambda xp, x: xp.vdot(x.ravel(), x.ravel()),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(12))
def test_functions_agree(seed):
    rng = random.Random(seed)
    for _ in range(2 * ROUNDS):
        number = rng.randrange(len(FUNCTIONS))
        a = lay_out(rng, values(rng, rng.choice(DTYPES), rng.choice(SHAPES)))
        (x,), (y,) = copies(rng, a)
        function = FUNCTIONS[number]
        expected, expected_warnings = outcome(function, numpy, x)
        result, its_warnings = outcome(function, mxnp, y)
        where = f"{seed}: {number} of {x!r}"
        assert_same(result, expected, where)
        assert its_warnings == expected_warnings, where


@pytest.mark.parametrize(
    "settings", [{"all": "raise"}, {"all": "ignore"}, {"under": "warn"}]
)
def test_errstate_is_respected(settings):
    def run(xp):
        x = xp.asarray([1.0, 0.0, -1.0, 1e-200])
        with xp.errstate(**settings):
            return [
                outcome(f, x)
                for f in (
                    lambda x: 1 / x,
                    lambda x: x * 1e-200,
                    lambda x: xp.log(x),
                    lambda x: x + x,
                )
            ]

    assert_same(run(mxnp), run(numpy))


def test_recycled_memory_is_never_shared():
    held = []
    for i in range(2000):
        x = mxnp.asarray(numpy.full(10, float(i)))
        y = x + 1.0
        kind = i % 6
        if kind == 0:
            held.append((memoryview(y), i + 1.0))
        elif kind == 1:
            held.append((numpy.asarray(y), i + 1.0))
        elif kind == 2:
            held.append((y[2:], i + 1.0))
        elif kind == 3:
            held.append((numpy.from_dlpack(y), i + 1.0))
        elif kind == 4:
            held.append((y.reshape(2, 5).T, i + 1.0))
        del x, y
        if len(held) > 50:
            array, expected = held.pop(0)
            assert (numpy.asarray(array) == expected).all()
    for array, expected in held:
        assert (numpy.asarray(array) == expected).all()


def test_recycled_arrays_get_their_shape():
    for shape in [(2, 3), (3, 2), (6, 1), (1, 6), (2, 3)]:
        y = mxnp.ones(shape) + 1.0
        expected = numpy.ones(shape) + 1.0
        assert (y.shape, y.strides) == (expected.shape, expected.strides)
        assert y.flags.f_contiguous == expected.flags.f_contiguous
        del y


def test_recycled_arrays_hold_no_dtype():
    dtype, x = numpy.dtype("float64"), mxnp.ones(10)
    before = sys.getrefcount(dtype)
    for _ in range(1000):
        y = x + 1.0
        del y
    assert abs(sys.getrefcount(dtype) - before) < 500


def test_views_that_are_recycled_release_their_base():
    memory = numpy.arange(10.0)
    x = mxnp.asarray(memory)
    x[1:]  # it stays for the next view
    references = sys.getrefcount(memory)
    for _ in range(100):
        y = x[1:]
        del y
    assert sys.getrefcount(memory) == references


@pytest.mark.parametrize("index", [-6, 5, 2**40, -(2**40)])
def test_small_index_arrays_are_checked(index):
    x = mxnp.arange(5.0)
    for key in (index, [0, index], mxnp.array([index, 1]), (slice(None), index)):
        y = mxnp.ones((2, 5)) if isinstance(key, tuple) else x
        with pytest.raises(IndexError):
            y[key]
        with pytest.raises(IndexError):
            y[key] = 1.0


def test_products_of_vectors_and_matrices(xp):
    matrix, short, long = xp.arange(6.0).reshape(2, 3), xp.ones(2), xp.arange(3.0)
    products = matrix @ long, short @ matrix, long @ long, matrix @ matrix.T
    raised = []
    for a, b in [(matrix, short), (long, matrix), (short, long), (long, short)]:
        with pytest.raises(ValueError, match="mismatch") as caught:
            a @ b
        raised.append(str(caught.value))
    return products, raised


LARGE_PRODUCTS = {
    "column by row": lambda xp, dtype: (
        xp.ones((128, 1), dtype) * 3,
        xp.ones((1, 127), dtype),
    ),
    "matrices": lambda xp, dtype: (
        [xp.linspace(-1, 2, 100 * 100).reshape(100, 100).astype(dtype)] * 2
    ),
    "transposed": lambda xp, dtype: (
        xp.linspace(0, 5, 90 * 7).reshape(7, 90).astype(dtype).T,
        xp.linspace(0, 5, 180 * 7).reshape(180, 7).astype(dtype)[::2].T,
    ),
    "no axis": lambda xp, dtype: (xp.ones((100, 0), dtype), xp.ones((0, 100), dtype)),
    "infinite": lambda xp, dtype: (
        xp.full((100, 2), xp.inf).astype(dtype),
        xp.zeros((2, 100), dtype),
    ),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("operands", LARGE_PRODUCTS.values(), ids=LARGE_PRODUCTS)
def test_large_products_of_small_matrices(xp, operands, dtype):
    x, y = operands(xp, dtype)
    square = x.T.copy()
    return (
        x @ y,
        xp.matmul(x, y),
        xp.dot(x, y),
        x.dot(y),
        y.T @ x.T,
        x @ square,
        xp.dot(x, x.T),
    )


def test_large_products_of_small_matrices_that_do_not_fit(xp):
    x, y = xp.ones((100, 2)), xp.ones((3, 100))
    messages = []
    for multiply in (operator.matmul, xp.matmul, xp.dot):
        with pytest.raises(ValueError, match=r"mismatch|not aligned") as caught:
            multiply(x, y)
        messages.append(str(caught.value))
    with xp.errstate(over="raise"), pytest.raises(FloatingPointError) as caught:
        xp.matmul(x * 1e200, y[:2] * 1e200)
    return [*messages, str(caught.value)]


@pytest.mark.parametrize(
    "multiply", [operator.matmul, mxnp.matmul, mxnp.dot, mxnp.ndarray.dot]
)
def test_large_products_of_small_matrices_are_in_the_pool(multiply):
    gc.collect()  # or arrays of other tests are released meanwhile
    x, y = mxnp.ones((128, 1)), mxnp.ones((1, 128))
    before = mxnp.memory_info()["in_use"]
    product = multiply(x, y)
    assert mxnp.memory_info()["in_use"] - before >= product.nbytes
    del product
    assert mxnp.memory_info()["in_use"] == before


def test_writeable_flag_of_a_recycled_array():
    for _ in range(20):
        x = mxnp.ones(7) + 1.0
        assert x.flags.writeable
        x.flags.writeable = False
        del x
        y = mxnp.ones(7) + 2.0
        y[0] = 5.0
        y.resize(3)
        del y


@pytest.mark.parametrize("mode", ["raise", "ignore", "warn"])
@pytest.mark.parametrize("shape", [5, (2, 3)])
def test_conditions_of_operations_in_place(mode, shape):
    def run(xp):
        found = []
        for function in INPLACE[:4]:
            for number in (0.0, 1e308, 1e-308, numpy.inf):
                x = xp.asarray(numpy.full(shape, 1e-300))
                x[..., 0] = [0.0, numpy.inf][function is operator.isub]
                other = xp.asarray(numpy.full(shape, number))
                with xp.errstate(all=mode):
                    found.append((outcome(function, x, other), x))
                with xp.errstate(all=mode):
                    found.append((outcome(function, x, x), x))
        return found

    assert_same(run(mxnp), run(numpy))


def test_views_of_one_buffer_that_overlap():
    def run(xp):
        memory = numpy.arange(12.0)
        one, other = xp.asarray(memory[1:]), xp.asarray(memory[:-1])
        one[...] = other
        one += other
        xp.add(one, other, out=other)
        index = xp.asarray(numpy.arange(11)[::-1].copy())
        one[index] = other
        return one, other, memory.tolist()

    assert_same(run(mxnp), run(numpy))


def test_index_array_that_is_written():
    def run(xp):
        x = xp.asarray([3, 2, 1, 0, 2])
        x[x] = x
        x[x[1:4]] = 4
        return x

    assert_same(run(mxnp), run(numpy))


def test_operands_of_a_subclass():
    class Meters(numpy.ndarray):
        pass

    def run(xp):
        length = numpy.arange(4.0).view(Meters)
        x = xp.asarray(numpy.ones(4))
        x[1:] = length[1:]
        x += length
        return [
            type(y).__name__
            for y in (x + length, xp.clip(x, length, 9.0), xp.stack([x, length]))
        ], x

    assert_same(run(mxnp), run(numpy))


def test_recycled_views_are_never_shared():
    held = []
    for i in range(2000):
        x = mxnp.asarray(numpy.arange(12.0) + i)
        rows = [*x.reshape(3, 4)]
        kind = i % 4
        if kind == 0:
            held.append((memoryview(rows[1]), i + 4.0))
        elif kind == 1:
            held.append((numpy.asarray(rows[1]), i + 4.0))
        elif kind == 2:
            held.append((rows[1][::1], i + 4.0))
        else:
            held.append((weakref.ref(rows[1]), None))
        del x, rows
        if len(held) > 50:
            check_held(*held.pop(0))
    for pair in held:
        check_held(*pair)


def check_held(array, first):
    if first is None:
        assert array() is None
    else:
        assert (numpy.asarray(array) == first + numpy.arange(4.0)).all()


def test_cleared_lists_are_filled_again():
    for _ in range(3):
        rows = list(mxnp.ones((200, 3)))
        assert not any(map(gc.is_tracked, rows))
        del rows
        mxnp.clear_cache()
    assert (mxnp.ones(3) + mxnp.ones(3)).tolist() == [2.0] * 3


class Counted:
    """An index that counts how often it is read."""

    def __init__(self):
        self.n = 0

    def __index__(self):
        self.n += 1
        return 1


def test_objects_in_keys_are_read_once():
    def run(xp):
        x = xp.asarray(numpy.arange(12.0).reshape(3, 4))
        counts = []
        for make in (
            lambda i: i,
            lambda i: (i, 2),
            lambda i: slice(i, None),
            lambda i: (slice(i, None), slice(None, i)),
            lambda i: (slice(i, None), [0, 1]),
        ):
            index = Counted()
            counts.append(x[make(index)])
            x[make(index)] = 2.0
            counts.append(index.n)
        return counts, x

    assert_same(run(mxnp), run(numpy))


def test_integers_of_all_sizes_index():
    def run(xp):
        x = xp.asarray(numpy.arange(600.0))
        y = x.reshape(20, 30)
        keys = [*range(-7, 7), 255, 256, 257, 258, 599, -600, 600, -601, 2**62, 2**64]
        found = [outcome(operator.getitem, x, key) for key in keys]
        found += [outcome(operator.getitem, y, (key, -1)) for key in keys]
        for low in (-700, -6, -5, 0, 255, 256, 257, 599, 600, 700, None):
            for high in (-601, -5, -1, 0, 256, 257, 600, 601, None):
                found.append(x[low:high])
                found.append(x[low:high:7])
        return found

    assert_same(run(mxnp), run(numpy))


def test_an_index_that_changes_the_array(xp):
    a = xp.arange(20.0).reshape(20, 1)

    class Index(numpy.int64):
        def __index__(self):
            a.shape = (1, 20)
            return 19

    with pytest.raises(IndexError) as read:
        a[Index(3), 0]
    a.shape = (20, 1)
    with pytest.raises(IndexError) as written:
        a[Index(3), 0] = 5
    return str(read.value), str(written.value), a


def test_a_dtype_that_changes_the_array(xp):
    a = xp.full(20, 3.0)

    class Meta(type):
        @property
        def dtype(cls):
            a.dtype = numpy.dtype("int8")
            return numpy.dtype("float32")

    class Dtype(metaclass=Meta):
        pass

    return a.astype(Dtype), a


def test_comparisons_see_who_owns_memory():
    numbers = mxnp.arange(4), mxnp.arange(5)[:4]
    numpys = numpy.arange(4), numpy.arange(5)[:4]
    for ours, theirs in zip(numbers, reversed(numpys), strict=True):
        with pytest.raises(AssertionError, match="own"):
            assert_same(ours, theirs)
    assert_same(numbers[0], numpys[0].copy().reshape(4))
