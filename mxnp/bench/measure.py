"""Measuring: each case is checked against NumPy, then timed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from .case import Case, difference
from .clock import MIN_SAMPLE, Sample, in_turn
from .machine import memory_available
from .peers import Peer
from .report import Row

# Copies of the inputs that all peers together may hold, results and temporaries of the
# hungriest among them included.
COPIES = 6


def measure(
    case: Case,
    peers: Sequence[Peer],
    allowance: float,
    shortest: float = MIN_SAMPLE,
) -> Row:
    """
    Check a case against NumPy and time it.

    Parameters
    ----------
    case : Case
        What is run.
    peers : sequence of Peer
        Who runs it, NumPy first.
    allowance : float
        Seconds the timing may take, about.
    shortest : float, optional
        Seconds that one sample takes at least.

    Returns
    -------
    Row
        Timings of the peers whose results agree with NumPy's, and what is wrong with
        the others.
    """
    row = Row.of(case)
    inputs = case.inputs()
    needed = COPIES * sum(numpy.asarray(value).nbytes for value in inputs.values())
    available = memory_available()
    if available and needed > available:
        row.skipped = f"needs about {needed / 2**30:.1f} GiB of memory"
        return row
    samples: dict[str, Sample] = {}
    expected = None
    for peer in peers:
        if not peer.takes(case):
            continue
        # Whatever goes wrong in a peer belongs into its row.
        try:
            arrays = peer.arrays(inputs, case.target)
            result = peer.as_numpy(peer.call(case, arrays)())
            if peer.name == "numpy":
                expected = result
            else:
                ours = peer.name == "mxnp"
                wrong = difference(result, expected, case.relative, exact_type=ours)
                if wrong:
                    row.errors[peer.name] = wrong
                    continue
            del result
            samples[peer.name] = peer.sampler(case, arrays)
        except Exception as error:
            row.errors[peer.name] = f"{type(error).__name__}: {error}".splitlines()[0]
            if peer.name == "numpy":
                return row
    del expected
    row.timings = in_turn(samples, allowance, shortest)
    return row
