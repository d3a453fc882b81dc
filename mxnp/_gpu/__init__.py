"""Kernels of the GPU, and the recorded forms that importing a module registers."""

from . import functions as functions
from . import linear as linear
from . import products as products
from . import transforms as transforms
from . import updates as updates
