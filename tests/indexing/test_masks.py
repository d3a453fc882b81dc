"""Test assignments under a mask: a scalar is recorded as a selection, values are copied."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU, needs_fusion

import mxnp
from mxnp import _bridge

SIZE = 40_000
DTYPES = [*"?bBhHiIlLefdFD"]
VALUES: list[Any] = [
    0,
    -1,
    300,
    True,
    2.5,
    1e300,
    1 + 2j,
    numpy.nan,
    numpy.float32(0.1),
    numpy.int64(7),
    numpy.complex64(1j),
    numpy.bool_(True),
    10**30,
    None,
    "3",
    numpy.array(4),
    numpy.array([5]),
    [6],
]
LAYOUTS = {
    "contiguous": lambda x: x,
    "square": lambda x: x.reshape(200, 200),
    "transposed": lambda x: x.reshape(200, 200).T,
    "strided": lambda x: x[::2],
    "negative": lambda x: x[::-1],
    "column": lambda x: x.reshape(-1, 2)[:, 1],
}


@pytest.fixture(autouse=True)
def recorded() -> Any:
    before = _bridge.set_threshold(16_384)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def numbers(dtype: str) -> numpy.ndarray[Any, Any]:
    whole = numpy.random.default_rng(0).integers(-100, 100, SIZE)
    return (abs(whole) if dtype in "?BHIL" else whole).astype(dtype)


def assigned(xp: Any, x: Any, layout: str, where: str, value: Any) -> Any:
    """Return the bytes after the assignment, and its error if there was one."""
    whole = xp.array(x)
    a = LAYOUTS[layout](whole)
    mask = eval(where, {"np": xp, "a": a, "x": LAYOUTS[layout](xp.array(x[::-1]))})
    try:
        a[mask] = value
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        return type(error), str(error), whole.tobytes()
    return whole.tobytes()


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype: str, value: Any) -> None:
    x = numbers(dtype)
    found = []
    for xp in (mxnp, numpy):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = assigned(xp, x, "contiguous", "x.real > 20", value)
        found.append((outcome, [str(each.message) for each in caught]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "where",
    [
        "a > 3",
        "(a > 3) & (x < 50)",
        "np.ones(a.shape, bool)",
        "np.zeros(a.shape, bool)",
        "np.isnan(x * 1.0)",
        "x > 0",
        "(x > 0)[::-1]",
        "(x > 0).T",
        "(x > 0)[:-1]",
        "(x > 0)[None]",
        "x > 0, ...",
        "[*(x > 0)]",
        "x.ravel()[0] > 0",
        "np.array(True)",
        "(x > 0).astype(int)",
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_masks(layout: str, where: str) -> None:
    x = numbers("d")
    ours, theirs = (assigned(xp, x, layout, where, 7.5) for xp in (mxnp, numpy))
    assert ours == theirs


@pytest.mark.parametrize("part", ["m", "m[::-1]", "m[::2]", "~m[1::2]"])
def test_masks_that_are_the_array(part: str) -> None:
    found = []
    for xp in (mxnp, numpy):
        m = xp.array(numbers("?"))
        target = m[: eval(part, {"m": m}).size]
        target[eval(part, {"m": m})] = False
        found.append(m.tobytes())
    assert found[0] == found[1]


def test_is_recorded() -> None:
    x = mxnp.arange(SIZE) * 1.0
    x[x > 100] = 100
    assert _bridge.pending() > 2
    assert float(x.sum()) == 100 * (SIZE - 100) + 99 * 50


@needs_fusion
def test_is_fused(capsys: pytest.CaptureFixture[str]) -> None:
    x = mxnp.ones(SIZE)
    mxnp.synchronize()
    y = x * 2
    y[y > 1] = 0
    y += 1
    del x
    mxnp.synchronize()
    mxnp.explain()
    assert "1 group" in capsys.readouterr().out
    assert y.tolist() == [1.0] * SIZE


def test_views_and_later_reads() -> None:
    found = []
    for xp in (mxnp, numpy):
        x = xp.arange(float(SIZE))
        view, copy = x[10:20], x + 0
        x[x % 2 == 0] = -1
        late = x * 2
        x[x < 0] = 5
        found.append(
            (view.tolist(), copy[:4].tolist(), late[:4].tolist(), x[:4].tolist())
        )
    assert found[0] == found[1]


def test_read_only() -> None:
    x = mxnp.arange(float(SIZE))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        x[x > 3] = 0


# -- Runs of a mask, and values for its elements ---------------------------------------

MASKS = {
    "none": lambda n: numpy.zeros(n, bool),
    "all": lambda n: numpy.ones(n, bool),
    "few": lambda n: numpy.arange(n) % 997 == 996,
    "half": lambda n: numpy.random.default_rng(1).random(n) < 0.5,
    "blocks": lambda n: numpy.arange(n) % 1000 < 700,
    "first and last": lambda n: numpy.isin(numpy.arange(n), (0, n - 1)),
    "other bytes": lambda n: (numpy.arange(n) % 5 * 63).astype("u1").view(bool),
}
SIZED = ["u1", "i2", "f4", "f8", "c16"]


@pytest.mark.parametrize("dtype", SIZED)
@pytest.mark.parametrize("size", [16_384, 40_003])
def test_fills_of_few_elements(xp: Any, size: int, dtype: str) -> Any:
    results = []
    for place in [*range(0, 130, 7), size - 33, size - 1]:
        x = xp.arange(size).astype(dtype)
        mask = xp.zeros(size, bool)
        mask[place] = True
        assert x[3] == 3  # it is computed, so that the fill is a pass of its own
        x[mask] = 77
        results.append(x[max(place - 40, 0) : place + 40].copy())
    return results


@pytest.mark.parametrize("dtype", SIZED)
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("size", [3001, 40_003, 400_000])
def test_values_for_the_elements(xp: Any, size: int, name: str, dtype: str) -> Any:
    x = xp.arange(size).astype(dtype)
    mask = xp.array(MASKS[name](size))
    values = (xp.arange(int((mask != 0).sum())) * 3 + 1).astype(dtype)
    x[mask] = values
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_in_other_layouts(xp: Any, layout: str) -> Any:
    whole = xp.array(numbers("d"))
    a = LAYOUTS[layout](whole)
    mask = LAYOUTS[layout](xp.array(numbers("d")[::-1])) > 3
    count = int(mask.sum())
    a[mask] = xp.arange(2.0 * count)[::2] * 0.5
    a[~mask] = xp.arange(a.size - count, dtype="f4") + 1
    return whole


@pytest.mark.parametrize("dtype", SIZED)
@pytest.mark.parametrize("of_mask", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_in_other_layouts(
    xp: Any, layout: str, of_mask: str, dtype: str
) -> list[Any]:
    a = LAYOUTS[layout](xp.arange(SIZE).astype(dtype))
    sources = (LAYOUTS[of_mask](xp.array(MASKS[name](SIZE))) for name in MASKS)
    return [a[m.reshape(a.shape)] for m in sources if m.size == a.size]


@pytest.mark.parametrize("dtype", SIZED)
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("size", [7, 200, 1000])
def test_elements_of_vectors(xp: Any, size: int, step: int, dtype: str) -> list[Any]:
    a = xp.arange(size * abs(step)).astype(dtype)[::step]
    masks = [xp.array(MASKS[name](size)) for name in MASKS]
    return [a[m] for m in masks] + [a[m[::-1]] for m in masks]


@pytest.mark.skipif(ON_GPU, reason="it asks for the processor")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_selected_without_positions(layout: str) -> None:
    a = LAYOUTS[layout](mxnp.arange(float(SIZE)))
    mask = a > 70
    mxnp.synchronize()
    with mxnp.profile() as profile:
        values = a[mask]
        a[mask] = values
    found = {row.operation for row in profile.rows if row.backend == "cpu"}
    assert found == {"getitem", "setitem"}


PICTURES = [((50, 60, 20), 2), ((20, 30, 5, 40), 3), ((300, 200, 3), 2), ((9, 800), 1)]


@pytest.mark.parametrize("dtype", SIZED)
@pytest.mark.parametrize(("shape", "n"), PICTURES)
def test_masks_of_the_first_axes(
    xp: Any, shape: tuple[int, ...], n: int, dtype: str
) -> list[Any]:
    a = (xp.arange(numpy.prod(shape)).reshape(shape) % 250).astype(dtype)
    mask = xp.array(MASKS["half"](int(numpy.prod(shape[:n])))).reshape(shape[:n])
    results = [a[mask]]
    for value in (7, xp.arange(shape[-1]), a[mask] + 1):
        a[mask] = value
        results.append(a.copy())
    xp.add.at(a, mask, 2)
    return [*results, a]


def test_a_mask_selects_points_of_a_picture_at_once() -> None:
    picture = mxnp.zeros((200, 200, 3))
    mask = mxnp.array(MASKS["blocks"](40_000)).reshape(200, 200)
    mxnp.synchronize()
    with mxnp.profile() as profile:
        picture[mask] = picture[mask] + 1
        mxnp.synchronize()
    assert not [row for row in profile.rows if row.backend == "numpy"]


@pytest.mark.parametrize("count", [0, 1, 2, SIZE])
def test_values_of_another_number(count: int) -> None:
    found = []
    for xp in (mxnp, numpy):
        x = xp.array(numbers("d"))
        try:
            x[x > 20] = xp.ones(count)
        except ValueError as error:
            found.append((str(error), x.tobytes()))
        else:
            found.append(("", x.tobytes()))
    assert found[0] == found[1]


def test_values_that_share_memory(xp: Any) -> Any:
    x = xp.array(numbers("d"))
    mask = xp.array(MASKS["blocks"](SIZE))
    x[mask] = x[: int(mask.sum())]
    m = xp.array(MASKS["half"](SIZE))
    m[m] = xp.zeros(int(m.sum()), bool)
    return x, m


def test_values_that_wait(xp: Any) -> Any:
    z = xp.arange(SIZE) * (0.5 + 0.25j)
    c = z + 1
    view, before = z[5:9], z * 2
    alive = abs(z) < 9_000
    for _ in range(3):
        z[alive] = z[alive] * 0.5 + c[alive]
        alive &= abs(z) < 4_000
    later = z + before
    z[alive] = c[: int(alive.sum())]
    return z, view, later, before


def test_values_for_an_array_that_cannot_be_written() -> None:
    x = mxnp.arange(float(SIZE))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        x[mxnp.arange(SIZE) > 3] = mxnp.ones(SIZE - 4)


@pytest.mark.parametrize("dtype", [*DTYPES, "e", "O"])
@pytest.mark.parametrize("key", [numpy.arange(60) % 3 == 0, numpy.array([3, -1, 3])])
def test_values_for_few_elements(xp: Any, dtype: str, key: Any) -> list[Any]:
    found: list[Any] = []
    for value in VALUES:
        x = xp.ones(60, dtype)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x[xp.array(key)] = value
            except Exception as error:
                found.append(error)
        found += [x, [(each.category, str(each.message)) for each in caught]]
    return found
