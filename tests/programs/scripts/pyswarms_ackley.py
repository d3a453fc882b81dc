"""Minimise Ackley's function with 4,000 particles (pyswarms)."""

import logging

import numpy as np
import pyswarms
from pyswarms.utils.functions import single_obj

logging.disable(logging.CRITICAL)
np.random.seed(3)
options = {"c1": 0.5, "c2": 0.3, "w": 0.9}
optimizer = pyswarms.single.GlobalBestPSO(4000, 50, options)
cost, _ = optimizer.optimize(single_obj.ackley, 150, verbose=False)
print(f"{cost:.4f}")
