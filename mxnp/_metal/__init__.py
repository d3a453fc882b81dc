"""Kernels and functions of the GPU: importing a module registers its functions."""

from . import functions as functions
from . import updates as updates
