"""jaxtyping: shapes in annotations."""

import numpy as np
from beartype import beartype
from jaxtyping import Float, Float32, Int, Shaped, jaxtyped


@jaxtyped(typechecker=beartype)
def _product(
    a: Float[np.ndarray, "n m"], b: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " n"]:
    return a @ b


def annotated(x):
    y = x[:40].reshape(10, 4) * 1.0 + 1
    return _product(y, x[:4] + 1)


def instances(x):
    y = x + 1
    return (
        isinstance(y, Float[np.ndarray, " n"]),
        isinstance(y, Float[np.ndarray, "n m"]),
        isinstance(y, Float32[np.ndarray, "..."]),
        isinstance((y * 9).astype(int), Int[np.ndarray, " n"]),
        isinstance(y.reshape(-1, 4), Shaped[np.ndarray, "_ 4"]),
        isinstance(y, Float[np.ndarray, f"{y.size}"]),
        isinstance(y.tolist(), Float[np.ndarray, " n"]),
    )


def classes(x):
    @jaxtyped(typechecker=beartype)
    class Signal:
        def __init__(self, data: Float[np.ndarray, " n"]):
            self.data = data

        def scaled(self, by: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
            return self.data * by

    made = Signal(x * 2)
    return made.scaled(x + 1), made.data.shape


def error_shapes(x):
    try:
        _product(x[:40].reshape(10, 4) * 2, x[:5])
    except Exception as error:
        raise TypeError(type(error).__name__) from None
