"""Functions of NumPy that can be recorded: importing a module registers them."""

from . import copies as copies
from . import expressions as expressions
from . import indexing as indexing
from . import nanfunctions as nanfunctions
from . import reductions as reductions
from . import selections as selections
from . import statistics as statistics
