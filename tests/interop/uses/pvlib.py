"""pvlib: solar energy."""

import numpy as np
import pandas as pd
import pvlib

# Sines and cosines.
TOLERANCES = {"diodes": 1e-9, "angles": 1e-12, "masses": 1e-12}


def angles(x):
    zenith, azimuth = x * 80.0 + 1, x * 300
    return (
        pvlib.irradiance.aoi(30, 180, zenith, azimuth),
        pvlib.irradiance.get_extra_radiation((x[:50] * 364).astype(int) + 1),
        pvlib.atmosphere.get_relative_airmass(zenith),
        pvlib.irradiance.haydavies(30, 180, x * 200, x * 500, 1360.0, zenith, azimuth),
    )


def positions(x):
    times = pd.date_range("2024-06-01", periods=24, freq="h", tz="UTC")
    found = pvlib.solarposition.get_solarposition(times, 48.0, 11.0 + x[1])
    return found.to_numpy(), pvlib.irradiance.erbs(
        x[:24] * 800, found["zenith"].to_numpy(), times
    )["dni"]


def modules_in_the_sun(x):
    power = pvlib.pvsystem.pvwatts_dc(x * 1000, x * 30 + 10, 300.0, -0.004)
    return (
        power,
        pvlib.inverter.pvwatts(power, 280.0),
        pvlib.temperature.faiman(x * 900, 20.0),
    )


def diodes(x):
    n = x[:100]
    return pvlib.pvsystem.singlediode(n * 5 + 1, 1e-9, 0.3, 200.0, n * 0 + 1.5)[
        "p_mp"
    ], pvlib.singlediode.bishop88_mpp(n * 5 + 1, 1e-9, 0.3, 200.0, 1.5)


def keeps_its_arguments(x):
    zenith = x * 100.0
    before = zenith + 0
    pvlib.irradiance.disc(x * 800, zenith, 100)
    pvlib.iam.physical(zenith)
    return before, zenith


def masses(x):
    return (
        pvlib.iam.ashrae(x * 120),
        pvlib.iam.martin_ruiz(x * 95),
        pvlib.iam.interp(x * 80, np.array([0, 45, 90]), np.array([1, 0.9, 0.0])),
    )
