"""Check programs whose libraries of CUDA are missing or fail."""

from __future__ import annotations

from support.processes import end_of


def check_missing_libraries(
    program: str, without: str, fails: str, calls: str, line: str
) -> None:
    """
    Run a program with the stand-in for CUDA's driver, and check what it calls.

    Parameters
    ----------
    program : str
        A program that prints how often it called functions of libraries.
    without : str
        The library that is missing, or an empty string.
    fails : str
        The function that fails, which the program reads from ``FAILS``.
    calls : str
        The expected output.
    line : str
        What `python -m mxnp --info` says of the libraries, or an empty string.
    """
    environment = {
        "MXNP_DEVICE": "cuda",
        "MXNP_THRESHOLD": "0",
        "CUDA_STANDIN_WITHOUT": without,
        "FAILS": fails,
    }
    end = end_of("-c", program, **environment)
    assert end.err == ""
    assert end.out.split() == calls.split()
    if line:
        info = end_of("-m", "mxnp", "--info", **environment).out
        assert f"{'libraries':<18}  {line}\n" in info
