"""Prices of calls and puts by Black and Scholes, with their sensitivities."""

from __future__ import annotations

from typing import Any

DTYPE = "float64"


def normal(np: Any, x: Any) -> Any:
    """Return the normal distribution function (Abramowitz and Stegun, 26.2.17)."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = t * (
        0.319381530
        + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    upper = 1.0 - np.exp(-0.5 * x * x) * 0.3989422804014327 * tail
    return np.where(x >= 0.0, upper, 1.0 - upper)


def run(np: Any, size: int) -> Any:
    """Return calls, puts, deltas and vegas."""
    rate, volatility = 0.02, 0.3
    spot = np.linspace(10.0, 50.0, size)
    strike = np.linspace(15.0, 40.0, size)[::-1].copy()
    years = np.linspace(0.25, 3.0, size)
    root = np.sqrt(years)
    spread = volatility * root
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    n1, n2 = normal(np, d1), normal(np, d2)
    call = spot * n1 - discounted * n2
    put = call - spot + discounted
    vega = spot * root * np.exp(-0.5 * d1 * d1) * 0.3989422804014327
    return call, put, n1, vega
