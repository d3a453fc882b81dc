"""pyproj: map projections."""

import pyproj


def transform(x):
    t = pyproj.Transformer.from_crs(4326, 3857, always_xy=True)
    east, north = t.transform(x * 10, x * 20)
    return east, north, t.transform(x[1], x[2]), list(t.itransform(x[:4].reshape(2, 2)))


def geodesics(x):
    g = pyproj.Geod(ellps="WGS84")
    return g.inv(x, x, x * 2, x * 3), g.fwd(x, x, x * 90, x * 1000), g.line_length(x, x)


def shared_in_place(x):
    t = pyproj.Transformer.from_crs(4326, 3857, always_xy=True)
    y = x * 2
    before = x + 1
    t.transform(x, y, inplace=True)
    return before, x, y
