"""Programs that loop over the rows and elements of small arrays.

Each is a function of a namespace like NumPy's and its input arrays. It copies the
arrays that it changes.
"""
