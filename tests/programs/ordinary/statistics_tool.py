"""A command that reads numbers from the standard input."""

import argparse
import sys

import numpy as np

parser = argparse.ArgumentParser(description="Print statistics of numbers.")
parser.add_argument("--bins", type=int, default=8)
parser.add_argument("--trim", type=float, default=1.0, help="per cent on either side")
options = parser.parse_args()

values = np.array([float(word) for word in sys.stdin.read().split()])
if not values.size:
    parser.error("there are no numbers")
low, high = np.percentile(values, [options.trim, 100 - options.trim])
kept = values[(values >= low) & (values <= high)]
print(f"numbers  {values.size}, {kept.size} within {low:g} to {high:g}")
print(f"mean     {values.mean():.6f} (trimmed {kept.mean():.6f})")
print(f"median   {np.median(values):.6f}")
print(f"deviation {values.std(ddof=1):.6f}")
print(f"quartiles {np.percentile(values, [25, 50, 75])}")
counts, edges = np.histogram(kept, bins=options.bins)
for count, edge in zip(counts, edges, strict=False):
    print(f"{edge:10.3f} {'#' * (40 * count // counts.max())} {count}")
