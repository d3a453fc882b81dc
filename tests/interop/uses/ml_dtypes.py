"""ml_dtypes: narrow numbers."""

import ml_dtypes
import numpy as np


def casts(x):
    b = x.astype(ml_dtypes.bfloat16)
    return (
        b.astype(np.float32),
        b.dtype.name,
        x.astype(ml_dtypes.float8_e4m3fn).astype(float),
        (x * 7).astype(ml_dtypes.int4).astype(int),
    )


def arithmetic(x):
    b = x.astype(ml_dtypes.bfloat16)
    return (
        (b * b + b).astype(float),
        np.sqrt(b).astype(float),
        float(b.max()),
        ml_dtypes.finfo(b.dtype).bits,
        np.concatenate([b, b]).astype(float),
    )
