"""
Run calls in a process that may crash: ``python -m arguments.worker``.

Its arguments are the file to which it writes each call before it runs, seconds, the
seed, the first call, the step to the next one, the last, and the threshold. It prints
the differences, one in each line, as JSON, and then the number of calls that it reached.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import json
import os
import sys
import time
import warnings

import numpy

import mxnp
from mxnp import _bridge

from .known import differs, runs
from .runs import compare, evaluate, run
from .table import bases, calls

CALL_SECONDS = 200  # after which a call counts as hanging


def main(file: str, seconds: str, *numbers: str) -> None:
    seed, first, step, last, threshold = map(int, numbers)
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # LAPACK prints errors to the standard output
    end, done = time.monotonic() + float(seconds), 0
    if "MXNP_THRESHOLD" not in os.environ:
        _bridge.set_threshold(threshold)
    if "MXNP_JIT" not in os.environ:
        _bridge.set_compiler(None, False)
    _bridge.set_eager(False)
    warnings.simplefilter("ignore")  # outside of calls
    stream = enumerate(calls([*bases(evaluate)], seed))
    gc.freeze()  # the table
    with open(file, "r+b", buffering=0) as place:
        for number, call in itertools.islice(stream, first, last, step):
            if time.monotonic() > end:
                break
            done += 1
            if not runs(call):
                continue
            outcomes = []
            for xp in (numpy, mxnp):
                faulthandler.dump_traceback_later(CALL_SECONDS, exit=True)
                text = f"{number}\n{call.size}\n{call.text}\n{xp.__name__}\n"
                place.seek(0)
                place.write(text.ljust(2000).encode())
                outcomes.append(run(call, xp))
            found = compare(call, *outcomes)
            if found and not differs(call):
                found = call.size, call.function, call.text, *found
                print(json.dumps(found), file=results, flush=True)
        faulthandler.cancel_dump_traceback_later()
    print(json.dumps(done), file=results, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
