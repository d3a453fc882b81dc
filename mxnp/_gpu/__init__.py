"""Kernels of the GPU, and the recorded forms that use them."""

from . import functions as functions
from . import products as products
from . import updates as updates
