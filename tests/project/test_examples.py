"""Test that examples have the same output and pictures with ``python -m mxnp``."""

import subprocess
import sys

import pytest
from support.paths import EXAMPLES as FOLDER
from support.paths import ROOT

import mxnp

# The examples, and arguments with which they are quick.
EXAMPLES = {
    "black_scholes": ["--paths", "20000", "--grid", "60"],
    "colour_quantisation": ["--every", "6", "--colours", "6"],
    "heat_equation": ["-n", "48", "--steps", "60"],
    "mandelbrot": ["--width", "80", "--limit", "40"],
    "n_body": ["-n", "30", "--steps", "40"],
    "terrain_fit": ["--every", "8", "--degree", "3"],
}


def run(example, launcher, folder):
    """Run an example in a folder; return its output and the pixels of its picture."""
    from matplotlib import pyplot

    command = [
        sys.executable,
        *launcher,
        str(FOLDER / f"{example}.py"),
        *EXAMPLES[example],
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout, pyplot.imread(folder / f"{example}.png")


def test_every_example_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(EXAMPLES)


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_same_output_and_picture(example, tmp_path):
    printed, picture = run(example, [], tmp_path)
    printed_here, picture_here = run(example, ["-m", "mxnp"], tmp_path)
    assert printed_here == printed
    assert (picture_here == picture).all()
    assert picture.std() > 0.05  # the picture is not blank


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_memory_is_flat(example):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.processes.flat_memory",
            "--rounds",
            "60",
            example,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_missing_matplotlib_is_an_error_with_advice(example, tmp_path):
    program = f"""
import runpy, sys
sys.modules["matplotlib"] = None  # the import fails as if it were not there
runpy.run_path({str(FOLDER / f"{example}.py")!r}, run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == "the picture needs matplotlib: pip install matplotlib\n"


# -- Custom kernels -----------------------------------------------------------------

KERNELS = {
    "exp": ["-n", "2000"],
    "grid_sample": ["--size", "16"],
    "histogram": ["-n", "4000"],
}


def test_every_kernel_is_tested():
    assert {path.stem for path in (FOLDER / "kernels").glob("*.py")} == set(KERNELS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_is_right_or_names_its_requirement(kernel):
    path = FOLDER / "kernels" / f"{kernel}.py"
    done = subprocess.run(
        [sys.executable, str(path), *KERNELS[kernel]],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    without = "this example needs a GPU, and there is none\n"
    assert (done.stdout == without) == ("metal" not in mxnp.devices())
