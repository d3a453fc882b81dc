"""
Measure what a process costs that imports NumPy or mxnp, or runs under the runner.

Usage: ``python docs/design/measure_start.py [rounds] [--scripts FOLDER] [ROOT ...]``. A
ROOT is a folder that contains ``mxnp``, such as a checkout of another commit; without
one, the installed mxnp is measured. With ``--instructions`` valgrind counts the
instructions of one process of each kind. With ``--scripts`` the scripts of a folder run
in place of the imports.

The processes of all rows run in turn, so that other load meets all of them. Times are
in ms: processor time (user and system), and time that passed. ``exit`` is the processor
time after the last line of the program. Other load makes times longer and never
shorter, so compare minima. OpenBLAS has one thread, as its threads wait actively.
Bytecode is compiled before.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

# At its end, a program writes its processor time so far.
_END = """
import os, resource
usage = resource.getrusage(resource.RUSAGE_SELF)
os.write(2, b"\\nend %.6f" % (usage.ru_utime + usage.ru_stime))
"""


def environment(root):
    values = dict(os.environ, OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg")
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    if root:
        values["PYTHONPATH"] = str(pathlib.Path(root).resolve())
    return values


def run(arguments, root, folder):
    """Return times of a process in ms (processor, passed, exit), and page faults."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment(root),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        passed = time.perf_counter() - start
        process.returncode = status
        errors.seek(0)
        text = errors.read().decode()
    assert status == 0, text
    total = usage.ru_utime + usage.ru_stime
    end = re.search(r"\nend ([\d.]+)", text)
    last = total - float(end[1]) if end else 0.0
    return total * 1e3, passed * 1e3, last * 1e3, usage.ru_minflt


def count_instructions(arguments, root, folder):
    """Return the millions of instructions that callgrind counts in user code."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    variables = environment(root) | {"PYTHONHASHSEED": "0"}
    text = subprocess.run(
        [*command, sys.executable, *arguments],
        env=variables,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    return int(re.search(r"Collected : (\d+)", text)[1]) / 1e6


def rows_of(roots, scripts, folder):
    """Yield the name, the arguments and the root of each row."""
    if scripts:
        for script in sorted(scripts.glob("*.py")):
            yield f"{script.stem}, python", [str(script)], None
            for root in roots:
                yield (
                    f"{script.stem}, {root or 'mxnp'}",
                    ["-m", "mxnp", str(script)],
                    root,
                )
        return
    files = {}
    for name, text in {"empty": "", "imports": "import numpy"}.items():
        files[name] = str(folder / f"{name}.py")
        pathlib.Path(files[name]).write_text(text + _END)
    yield "import numpy", ["-c", "import numpy" + _END], None
    for root in roots:
        label = f" {root}" if root else ""
        yield f"import mxnp{label}", ["-c", "import mxnp" + _END], root
        yield f"runner, empty{label}", ["-m", "mxnp", files["empty"]], root
        yield f"runner, numpy{label}", ["-m", "mxnp", files["imports"]], root


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=20)
    parser.add_argument("roots", nargs="*", default=[None])
    parser.add_argument("--scripts", type=pathlib.Path)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scripts = options.scripts and options.scripts.resolve()
        rows = list(rows_of(options.roots or [None], scripts, folder))
        for row in rows:  # which writes the bytecode
            run(row[1], row[2], folder)
        rounds = [
            [run(row[1], row[2], folder) for row in rows] for _ in range(options.rounds)
        ]
        print(
            f"load {os.getloadavg()[0]:.1f}, {options.rounds} rounds: minimum, median"
        )
        print(f"{'':36}{'processor':>15}{'passed':>17}{'exit':>15}{'faults':>8}")
        for row, column in zip(rows, zip(*rounds, strict=True), strict=True):
            figures = "".join(
                f"{min(each):9.1f}{statistics.median(each):8.1f}"
                for each in [*zip(*column, strict=True)][:3]
            )
            line = f"{row[0]:34}{figures}{min(each[3] for each in column):8}"
            if options.instructions:
                line += f"{count_instructions(row[1], row[2], folder):9.1f} M"
            print(line, flush=True)


if __name__ == "__main__":
    main()
