"""joblib: files, caches and parallel calls."""

import joblib
import numpy as np

# Which operations a sum is fused with depends on the order of the threads.
TOLERANCES = {"threads": 1e-14}


def _double(v):
    return v * 2


def files(x):
    joblib.dump({"x": x}, "a.joblib")
    joblib.dump(x, "b.joblib", compress=3)
    return (
        joblib.load("a.joblib")["x"],
        joblib.load("b.joblib"),
        joblib.load("a.joblib", mmap_mode="r")["x"][:3] + 1,
    )


def hash_and_cache(x):
    memory = joblib.Memory("cache", verbose=0)
    double = memory.cache(_double)
    return (
        double(x),
        double(x),
        joblib.hash(x) == joblib.hash(x.copy()),
        joblib.hash(x) == joblib.hash(x + 1),
    )


def threads(x):
    return joblib.Parallel(2, prefer="threads")(
        joblib.delayed(np.sum)(x * i) for i in range(3)
    )


def processes(large):
    return joblib.Parallel(2, max_nbytes=1000)(
        joblib.delayed(np.max)(large * i) for i in range(3)
    )
