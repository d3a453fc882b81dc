"""Time sums along axis 0 of arrays that are not in a cache."""

import statistics
import time
from collections.abc import Callable

import numpy

import mxnp

SHAPES = [(3_162, 3_162), (395, 25_298), (25_298, 395)]
ARRAYS = 4  # summed in turn, so that each is read from memory
ROUNDS = 25


def microseconds(compute: Callable[[int], object]) -> float:
    """Return the median time of a call."""
    times = []
    for round_number in range(ROUNDS):
        begin = time.perf_counter()
        compute(round_number % ARRAYS)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def main() -> None:
    """Print a line for each shape and number of threads."""
    for shape in SHAPES:
        theirs = [numpy.random.default_rng(i).random(shape) for i in range(ARRAYS)]
        mine = [mxnp.array(x) for x in theirs]

        def add_up(i: int, mine: list[numpy.ndarray] = mine) -> None:
            mine[i].sum(0)
            mxnp.synchronize()

        for threads in (1, 2):
            mxnp.set_num_threads(threads)
            numpys = microseconds(lambda i, theirs=theirs: theirs[i].sum(0))
            ours = microseconds(add_up)
            print(
                f"{shape} {threads} threads: NumPy {numpys:.0f} us, mxnp {ours:.0f} us"
            )


if __name__ == "__main__":
    main()
