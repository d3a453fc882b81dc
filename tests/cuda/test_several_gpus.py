"""Test the choice among several GPUs, on a stand-in that has two."""

from __future__ import annotations

import os
import textwrap

import pytest
from support.processes import end_of

import mxnp as np

pytestmark = pytest.mark.skipif(
    "cuda" not in np.devices() or not os.environ.get("MXNP_CUDA_STAND_IN"),
    reason="needs the stand-in for CUDA",
)

BEGIN = """
    import ctypes, os
    import mxnp as np
    card = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"]).cuda_standin_card
    def work():
        return float((np.arange(50_000) * 2.0).sum())
"""


def run(program: str, device: str = "cuda", cards: int = 2) -> str:
    code = textwrap.dedent(BEGIN) + textwrap.dedent(program)
    end = end_of("-c", code, MXNP_DEVICE=device, CUDA_STANDIN_CARDS=str(cards))
    assert end.status == 0, end.err
    return end.out


def test_devices_lists_them() -> None:
    assert run("print(np.devices())") == "('cpu', 'cuda', 'cuda:1')\n"
    assert run("print(np.devices())", cards=1) == "('cpu', 'cuda')\n"


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1"])
def test_the_environment_chooses_one(name: str) -> None:
    program = "print(work(), card(), np.get_device(), np.ones(2).__dlpack_device__())"
    number = int(name[-1]) if ":" in name else 0
    expected = f"2499950000.0 {number} cuda (2, {number})\n"
    assert run(program, device=name) == expected


def test_the_program_chooses_one() -> None:
    program = """
        before = np.set_device("cuda:1")
        print(before, np.get_device(), work(), card())
        with np.device("cuda:1"), np.device("cuda"):
            print(work(), card())
    """
    out = run(program, device="cuda")
    assert out == "cuda cuda 2499950000.0 1\n2499950000.0 1\n"


def test_a_process_uses_one() -> None:
    program = """
        x = np.arange(50_000) * 2.0
        print(float(x.sum()), card())
        for select in (np.set_device, np.device):
            try:
                select("cuda:1")
            except ValueError as error:
                print(error)
        np.set_device("cuda:0")
        print(float((x * 2).sum()), card())
    """
    refusal = (
        "device 'cuda:1' is not available: "
        "this process uses the GPU with number 0, to its end\n"
    )
    assert run(program) == f"2499950000.0 0\n{refusal * 2}4999900000.0 0\n"


def test_a_number_that_the_machine_lacks() -> None:
    program = """
        for name in ("cuda:2", "cuda:-1", "cuda:x"):
            try:
                np.set_device(name)
            except ValueError as error:
                print(type(error).__name__, name in str(error))
    """
    assert run(program) == "ValueError True\n" * 3
    end = end_of("-c", "import mxnp", MXNP_DEVICE="cuda:1", CUDA_STANDIN_CARDS="1")
    assert "MXNP_DEVICE is 'cuda:1'" in end.err


def test_the_standards_devices() -> None:
    program = """
        x = np.zeros(3, device="cuda")
        print(x.device, x.to_device("cuda:0") is x)
        work()
        try:
            x.to_device("cuda:1")
        except ValueError as error:
            print("refused")
    """
    assert run(program) == "cuda True\nrefused\n"


def test_other_gpus_may_use_the_memory() -> None:
    """Other packages copy it there, once they have an array."""
    program = """
        shared = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"]).cuda_standin_shared_with
        x = np.arange(50_000) * 2.0
        np.synchronize()
        print(bin(shared()))
        x.__dlpack__(max_version=(1, 1), dl_device=x.__dlpack_device__())
        print(bin(shared()))
    """
    assert run(program, device="cuda:1", cards=4) == "0b0\n0b1001\n"
    assert run(program, device="cuda", cards=1) == "0b0\n0b0\n"
