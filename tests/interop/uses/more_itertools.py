"""more-itertools: tools for iterators."""

import more_itertools as more
import numpy as np


def pieces(x):
    y = x * 1.0 + 1
    return (
        list(more.chunked(y, 7))[:3],
        [list(b) for b in more.batched(y[:9], 4)],
        list(more.sliced(y, 15))[-1],
        [list(w) for w in more.windowed(y[:6], 3)],
        [list(d) for d in more.divide(3, y[:10])],
        list(more.split_at(y[:9], lambda v: v > 1.7)),
    )


def selections(x):
    y = x + 1
    return (
        more.first(y),
        more.last(y),
        more.nth(y, 3),
        more.take(4, y * 2),
        more.one(y[:1]),
        list(more.unique_everseen((x * 5).astype(int))),
        more.all_equal(y * 0),
        more.minmax(y),
        more.ilen(y),
    )


def groups(x):
    keys = (x * 3).astype(int)
    found = more.map_reduce(zip(keys, x * 2), lambda p: int(p[0]), lambda p: p[1], sum)
    return dict(sorted(found.items())), list(more.run_length.encode(np.sort(keys)))


def nested(x):
    y = x[:12].reshape(3, 4) * 2
    return (
        list(more.flatten(y)),
        list(more.collapse([y, [y[0]], 5])),
        list(more.interleave(y[0], y[1])),
        list(more.zip_offset(y[0], y[1] + 1, offsets=(0, 1))),
        [more.always_iterable(y[0], base_type=None).__next__()],
    )


def arithmetic(x):
    return (
        more.dotproduct(x[:20] * 1.0, x[:20] + 1),
        list(more.difference(x[:8] + 1)),
        list(more.convolve(x[:5] * 2, [1, 2])),
        list(more.matmul(x[:4].reshape(2, 2) * 2, x[4:8].reshape(2, 2))),
        list(more.numeric_range(x[1], x[1] + 1, np.float64(0.25))),
    )


def shared_sequences(x):
    view = more.islice_extended(x.reshape(-1, 4))
    peeked = more.peekable(x + 1)
    before = x * 2
    x[0] = 5
    return before, [*view[1:3]], peeked.peek(), peeked[1:3]


def error_lengths(x):
    return more.one(x * 2)
