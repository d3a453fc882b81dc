"""From Metal Shading Language to a shared library of the host."""
