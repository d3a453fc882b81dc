"""The program's kernels, in the Metal Shading Language, and the check of a Mac."""
