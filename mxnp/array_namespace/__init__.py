"""The Array API namespace of mxnp arrays: what ``x.__array_namespace__()`` gives.

It has mxnp's functions under the same names. Their results are arrays where NumPy's are
scalars, and so is what is computed from these arrays by operators, methods and indices.
"""

import sys as _sys

from mxnp._array_api import namespace

namespace.fill(_sys.modules[__name__])
