"""Kernels of the GPU, and the recorded forms that importing a module registers."""

from . import functions as functions
from . import updates as updates
