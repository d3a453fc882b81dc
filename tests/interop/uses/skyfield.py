"""skyfield: positions of planets and satellites."""

from skyfield import api, functions
from skyfield.api import EarthSatellite, wgs84

_TIMES = api.load.timescale(builtin=True)
# Sines and cosines.
TOLERANCES = {"places": 1e-08, "satellites": 1e-08, "vectors": 1e-08, "times": 1e-08}


def times(x):
    made = _TIMES.utc(2024, 1, 1, x[:50] * 24.0)
    return (
        made.tt,
        made.gmst * 2,
        made.utc_strftime()[:2],
        _TIMES.tt_jd(x[:9] + 2460000).utc.hour,
    )


def places(x):
    made = wgs84.latlon(x[:9] * 80, x[:9] * 170 + 1, elevation_m=x[:9] * 900)
    return (
        made.at(_TIMES.utc(2024, 5, 1)).xyz.km,
        made.latitude.degrees,
        made.itrs_xyz.m,
    )


def satellites(x):
    made = EarthSatellite(
        "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
        "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
    )
    found = made.at(_TIMES.utc(2019, 12, 9, x[:20] * 24))
    return (
        found.xyz.km * 2,
        wgs84.subpoint_of(found).latitude.degrees,
        found.distance().km,
    )


def vectors(x):
    table = x[:60].reshape(3, -1) * 2.0 + 1
    return (
        functions.length_of(table),
        functions.to_spherical(table),
        functions.from_spherical(*table),
        functions.rot_z(x[1] * 2),
    )


def angles(x):
    made = api.Angle(degrees=x[:9] * 90)
    return made.radians, made.hours, made.dms(), made.degrees + 1
