"""
Time programs of the benchmark with and without a report, in turn.

Usage: ``python docs/design/measure_report.py [rounds [size]]``.
"""

import importlib
import os
import pkgutil
import statistics
import sys
import time

import mxnp
from mxnp.bench import programs


def seconds(run, size, is_measured):
    """Run a program; return its processor time, which other processes disturb least."""
    if is_measured:
        block = mxnp.profile()
        block.__enter__()
    begin = time.process_time()
    run(mxnp, size)
    mxnp.synchronize()
    taken = time.process_time() - begin
    if is_measured:
        block.__exit__(None, None, None)
    return taken


rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
sizes = [int(float(sys.argv[2]))] if len(sys.argv) > 2 else None
mxnp.set_num_threads(1)  # Threads that wait for work take processor time, too.
print(f"load {os.getloadavg()[0]:.1f}, {rounds} rounds")
ratios = []
for info in pkgutil.iter_modules(programs.__path__):
    module = importlib.import_module(f"{programs.__name__}.{info.name}")
    for size in sizes or getattr(module, "SIZES", (10**4, 10**6)):
        taken = {False: [], True: []}
        for measured in (False, True):
            seconds(module.run, size, measured)
        for round_ in range(rounds):
            for measured in (False, True) if round_ % 2 else (True, False):
                taken[measured].append(seconds(module.run, size, measured))
        plain, counted = (statistics.median(taken[m]) for m in (False, True))
        ratios.append(counted / plain)
        print(
            f"{info.name:<20} {size:>9,}  {plain * 1e3:9.2f} ms  "
            f"with a report {counted / plain:.3f}"
        )
print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, most {max(ratios):.3f}")
