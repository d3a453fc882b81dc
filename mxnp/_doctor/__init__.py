"""`doctor()`: patterns that cost time, and how to rewrite them."""
