"""A noisy signal cleaned in the frequency domain: window, FFT, mask, power, inverse."""

from __future__ import annotations

from typing import Any

DTYPE = "float64"


def run(np: Any, size: int) -> Any:
    """Return the cleaned signal and the power of its spectrum."""
    n = max(16, size - size % 2)
    t = np.linspace(0.0, 1.0, n, endpoint=False)
    signal = np.sin(40.0 * t) + 0.5 * np.sin(250.0 * t) + 0.2 * np.cos(1900.0 * t * t)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * t)
    spectrum = np.fft.rfft(signal * window)
    power = spectrum.real**2 + spectrum.imag**2
    clean = np.where(power > 1e-4 * power.max(), spectrum, 0.0)
    return np.fft.irfft(clean, n), power / n
