"""The array, its ufuncs, methods and `.at`."""

from . import deferred_warnings as deferred_warnings
