"""The array class, its ufuncs, its methods and the attribute `.at`."""

from . import deferred_warnings as deferred_warnings
