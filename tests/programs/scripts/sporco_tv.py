"""Remove noise from an image by its total variation (sporco)."""

import numpy as np
from sporco.admm import tvl2

rng = np.random.RandomState(10)
image = np.kron(rng.random_sample((32, 32)), np.ones((16, 16)))
noisy = image + 0.1 * rng.normal(size=image.shape)
options = tvl2.TVL2Denoise.Options({"MaxMainIter": 40, "gEvalY": False})
result = tvl2.TVL2Denoise(noisy, 0.1, options).solve()
print(f"{np.abs(result - image).mean():.4f}")
