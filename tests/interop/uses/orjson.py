"""orjson: JSON."""

import numpy as np
import orjson


def dumps(x):
    data = orjson.dumps(
        {"x": x, "m": x.reshape(-1, 4), "i": np.arange(3)},
        option=orjson.OPT_SERIALIZE_NUMPY,
    )
    return np.array(orjson.loads(data)["x"]), data


def scalars(small):
    return orjson.dumps(
        [small[1], np.int32(3), np.bool_(True)], option=orjson.OPT_SERIALIZE_NUMPY
    ), orjson.dumps(small, default=lambda a: a.tolist())


def error_without_option(x):
    orjson.dumps(x)
