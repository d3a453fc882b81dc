"""Whole programs. Each is a module with ``run(np, size)`` and the ``DTYPE`` it uses.

`run` takes NumPy or a package in its place, and the approximate number of elements of
its largest array. It returns one or several arrays, which are compared.
"""
