"""Black-Scholes: prices of European options, against a simulation of the same market.

The closed formula over a grid of prices and times to expiry, its sensitivities, and a
Monte-Carlo estimate with antithetic paths for one option.

Source: F. Black and M. Scholes, "The Pricing of Options and Corporate Liabilities",
Journal of Political Economy 81, 1973. The normal distribution function is Abramowitz and
Stegun's formula 7.1.26 (absolute error below 1.5e-7).
"""

import argparse

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("the picture needs matplotlib: pip install matplotlib") from None

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def normal_cdf(x):
    """Cumulative distribution function of the standard normal distribution."""
    z = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    terms = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0]
    erf = 1 - np.polyval(terms, t) * np.exp(-z * z)
    return 0.5 * (1 + np.sign(x) * erf)


def black_scholes(spot, strike, years, rate, volatility):
    """Price and delta of a call, and the price of the put, in the currency of `spot`."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    # The distribution function is good to 1e-7: no price is to fall below nothing.
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    call = np.maximum(call, 0)
    return call, normal_cdf(d1), call - spot + discounted


def simulate(spot, strike, years, rate, volatility, paths, rng):
    """Monte-Carlo price of the call and its standard error."""
    shocks = rng.standard_normal(paths // 2)
    shocks = np.stack([shocks, -shocks])
    drift = (rate - 0.5 * volatility**2) * years
    final = spot * np.exp(drift + volatility * np.sqrt(years) * shocks)
    payoff = np.exp(-rate * years) * np.maximum(final - strike, 0).mean(axis=0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(len(payoff))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=int, default=1_000_000)
    parser.add_argument("--grid", type=int, default=400, help="points along each axis")
    parser.add_argument("--output", default="black_scholes.png")
    options = parser.parse_args()

    strike, rate, volatility = 100.0, 0.03, 0.25
    spot = np.linspace(50, 150, options.grid)
    years = np.linspace(0.02, 2, options.grid)[:, None]
    call, delta, put = black_scholes(spot, strike, years, rate, volatility)
    gap = call - put - (spot - strike * np.exp(-rate * years))
    print(f"grid {call.shape}, put-call parity holds to {np.abs(gap).max():.1e}")
    print(f"call prices {call.min():.6f} to {call.max():.4f}")

    price, _, _ = black_scholes(105.0, strike, 1.0, rate, volatility)
    rng = np.random.default_rng(1973)
    guess, error = simulate(105.0, strike, 1.0, rate, volatility, options.paths, rng)
    print(f"spot 105, one year: formula {price:.5f}, simulated {guess:.5f} +- {error:.5f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    filled = left.contourf(spot, years[:, 0], call, levels=np.arange(0, 61, 5), cmap="viridis")
    left.contour(spot, years[:, 0], delta, levels=[0.25, 0.5, 0.75], colors="w")
    left.set(xlabel="price of the share", ylabel="years to expiry")
    left.set_title("price of a call at 100; white: delta 0.25, 0.5, 0.75")
    figure.colorbar(filled, ax=left, label="price of the call")
    for i in np.linspace(0, options.grid - 1, 5).astype(int):
        right.plot(spot, call[i], label=f"{years[i, 0]:.2f} years")
    right.plot(spot, np.maximum(spot - strike, 0), "k--", lw=1, label="at expiry")
    right.set(xlabel="price of the share", ylabel="price of the call")
    right.legend()
    figure.savefig(options.output, dpi=100)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
