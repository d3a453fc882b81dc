"""The extension `linalg` of the Array API namespace."""

import sys as _sys

from mxnp._array_api import namespace

namespace.fill(_sys.modules[__name__])
