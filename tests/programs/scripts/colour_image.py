"""Convert an image between colour spaces, and compare it with another (colour)."""

import colour
import numpy as np

rng = np.random.RandomState(6)
image = rng.random_sample((900, 900, 3))
other = np.clip(image + 0.05 * rng.normal(size=image.shape), 0, 1)
labs = [colour.XYZ_to_Lab(colour.sRGB_to_XYZ(each)) for each in (image, other)]
print(f"{colour.difference.delta_E_CIE2000(*labs).mean():.4f}")
print(f"{colour.XYZ_to_Oklab(colour.sRGB_to_XYZ(image)).std():.4f}")
print(f"{colour.RGB_to_HSL(image).mean():.4f}")
