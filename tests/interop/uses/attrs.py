"""attrs: classes with fields."""

import attrs
import numpy as np


def _positive(instance, attribute, value):
    if not np.all(np.asarray(value) >= 0):
        raise ValueError("negative")


@attrs.define
class _Signal:
    data: np.ndarray = attrs.field(
        validator=[attrs.validators.instance_of(np.ndarray), _positive],
        eq=attrs.cmp_using(eq=np.array_equal),
    )
    rate: float = 1.0


@attrs.frozen
class _Pair:
    left: np.ndarray = attrs.field(converter=np.asarray)
    right: np.ndarray = attrs.field(factory=lambda: np.zeros(3))


def fields(x):
    y = x * 1.0 + 1
    made = _Signal(y)
    return made.data is y, made.data, made == _Signal(y + 0), made == _Signal(y * 2)


def dictionaries(x):
    made = _Signal(x + 1, 2.0)
    changed = attrs.evolve(made, data=made.data * 2)
    return attrs.asdict(made), attrs.astuple(changed), attrs.asdict(_Pair(x, [x, 1.0]))


def converters(x):
    made = _Pair((x[:3] * 2).tolist(), x + 1)
    same = _Pair(x)
    return made.left, made.right * 2, same.left is x, same.right


def shared_fields(x):
    made = _Signal(x)
    before = x * 2
    made.data[0] = 5
    x[1] = 7
    made.data = x[::-1]
    x[2] = 9
    return before, made.data, x


def texts(small):
    return repr(_Signal(small[:3] * 2)), str(_Pair(small[:2] + 1))


def error_class(x):
    try:
        _Signal([x * 2])
    except TypeError as error:
        raise TypeError(error.args[0].partition(" ")[0]) from None


def error_value(x):
    made = _Signal(x + 1)
    made.data = x - 5
