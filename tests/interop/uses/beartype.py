"""beartype: checks of types."""

from typing import Annotated

import numpy as np
from beartype import beartype
from beartype.door import is_bearable
from beartype.vale import Is
from numpy.typing import NDArray

Positive = Annotated[np.ndarray, Is[lambda a: bool((a >= 0).all())]]


@beartype
def _scaled(data: NDArray[np.floating], by: float | np.ndarray = 2.0) -> np.ndarray:
    return data * by


@beartype
def _rooted(data: Positive, others: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {"root": np.sqrt(data), "sum": sum(others)}


def functions(x):
    return _scaled(x + 1), _scaled(x, 3.0), _scaled(x * 2, by=x)


def containers(x):
    return _rooted(x * 2, [x + 1, x])


def questions(x):
    y = x + 1
    return (
        is_bearable(y, np.ndarray),
        is_bearable(y, NDArray[np.float64]),
        is_bearable(y, NDArray[np.integer]),
        is_bearable([y], list[np.ndarray]),
        is_bearable(y, Positive),
        is_bearable(-y, Positive),
        is_bearable(y[0], float),
        is_bearable((y, 1), tuple[np.ndarray, int]),
    )


def keeps_identity(x):
    @beartype
    def same(v: np.ndarray) -> np.ndarray:
        return v

    y = x + 1
    return same(y) is y, same(y)


def error_type(x):
    try:
        _scaled((x * 9).astype(int))
    except Exception as error:
        raise TypeError(type(error).__name__) from None
