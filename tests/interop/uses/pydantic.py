"""pydantic: classes whose fields are checked."""

from typing import Annotated, Any

import numpy as np
import pydantic


class _Signal(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    data: np.ndarray
    other: Any = None


def _as_array(value):
    return np.asarray(value, dtype=float)


Vector = Annotated[
    np.ndarray,
    pydantic.BeforeValidator(_as_array),
    pydantic.PlainSerializer(lambda a: a.tolist(), return_type=list),
]


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    vector: Vector
    parts: dict[str, Vector] = {}


class _Numbers(pydantic.BaseModel):
    value: float
    count: int
    values: list[float] = []


def fields(x):
    y = x * 1.0 + 1
    made = _Signal(data=y, other={"y": [y]})
    return made.data is y, made.other["y"][0] is y, made.data, made.model_dump()


def converted(x):
    made = _Model(vector=(x[:5] * 2).tolist(), parts={"a": x + 1, "b": x[:2]})
    return made.vector, made.parts, made.model_dump_json()[:200]


def numbers(x):
    y = x * 1.0 + 1
    made = _Numbers(value=y[3], count=(y * 0)[0], values=(y[:4]).tolist())
    return made.model_dump(), made.value.__class__.__name__


def sequences(x):
    adapter = pydantic.TypeAdapter(list[float])
    return adapter.validate_python((x[:5] * 2).tolist())


def calls(x):
    @pydantic.validate_call(config={"arbitrary_types_allowed": True})
    def scaled(data: np.ndarray, by: float = 2.0) -> np.ndarray:
        return data * by

    return scaled(x + 1), scaled(x, by=np.float64(3))


def shared_copies(x):
    made = _Signal(data=x)
    shallow, deep = made.model_copy(), made.model_copy(deep=True)
    before = x + 1
    made.data[0] = 5
    x[1] = 7
    return before, shallow.data, deep.data, shallow.data is made.data


def error_class(x):
    return _Signal(data=x.tolist())


def error_numbers(x):
    return _Numbers(value=x * 2, count=1)


def arrays_as_lists(x):
    return _Numbers(value=1, count=1, values=x * 2).values
