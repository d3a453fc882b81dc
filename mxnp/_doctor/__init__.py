"""`doctor()`: slow patterns of a program, with suggested rewrites."""
