"""Whole programs: a module each, with ``run(np, size)`` and the ``DTYPE`` it uses.

`run` takes NumPy or a package in its place, and about how many elements its largest
array shall have; it returns an array, or several, to be compared.
"""
