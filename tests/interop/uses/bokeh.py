"""bokeh: plots for the web."""

import numpy as np
from bokeh.core.serialization import Serializer
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure


def sources(x):
    source = ColumnDataSource({"x": x, "y": x * 2})
    source.data["z"] = x.reshape(-1)
    source.patch({"x": [(slice(0, 2), x[3:5])]})
    return np.asarray(source.data["x"]), np.asarray(source.data["z"])


def serialize(x):
    encoded = Serializer().encode(x.astype(np.float32))
    sent = np.frombuffer(encoded["array"]["data"].data, np.float32)
    line = figure().line(x=np.arange(x.size), y=x)
    return sent, encoded["shape"], encoded["dtype"], line.data_source.data["y"]
