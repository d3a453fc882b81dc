"""The array class, its ufuncs, its methods and the attribute `.at`."""

from . import deferred_warnings as deferred_warnings
from . import methods as methods  # the classes are complete when the package is there
from . import ufunc as ufunc
