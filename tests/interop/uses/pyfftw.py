"""pyfftw: Fourier transforms by FFTW."""

import numpy as np
import pyfftw

TOLERANCES = {"interfaces": 1e-12, "builders": 1e-12, "shared_plan": 1e-12}


def interfaces(x):
    return pyfftw.interfaces.numpy_fft.fft(x), pyfftw.interfaces.scipy_fft.rfft(x)


def builders(x):
    return pyfftw.builders.rfft(x)(), pyfftw.builders.fft2(
        x.reshape(-1, 4).astype(complex)
    )()


def shared_plan(x):
    a = x.astype(complex)
    b = np.zeros_like(a)
    before = b + 1
    plan = pyfftw.FFTW(a, b, flags=("FFTW_ESTIMATE",))
    plan.execute()
    after = b + 1
    a[:] = x * 2
    plan.execute()
    return before, after, b
