"""Minimise Rosenbrock's function of 60 variables with CMA-ES (cma)."""

import cma

options = {"seed": 7, "verbose": -9, "maxiter": 300}
best, _ = cma.fmin2(cma.ff.rosen, 60 * [0.1], 0.3, options)
print(f"{cma.ff.rosen(best):.4f}")
