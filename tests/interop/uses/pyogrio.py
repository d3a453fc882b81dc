"""pyogrio: files of maps."""

import numpy as np
import pyogrio
import shapely


def _points(x):
    return shapely.points(x[:40].reshape(-1, 2) * 10 + 1)


def _write(x, name):
    points = _points(x)
    fields = [np.arange(points.size) * 2, x[: points.size] + 1]
    pyogrio.raw.write(
        name,
        geometry=shapely.to_wkb(points),
        field_data=fields,
        fields=np.array(["i", "x"]),
        geometry_type="Point",
        crs="EPSG:4326",
        driver="GPKG",
    )


def files(x):
    _write(x, "a.gpkg")
    meta, _, geometry, values = pyogrio.raw.read("a.gpkg")
    return list(meta["fields"]), shapely.get_x(shapely.from_wkb(geometry)), values


def parts(x):
    _write(x, "b.gpkg")
    _, fids, _, values = pyogrio.raw.read(
        "b.gpkg", fids=np.array([2, 5]), return_fids=True
    )
    _, _, _, others = pyogrio.raw.read("b.gpkg", where="i > 20", columns=["x"])
    return fids, values, others


def bounds(x):
    _write(x, "c.gpkg")
    fids, found = pyogrio.read_bounds("c.gpkg")
    box = tuple(found[:, 3] + np.array([-1, -1, 1, 1]))
    return (
        fids,
        found * 2,
        pyogrio.raw.read("c.gpkg", bbox=box)[3],
        pyogrio.read_info("c.gpkg")["features"],
    )
