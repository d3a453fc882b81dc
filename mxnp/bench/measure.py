"""Measure a case: compare the results of all peers with NumPy's, and time them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from .case import Case, difference
from .clock import MAX_ROUNDS, MIN_SAMPLE, SHORT_SAMPLE, Sample, in_turn
from .machine import memory_available
from .peers import Peer
from .report import Row

# The number of copies of the inputs that all peers together may hold, including the
# results and temporaries of the peer that needs the most memory.
COPIES = 6


def measure(
    case: Case,
    peers: Sequence[Peer],
    allowance: float,
    shortest: float | None = None,
) -> Row:
    """
    Compare the results of a case with NumPy's, and time the case.

    Parameters
    ----------
    case : Case
        The case.
    peers : sequence of Peer
        The peers that run it, NumPy first.
    allowance : float
        The approximate seconds to spend on timing.
    shortest : float, optional
        The least duration of one sample in seconds. By default it is `MIN_SAMPLE`, or
        less if the allowance is too short for `MAX_ROUNDS` such samples of each peer.

    Returns
    -------
    Row
        The timings of the peers whose results agree with NumPy's, and the errors of
        the others.
    """
    row = Row.of(case)
    if shortest is None:
        each = allowance / (MAX_ROUNDS * len(peers))
        shortest = max(SHORT_SAMPLE, min(MIN_SAMPLE, each))
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
        # Every exception of a peer is an error in the row.
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
