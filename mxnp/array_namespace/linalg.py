"""The extension `linalg` of the Array API namespace."""

import sys as _sys

from mxnp import _namespace

_namespace.fill(_sys.modules[__name__])
