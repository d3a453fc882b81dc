"""Run the cases of support/every_kernel.py, which a GPU's tools run too."""

from __future__ import annotations

import numpy
import pytest
from support.every_kernel import cases, same

import mxnp

pytestmark = pytest.mark.skipif(
    "cuda" not in mxnp.devices(), reason="mxnp has no CUDA here"
)


@pytest.mark.slow  # kernels are compiled
@pytest.mark.parametrize("name", cases())
def test_results_are_numpys(name: str) -> None:
    ignored = numpy.errstate(all="ignore"), mxnp.errstate(all="ignore")
    with mxnp.device("cuda"), ignored[0], ignored[1]:
        assert same(cases()[name](mxnp), cases()[name](numpy))
