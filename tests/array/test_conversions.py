"""Test conversions and repetitions of large arrays."""

import pytest

CONVERSIONS = {
    "asarray": lambda xp, x: xp.asarray(x, "f4"),
    "asanyarray": lambda xp, x: xp.asanyarray(x, dtype="i8"),
    "asarray of arrays": lambda xp, x: xp.asarray([x, x + 1]),
    "asarray of masks": lambda xp, x: xp.asarray((x > 1, x > 2), dtype=bool),
    "array of arrays": lambda xp, x: xp.array([x, x.astype("f4")]),
    "array of rows": lambda xp, x: xp.array([x.reshape(2, -1)] * 2, "f4"),
    "more axes": lambda xp, x: xp.array(x, ndmin=3),
    "more axes, no copy": lambda xp, x: xp.array(x, copy=None, ndmin=2),
    "empty list": lambda xp, x: (xp.asarray([]), xp.array((), "i4")),
    "no copy": lambda xp, x: xp.array(x, copy=False),
    "complex": lambda xp, x: xp.asarray(x, complex),
    "itself": lambda xp, x: (xp.asarray(x, x.dtype) is x, xp.array(x, copy=None) is x),
    "repeat by counts": lambda xp, x: xp.repeat(x, xp.arange(x.size) % 3),
    "repeat rows": lambda xp, x: xp.repeat(
        x.reshape(500, -1), xp.arange(500) % 4, axis=0
    ),
    "repeat nothing": lambda xp, x: x.repeat(xp.zeros(x.size, int)),
    "accumulate in place": lambda xp, x: (xp.add.accumulate(x, out=x), x),
    "accumulate into a view": lambda xp, x: xp.maximum.accumulate(x[1:], out=x[:-1]),
    "without an axis": lambda xp, x: xp.concatenate((x, x.reshape(2, -1)), axis=None),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_large_arrays_are_converted_as_by_numpy(xp, convert):
    return convert(xp, xp.arange(300_000.0) % 17)


def test_arrays_of_other_shapes_are_errors(xp):
    with pytest.raises(ValueError, match="inhomogeneous") as caught:
        xp.array([xp.ones(300_000), xp.ones(200_000)])
    with pytest.raises(ValueError, match="negative"):
        xp.repeat(xp.ones(300_000), xp.arange(300_000) - 1)
    return str(caught.value)


def test_keywords_that_change_nothing_are_recorded(xp):
    i, x = xp.arange(300_000), xp.arange(300_000.0)
    out = xp.empty_like(i)
    results = (
        xp.subtract(i, xp.array(3), dtype=int, out=out, casting="unsafe"),
        xp.add(i, xp.int64(2), dtype=xp.int64),
        xp.multiply(x, xp.float64(2), dtype="f4"),
        xp.add(i, x, dtype="f8", out=out, casting="unsafe"),
    )
    with pytest.raises(TypeError, match="Cannot cast"):
        xp.add(i, x, out=out)
    with pytest.raises(ValueError, match="casting"):
        xp.add(i, i, dtype=xp.dtype(int), out=out, casting="x")
    return results, out
