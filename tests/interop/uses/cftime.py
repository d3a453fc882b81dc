"""cftime: dates of other calendars."""

import cftime
import numpy as np

UNITS = "hours since 2000-01-01"


def dates(x):
    hours = (x[:300] * 9000.0).round()
    found = cftime.num2date(hours, UNITS, "noleap")
    return (
        [str(d) for d in found[:9]],
        found.shape,
        cftime.date2num(found, UNITS, "noleap"),
    )


def real_dates(x):
    hours = (x[:60].reshape(-1, 4) * 9000).astype(int)
    found = cftime.num2pydate(hours, UNITS)
    return found.astype("M8[s]"), cftime.date2num(found, UNITS) * 2


def masked(x):
    hours = np.ma.masked_greater((x[:30] * 100).round(), 50)
    return cftime.num2date(hours, UNITS).mask, cftime.date2num(
        np.array([cftime.datetime(2001, 1, 1)]), UNITS
    ) + 1


def error_units(x):
    cftime.num2date(x * 2, "hours after 2000")
