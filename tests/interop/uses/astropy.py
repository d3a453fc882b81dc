"""astropy: astronomy."""

import numpy as np
from astropy import coordinates, stats, table, time, units, wcs
from astropy.convolution import convolve
from astropy.io import fits
from astropy.modeling import fitting, models

# astropy asks whether a function is numpy.sum itself, and adds in another order if so.
TOLERANCES = {"tables": 1e-13}


def quantities(x):
    q = x * units.km
    return (
        q.to_value("m"),
        units.Quantity(x, "s").sum().value,
        (q / (2 * units.s)).value,
        np.sqrt(x * units.m**2).value,
        (x << units.pc).value,
    )


def sky(x):
    c = coordinates.SkyCoord(ra=x * 10 * units.deg, dec=(x - 0.5) * 20 * units.deg)
    return (
        c.galactic.l.value,
        c[:5].separation(c[5:10]).deg,
        coordinates.Angle(x, "rad").degree,
    )


def tables(x):
    t = table.Table({"x": x, "k": (x * 3).astype(int)})
    t["y"] = x * 2
    t.write("a.ecsv", overwrite=True)
    return (
        t[x > 0.5]["y"].data,
        table.Table.read("a.ecsv")["x"].data,
        t.group_by("k").groups.aggregate(np.sum)["x"].data,
    )


def files(x):
    fits.HDUList(
        [
            fits.PrimaryHDU(x.reshape(-1, 4)),
            fits.BinTableHDU.from_columns([fits.Column("x", "D", array=x)]),
        ]
    ).writeto("a.fits", overwrite=True)
    with fits.open("a.fits") as f:
        return f[0].data.astype(float), np.array(f[1].data["x"])


def times(x):
    t = time.Time(60000 + x, format="mjd")
    return t.jd, t.unix, (t - t[0]).sec


def images(x):
    m = x[:400].reshape(-1, 20)
    return (
        convolve(x[:50], np.ones(3)),
        stats.sigma_clipped_stats(x),
        convolve(m[:3], np.ones((3, 3))),
    )


def fit(small):
    t = np.arange(60.0)
    line = fitting.LinearLSQFitter()(models.Linear1D(), t, small)
    return line.parameters, models.Gaussian1D(1.0, 30.0, 5.0)(t)


def pixels(x):
    w = wcs.WCS(naxis=2)
    w.wcs.crpix = np.array([5.0, 5.0])
    w.wcs.cdelt = np.array([0.1, 0.1])
    w.wcs.ctype = ["RA---TAN", "DEC--TAN"]
    return w.all_pix2world(x.reshape(-1, 2), 0), w.wcs_world2pix(x, x, 0)
