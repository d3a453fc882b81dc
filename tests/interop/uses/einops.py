"""einops: axes by name."""

import einops

# A sum that is computed with what comes before it is added in another order.
TOLERANCES = {"reduce": 1e-14}


def rearrange(x):
    m = x.reshape(-1, 5, 4)
    return einops.rearrange(m, "a b c -> (a c) b"), einops.rearrange(
        [x, x], "n a -> a n"
    )


def reduce(x):
    return (
        einops.reduce(x.reshape(-1, 4), "a c -> c", "mean"),
        einops.repeat(x[:3], "a -> a k", k=2),
        einops.einsum(x[:4], x[:8].reshape(4, 2), "a, a b -> b"),
    )


def pack(x):
    packed, shapes = einops.pack([x[:4], x[:8].reshape(4, 2)], "a *")
    return (
        packed,
        [tuple(s) for s in shapes],
        einops.parse_shape(x.reshape(-1, 4), "a b"),
    )
