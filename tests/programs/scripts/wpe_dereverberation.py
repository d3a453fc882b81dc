"""Remove the reverberation of a signal with four channels (nara_wpe)."""

import numpy as np
from nara_wpe.wpe import wpe

rng = np.random.RandomState(5)
frequencies, channels, frames = 513, 6, 500
spectrum = rng.normal(size=(frequencies, channels, frames, 2)).view(complex)[..., 0]
result = wpe(spectrum, taps=8, delay=3, iterations=3)
print(f"{abs(result).mean():.5f}")
