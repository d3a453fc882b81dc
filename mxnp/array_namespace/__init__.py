"""The Array API namespace of mxnp arrays, which ``x.__array_namespace__()`` returns.

It has mxnp's functions under the same names. Unlike mxnp's functions, they return 0-d
arrays where NumPy returns scalars. Operators, methods and indices of these arrays do so
too.
"""

import sys as _sys

from mxnp._array_api import namespace

namespace.fill(_sys.modules[__name__])
namespace.publish(_sys.modules[__name__])
