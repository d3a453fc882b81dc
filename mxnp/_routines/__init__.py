"""Recorded forms of NumPy's functions, which importing a module registers."""

from . import copies as copies
from . import expressions as expressions
from . import grids as grids
from . import indexing as indexing
from . import nanfunctions as nanfunctions
from . import reductions as reductions
from . import selections as selections
from . import sorting as sorting
from . import statistics as statistics
